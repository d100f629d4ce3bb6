"""What makes an image of the state count, the same on both ledgers: its bytes, and the log at its revision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.errors import ChainBroken, LedgerUnavailable, ModelError

if TYPE_CHECKING:
    from remit_graph.stored import Checkpoint


def require_intact(checkpoint: Checkpoint) -> None:
    """Check the bytes of an image.

    Raises:
        ModelError: the digest is not the image's.
    """
    if not checkpoint.is_intact:
        raise ModelError(f"the checkpoint of revision {checkpoint.revision} does not have the digest it names")


def require_of_log(checkpoint: Checkpoint, stored: str | None) -> None:
    """Check an image against the hash that the log has at its revision, or None where the log does not have it.

    Raises:
        ChainBroken: it is another one.
    """
    if stored != checkpoint.hash:
        raise ChainBroken(
            f"the log does not have the hash {checkpoint.hash} at revision {checkpoint.revision}",
            revision=checkpoint.revision,
            expected=checkpoint.hash,
            stored=stored,
        )


def require_parts(wanted: int, kept: int) -> None:
    """Check that all parts of an image are kept.

    Raises:
        LedgerUnavailable: a process that saved at the same time took parts for leftovers.
    """
    if kept != wanted:
        raise LedgerUnavailable("another process saved a checkpoint at the same time", advice="save it again")


def problems_of(checkpoint: Checkpoint, stored: str | None) -> list[str]:
    """Return what is wrong with an image that is kept, one sentence each; `stored` is the log's hash there."""
    which = f"the checkpoint of revision {checkpoint.revision}"
    found = [] if checkpoint.is_intact else [f"{which} is damaged: its bytes do not have its digest"]
    if stored != checkpoint.hash:
        found.append(f"{which} is of another log: the hash there is not the same")
    return found
