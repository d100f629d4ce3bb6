"""`remit store compact`: take older history out of the ledger, while it is used."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated, Any, Final

import typer

from remit_graph.errors import ModelError
from remit_graph.model.instant import DAY, parse_instant
from remit_graph.ports import Ledger
from remit_service.bootstrap import running_point
from remit_service.cli.context import Call, call_of, run
from remit_service.cli.exits import DONE, USAGE, Failure
from remit_service.cli.target import Unrecorded
from remit_service.clock import SystemClock
from remit_service.keeping.compaction import Compacted, Plan, compact, last_before, plan_compaction, retention_of
from remit_service.settings import Settings
from remit_service.stores import open_store, sqlite_path

_MIB: Final = 1 << 20


def compact_store(
    context: typer.Context,
    before: Annotated[
        str | None, typer.Option("--before", help="A revision, or an instant (RFC 3339): what is before it goes.")
    ] = None,
    keep_days: Annotated[
        int | None, typer.Option("--keep-days", min=0, max=36_500, help="Days of history that stay.")
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Say what would go, and change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Take older history out of the ledger for good, while it is used. The state, and every later revision, stay."""
    call = call_of(context)

    async def work() -> int:
        if (before is None) == (keep_days is None):
            raise Failure("how much history stays is not said", code=USAGE, advice="give --before or --keep-days")
        settings = call.settings_of_store()
        planned = await _planned(settings, before, keep_days)
        document: dict[str, Any] = {"store": settings.store, "plan": asdict(planned), "done": None}
        if plan or planned.is_empty:
            call.output.show(document, _sentence(planned))
            return DONE
        if not yes:
            _ask(call, planned)
        before_it = _file_size(settings.store)
        done = await _done(call, settings, planned)
        told = {name: value for name, value in asdict(done).items() if name != "plan"}
        call.output.show(
            {**document, "done": told}, f"{_told(settings.store, done)}\n{_of_files(settings.store, before_it)}"
        )
        return DONE

    run(call, work)


async def _planned(settings: Settings, before: str | None, keep_days: int | None) -> Plan:
    ledger = await open_store(settings, SystemClock())
    try:
        return await plan_compaction(ledger, await _last_that_goes(ledger, before, keep_days))
    finally:
        await ledger.aclose()


async def _last_that_goes(ledger: Ledger, before: str | None, keep_days: int | None) -> int:
    if keep_days is not None:
        return await last_before(ledger, SystemClock().now() - keep_days * DAY)
    assert before is not None  # noqa: S101 - INVARIANT: one of the two was given
    if before.isdecimal():
        newest = (await ledger.head()).revision
        if int(before) > newest + 1:
            message = f"there is no revision {before} that something could be before: the newest is {newest}"
            raise Failure(message, code=USAGE, advice=f"name one of 1 to {newest + 1}, or an instant")
        return max(0, int(before) - 1)
    try:
        instant = parse_instant(before)
    except ModelError as error:
        raise Failure(
            f"`{before}` is neither a revision nor an instant", code=USAGE,
            advice="write 80321, or 2026-09-01T00:00:00Z",
        ) from error  # fmt: skip
    return await last_before(ledger, instant)


def _sentence(plan: Plan) -> str:
    if plan.is_empty:
        return f"nothing to remove: history begins after revision {plan.before:,} already"
    stays = f"the newest {plan.head - plan.base:,} revisions stay" if plan.head > plan.base else "the state alone stays"
    return (
        f"would remove {plan.rows:,} rows, {_size(plan.size)}: history would begin after revision {plan.base:,}, "
        f"and begins after {plan.before:,} now; {stays}"
    )


def _ask(call: Call, plan: Plan) -> None:
    """Ask whoever sits at the terminal.

    Raises:
        Failure: nobody sits there, or it says no.
    """
    if call.output.as_json or not sys.stdin.isatty():
        raise Failure("this removes history for good", advice="look at it with --plan, then add --yes")
    call.output.tell(_sentence(plan).replace("would remove", "this removes").replace("would begin", "will begin"))
    call.output.tell("what is removed is only in backups: make one first with `remit store backup`")
    if not typer.confirm("remove it?", err=True):
        raise Failure("nothing was changed")


async def _done(call: Call, settings: Settings, plan: Plan) -> Compacted:
    async with running_point(settings, Unrecorded(), activate=False) as point:
        retention = retention_of(point.policy.tables)
        with call.output.progress("compacting", plan.rows) as tell:
            return await compact(point.replica, point.submit, plan, retention, tell=tell)


def _told(store: str, done: Compacted) -> str:
    return (
        f"removed {done.rows:,} rows, {_size(done.plan.size)}, and {done.answers:,} answers to requests from {store} "
        f"in {done.seconds:.1f} s: history begins after revision {done.base:,}"
    )


def _file_size(store: str) -> int | None:
    """Return the bytes of the embedded store's file; None for a server's."""
    path = sqlite_path(store)
    return None if path is None else path.stat().st_size


def _of_files(store: str, before: int | None) -> str:
    after = _file_size(store)
    if before is None or after is None:
        return "the space is used again by what is written; the files of the server do not shrink"
    # A process that still uses the file writes it back a little later, and it shrinks then.
    size = (
        f"its file has {_size(after)}" if after == before else f"its file went from {_size(before)} to {_size(after)}"
    )
    return f"{size}; what is free in it is used again by what is written"


def _size(size: int) -> str:
    return f"{size / _MIB:,.1f} MiB"
