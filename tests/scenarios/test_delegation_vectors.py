"""All cases of `fixtures/vectors/delegation.yaml`, as bytes over HTTP, on both engines.

A case puts its edges straight into the store, also those that no command would make: what is asked is whether the
check at use leans on the check at creation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from remit_graph.model.change import Change, Command
from remit_service.activating import put_policy_in_force
from remit_service.clock import ManualClock
from remit_service.point import DecisionPoint
from tests.support.delegation_worlds import DelegationCase, delegation_cases
from tests.support.scenario.ledgers import sqlite_in
from tests.support.scenario.stage import Recorder, policy_with
from tests.support.scenario.wire import over_http

if TYPE_CHECKING:
    from pathlib import Path

    from remit_service.policy import Policy
    from tests.support.scenario.wire import Answer, Server

GATEWAY = Change(
    "enforcement_point.put",
    {
        "id": "service:gateway",
        "identities": ["key:gateway"],
        "speaks_for": ["*:*"],
        "trusted": ["environment"],
        "visibility": "full",
    },
)
CASES = [pytest.param(each, id=each.name) for each in delegation_cases()]


async def answer_to(case: DelegationCase, policy: Policy, server: Server, folder: Path) -> Answer:
    """Bring a case's world up behind the server, and ask its one question."""
    clock = ManualClock(case.at)
    ledger = await sqlite_in(folder)("delegation", clock)
    point = DecisionPoint(ledger=ledger, policy=policy, clock=clock, recorder=Recorder())
    await point.start()
    try:
        await put_policy_in_force(point)
        head = point.replica.head
        assert head is not None
        changes = (*case.changes, GATEWAY)
        await point.ledger.append(head, [Command(action="TEST", actor="system", at=case.at, changes=changes)])
        await point.replica.catch_up()
        async with over_http(server, folder)(point) as wire:
            return await wire.evaluate(case.request, "service:gateway")
    finally:
        await point.aclose()


def judge(case: DelegationCase, answer: Answer) -> None:
    """Compare the boolean, and on a deny that one of the expected codes is among the reasons."""
    codes = {each["code"] for each in answer.document["context"]["reasons"]}
    assert answer.document["decision"] is case.decision, codes
    assert bool(case.reasons) is not case.decision
    assert case.decision or case.reasons & codes, codes


def test_there_are_as_many_cases_as_were_published() -> None:
    """The file is whole: 144 cases, each with a name of its own."""
    assert len({each.name for each in delegation_cases()}) == 144


@pytest.mark.feature("S27", "S28", "S29", "S30")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.asyncio(loop_scope="module")
async def test_delegation_vector(case: DelegationCase, server: Server, folder: Path) -> None:
    """The engine in process answers as the vector says."""
    judge(case, await answer_to(case, policy_with(()), server, folder))


@pytest.mark.opa
@pytest.mark.parametrize("case", CASES)
@pytest.mark.asyncio(loop_scope="module")
async def test_delegation_vector_on_opa(case: DelegationCase, server: Server, folder: Path, opa_policy: Policy) -> None:
    """An OPA server answers the same."""
    judge(case, await answer_to(case, opa_policy, server, folder))
