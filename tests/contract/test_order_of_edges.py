"""A verdict does not depend on the order in which edges came in, on either store (F034)."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.model.change import Change
from remit_graph.view.apply import apply
from remit_graph.view.state import View
from tests.contract.ledger_commands import a_command, edges_end, everything, now
from tests.support.graphs import BASE, NOW, OWNER, Question, ask, edge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_graph.model.change import Command
    from remit_graph.model.instant import Instant
    from remit_service.decision.decision import Decision
    from tests.contract.ledgers import Store

AGENT = "instance:a"
EDGES: dict[str, dict[str, Any]] = {
    "b-lead": edge("b-lead", "DELEGATES", OWNER, "role:r", max_depth=2),
    "b-agent": edge("b-agent", "DELEGATES", "role:r", AGENT, max_depth=1),
    "a-lead": edge("a-lead", "DELEGATES", OWNER, "role:s", max_depth=2),
    "a-agent": edge("a-agent", "DELEGATES", "role:s", AGENT, max_depth=1),
    "expired": edge(
        "expired", "MAY_WRITE", AGENT, "doc:1", valid_until=NOW, rests_on=[{"edge_id": "own", "ownership_epoch": 1}]
    ),
}  # fmt: skip
"""Two live chains of two delegations, and a grant that is over."""


def told(decision: Decision) -> tuple[Any, ...]:
    """Return what must not differ: the verdict, the reasons and the proof, by edge whatever its version."""
    proof = tuple(each.partition("@")[0] for each in decision.determining)
    return decision.effect, decision.outcome, decision.codes, proof


def in_and_out(order: Sequence[str], version: int, at: Instant) -> list[Command]:
    """Return two commands: the edges begin in this order, and end again."""
    begun = (Change("edge.begin", {**EDGES[name], "version": version}) for name in order)
    return [a_command(*begun, at=at), a_command(edges_end(*((name, version) for name in order)), at=at)]


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_every_order_of_insertion_gives_the_same_verdict(store: Store) -> None:
    """All 120 orders, one after the other into the same store: the same permit by the same proof, ties by edge id."""
    ledger = await store.open()
    world = [*BASE, Change("edge.begin", edge("own", "OWNS", OWNER, "doc", ownership_epoch=1))]
    head = await ledger.head()
    await ledger.append(head, [a_command(*world, at=now(head))])
    orders = list(enumerate(permutations(EDGES), start=1))
    for some in (orders[place : place + 10] for place in range(0, len(orders), 10)):
        head = await ledger.head()
        await ledger.append(head, [each for version, order in some for each in in_and_out(order, version, now(head))])

    view = View()
    permitted: list[tuple[Any, ...]] = []
    denied: list[tuple[Any, ...]] = []
    for entry in await everything(ledger):
        apply(view, entry)
        if entry.revision > 1:
            decision = ask(view, Question(AGENT, "WRITE", "doc:1", {}), at=NOW)
            (permitted if entry.revision % 2 == 0 else denied).append(told(decision))

    assert set(permitted) == {("permit", "execute", (), ("own", "a-lead", "a-agent"))}
    assert {each[0] for each in denied} == {"deny"}
    assert (len(permitted), len(denied)) == (120, 120)
