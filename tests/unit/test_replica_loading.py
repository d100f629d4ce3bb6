"""Loading: from the newest checkpoint that counts, and from the first row where none does."""

from __future__ import annotations

import hashlib
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.errors import LedgerError, LedgerUnavailable
from remit_graph.model.change import Change, Command
from remit_graph.sqlite.ledger import SqliteLedger
from remit_graph.stored import Checkpoint
from remit_graph.view.image import pack
from remit_service.clock import SystemClock
from remit_service.decision.request import RequestError
from remit_service.keeping.checkpoints import keep_checkpoint
from remit_service.replica.history import view_as_of, view_at_revision
from remit_service.replica.loading import anchor_of, load_view
from remit_service.replica.replica import Replica
from remit_service.writer.command import Accepted, Submission
from remit_service.writer.writer import Writer
from tests.support.view_state import state_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from remit_graph.model.change import Entry
    from remit_service.keeping.checkpoints import Kept


class Desk:
    """A replica with its writer on one embedded ledger."""

    def __init__(self, path: Path, ledger: SqliteLedger) -> None:
        self.path = path
        self.ledger = ledger
        self.replica = Replica(ledger, SystemClock())
        self.writer = Writer(ledger, self.replica, SystemClock())

    async def put(self, *names: str) -> None:
        """Declare principals, a revision each."""
        for name in names:
            await self.change(Change("principal.put", {"id": name}))

    async def change(self, *changes: Change) -> None:
        """Append changes as they are."""
        verdict = Accepted(changes=changes, result={})
        await self.writer.submit(Submission(action="TEST", actor="system", decide=lambda _view, _at: verdict))

    async def keep(self) -> Kept:
        """Make a checkpoint."""
        return await keep_checkpoint(self.replica, self.writer.submit)

    async def loaded(self) -> tuple[Replica, list[int]]:
        """Load another replica; return it and the revisions after which it read the ledger."""
        ledger = await SqliteLedger.open(self.path)
        read: list[int] = []
        reading = ledger.read

        async def noted(after: int, limit: int) -> Sequence[Entry]:
            read.append(after)
            return await reading(after, limit)

        ledger.read = noted  # type: ignore[method-assign]
        replica = Replica(ledger, SystemClock())
        try:
            await replica.load()
        finally:
            await ledger.aclose()
        return replica, read


@asynccontextmanager
async def a_desk(path: Path) -> AsyncIterator[Desk]:
    """Open a desk on a new ledger."""
    desk = Desk(path, await SqliteLedger.init(path, "acme"))
    await desk.replica.start()
    await desk.writer.start()
    try:
        yield desk
    finally:
        await desk.writer.aclose()
        await desk.replica.aclose()
        await desk.ledger.aclose()


async def test_a_load_begins_with_the_newest_checkpoint(tmp_path: Path) -> None:
    """Nothing before it is read again, and the view is the one that reading everything gives."""
    async with a_desk(tmp_path / "l.db") as desk:
        await desk.put("role:a", "role:b")
        await desk.keep()
        await desk.put("role:c")
        replica, read = await desk.loaded()

        assert min(read) == 2
        assert replica.rows_replayed == 4
        assert state_of(replica.view) == state_of(desk.replica.view)
        assert await desk.ledger.check() == []


async def test_a_checkpoint_says_what_was_made(tmp_path: Path) -> None:
    """It is of the revision it was begun at, and its anchor is the revision after."""
    async with a_desk(tmp_path / "l.db") as desk:
        await desk.put("role:a")
        image = pack(desk.replica.view)
        kept = await desk.keep()

        assert (kept.revision, kept.anchored_at, kept.edges) == (1, 2, 0)
        assert (kept.size, kept.digest) == (len(image), hashlib.sha256(image).hexdigest())


def forged(of: Checkpoint, blob: bytes) -> Checkpoint:
    """Return a checkpoint of the same revision that says something else."""
    return replace(of, blob=blob, digest=hashlib.sha256(blob).hexdigest())


async def test_a_checkpoint_that_no_anchor_names_is_passed_over(tmp_path: Path) -> None:
    """Whoever writes an image past the ledger gets no authority by it."""
    async with a_desk(tmp_path / "l.db") as desk, a_desk(tmp_path / "other.db") as other:
        await desk.put("role:a")
        await desk.keep()
        await desk.put("role:b")
        await other.put("human:intruder")
        genuine = await desk.ledger.checkpoint()
        assert genuine is not None
        await desk.ledger.save_checkpoint(forged(genuine, pack(other.replica.view)))
        replica, read = await desk.loaded()

        assert 0 in read
        assert sorted(replica.view.principals) == ["role:a", "role:b"]


async def test_an_anchored_image_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    """A later program may write another form; this one then reads every row."""
    async with a_desk(tmp_path / "l.db") as desk:
        await desk.put("role:a")
        blob = b"a form of the future"
        head = await desk.ledger.head()
        checkpoint = Checkpoint(
            revision=head.revision, hash=head.hash, digest=hashlib.sha256(blob).hexdigest(), blob=blob
        )
        await desk.change(Change("anchor", anchor_of(checkpoint)))
        await desk.ledger.save_checkpoint(checkpoint)
        replica, read = await desk.loaded()

        assert read == [1, 0]
        assert sorted(replica.view.principals) == ["role:a"]


async def test_a_process_that_ended_before_it_kept_the_image_harms_nobody(tmp_path: Path) -> None:
    """Its anchor names an image that is nowhere; the checkpoint before it counts."""
    async with a_desk(tmp_path / "l.db") as desk:
        await desk.put("role:a")
        await desk.keep()
        await desk.put("role:b")
        blob = pack(desk.replica.view)
        lost = Checkpoint(revision=3, hash=desk.replica.view.hash, digest=hashlib.sha256(blob).hexdigest(), blob=blob)
        await desk.change(Change("anchor", anchor_of(lost)))
        replica, read = await desk.loaded()

        assert min(read) == 1
        assert sorted(replica.view.principals) == ["role:a", "role:b"]


@pytest.mark.feature("S83")
async def test_a_load_that_fails_is_no_load(tmp_path: Path) -> None:
    """A read that fails leaves the replica empty and not loaded, and is counted (F013)."""
    async with a_desk(tmp_path / "l.db") as desk:
        await desk.put("role:a")
        replica = Replica(desk.ledger, SystemClock())

        async def fail(*_: Any) -> Any:
            raise LedgerUnavailable("the disk is gone")

        reading = desk.ledger.read
        desk.ledger.read = fail  # type: ignore[method-assign, assignment]
        for _ in range(3):
            with pytest.raises(LedgerUnavailable):
                await replica.load()
        assert (replica.is_loaded, replica.load_failures, replica.view.revision) == (False, 3, 0)

        desk.ledger.read = reading  # type: ignore[method-assign]
        await replica.load()
        assert (replica.is_loaded, replica.load_failures, replica.view.revision) == (True, 3, 1)


async def test_a_ledger_that_ends_before_its_head_is_an_error(tmp_path: Path) -> None:
    """It is never waited for, and never taken for the whole."""
    async with a_desk(tmp_path / "l.db") as desk:
        await desk.put("role:a")
        head = replace(await desk.ledger.head(), revision=5)
        with pytest.raises(LedgerUnavailable, match="ends at revision 1"):
            await load_view(desk.ledger, head)


async def test_a_row_that_cannot_be_applied_stops_the_load(tmp_path: Path) -> None:
    """What got into the log past the model is named and not passed over."""
    async with a_desk(tmp_path / "l.db") as desk:
        head = await desk.ledger.head()
        await append_raw(desk.ledger, Change("principal.put", {"id": "ghost:a"}))
        assert head.revision == 0
        with pytest.raises(LedgerError, match="revision 1 cannot be applied"):
            await Replica(desk.ledger, SystemClock()).load()


async def append_raw(ledger: SqliteLedger, *changes: Change) -> None:
    """Append without deciding on any view."""
    head = await ledger.head()
    await ledger.append(head, [Command(action="RAW", actor="system", at=head.now, changes=changes)])


async def test_the_past_is_read_from_a_checkpoint_too(tmp_path: Path) -> None:
    """A revision or an instant after a checkpoint begins with it, one before begins with nothing."""
    async with a_desk(tmp_path / "l.db") as desk:
        await desk.put("role:a", "role:b")
        await desk.keep()
        await desk.put("role:c", "role:d")
        ledger, newest = desk.ledger, desk.replica.view
        instants = [entry.at for entry in await ledger.read(0, 10)]

        for revision in range(1, 6):
            assert (await view_at_revision(ledger, newest, revision)).revision == revision
        for number, instant in enumerate(instants, start=1):
            if instants.count(instant) == 1:
                assert (await view_as_of(ledger, newest, instant, instants[-1])).revision == number
        with pytest.raises(RequestError, match="lies ahead"):
            await view_as_of(ledger, newest, instants[-1] + 1, instants[-1])
        with pytest.raises(RequestError, match="nothing was known"):
            await view_as_of(ledger, newest, instants[0] - 1, instants[-1])
        with pytest.raises(RequestError, match="not between 1 and 5"):
            await view_at_revision(ledger, newest, 6)
