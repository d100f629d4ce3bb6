"""What every ledger promises of checkpoints: the newest whole one, of this very log."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING

import pytest

from remit_graph.errors import ChainBroken, ModelError
from remit_graph.stored import Checkpoint
from tests.contract.ledger_commands import a_principal, append, append_racing

if TYPE_CHECKING:
    from remit_graph.model.change import Entry
    from tests.contract.ledgers import Store

LARGE = bytes(range(256)) * 20_000
"""5 MB: more than one part, transaction or message holds."""


def _checkpoint(entry: Entry, blob: bytes) -> Checkpoint:
    return Checkpoint(revision=entry.revision, hash=entry.hash, digest=hashlib.sha256(blob).hexdigest(), blob=blob)


async def test_a_new_ledger_has_no_checkpoint(store: Store) -> None:
    """Without one the state is built from the first revision on."""
    assert await (await store.open()).checkpoint() is None


@pytest.mark.parametrize("blob", [b"", b"\x00state", LARGE], ids=["empty", "small", "large"])
async def test_a_checkpoint_comes_back_whole(store: Store, blob: bytes) -> None:
    """What was saved is there byte by byte, also for a ledger that is opened later."""
    ledger = await store.open()
    saved = _checkpoint(await append(ledger), blob)

    await ledger.save_checkpoint(saved)

    assert await ledger.checkpoint() == saved
    assert await (await store.open()).checkpoint() == saved
    assert await ledger.check() == []


async def test_the_newest_checkpoint_counts(store: Store) -> None:
    """The one of the highest revision is given, in whatever order they were saved."""
    ledger = await store.open()
    made = [_checkpoint(await append(ledger), b"%d" % number) for number in range(4)]

    for number in (0, 1, 3, 2):
        await ledger.save_checkpoint(made[number])

    assert await ledger.checkpoint() == made[3]
    assert await ledger.check() == []


async def test_a_checkpoint_may_be_saved_again(store: Store) -> None:
    """Two who make the image of one revision do not disturb each other, be their images equal or not."""
    ledger, other = await store.open(), await store.open()
    entry = await append(ledger)
    await ledger.save_checkpoint(_checkpoint(entry, b"one"))

    await other.save_checkpoint(_checkpoint(entry, b"one"))
    await other.save_checkpoint(_checkpoint(entry, b"two"))

    assert await ledger.checkpoint() == _checkpoint(entry, b"two")
    assert await ledger.check() == []


async def test_a_checkpoint_of_another_log_is_refused(store: Store) -> None:
    """An image counts only with the hash that the log has at its revision."""
    ledger = await store.open()
    entry = await append(ledger)
    foreign = Checkpoint(revision=1, hash="f" * 64, digest=hashlib.sha256(b"x").hexdigest(), blob=b"x")
    ahead = Checkpoint(revision=2, hash=entry.hash, digest=foreign.digest, blob=b"x")

    for each in (foreign, ahead):
        with pytest.raises(ChainBroken):
            await ledger.save_checkpoint(each)

    assert await ledger.checkpoint() is None


async def test_a_checkpoint_with_a_wrong_digest_is_refused(store: Store) -> None:
    """The digest is the one that stands in the chain, so it has to be the image's."""
    ledger = await store.open()
    entry = await append(ledger)

    with pytest.raises(ModelError):
        await ledger.save_checkpoint(Checkpoint(revision=1, hash=entry.hash, digest="0" * 64, blob=b"x"))

    assert await ledger.checkpoint() is None


async def test_appends_go_on_while_a_checkpoint_is_saved(store: Store) -> None:
    """A large image keeps nobody from appending, and the image is of its own revision all the same."""
    ledger, writer = await store.open(), await store.open()
    saved = _checkpoint(await append(ledger, a_principal("human:ada")), LARGE)
    saving = asyncio.create_task(ledger.save_checkpoint(saved))

    for number in range(10):
        await append_racing(writer, f"r-{number}")

    await saving
    assert await ledger.checkpoint() == saved
    assert (await ledger.head()).revision == 11
