"""How far back a ledger goes: what it means to cut its history, the same on both stores (rules.md 11).

History is cut at a *base*: a checkpoint whose digest stands in the hash chain, as an `anchor` of a base among the rows
after it. From then on the ledger begins there: the chain verifies from the base's hash, the state comes from its image,
and whoever asks for what is older is told that it was removed. Only after that are the rows taken out, some at a time:
a process that is killed in between leaves rows that nobody reads, and the next one goes on with them.

What outlives its row: the answers to request ids, as long as `Retention` says; that a receipt was written, so that it
is known to have been removed; which versions of edges there were, so that none is given again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from remit_graph.errors import ChainBroken, HistoryRemoved, ModelError
from remit_graph.model.change import GENESIS
from remit_graph.model.instant import format_instant

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from remit_graph.model.change import Change, Entry
    from remit_graph.model.instant import Instant
    from remit_graph.stored import Checkpoint

ANCHOR: Final = "anchor"
BASE: Final = "base"
"""What an anchor is of, if history is to begin at it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """Where a ledger's history begins.

    Attributes:
        revision: The last one whose rows were removed; 0 where none was.
        hash: Of its last row: what the first row that is left follows.
        at: Its instant, microseconds UTC.
        digest: SHA-256 of the image of the state there; empty where history is whole.
        anchored_at: The revision that holds the anchor of that image; 0 where history is whole.
        first: Hash of the first row that the ledger ever had; empty where it has none, or still has that row.
    """

    revision: int = 0
    hash: str = GENESIS
    at: Instant = 0
    digest: str = ""
    anchored_at: int = 0
    first: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether nothing was removed."""
        return self.revision == 0


WHOLE: Final = Base()
"""Of a ledger that was never cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Which answers to request ids go with their row, and how long after it.

    Attributes:
        actions: The actions whose answers go; those of all others stay for good.
        kept_for: How old an answer of these must be; a repeat within this time is answered and does not act again.
    """

    actions: Collection[str] = field(default_factory=frozenset)
    kept_for: timedelta

    def until(self, command: Mapping[str, Any]) -> Instant | None:
        """Return when the answer to a command may go whose row goes; None if it has none, or one that stays for good.

        Args:
            command: The body of its row.
        """
        if command.get("request_id") is None or command["action"] not in self.actions:
            return None
        at: Instant = command["at"]
        return at + self.kept_for // timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """What a cut would take out of the log: rows, and the bytes they take without what the store adds to them.

    Neo4j keeps some of them beside the log, as what the graph is held against.
    """

    rows: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What one sweep took out: rows of the log, answers, and whether there is nothing left to take.

    Both may be 0 where more is left: a store takes out what it holds beside them too.
    """

    rows: int
    answers: int
    is_done: bool


def base_anchor_of(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return the body of the `anchor` that lets history begin at a checkpoint."""
    return anchor_of(BASE, checkpoint)


def anchor_of(what: str, checkpoint: Checkpoint) -> dict[str, Any]:
    """Return the body of the `anchor` that puts the digest of an image into the chain, as one of `what`."""
    return {
        "id": f"{what}/{checkpoint.revision}",
        "of": what,
        "revision": checkpoint.revision,
        "hash": checkpoint.hash,
        "digest": checkpoint.digest,
    }


def require_anchored(entries: Iterable[Entry], *, revision: int, digest_of_row: str, digest: str) -> None:
    """Check that one of `entries` anchors the image that history begins with, or is to begin with.

    Raises:
        ChainBroken: none does: nobody may say what the state was but the chain.
    """
    wanted = (revision, digest_of_row, digest)
    if not any(_anchored(change) == wanted for entry in entries for change in entry.changes):
        raise ChainBroken(
            f"history begins after revision {revision}, and no row of the chain holds the digest of the state there",
            advice="put a backup back with `remit store restore`",
            revision=revision,
        )


def _anchored(change: Change) -> tuple[Any, Any, Any] | None:
    body = change.body
    if change.kind != ANCHOR or body.get("of") != BASE:
        return None
    return body.get("revision"), body.get("hash"), body.get("digest")


def require_kept(after: int, base: int, *, what: str | None = None) -> None:
    """Check that what follows revision `after` is still in the ledger.

    Raises:
        HistoryRemoved: it was removed; `facts` hold `base`, from which on history is there.
    """
    if after < base:
        raise history_removed(what or f"revision {after + 1}", base)


def history_removed(what: str, base: int, at: Instant | None = None) -> HistoryRemoved:
    """Return the error for what a compaction removed."""
    since = "" if at is None else f", of {format_instant(at)}"
    return HistoryRemoved(
        f"{what} was removed: history begins after revision {base}{since}",
        advice=f"ask from revision {base} on; what is older is in the backups that were made before it was removed",
        base=base,
    )


def require_image(base: Base, checkpoint: Checkpoint) -> None:
    """Check that a checkpoint is the image of a base.

    Raises:
        ModelError: it is another one, or its digest is not its blob's.
    """
    told = (checkpoint.revision, checkpoint.hash, checkpoint.digest)
    if told != (base.revision, base.hash, base.digest) or not checkpoint.is_intact:
        raise ModelError(f"the image is not that of the base at revision {base.revision}")


def image_lost(base: Base) -> ChainBroken:
    """Return the error for a ledger without the image that its history begins with, or with a damaged one."""
    return ChainBroken(
        f"history begins after revision {base.revision}, and the image of the state there is missing or damaged",
        advice="put a backup back with `remit store restore`",
        revision=base.revision,
    )


def require_later(base: Base, checkpoint: Checkpoint) -> None:
    """Check that a checkpoint is of a revision that the ledger still has.

    Raises:
        ModelError: history begins at it, or after it.
    """
    if checkpoint.revision <= base.revision:
        raise ModelError(
            f"the checkpoint is of revision {checkpoint.revision}, and history begins after {base.revision}"
        )
