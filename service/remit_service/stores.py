"""Open or make the ledger that a store address names: `sqlite:///<path>`, or `neo4j://user@host:7687`."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from remit_graph.errors import LedgerUnavailable
from remit_graph.sqlite.ledger import SqliteLedger
from remit_graph.sqlite.options import SqliteOptions

if TYPE_CHECKING:
    from remit_graph.ports import Ledger
    from remit_service.clock import Clock
    from remit_service.settings import Settings


def sqlite_path(store: str) -> Path | None:
    """Return the file of an embedded store, or None where the store is another one.

    `sqlite:///remit.db` is relative to the working folder, `sqlite:////var/remit.db` is absolute.
    """
    parts = urlsplit(store)
    return Path(unquote(parts.path.removeprefix("/"))) if parts.scheme == "sqlite" else None


async def open_store(settings: Settings, clock: Clock, *, realm: str | None = None) -> Ledger:
    """Open the ledger that is there.

    Raises:
        LedgerError: it is missing, foreign, locked …; `advice` says what to do.
    """
    path = sqlite_path(settings.store)
    if path is not None:
        return await SqliteLedger.open(path, realm, options=_options(settings, clock))
    return await _neo4j(settings, clock, realm, make=False)


async def make_store(settings: Settings, clock: Clock, *, realm: str) -> Ledger:
    """Make a new ledger for `realm` and open it.

    Raises:
        LedgerError: something is there already, or it cannot be written.
    """
    path = sqlite_path(settings.store)
    if path is not None:
        return await SqliteLedger.init(path, realm, options=_options(settings, clock))
    return await _neo4j(settings, clock, realm, make=True)


def store_exists(settings: Settings) -> bool:
    """Whether an embedded store's file is there; a server is taken to be."""
    path = sqlite_path(settings.store)
    return path is None or path.exists()


def _options(settings: Settings, clock: Clock) -> SqliteOptions:
    return SqliteOptions(clock=clock.now, max_clock_skew=timedelta(seconds=settings.max_clock_skew_seconds))


async def _neo4j(settings: Settings, _clock: Clock, realm: str | None, *, make: bool) -> Ledger:
    raise LedgerUnavailable(
        f"`{urlsplit(settings.store).scheme}` stores are not part of this build",
        advice="use sqlite:///<path>",
        realm=realm,
        make=make,
    )
