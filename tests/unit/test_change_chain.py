"""The hash chain over rows: verified from any place, and broken by whatever is done to a row or to its place."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit_graph.errors import ChainBroken
from remit_graph.model.change import GENESIS, Change, Command, Row, link, rows_of, verify_link, verify_rows

NOON = 1_800_000_000_000_000

pytestmark = pytest.mark.feature("S102")


def _chain(revisions: int, changes: int = 2) -> list[Row]:
    rows: list[Row] = []
    for revision in range(1, revisions + 1):
        command = Command(
            action="GRAPH_APPLY",
            actor="human:ada",
            at=NOON + revision,
            changes=tuple(Change("principal.put", {"id": f"human:{revision}-{place}"}) for place in range(changes)),
        )
        rows += rows_of(command, revision=revision, previous=rows[-1].hash if rows else GENESIS)
    return rows


CHAIN = _chain(4)


def test_an_untouched_chain_verifies() -> None:
    """Verification ends with the last hash; of nothing it is the hash before."""
    assert verify_rows(CHAIN, previous=GENESIS, after=0) == CHAIN[-1].hash
    assert verify_rows([], previous=CHAIN[-1].hash, after=4) == CHAIN[-1].hash


@pytest.mark.parametrize("start", [0, 3, 6, 9])
def test_a_chain_verifies_from_any_revision(start: int) -> None:
    """Whoever holds a hash from before goes on from there."""
    previous = CHAIN[start - 1].hash if start else GENESIS

    assert verify_rows(CHAIN[start:], previous=previous) == CHAIN[-1].hash
    assert verify_rows(CHAIN[start:], previous=previous, after=start // 3) == CHAIN[-1].hash


def test_a_break_names_both_sides() -> None:
    """The first row that does not fit is named, with the hash it should have, the one it has, and the one before it."""
    changed = replace(CHAIN[4], body=CHAIN[4].body.replace("human:2-0", "human:2-9"))

    with pytest.raises(ChainBroken, match="revision 2, row 1") as caught:
        verify_rows([*CHAIN[:4], changed, *CHAIN[5:]], previous=GENESIS)

    assert caught.value.facts == {
        "revision": 2,
        "seq": 1,
        "expected": link(CHAIN[3].hash, changed.body),
        "stored": CHAIN[4].hash,
        "previous": CHAIN[3].hash,
    }


def test_one_link_is_verified_alone() -> None:
    """A reader verifies row by row."""
    verify_link(CHAIN[1], previous=CHAIN[0].hash)

    with pytest.raises(ChainBroken, match="revision 1, row 1"):
        verify_link(CHAIN[1], previous=GENESIS)


@given(st.data())
def test_any_flipped_letter_is_found(data: st.DataObject) -> None:
    """Whichever letter of whichever body is another, the chain breaks at that row."""
    number = data.draw(st.integers(0, len(CHAIN) - 1))
    row = CHAIN[number]
    place = data.draw(st.integers(0, len(row.body) - 1))
    other = data.draw(st.characters(codec="utf-8").filter(lambda each: each != row.body[place]))
    flipped = replace(row, body=row.body[:place] + other + row.body[place + 1 :])

    with pytest.raises(ChainBroken) as caught:
        verify_rows([*CHAIN[:number], flipped, *CHAIN[number + 1 :]], previous=GENESIS)

    assert (caught.value.facts["revision"], caught.value.facts["seq"]) == (row.revision, row.seq)


@given(st.permutations(CHAIN))
def test_any_other_order_is_found(rows: list[Row]) -> None:
    """Rows verify in the one order they were written in."""
    if rows != CHAIN:
        with pytest.raises(ChainBroken):
            verify_rows(rows, previous=GENESIS, after=0)


@given(st.sets(st.integers(0, len(CHAIN) - 1), min_size=1))
def test_any_missing_row_before_the_last_is_found(missing: set[int]) -> None:
    """A gap breaks the chain; only rows missing at the end need the head to tell."""
    rows = [row for number, row in enumerate(CHAIN) if number not in missing]

    if rows == CHAIN[: len(rows)]:
        assert verify_rows(rows, previous=GENESIS, after=0) != CHAIN[-1].hash
    else:
        with pytest.raises(ChainBroken):
            verify_rows(rows, previous=GENESIS, after=0)


@pytest.mark.parametrize(
    "place", [(1, 1), (2, 0), (2, 2), (3, 1), (1, 3), (9, 9)], ids=lambda place: f"{place[0]}.{place[1]}"
)
def test_a_row_stands_where_it_says(place: tuple[int, int]) -> None:
    """The hash covers only the body, so the place beside it is compared: rows 2.1 moved anywhere are found."""
    moved = replace(CHAIN[4], revision=place[0], seq=place[1])

    with pytest.raises(ChainBroken):
        verify_rows([*CHAIN[:4], moved, *CHAIN[5:]], previous=GENESIS)


def _chained(*bodies: tuple[int, int, str]) -> list[Row]:
    """Return rows whose hashes fit, whatever they say."""
    rows: list[Row] = []
    for revision, seq, body in bodies:
        digest = link(rows[-1].hash if rows else GENESIS, body)
        rows.append(Row(revision=revision, seq=seq, body=body, hash=digest))
    return rows


@pytest.mark.parametrize(
    "rows",
    [
        _chained((1, 0, '{"revision":1,"seq":0}'), (3, 0, '{"revision":3,"seq":0}')),
        _chained((1, 0, '{"revision":1,"seq":0}'), (1, 2, '{"revision":1,"seq":2}')),
        _chained((1, 0, '{"revision":1,"seq":0}'), (1, 0, '{"revision":1,"seq":0}')),
        _chained((1, 1, '{"revision":1,"seq":1}')),
        _chained((1, 0, "no document")),
        _chained((1, 0, "[]")),
        _chained((1, 0, "{}")),
    ],
    ids=["revision left out", "row left out", "row twice", "no command", "no document", "a list", "without place"],
)
def test_hashes_that_fit_are_not_enough(rows: list[Row]) -> None:
    """Somebody who forges a chain must still forge whole revisions without a gap."""
    with pytest.raises(ChainBroken):
        verify_rows(rows, previous=GENESIS)


def test_the_first_row_follows_the_revision_before() -> None:
    """With the revision before given, a chain that begins later is found though it is unbroken in itself."""
    with pytest.raises(ChainBroken):
        verify_rows(CHAIN[3:], previous=CHAIN[2].hash, after=0)
