"""The ledger: the one totally ordered, hash-chained log, and the only way to change anything.

What every ledger promises (one contract suite runs over all of them, `tests/contract`):

- **append** is one transaction with compare-and-set on the head: all commands of a batch become consecutive
  revisions, or nothing changes; a result is stored with its request id in the same transaction;
- **durable**: what was acknowledged survives kill -9 and loss of power;
- **ordered**: `at` never goes back, revisions have no gap, and no reader sees part of a revision;
- **chained**: each row carries the hash over the row before and its own bytes.

What it does not do: check the laws of the model. It appends what it is given (rules.md 11).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from datetime import timedelta

    from remit_graph.model.change import Command, Entry, Row
    from remit_graph.model.instant import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where the ledger stands.

    Attributes:
        store_id: Random id of the store, made with it.
        realm: Name of the realm.
        incarnation: 1 at first, one more after each restore from a backup.
        revision: Of the last appended command; 0 is empty.
        hash: Of the last row.
        at: Instant of the last command, microseconds UTC; 0 is none.
        schema: The schema that rows are written in.
        now: The store's own clock when this was read, microseconds UTC.
    """

    store_id: str
    realm: str
    incarnation: int
    revision: int
    hash: str
    at: Instant
    schema: int
    now: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResult:
    """What a request id was answered with, and for which body."""

    request_id: str
    fingerprint: str | None
    revision: int
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A compact image of the whole state at one revision.

    Attributes:
        revision: The revision it stands for.
        hash: Hash of that revision's last row.
        digest: SHA-256 of `blob`, lower-case hex; also written into the chain as an `anchor` row.
        blob: The image, compressed by whoever made it.
    """

    revision: int
    hash: str
    digest: str
    blob: bytes


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
            HeadMoved: the head is elsewhere; nothing was appended.
            RequestReused: a request id of the batch is stored already; `facts` hold `request_id`; nothing was appended.
            ConstraintBroken: the store refused a row; `facts` hold `index` of the command if known.
            OutcomeUnknown: ask `result` for the request ids, or `head`.
            LedgerUnavailable: nothing was appended.
            ModelError: an `at` goes back, or is further ahead of the store's clock than its bound.
        """
        ...

    async def read(self, after: int, limit: int) -> Sequence[Entry]:
        """Return up to `limit` whole revisions after `after`, in order."""
        ...

    async def watch(self, after: int, within: timedelta) -> Sequence[Entry]:
        """Wait until revisions after `after` exist and return them, or nothing when `within` is over."""
        ...

    def rows(self, after: int = 0) -> AsyncIterator[Row]:
        """Stream raw rows of the revisions after `after`, for verification, export and backup."""
        ...

    async def result(self, request_id: str) -> StoredResult | None:
        """Return what a request id was answered with, or None if it never was appended."""
        ...

    async def checkpoint(self) -> Checkpoint | None:
        """Return the newest checkpoint, or None."""
        ...

    async def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint; an older one may be dropped."""
        ...

    async def check(self) -> Sequence[str]:
        """Return what is wrong with the store, one sentence each; nothing for a sound one."""
        ...

    async def aclose(self) -> None:
        """Give every connection back; the ledger cannot be used afterwards."""
        ...
