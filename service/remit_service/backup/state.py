"""What the rows of a ledger lead to, as one digest: how two stores are known to hold the same."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from remit_graph.errors import ChainBroken
from remit_graph.head import State
from remit_graph.view.image_write import FORMAT, Snapshot
from remit_service.replica.loading import load_view

if TYPE_CHECKING:
    from remit_graph.head import Head
    from remit_graph.ports import Ledger
    from remit_graph.view.state import View


READABLE: Final = frozenset({State.READY, State.MOVED})
"""States in which the log of a store is whole."""


def state_digest(view: View) -> str:
    """Return the digest of a view's image, after the form of images that it was made in."""
    sha = sha256()
    for line in Snapshot(view).lines():
        sha.update(line)
    return f"{FORMAT}:{sha.hexdigest()}"


async def loaded(ledger: Ledger) -> tuple[View, Head, str]:
    """Return the view of a ledger, where the ledger stands with it, and the digest of that state.

    Raises:
        LedgerError: it cannot be read, or holds what this program does not know.
    """
    head = await ledger.head()
    view = (await load_view(ledger, head)).view
    digest = await asyncio.to_thread(state_digest, view)
    return view, replace(head, revision=view.revision, hash=view.hash, at=view.at), digest


async def verified(ledger: Ledger, head: Head, state: str) -> View:
    """Return the view of a ledger that was filled, if it came to what it was filled from.

    Args:
        ledger: The one that was filled.
        head: Where the other one stood, or the backup ends; its revision and hash count.
        state: Digest of the state there.

    Raises:
        ChainBroken: chain, state or what stands beside the log is another.
    """
    await ledger.materialised()
    view, reached, digest = await loaded(ledger)
    if (reached.revision, reached.hash) != (head.revision, head.hash):
        raise ChainBroken(
            f"the store came to revision {reached.revision} with hash `{reached.hash}`, "
            f"and must be at {head.revision} with `{head.hash}`"
        )
    if digest != state and digest.partition(":")[0] == state.partition(":")[0]:
        raise ChainBroken(
            f"the same rows lead to another state: `{digest}`, and must lead to `{state}`",
            advice="restore with the version of Remit that made the backup, and report this",
        )
    if problems := await ledger.check():
        raise ChainBroken(f"the store was filled, and is not sound: {problems[0]}", advice="run the same command again")
    return view
