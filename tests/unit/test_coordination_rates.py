"""Whose rate a request is charged to: nobody uses up what another may send (rules.md 14)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from remit_graph.model.realm import EnforcementPoint
from remit_service.coordination.bounds import Limits
from remit_service.coordinator.rates import Rates
from remit_service.decision.caller import Caller
from tests.support.desk import Desk, desk_on, question, sqlite_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from remit_service.coordinator.reply import Reply

STRANGER = Caller(point=EnforcementPoint(id="service:stranger"), identity="key:stranger")
SHOWN = "spiffe://acme.test/another"
RATE = 3


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A desk at which each principal may send three commands a second, and each point many."""
    async with desk_on(sqlite_in(tmp_path)) as found:
        found.coordinator.rates = Rates(found.clock)
        tables = found.point.policy.tables
        slow = replace(tables.limits, principal=replace(tables.limits.principal, commands_per_second=RATE))
        found.point.policy = replace(found.point.policy, tables=replace(tables, limits=slow))
        yield found


async def take(desk: Desk, caller: Caller, subject: str = "instance:a") -> Reply:
    """Ask for a lease through another caller."""
    return await desk.leases.acquire([question(subject, "UPDATE_BODY", "wp:post:1")], caller)


@pytest.mark.parametrize(
    "caller",
    [STRANGER, Caller(point=None), Caller(point=EnforcementPoint(id="service:gateway", speaks_for=("*:*",)),
                                          identity="key:gateway", subject_identity=SHOWN)],
    ids=["of a point that may not speak for it", "unauthenticated", "with the token of another"],
)  # fmt: skip
async def test_whoever_may_not_speak_for_somebody_uses_up_nothing_of_it(desk: Desk, caller: Caller) -> None:
    """However often it tries, the one it names still has all its commands; it is refused for what it is."""
    tried = [await take(desk, caller) for _ in range(RATE)]
    own = [await take(desk, desk.caller) for _ in range(RATE + 1)]

    assert {each.code for each in tried} <= {"identity_mismatch", "unauthenticated"}
    assert [each.code == "limit_exceeded" for each in own] == [False] * RATE + [True]


async def test_a_name_in_another_form_is_charged_to_the_same(desk: Desk) -> None:
    """The subject is who it resolves to, not how it is written."""
    for _ in range(RATE):
        await take(desk, desk.caller)
    identity = "spiffe://acme.test/a"
    await desk.append(
        ("principal.put", {**desk.point.view.principals["instance:a"].record(), "identities": [identity]})
    )

    over = await desk.leases.acquire(
        [replace(question("instance:a", "UPDATE_BODY", "wp:post:1"), subject=replace(
            question("instance:a", "X", "wp:post:1").subject, id=identity))], desk.caller,
    )  # fmt: skip

    assert over.code == "limit_exceeded"


async def test_a_point_over_its_rate_uses_up_nothing_of_those_it_speaks_for(desk: Desk) -> None:
    """Both buckets are taken from, or none."""
    limits = Limits()
    slow = replace(limits, point=replace(limits.point, commands_per_second=1),
                   principal=replace(limits.principal, commands_per_second=RATE))  # fmt: skip
    rates = Rates(desk.clock)

    through_one = [rates.over("instance:a", "service:one", slow) for _ in range(1 + RATE)]
    through_others = [rates.over("instance:a", f"service:{each}", slow) for each in range(RATE)]

    assert [each is not None for each in through_one] == [False] + [True] * RATE
    assert [each is not None for each in through_others] == [False] * (RATE - 1) + [True]
