"""What every ledger promises of edges: `edge_id` once among current ones, (`edge_id`, `version`) once for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from remit_graph.errors import ConstraintBroken
from tests.contract.ledger_commands import a_command, a_principal, append, edge_begin, edges_end, now

if TYPE_CHECKING:
    from remit_graph.model.change import Change
    from tests.contract.ledgers import Store


@pytest.mark.parametrize(
    ("before", "clash"),
    [
        ([edge_begin("g-1")], [edge_begin("g-1")]),
        ([edge_begin("g-1")], [edge_begin("g-1", 2)]),
        ([edge_begin("g-1"), edges_end(("g-1", 1))], [edge_begin("g-1")]),
        (
            [edge_begin("g-1", 2), edges_end(("g-1", 2)), edge_begin("g-1", 3)],
            [edges_end(("g-1", 3)), edge_begin("g-1", 2)],
        ),
        ([], [edge_begin("g-1"), edge_begin("g-1")]),
        ([edge_begin("g-1", 1)], [edges_end(("g-1", 2)), edge_begin("g-1", 2)]),
    ],
    ids=[
        "the same twice",
        "two current",
        "a version again",
        "an old version again",
        "twice in one",
        "the wrong one ended",
    ],
)
async def test_an_edge_that_clashes_is_refused(store: Store, before: list[Change], clash: list[Change]) -> None:
    """F072: a real clash is told once, with its place in the batch, and the batch leaves nothing."""
    ledger = await store.open()
    if before:
        await append(ledger, *before)
    head = await ledger.head()
    batch = [a_command(at=now(head), request_id="r-1"), a_command(*clash, at=now(head))]

    with pytest.raises(ConstraintBroken) as caught:
        await ledger.append(head, batch)

    assert caught.value.facts["index"] == 1
    assert (await ledger.head()).revision == head.revision
    assert await ledger.result("r-1") is None
    assert await ledger.check() == []


async def test_an_edge_is_amended_in_one_revision(store: Store) -> None:
    """Ending one version and beginning the next go together, and so does the next amendment."""
    ledger = await store.open()

    await append(ledger, edge_begin("g-1"))
    await append(ledger, edges_end(("g-1", 1)), edge_begin("g-1", 2))
    await append(ledger, edges_end(("g-1", 2)), edge_begin("g-1", 3))

    assert (await ledger.head()).revision == 3
    assert await ledger.check() == []


async def test_an_edge_that_ended_may_be_granted_again(store: Store) -> None:
    """F017: a predecessor that ended, in whatever way, stands in nobody's way."""
    ledger = await store.open()
    await append(ledger, edge_begin("g-1"))
    await append(ledger, edges_end(("g-1", 1)))

    entry = await append(ledger, edge_begin("g-1", 2))

    assert entry.revision == 3


async def test_a_clash_passes_when_it_is_alone_no_more(store: Store) -> None:
    """What was refused leaves no trace: the same edge goes in once its predecessor has ended."""
    ledger = await store.open()
    await append(ledger, edge_begin("g-1"))
    with pytest.raises(ConstraintBroken):
        await append(ledger, edge_begin("g-1", 2))

    await append(ledger, edges_end(("g-1", 1)), edge_begin("g-1", 2))

    assert (await ledger.head()).revision == 2


async def test_many_edges_end_in_one_revision(store: Store) -> None:
    """F040: a revocation of 1,001 edges is one append, also where its list takes several rows."""
    ledger = await store.open()
    edges = [(f"g-{number}", 1) for number in range(1_001)]
    await append(ledger, *(edge_begin(edge_id) for edge_id, _ in edges))

    await append(ledger, edges_end(*edges[:600]), edges_end(*edges[600:]), a_principal("human:ada"))
    entry = await append(ledger, *(edge_begin(edge_id, 2) for edge_id, _ in edges))

    assert (entry.revision, len(entry.changes)) == (3, 1_001)


async def test_ending_what_is_not_current_is_no_clash(store: Store) -> None:
    """The ledger checks no law: an end of something unknown is kept as it was given, and stops no revocation."""
    ledger = await store.open()
    await append(ledger, edge_begin("g-1"))

    await append(ledger, edges_end(("g-2", 1), ("g-1", 1)))
    await append(ledger, edges_end(("g-1", 1)))

    assert (await ledger.head()).revision == 3
    assert await ledger.check() == []


@pytest.mark.parametrize(
    "edge_ids",
    [
        ["g-Foo", "g-foo", "g-FOO"],
        ["g-gr\u00fcn", "g-gru\u0308n"],
        ["g-a", "g-\u0430"],
        ["g_1", "g%1", "gx1", "g*1", "g?1"],
        ["g-1", "g-1 ", " g-1", "g-01"],
        ["g'1", 'g"1', "g`1", "g\\1", "g$1", "g{1}"],
    ],
    ids=["case", "unicode form", "alike", "wildcards", "blanks", "quotes"],
)
async def test_ids_are_compared_exactly(store: Store, edge_ids: list[str]) -> None:
    """F037, F038, F039: whatever differs in one character is another edge, and ending one leaves the others."""
    ledger = await store.open()
    await append(ledger, *map(edge_begin, edge_ids))

    await append(ledger, edges_end((edge_ids[0], 1)))

    await append(ledger, edge_begin(edge_ids[0], 2))
    for edge_id in edge_ids[1:]:
        with pytest.raises(ConstraintBroken):
            await append(ledger, edge_begin(edge_id, 2))
    assert await ledger.check() == []
