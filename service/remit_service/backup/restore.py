"""Puts a backup into a new store, as a new incarnation of its realm (rules.md 2).

The file is read twice: once before anything is touched, so that a file with a fault changes nothing, and once to fill
the store. Until it is filled, verified and its first revision has ended what was held, the store says that it is
unfinished, and no process reads it to decide. Killed half-way, it stays so, and the same command begins again.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from remit_graph.backup.carry import begin_all, put_all
from remit_graph.backup.errors import BackupRefused
from remit_graph.backup.read import BackupReader
from remit_graph.errors import ForeignStore, SchemaTooNew
from remit_graph.head import Beginning, State, new_store_id
from remit_graph.model.change import SCHEMA, Command
from remit_graph.refusals import version_advice
from remit_service.backup.state import READABLE, loaded, verified
from remit_service.coordination.command import BeginIncarnation
from remit_service.coordination.machine import Walk
from remit_service.coordination.values import Changed
from remit_service.opening import SYSTEM
from remit_service.stores import discard_unfinished, make_store, open_store

if TYPE_CHECKING:
    from pathlib import Path

    from remit_graph.backup.carry import Tell
    from remit_graph.backup.form import End, Header
    from remit_graph.head import Head
    from remit_graph.ports import Ledger
    from remit_graph.view.state import View
    from remit_service.clock import Clock
    from remit_service.coordination.tables import Tables
    from remit_service.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """A store that was made of a backup: what the backup was of, and where the store stands now."""

    header: Header
    end: End
    head: Head


def read_through(path: Path) -> tuple[Header, End]:
    """Read a backup from beginning to end, and return both; blocks.

    Raises:
        BackupRefused: something in it does not fit.
    """
    with BackupReader(path) as backup:
        backup.image()
        for _ in backup.remains():
            pass
        for _ in backup.revisions():
            pass
        if backup.end is None:
            raise BackupRefused(path, "is cut short")
        return backup.header, backup.end


async def restore_backup(
    path: Path, settings: Settings, *, clock: Clock, tables: Tables, after: int, tell: Tell
) -> Restored:
    """Make the store that the settings name of the backup at `path`.

    Args:
        path: The backup.
        settings: Name a store that does not exist or is empty, or one that an earlier restore left unfinished.
        clock: Of this process.
        tables: Policy data, by which leases end.
        after: The highest incarnation that the realm's store ever had, where the backup is older than its last restore.
        tell: Told of each revision reached.

    Raises:
        BackupRefused: the file is not whole; nothing was changed.
        ForeignStore: the store holds something; nothing was changed.
        SchemaTooNew: the backup is of a later version of Remit; nothing was changed.
        LedgerError: the store could not be filled, and says that it is unfinished.
    """
    # (1) Read the file, before anything is touched.
    header, end = await asyncio.to_thread(read_through, path)
    if header.schema > SCHEMA:
        raise SchemaTooNew(
            f"`{path}` holds rows of schema {header.schema}, and this program knows schemas up to {SCHEMA}",
            advice=version_advice(header.needs),
            schema=header.schema,
        )
    # (2) Make the store, unfinished.
    beginning = Beginning(
        store_id=new_store_id(),
        incarnation=max(header.incarnation, after) + 1,
        schema=header.schema,
        needs=header.needs,
        note=f"a restore of {path.name}",
    )
    await discard_unfinished(settings, clock)
    ledger = await make_store(settings, clock, realm=header.realm, beginning=beginning)
    try:
        # (3) Fill it, and hold what it gives back against the backup.
        with BackupReader(path) as backup:
            image = await asyncio.to_thread(backup.image)
            await begin_all(ledger, header.base, image, backup.remains())
            filled = await put_all(ledger, backup.revisions(), tell)
            if backup.end != end:
                raise BackupRefused(path, "was changed while it was read", advice="run the same command again")
        view = await verified(ledger, replace(filled, revision=header.revision, hash=header.hash), end.state)
        # (4) End what was held, then let it be used.
        head = await ledger.finish(await begin_incarnation(ledger, view, tables, clock))
    finally:
        await ledger.aclose()
    return Restored(header=header, end=end, head=head)


async def begin_incarnation(ledger: Ledger, view: View, tables: Tables, clock: Clock) -> Head:
    """Append the first revision of a new incarnation, which ends leases, waiters and capabilities; returns the head.

    Raises:
        LedgerError: it could not be appended.
    """
    head = await ledger.head()
    at = max(clock.now(), view.at)
    with Walk(view, tables, at) as walk:
        outcome = walk.start(BeginIncarnation(incarnation=head.incarnation))
    assert isinstance(outcome, Changed)  # noqa: S101 - INVARIANT: it asks the policy nothing, and refuses nothing
    command = Command(action="RESTORE", actor=SYSTEM, at=at, changes=outcome.changes, reason=head.note)
    await ledger.append(head, [command])
    return await ledger.head()


async def reopen_store(settings: Settings, *, clock: Clock, tables: Tables) -> Head:
    """Use a store again that was moved away, as a new incarnation; returns its head.

    Raises:
        ForeignStore: it was not moved away.
        LedgerError: it cannot be opened.
    """
    ledger = await open_store(settings, clock, accepts=READABLE)
    try:
        if (await ledger.head()).state is not State.MOVED:
            raise ForeignStore(f"`{settings.store}` was not moved away", advice="use it as it is; nothing was changed")
        view, _, _ = await loaded(ledger)
        await ledger.begin_incarnation()
        return await begin_incarnation(ledger, view, tables, clock)
    finally:
        await ledger.aclose()
