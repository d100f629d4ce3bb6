"""What every ledger promises of request ids: answered once, in the transaction of the command, for ever the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from remit_graph.errors import RequestReused
from remit_graph.stored import StoredResult
from tests.contract.ledger_commands import a_command, append, edge_begin, now

if TYPE_CHECKING:
    from tests.contract.ledgers import Store


@pytest.mark.feature("S85")
async def test_a_result_is_kept_with_its_request(store: Store) -> None:
    """The answer to a request id is there with its fingerprint and revision, for this ledger and the next."""
    ledger = await store.open()
    head = await ledger.head()
    command = a_command(at=now(head), request_id="r-1", fingerprint="f-1", result='{"lease_id":"l-1"}')

    await ledger.append(head, [a_command(at=now(head)), command])

    kept = StoredResult(request_id="r-1", fingerprint="f-1", revision=2, result='{"lease_id":"l-1"}')
    assert await ledger.result("r-1") == kept
    assert await (await store.open()).result("r-1") == kept
    assert (await ledger.read(1, 1))[0].request_id == "r-1"


async def test_an_unknown_request_has_no_result(store: Store) -> None:
    """What never was appended has no answer, and ids are compared exactly."""
    ledger = await store.open()
    await append(ledger, request_id="Request")

    assert [await ledger.result(each) for each in ("request", "Request ", "R%", "")] == [None] * 4


async def test_a_request_without_result_is_answered_null(store: Store) -> None:
    """A command with a request id and no result of its own leaves an answer all the same."""
    ledger = await store.open()

    await append(ledger, request_id="r-1")

    assert await ledger.result("r-1") == StoredResult(request_id="r-1", fingerprint=None, revision=1, result="null")


@pytest.mark.feature("S85")
@pytest.mark.parametrize("fingerprint", ["f-1", "f-2", None])
async def test_a_request_is_appended_once(store: Store, fingerprint: str | None) -> None:
    """A repeat appends nothing, whatever its body; the stored answer tells the caller which of the two it was."""
    ledger = await store.open()
    head = await ledger.head()
    await ledger.append(head, [a_command(at=now(head), request_id="r-1", fingerprint="f-1", result="1")])
    head = await ledger.head()
    repeat = a_command(at=now(head), request_id="r-1", fingerprint=fingerprint, result="2")

    with pytest.raises(RequestReused) as caught:
        await ledger.append(head, [a_command(at=now(head), request_id="r-2"), repeat])

    assert caught.value.facts == {"request_id": "r-1", "index": 1}
    assert (await ledger.head()).revision == 1
    assert await ledger.result("r-2") is None
    assert await ledger.result("r-1") == StoredResult(request_id="r-1", fingerprint="f-1", revision=1, result="1")


async def test_a_request_stands_once_in_a_batch(store: Store) -> None:
    """Two commands of one batch with one request id are refused with the second of them."""
    ledger = await store.open()
    head = await ledger.head()

    with pytest.raises(RequestReused) as caught:
        await ledger.append(head, [a_command(at=now(head), request_id="r-1") for _ in range(2)])

    assert caught.value.facts == {"request_id": "r-1", "index": 1}
    assert (await ledger.head()).revision == 0
    assert await ledger.result("r-1") is None


async def test_a_refused_batch_leaves_no_answers(store: Store) -> None:
    """F027: the answer is there exactly if the command is; a batch that failed later may be sent again."""
    ledger = await store.open()
    await append(ledger, edge_begin("g-1"))
    head = await ledger.head()
    good = a_command(at=now(head), request_id="r-1", result="1")

    with pytest.raises(Exception, match="g-1"):
        await ledger.append(head, [good, a_command(edge_begin("g-1"), at=now(head), request_id="r-2")])
    assert [await ledger.result("r-1"), await ledger.result("r-2")] == [None, None]
    await ledger.append(head, [good])

    assert await ledger.result("r-1") == StoredResult(request_id="r-1", fingerprint=None, revision=2, result="1")
