"""What the tests of backups share: stores by their settings, and histories with answers to requests."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.change import Change
from remit_service import stores
from remit_service.backup.move import move_store
from remit_service.backup.restore import restore_backup
from remit_service.bundle.folder import shipped_policy
from remit_service.bundle.load import load_bundle
from remit_service.clock import SystemClock
from remit_service.policy import policy_of
from remit_service.secret import Secret
from remit_service.settings import Settings
from remit_service.stores import make_store, open_store
from tests.contract.ledger_commands import a_command, now
from tests.contract.ledgers import REALM
from tests.contract.neo4j_histories import History
from tests.support.patience import patiently

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from remit_graph.ports import Ledger
    from remit_service.backup.restore import Restored
    from remit_service.coordination.tables import Tables
    from tests.support.neo4j_server import Neo4jServer

COMMANDS: Final = 40
CLOCK: Final = SystemClock()


async def place_of(kind: str, name: str, request: pytest.FixtureRequest) -> Settings:
    """Return the settings of a store of a kind that is not made yet; the one Neo4j of this run is emptied for it."""
    folder: Path = request.getfixturevalue("tmp_path")
    if kind == "sqlite":
        return Settings(store=f"sqlite:///{folder / name}.db")
    server: Neo4jServer = request.getfixturevalue("neo4j_of_this_run")
    await asyncio.to_thread(server.revive)
    # What is tried is not how fast the first query of a new server is on a busy machine.
    request.getfixturevalue("monkeypatch").setattr(stores, "neo4j_options", patiently)
    await asyncio.to_thread(server.empty)
    address = f"neo4j://{server.user}@127.0.0.1:{server.port}"
    return Settings(store=address, store_password=Secret(server.password))


async def filled(settings: Settings, seed: int = 7) -> Ledger:
    """Make a store with a random history, of which every third command has a request id, and return its ledger."""
    ledger = await make_store(settings, CLOCK, realm=REALM)
    for number, changes in enumerate(History(seed).commands(COMMANDS)):
        head = await ledger.head()
        answer: dict[str, Any] = {"request_id": f"r-{number}", "fingerprint": f"f-{number}", "result": '{"n":1}'}
        put = changes or [Change("principal.put", {"id": f"human:{number}"})]
        await ledger.append(head, [a_command(*put, at=now(head), **({} if number % 3 else answer))])
    return ledger


async def contents(ledger: Ledger, revisions: int) -> tuple[list[Any], list[Any]]:
    """Return the rows of the first revisions and what their requests were answered with."""
    rows = [row async for row in ledger.rows() if row.revision <= revisions]
    answers = await ledger.results([f"r-{number}" for number in range(COMMANDS)])
    return rows, sorted((dataclasses.astuple(each) for each in answers), key=lambda each: each[2])


def tables() -> Tables:
    """Return policy data, by which a restore ends leases."""
    return policy_of(load_bundle(shipped_policy())).tables


async def restored(path: Path, settings: Settings, after: int = 0) -> Restored:
    """Put a backup back."""
    return await restore_backup(path, settings, clock=CLOCK, tables=tables(), after=after, tell=lambda _: None)


async def moved(source: Settings, target: Settings) -> None:
    """Move a ledger."""
    await move_store(source, target, clock=CLOCK, tell=lambda _: None)


async def opened(settings: Settings) -> Ledger:
    """Open a store, as a decision point does."""
    return await open_store(settings, CLOCK)
