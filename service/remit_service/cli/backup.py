"""`remit store backup|restore|reopen`: the ledger in a file and back, and a store that was moved away after all."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from remit_graph.backup.read import BackupReader
from remit_service.backup.make import make_backup
from remit_service.backup.restore import read_through, reopen_store, restore_backup
from remit_service.backup.state import READABLE
from remit_service.bootstrap import load_bundle
from remit_service.cli.context import call_of, run
from remit_service.cli.exits import DONE, REFUSED, Failure
from remit_service.clock import SystemClock
from remit_service.policy import policy_of
from remit_service.stores import open_store

File = Annotated[Path, typer.Argument(help="The backup.", dir_okay=False)]


def backup(
    context: typer.Context,
    file: File,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Take the place of a file that is there.")] = False,
) -> None:
    """Write the whole ledger to a file, while it is used: every revision with its hash, and the answers to requests."""
    call = call_of(context)

    async def work() -> int:
        if file.exists() and not overwrite:
            raise Failure(f"`{file}` is there already", code=REFUSED, advice="name another file, or add --overwrite")
        settings = call.settings_of_store()
        ledger = await open_store(settings, SystemClock(), accepts=READABLE)
        try:
            total = (await ledger.head()).revision
            with call.output.progress("backing up", total) as tell:
                made = await make_backup(ledger, file, tell)
        finally:
            await ledger.aclose()
        document = {"file": str(file), "size": made.size, "of": asdict(made.header), "holds": asdict(made.end)}
        text = (
            f"wrote {file}: realm {made.header.realm} up to revision {made.header.revision}, incarnation "
            f"{made.header.incarnation}, {made.end.rows:,} rows, {made.end.answers:,} answers, {made.size:,} bytes\n"
            f"head {made.header.hash}\nstate {made.end.state}"
        )
        call.output.show(document, text)
        return DONE

    run(call, work)


def restore(
    context: typer.Context,
    file: File,
    after: Annotated[
        int, typer.Option(min=0, help="Highest incarnation the store ever had, if the backup is of an earlier one.")
    ] = 0,
    verify_only: Annotated[
        bool, typer.Option("--verify-only", help="Read the backup and say whether it fits.")
    ] = False,
) -> None:
    """Make a new store of a backup. It is another incarnation: leases, tokens and capabilities from before end."""
    call = call_of(context)

    async def work() -> int:
        with BackupReader(file) as opened:
            total = opened.header.revision
        if verify_only:
            header, end = read_through(file)
            text = f"whole: realm {header.realm} up to revision {header.revision}, {header.hash}"
            call.output.show({"file": str(file), "of": asdict(header), "holds": asdict(end)}, text)
            return DONE
        settings = call.settings()
        tables = policy_of(load_bundle(settings)).tables
        with call.output.progress("restoring", total) as tell:
            restored = await restore_backup(
                file, settings, clock=SystemClock(), tables=tables, after=after, tell=tell
            )  # fmt: skip
        head = restored.head
        document = {"store": settings.store, "head": asdict(head), "of": asdict(restored.header)}
        text = (
            f"made {settings.store} of {file}: realm {head.realm}, {restored.end.revisions:,} revisions verified by "
            f"chain, state and count; incarnation {head.incarnation} begins with revision {head.revision}"
        )
        call.output.show({**document, "holds": asdict(restored.end)}, text)
        return DONE

    run(call, work)


def reopen(context: typer.Context) -> None:
    """Use a store again that was moved away: as a new incarnation, so that the two never share one."""
    call = call_of(context)

    async def work() -> int:
        settings = call.settings_of_store()
        head = await reopen_store(settings, clock=SystemClock(), tables=policy_of(load_bundle(settings)).tables)
        document = {"store": settings.store, "realm": head.realm, "revision": head.revision}
        call.output.show(
            {**document, "incarnation": head.incarnation},
            f"opened {settings.store} again: incarnation {head.incarnation} begins with revision {head.revision}",
        )
        return DONE

    run(call, work)
