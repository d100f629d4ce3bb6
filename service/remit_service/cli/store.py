"""`remit store`: make, check and migrate the ledger."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from remit_graph.sqlite.migrate import migrate as migrate_file
from remit_service.bootstrap import running_point
from remit_service.cli.context import call_of, run
from remit_service.cli.exits import DONE, FAULT, Failure
from remit_service.cli.target import Unrecorded
from remit_service.clock import SystemClock
from remit_service.stores import make_store, open_store, sqlite_path, store_exists

app = typer.Typer(no_args_is_help=True)


@app.command()
def init(
    context: typer.Context,
    world: Annotated[Path | None, typer.Option(help="Begin with this world.", exists=True, dir_okay=False)] = None,
    realm: Annotated[str | None, typer.Option(help="Name of the realm, where no world names it.")] = None,
) -> None:
    """Make a new store, empty or with a first world."""
    call = call_of(context)

    async def work() -> int:
        settings = call.settings(world=world)
        if world is None and realm is None:
            raise Failure("a new store needs a realm", advice="name it with --realm, or begin with --world FILE")
        if store_exists(settings):
            raise Failure(f"`{settings.store}` is there already", advice="name another store with --store")
        if world is None:
            ledger = await make_store(settings, SystemClock(), realm=str(realm))
            head = await ledger.head()
            await ledger.aclose()
            document = {"store": settings.store, "realm": head.realm, "revision": head.revision}
        else:
            async with running_point(settings, Unrecorded()) as point:
                document = {"store": settings.store, "realm": point.view.realm.name, "revision": point.view.revision}
        call.output.show(document, f"made {document['store']} for realm {document['realm']}")
        return DONE

    run(call, work)


@app.command()
def check(context: typer.Context) -> None:
    """Verify the store: its tables, and the hash chain over every row. Exit 3 where something is wrong."""
    call = call_of(context)

    async def work() -> int:
        ledger = await open_store(call.settings(), SystemClock())
        try:
            problems = list(await ledger.check())
            head = await ledger.head()
        finally:
            await ledger.aclose()
        document = {"problems": problems, "revision": head.revision, "hash": head.hash}
        text = "\n".join(problems) or f"sound: the chain verifies up to revision {head.revision}"
        call.output.show(document, text)
        return FAULT if problems else DONE

    run(call, work)


@app.command()
def migrate(context: typer.Context) -> None:
    """Bring the tables of a store to the newest layout; the rows of the log stay as they are."""
    call = call_of(context)

    async def work() -> int:
        settings = call.settings()
        path = sqlite_path(settings.store)
        if path is None:
            raise Failure("only an embedded store has a layout of its own")
        before, after = await asyncio.to_thread(migrate_file, path, timedelta(seconds=5))
        text = f"layout {after}, nothing to do" if before == after else f"layout {before} is now {after}"
        call.output.show({"before": before, "after": after}, text)
        return DONE

    run(call, work)
