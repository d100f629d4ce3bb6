"""Open or make the ledger that a store address names.

- `sqlite:///remit.db` is a file beside the working folder, `sqlite:////var/remit.db` an absolute one.
- `neo4j://user@host:7687/database` is a database of a server or cluster, `neo4j` if none is named; `bolt://` is one
  server, `+s` is TLS with a certificate of a known authority, `+ssc` with one that is not checked.

The password of a server is a setting of its own and never part of an address. The driver of a server is imported where
one is opened: it takes longer than an embedded store needs to start.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from remit_graph.errors import ForeignStore, LedgerUnavailable
from remit_graph.head import USABLE, State
from remit_graph.sqlite.ledger import SqliteLedger
from remit_graph.sqlite.migrate import migrate as migrate_file
from remit_graph.sqlite.options import SqliteOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_graph.head import Beginning
    from remit_graph.neo4j import Neo4jLedger, Neo4jOptions
    from remit_graph.ports import Ledger
    from remit_service.clock import Clock
    from remit_service.settings import Settings

SQLITE_COMPANIONS: Final = ("", "-wal", "-shm", "-lock")
"""What stands beside the file of an embedded store, by what its name has more."""

DEFAULT_PORT: Final = 7687
DEFAULT_NAME: Final = "neo4j"
"""User and database of a server that the address does not name."""


def sqlite_path(store: str) -> Path | None:
    """Return the file of an embedded store, or None where the store is another one."""
    parts = urlsplit(store)
    return Path(unquote(parts.path.removeprefix("/"))) if parts.scheme == "sqlite" else None


def neo4j_options(settings: Settings) -> Neo4jOptions:
    """Return how to reach the server that the settings name.

    Raises:
        LedgerUnavailable: the settings hold no password for it.
    """
    from remit_graph.neo4j import Neo4jOptions

    parts = urlsplit(settings.store)
    if settings.store_password is None:
        raise LedgerUnavailable(
            f"there is no password for `{settings.store}`",
            advice="set REMIT_STORE_PASSWORD, or name a file that holds it with REMIT_STORE_PASSWORD_FILE; for a store "
            "that a ledger moves into, REMIT_TARGET_PASSWORD likewise",
        )
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return Neo4jOptions(
        url=f"{parts.scheme}://{host}:{parts.port or DEFAULT_PORT}",
        user=unquote(parts.username or DEFAULT_NAME),
        password=settings.store_password.reveal(),
        database=parts.path.strip("/") or DEFAULT_NAME,
        max_clock_skew=timedelta(seconds=settings.max_clock_skew_seconds),
    )


async def open_store(
    settings: Settings, clock: Clock, *, realm: str | None = None, accepts: frozenset[State] = USABLE
) -> Ledger:
    """Open the ledger that is there, in one of the states that are accepted.

    Raises:
        LedgerError: it is missing, foreign, locked, without constraints …; `advice` says what to do.
    """
    path = sqlite_path(settings.store)
    if path is not None:
        return await SqliteLedger.open(path, realm, options=_options(settings, clock), accepts=accepts)
    return await _neo4j().open(neo4j_options(settings), realm, accepts=accepts)


async def make_store(settings: Settings, clock: Clock, *, realm: str, beginning: Beginning | None = None) -> Ledger:
    """Make a new ledger for `realm` and open it; with `beginning` an unfinished one, to be filled.

    Raises:
        LedgerError: something is there already, or it cannot be written.
    """
    path = sqlite_path(settings.store)
    if path is not None:
        return await SqliteLedger.init(path, realm, options=_options(settings, clock), beginning=beginning)
    return await _neo4j().init(neo4j_options(settings), realm, beginning=beginning)


async def open_or_make_store(settings: Settings, clock: Clock, *, realm: str) -> Ledger:
    """Open the ledger that is there, or make one for `realm`, whichever of several processes is first.

    Raises:
        LedgerError: something else is there, or it can be neither read nor made.
    """
    if not store_exists(settings):
        return await _make_or_open(settings, clock, realm)
    try:
        return await open_store(settings, clock)
    except ForeignStore as error:
        if sqlite_path(settings.store) is not None:
            raise
        # Whether a database is empty is known when it is opened; making a ledger in another one is refused.
        return await _make_or_open(settings, clock, realm, otherwise=error)


async def _make_or_open(
    settings: Settings, clock: Clock, realm: str, *, otherwise: ForeignStore | None = None
) -> Ledger:
    try:
        return await make_store(settings, clock, realm=realm)
    except ForeignStore as error:
        if error.code != "already_exists":
            raise
        try:
            # Another process made it meanwhile.
            return await open_store(settings, clock)
        except ForeignStore:
            raise (otherwise or error) from None


async def remove_store(settings: Settings) -> None:
    """Remove a store that this process has made, for one that goes with it.

    Raises:
        LedgerUnavailable: it cannot be reached.
    """
    path = sqlite_path(settings.store)
    if path is None:
        from remit_graph.neo4j.remove import remove

        await remove(neo4j_options(settings))
        return
    for companion in SQLITE_COMPANIONS:
        path.with_name(f"{path.name}{companion}").unlink(missing_ok=True)


async def discard_unfinished(settings: Settings, clock: Clock) -> bool:
    """Remove what a restore or a move left unfinished; anything else is left alone. Returns whether there was one.

    Raises:
        LedgerUnavailable: the store cannot be reached.
    """
    if not store_exists(settings):
        return False
    try:
        ledger = await open_store(settings, clock, accepts=frozenset({State.UNFINISHED}))
    except ForeignStore:
        # Whatever else is there is told by the attempt to make a store in its place.
        return False
    await ledger.aclose()
    await remove_store(settings)
    return True


async def migrate_store(settings: Settings) -> Sequence[str]:
    """Bring the layout of a store to what this program works with; return what was done, one sentence each.

    Raises:
        LedgerError: it holds no ledger, or cannot be changed.
    """
    path = sqlite_path(settings.store)
    if path is not None:
        before, after = await asyncio.to_thread(migrate_file, path, timedelta(seconds=5))
        return [] if before == after else [f"layout {before} is now {after}"]
    return [f"made {each}" for each in await _neo4j().migrate(neo4j_options(settings))]


def store_exists(settings: Settings) -> bool:
    """Whether an embedded store's file is there; a server is taken to be."""
    path = sqlite_path(settings.store)
    return path is None or path.exists()


def _neo4j() -> type[Neo4jLedger]:
    from remit_graph.neo4j import Neo4jLedger

    # Whatever the driver has to say is in the errors it raises; without a handler Python prints its warnings as well.
    logging.getLogger("neo4j").addHandler(logging.NullHandler())
    return Neo4jLedger


def _options(settings: Settings, clock: Clock) -> SqliteOptions:
    return SqliteOptions(clock=clock.now, max_clock_skew=timedelta(seconds=settings.max_clock_skew_seconds))
