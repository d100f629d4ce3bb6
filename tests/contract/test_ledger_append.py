"""What every ledger promises of an append: all of the batch in its place, or nothing at all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from remit_graph.errors import ForeignStore, HeadMoved, LedgerUnavailable, ModelError, SchemaTooNew
from remit_graph.model.change import GENESIS, SCHEMA, Change, Row, entry_of, link
from tests.contract.ledger_commands import a_command, a_principal, append, everything, now, rows_of
from tests.contract.ledgers import REALM

if TYPE_CHECKING:
    from remit_graph.head import Head
    from remit_graph.ports import Ledger
    from tests.contract.ledgers import Store

SECOND = 1_000_000
HOUR = 3_600 * SECOND


async def test_a_new_ledger_is_empty(store: Store) -> None:
    """A new store has an identity, stands at revision 0 and has nothing to read."""
    ledger = await store.open()

    head = await ledger.head()

    assert (head.realm, head.incarnation, head.revision, head.hash) == (REALM, 1, 0, GENESIS)
    assert (head.at, head.schema) == (0, SCHEMA)
    assert len(head.store_id) >= 16
    assert await ledger.read(0, 10) == []
    assert await rows_of(ledger) == []
    assert await ledger.check() == []


async def test_a_batch_becomes_consecutive_revisions(store: Store) -> None:
    """Each command of a batch is one revision, chained to the one before and read back as it was returned."""
    ledger = await store.open()
    head = await ledger.head()
    batch = [a_command(a_principal(f"human:{name}"), at=now(head), reason=name) for name in ("ada", "bob", "cyd")]

    entries = await ledger.append(head, batch)

    assert [entry.revision for entry in entries] == [1, 2, 3]
    assert [entry.reason for entry in entries] == ["ada", "bob", "cyd"]
    assert [entry.changes for entry in entries] == [command.changes for command in batch]
    assert {(entry.action, entry.actor, entry.at) for entry in entries} == {("GRAPH_APPLY", "human:ada", now(head))}
    assert await ledger.read(0, 10) == entries
    after = await ledger.head()
    assert (after.revision, after.hash, after.at) == (3, entries[2].hash, now(head))


async def test_rows_carry_the_chain(store: Store) -> None:
    """Each row's hash runs over the one before it and the row's own bytes, from the genesis on."""
    ledger = await store.open()
    await append(ledger, a_principal("human:ada"), a_principal("human:bob"))
    await append(ledger, a_principal("human:cyd"))

    rows = await rows_of(ledger)

    assert [(row.revision, row.seq) for row in rows] == [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1)]
    previous = GENESIS
    for row in rows:
        assert row.hash == link(previous, row.body)
        previous = row.hash
    assert previous == (await ledger.head()).hash


async def test_an_empty_batch_appends_nothing(store: Store) -> None:
    """Nothing to append is no error and no revision."""
    ledger = await store.open()

    assert await ledger.append(await ledger.head(), []) == []
    assert (await ledger.head()).revision == 0


async def test_a_command_may_change_nothing(store: Store) -> None:
    """A recorded refusal is a revision of its command alone."""
    ledger = await store.open()
    head = await ledger.head()

    entries = await ledger.append(head, [replace(a_command(at=now(head)), changes=())])

    assert [entry.changes for entry in entries] == [()]
    assert len(await rows_of(ledger)) == 1


@pytest.mark.feature("S83")
async def test_an_append_at_an_old_head_appends_nothing(store: Store) -> None:
    """The comparison with the head is part of the append: who decided on an older one is told and changes nothing."""
    ledger = await store.open()
    old = await ledger.head()
    await append(ledger)
    before = await ledger.head()

    with pytest.raises(HeadMoved):
        await ledger.append(old, [a_command(at=now(old), request_id="r-1")])

    after = await ledger.head()
    assert (after.revision, after.hash) == (before.revision, before.hash)
    assert await ledger.result("r-1") is None


@pytest.mark.parametrize(
    "change",
    [{"store_id": "0" * 32}, {"incarnation": 2}, {"revision": 7}, {"hash": "f" * 64}],
    ids=["another store", "another incarnation", "a revision it lost", "another history"],
)
async def test_an_append_decided_on_another_history_is_refused(store: Store, change: dict[str, object]) -> None:
    """A head of another store, of before a restore, or of revisions that this store lost is foreign, not merely old."""
    ledger = await store.open()
    await append(ledger)
    head: Head = replace(await ledger.head(), **change)  # type: ignore[arg-type] # each value has its member's type

    with pytest.raises(ForeignStore):
        await ledger.append(head, [a_command(at=now(head))])

    assert (await ledger.head()).revision == 1


async def test_an_at_that_goes_back_is_refused(store: Store) -> None:
    """`at` never goes back, neither behind the last revision nor within a batch; an equal one is accepted."""
    ledger = await store.open()
    at = (await append(ledger)).at
    head = await ledger.head()

    with pytest.raises(ModelError) as behind:
        await ledger.append(head, [a_command(at=at - 1)])
    with pytest.raises(ModelError) as within:
        await ledger.append(head, [a_command(at=at + 1), a_command(at=at)])
    entries = await ledger.append(head, [a_command(at=at)])

    assert (behind.value.facts["index"], within.value.facts["index"]) == (0, 1)
    assert [(entry.revision, entry.at) for entry in entries] == [(2, at)]


async def test_an_at_far_ahead_of_the_stores_clock_is_refused(store: Store) -> None:
    """No writer with a fast clock drags the others forward: what is beyond the allowed skew appends nothing."""
    ledger = await store.open()
    head = await ledger.head()

    with pytest.raises(ModelError) as caught:
        await ledger.append(head, [a_command(at=now(head)), a_command(at=now(head) + HOUR)])

    assert caught.value.facts["index"] == 1
    assert (await ledger.head()).revision == 0
    assert [entry.at for entry in await ledger.append(head, [a_command(at=now(head) + SECOND)])] == [now(head) + SECOND]


@pytest.mark.parametrize(
    "value",
    [1.5, float("nan"), "\ud800", {1: "a"}, {"a": {2.5}}, object()],
    ids=["float", "nan", "surrogate", "number as key", "set", "object"],
)
async def test_a_body_without_a_canonical_form_is_refused(store: Store, value: object) -> None:
    """What has no one spelling is told with its command, and the others of the batch are not appended either."""
    ledger = await store.open()
    head = await ledger.head()
    bad = a_command(Change("principal.put", {"id": "human:ada", "attributes": value}), at=now(head))

    with pytest.raises(ModelError) as caught:
        await ledger.append(head, [a_command(at=now(head)), bad])

    assert caught.value.facts["index"] == 1
    assert (await ledger.head()).revision == 0


async def test_a_command_of_a_thousand_changes_is_one_revision(store: Store) -> None:
    """F040: a thousand changes are one append and one revision, in their order; so are a thousand and one."""
    ledger = await store.open()
    names = [f"human:{number}" for number in range(2_001)]

    await append(ledger, *map(a_principal, names[:1_000]))
    await append(ledger, *map(a_principal, names[1_000:]))

    entries = await everything(ledger)
    assert [len(entry.changes) for entry in entries] == [1_000, 1_001]
    assert [change.body["id"] for entry in entries for change in entry.changes] == names


@pytest.mark.parametrize(
    "text",
    [
        "wp:page:grün",
        "wp:page:gru\u0308n",
        "t_1",
        "t%1",
        "a'b\"c`d\\e",
        "$id {x} //-- ;",
        "日本 🔑",
        "line\nbreak\ttab",
        "",
    ],
)
async def test_text_comes_back_as_it_was_given(store: Store, text: str) -> None:
    """F038, F039: no form of Unicode is changed and no character acts, neither as a value nor as a key."""
    ledger = await store.open()

    entry = await append(ledger, Change("principal.put", {"id": text, "attributes": {text: [text]}}))

    assert entry.changes[0].body == {"id": text, "attributes": {text: [text]}}
    assert await ledger.read(0, 1) == [entry]
    assert await ledger.check() == []


async def test_large_numbers_come_back_exact(store: Store) -> None:
    """Instants, tokens and everything up to 2^53 stay whole."""
    ledger = await store.open()
    numbers = [2**53, -(2**53), 1_800_000_000_000_000, 0]

    entry = await append(ledger, Change("principal.put", {"id": "human:ada", "attributes": numbers}))

    assert [type(each) for each in entry.changes[0].body["attributes"]] == [int] * 4
    assert (await ledger.read(0, 1))[0].changes[0].body["attributes"] == numbers


@pytest.mark.parametrize("first", ["a", "b"])
async def test_changes_keep_the_order_they_were_given_in(store: Store, first: str) -> None:
    """The log has no order of its own: it neither sorts nor merges what a command changes."""
    ledger = await store.open()
    second = "ab".replace(first, "")
    changes = [a_principal(f"human:{first}"), a_principal(f"human:{second}"), a_principal(f"human:{first}")]

    await append(ledger, *changes)

    assert (await ledger.read(0, 1))[0].changes == tuple(changes)


async def test_nothing_is_appended_to_a_store_of_a_later_schema(store: Store) -> None:
    """A store that was switched to later rows takes none of an earlier program."""
    ledger = await store.open()
    await store.overwrite([], {"schema": SCHEMA + 1})
    head = await ledger.head()

    with pytest.raises(SchemaTooNew) as caught:
        await ledger.append(head, [a_command(at=now(head))])

    assert caught.value.facts["schema"] == SCHEMA + 1


async def test_a_closed_ledger_says_so(store: Store) -> None:
    """After `aclose` nothing is read or written, and the error says that the ledger is closed."""
    ledger = await store.open()
    head = await ledger.head()
    await ledger.aclose()

    with pytest.raises(LedgerUnavailable, match="closed"):
        await ledger.head()
    with pytest.raises(LedgerUnavailable, match="closed"):
        await ledger.append(head, [a_command(at=now(head))])


async def test_what_is_appended_is_what_a_reader_would_read(store: Store) -> None:
    """The writer gets its entries as the store has them: lists for tuples, nothing shared with what it passed in."""
    ledger = await store.open()
    body = {"id": "human:ada", "attributes": ("a", "b")}

    entry = await append(ledger, Change("principal.put", body))

    body["id"] = "human:eve"
    assert entry.changes[0].body == {"id": "human:ada", "attributes": ["a", "b"]}
    assert entry == entry_of(await _rows(ledger, 1))


async def _rows(ledger: Ledger, revision: int) -> list[Row]:
    return [row for row in await rows_of(ledger) if row.revision == revision]
