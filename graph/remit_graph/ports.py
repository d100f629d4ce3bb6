"""The ledger: the one totally ordered, hash-chained log, and the only way to change anything.

What every ledger promises (one contract suite runs over all of them, `tests/contract`):

- **append** is one transaction with compare-and-set on the head: all commands of a batch become consecutive
  revisions, or nothing changes; a result is stored with its request id in the same transaction;
- **durable**: what was acknowledged survives kill -9 and loss of power;
- **ordered**: `at` never goes back, revisions have no gap, and no reader sees part of a revision;
- **chained**: each row carries the hash over the row before and its own bytes;
- **cut only where the chain says so**: history goes at an anchored base alone (`history`), and is missed aloud;
- **fair**: whoever lost an append may take the turn, and appends alone until it has appended once (rules.md 11).

What it does not do: check the laws of the model. It appends what it is given (rules.md 11).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from datetime import timedelta

    from remit_graph.head import Head
    from remit_graph.history import Base, Retention, Swept, Weight
    from remit_graph.model.change import Command, Entry, Row
    from remit_graph.sharing import Seen, Turn
    from remit_graph.stored import Checkpoint, Remains, Stored, StoredResult


class Ledger(Protocol):
    """A store of revisions; see the module for what it promises."""

    async def head(self) -> Head:
        """Return where the ledger stands now.

        Raises:
            LedgerUnavailable, ForeignStore.
        """
        ...

    async def append(self, expected: Head, batch: Sequence[Command]) -> Sequence[Entry]:
        """Append `batch` as the revisions after `expected.revision`, in one transaction.

        Returns:
            The entries as stored.

        Raises:
            HeadMoved: another writer was first; nothing was appended. Told before anything about the batch itself.
            TurnTaken: (a `HeadMoved`) another ledger has the turn; `facts` hold `until` and `now`.
            ForeignStore: `expected` is of another store or incarnation, or of a history that this store lost.
            RequestReused: a request id is stored already or stands twice in the batch, with whatever fingerprint;
                `facts` hold `request_id` and `index` of the command; nothing was appended.
            ConstraintBroken: an edge version was made before, or another version of the edge is current; `facts` hold
                `index` of the command; nothing was appended.
            OutcomeUnknown: ask `result` for the request ids, or `head`.
            LedgerUnavailable: nothing was appended.
            ModelError: an `at` goes back, or is further ahead of the store's clock than its bound, or a body has no
                canonical form; `facts` hold `index` of the command.
            SchemaTooNew: the store takes rows of a later schema.
        """
        ...

    async def take_turn(self) -> Turn:
        """Take the turn where nobody has it, or line up for the next one; asking again keeps the place in the line.

        A turn is one append: whoever made it hands the turn on to the first that lined up, and lines up again behind
        the others. A turn lapses after the last sign of life, which is asking for it again: `TURN` after it, or later
        where appends take long. Whoever let its own lapse is behind those that wait too.

        Raises:
            LedgerUnavailable, ForeignStore.
        """
        ...

    async def see_turn(self) -> Turn:
        """Look whose turn it is, without asking for it; a read that waits for no append.

        Raises:
            LedgerUnavailable, ForeignStore.
        """
        ...

    async def pass_turn(self) -> None:
        """Give up the turn, or the place in the line, where there is nothing to append after all.

        Raises:
            LedgerUnavailable, ForeignStore.
        """
        ...

    async def read(self, after: int, limit: int) -> Sequence[Entry]:
        """Return up to `limit` whole revisions after `after`, in order; nothing only if there is none.

        Fewer come back where revisions are large, and where the next one is of a later schema.

        Raises:
            HistoryRemoved: revisions after `after` were removed; `facts` hold `base`.
            SchemaTooNew: the very next revision is of a later schema; `facts` hold `schema` and `revision`.
            ChainBroken: a revision is missing, is not whole, or does not follow the one before it by its hashes;
                `facts` hold `revision`. So nothing is read that was written past the ledger.
        """
        ...

    async def watch(self, after: int, within: timedelta, *, known: Callable[[], int] | None = None) -> Sequence[Entry]:
        """Wait until revisions after `after` exist and return some as `read` does, or nothing when `within` is over.

        Args:
            after: The last revision that the caller has.
            within: The longest wait.
            known: Says which revision the caller has by now, where it gets some elsewhere, as from its own appends:
                those are not read, and do not end the wait.
        """
        ...

    def rows(self, after: int | None = None) -> AsyncIterator[Row]:
        """Stream raw rows after revision `after` up to the present head, for verification, export and backup.

        Without `after` all that there are: from the base on.

        Raises:
            HistoryRemoved: revisions after `after` were removed, or are while this goes on.
        """
        ...

    async def result(self, request_id: str) -> StoredResult | None:
        """Return what a request id was answered with (`null` without a result), or None if never appended."""
        ...

    async def receipt(self, receipt_id: str) -> Entry | None:
        """Return the newest revision that wrote a receipt of this id, verified as `read` does; None if there is none.

        Receipts are asked for long after they left the view, which keeps the latest of them alone.

        Raises:
            HistoryRemoved: it was written, and removed with the history of then.
        """
        ...

    async def results(self, request_ids: Sequence[str]) -> Sequence[StoredResult]:
        """Return what those of `request_ids` were answered with that were appended, in no order."""
        ...

    async def put_back(self, expected: Head, revisions: Sequence[Stored]) -> Head:
        """Append `revisions` to an unfinished ledger as they stand, byte for byte, in one transaction.

        Returns:
            The head after it.

        Raises:
            ChainBroken: they do not follow `expected` by their hashes; nothing was appended.
            HeadMoved, ForeignStore, LedgerUnavailable, ModelError: as `append`.
        """
        ...

    async def finish(self, expected: Head) -> Head:
        """Let an unfinished ledger be used.

        Raises:
            HeadMoved, ForeignStore: it does not stand at `expected`.
        """
        ...

    async def materialised(self) -> None:
        """Return when what is brought along after a commit is there for all that was appended before this call."""
        ...

    async def move_away(self, to: str) -> Head:
        """Close the ledger for writing, for good: it goes on at `to`. Done again for the same place, nothing changes.

        Raises:
            ForeignStore: it went elsewhere already.
        """
        ...

    async def enable_schema(self, schema: int, version: str) -> Head:
        """Let rows be written in `schema` from here on, if that is a later one; `version` is who knows it."""
        ...

    async def announce(self, name: str, version: str, schema: int) -> None:
        """Say that a decision point of this name uses the ledger; what was not seen for an hour is forgotten."""
        ...

    async def depart(self, name: str) -> None:
        """Forget a decision point that stops."""
        ...

    async def seen(self, within: timedelta) -> Sequence[Seen]:
        """Return the decision points that were seen lately, by name."""
        ...

    async def checkpoint(self) -> Checkpoint | None:
        """Return the newest checkpoint, or None."""
        ...

    async def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint; an older one may be dropped.

        The row that anchors its digest in the chain is appended by the caller.

        Raises:
            ModelError: the digest is not the blob's, or history begins there or later.
            ChainBroken: the log does not have that hash at that revision.
        """
        ...

    async def base(self) -> Base:
        """Return where history begins."""
        ...

    async def base_checkpoint(self) -> Checkpoint | None:
        """Return the image of the state at the base; None where history is whole.

        Raises:
            ChainBroken: it is missing or damaged, so that the ledger has no beginning any more.
        """
        ...

    def remains(self) -> AsyncIterator[Remains]:
        """Stream what is left of removed revisions beside their image: answers, and which receipts were written."""
        ...

    async def begin_at(self, expected: Head, base: Base, checkpoint: Checkpoint) -> Head:
        """Let an unfinished ledger that is empty begin at the base of another one.

        Raises:
            ModelError: the image is not that of the base.
            HeadMoved, ForeignStore, LedgerUnavailable: as `append`.
        """
        ...

    async def put_remains(self, expected: Head, remains: Sequence[Remains]) -> None:
        """Put what was left of the revisions up to the base into an unfinished ledger that begins there.

        Raises:
            HeadMoved, ForeignStore, LedgerUnavailable: as `append`.
        """
        ...

    async def weigh(self, revision: int) -> Weight:
        """Return what a cut at `revision` would take out."""
        ...

    async def cut(self, checkpoint: Checkpoint, anchored_at: int) -> Base:
        """Let history begin at a checkpoint; the rows up to it can be read no longer, and are there until `sweep`.

        Args:
            checkpoint: The state at a revision that the log has.
            anchored_at: The revision that holds `base_anchor_of` it.

        Raises:
            ModelError: the digest is not the blob's, or history begins there or later.
            ChainBroken: the log does not have that hash at that revision, or no such anchor.
        """
        ...

    async def sweep(self, retention: Retention) -> Swept:
        """Take some of what was cut off out of the store, in one short transaction; to be called until it is done.

        Rows up to the base go, and with them answers to request ids as `retention` says: those that are not old enough
        yet are marked, and go in a later sweep.
        """
        ...

    async def check(self, *, full: bool = True, graph: bool = True) -> Sequence[str]:
        """Return what is wrong with the store, one sentence each; nothing for a sound one.

        What was removed by a cut is no fault: the chain is verified from the base on, and the base against the chain.

        Args:
            full: Verify all there is; otherwise only the chain after where this object last found it unbroken.
            graph: Compare every element of the graph too, where one is kept beside the log; a caller that has its
                `findings` already leaves it out.
        """
        ...

    async def begin_incarnation(self, *, after: int = 0) -> Head:
        """Give a store that was put back from a backup a new identity: nothing issued before is taken for new.

        Args:
            after: The incarnation of the store whose place this one takes; the new one is above it and its own.

        A store that was moved away is opened by this: as another one, so that the two never share an identity.
        """
        ...

    async def aclose(self) -> None:
        """Give every connection back; the ledger cannot be used afterwards."""
        ...
