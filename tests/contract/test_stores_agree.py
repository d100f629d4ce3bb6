"""Both stores give back the graph that was put into them: the same tables, the same verdicts, the same fall.

So every law that holds on a view (`properties/test_laws_at_scale`, `properties/test_revocation_laws`) holds on what a
decision point loads from either store.
"""

# ruff: noqa: S311 - graphs are random, not secret

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.model.change import Change, Command
from remit_graph.view.apply import apply
from remit_graph.view.fall import fall
from remit_graph.view.state import View
from remit_service.governance.versions import ends_of, settled
from remit_service.replica.loading import load_view
from tests.contract.ledgers import REALM
from tests.support.any_graphs import SHAPES, any_edges, any_questions, declared, shapes_of
from tests.support.graphs import BASE, NOW, ask
from tests.support.lawful_graphs import SCALES, carried, delegations, lawful
from tests.support.view_state import state_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_graph.ports import Ledger
    from tests.contract.ledgers import Store

A_REVISION = 400
"""Edges that begin in one revision."""


def verdict(decision: Any) -> tuple[Any, ...]:
    """Return what two equal verdicts share."""
    return decision.effect, decision.outcome, decision.codes, decision.determining


async def append(ledger: Ledger, view: View, revisions: Sequence[Sequence[Change]]) -> None:
    """Append commands of these changes, and bring a view along that never saw the store's own rows."""
    head = await ledger.head()
    for changes in revisions:
        command = Command(action="TEST", actor="system", at=max(head.at, NOW - 10), changes=tuple(changes))
        (entry,) = await ledger.append(head, [command])
        assert entry.changes == command.changes
        apply(view, entry)
        head = await ledger.head()


async def loaded(ledger: Ledger) -> View:
    """Return the view as a decision point loads it."""
    return (await load_view(ledger, await ledger.head())).view


def begun(records: Sequence[dict[str, Any]]) -> list[list[Change]]:
    """Return the changes that begin edges, by revision."""
    changes = [Change("edge.begin", {name: each[name] for name in each if name != "revoked"}) for each in records]
    return [changes[start : start + A_REVISION] for start in range(0, len(changes), A_REVISION)]


@pytest.mark.feature("S02", "S33")
@pytest.mark.parametrize(("seed", "size"), [(2, 300), (3, 2_000)])
async def test_stores_agree(store: Store, seed: int, size: int) -> None:
    """Any history of up to 2,000 edges of every shape, revoked, amended and begun again, loads as it was put in."""
    random = Random(seed)
    edges = any_edges(random, size)
    ended = [[each["edge_id"], 1] for each in edges if each.get("revoked")]
    amended = random.sample([each for each in edges if not each.get("revoked")], k=size // 20)
    again = [Change("edges.end", {"edges": [[each["edge_id"], 1] for each in amended], "cause": "amended"})]
    again += [Change("edge.begin", {**each, "version": 2}) for each in amended]
    ledger, view = await store.open(), View()

    start = [*BASE[1:], *declared(size)]
    realm = [Change("realm.set", {**BASE[0].body, "name": REALM})]
    end = [Change("edges.end", {"edges": ended, "cause": "revoked"})]
    floor = [Change("epoch.set", {"minimum_authority": {"write": 2}})]
    await append(ledger, view, [realm, start, *begun(edges), end, again, floor])
    found = await loaded(ledger)

    assert len(edges) == size
    assert shapes_of(edges) == SHAPES
    assert state_of(found) == state_of(view)
    for question in any_questions(random, edges, 12):
        assert verdict(ask(found, question)) == verdict(ask(view, question))


@pytest.mark.feature("S33")
async def test_a_revocation_falls_the_same_from_every_store(store: Store) -> None:
    """Of 2,000 lawful edges, loaded from the store, the same ones end; and what is left there lies in what it names."""
    random = Random(7)
    made = lawful(random, edges=2_000)
    ledger, view = await store.open(), View()
    people = [Change("principal.put", each.record()) for each in made.principals.values()]
    realm = [Change("realm.set", {**BASE[0].body, "name": REALM})]
    start = [*BASE[1:], Change("epoch.set", {"authority": 1}), *people]
    await append(ledger, view, [realm, start, *begun([each.record() for each in made.edges.values()])])

    for _ in range(2):
        rights = sorted(each for each, below in view.under.items() if len(below) > 1)
        named = [view.edges[random.choice(rights)]]
        here, there = fall(view, named, NOW, SCALES), fall(await loaded(ledger), named, NOW, SCALES)
        assert (here.ended, here.moved) == (there.ended, there.moved)
        del here.ended[named[0].edge_id]
        await append(ledger, view, [[*ends_of(named, "revoked"), *settled(view, here)]])
    left = await loaded(ledger)

    assert state_of(left) == state_of(view)
    assert [each.position for each in delegations(left) if not carried(left, each)] == []
