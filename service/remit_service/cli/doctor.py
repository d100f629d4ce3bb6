"""`remit doctor`: the configuration in force, and whether everything it names can be reached."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import typer
from rich.console import Console

from remit_graph.model.instant import SECOND
from remit_service.bootstrap import load_bundle
from remit_service.bundle.opa_cli import OpaProgram
from remit_service.cli.context import Call, call_of, run
from remit_service.cli.exits import DONE, FAULT, Failure, told
from remit_service.cli.output import table
from remit_service.clock import SystemClock, skew_of
from remit_service.policy import policy_of
from remit_service.settings import Settings
from remit_service.stores import open_store, store_exists
from remit_service.version import program_version


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    what: str
    good: bool
    detail: str


def doctor(context: typer.Context) -> None:
    """Print the configuration with secrets masked, and test every dependency. Exit 3 where one is missing."""
    call = call_of(context)

    async def work() -> int:
        settings = call.settings()
        findings = [await _look(name, look, settings) for name, look in _LOOKS.items()]
        document = {
            "settings": settings.describe(),
            "origins": settings.origins,
            "findings": [{"what": each.what, "good": each.good, "detail": each.detail} for each in findings],
        }
        call.output.show(document, lambda console: _print(console, call, settings, findings))
        return DONE if all(each.good for each in findings) else FAULT

    run(call, work)


async def _look(what: str, look: Callable[[Settings], Awaitable[str]], settings: Settings) -> Finding:
    try:
        return Finding(what, good=True, detail=await look(settings))
    except Exception as error:  # noqa: BLE001 - whatever is wrong is what the doctor is asked for
        return Finding(what, good=False, detail="\n".join(told(error)[1]))


async def _python(_settings: Settings) -> str:
    return f"Remit {program_version()} on Python {sys.version.split()[0]}"


async def _policy(settings: Settings) -> str:
    policy = policy_of(load_bundle(settings))
    await policy.embedded.check()
    return f"{policy.revision}, {len(policy.bundle.modules)} modules"


async def _store(settings: Settings) -> str:
    if not store_exists(settings):
        return f"{settings.store} is not made yet: `remit store init` or `remit serve --world FILE` makes it"
    clock = SystemClock()
    ledger = await open_store(settings, clock)
    try:
        before = clock.now()
        head = await ledger.head()
        skew = skew_of(head.now, before=before, after=clock.now()) / SECOND
    finally:
        await ledger.aclose()
    if abs(skew) > settings.max_clock_skew_seconds:
        raise Failure(
            f"the clock is {skew:+.1f} s off the ledger's, and {settings.max_clock_skew_seconds:g} s are allowed",
            advice="let both machines keep time by NTP",
        )
    found = f"{settings.store}: realm {head.realm}, revision {head.revision}, incarnation {head.incarnation}"
    return found if head.revision else f"{found}; it holds no world yet: `remit serve --world FILE` brings one in"


async def _engine(settings: Settings) -> str:
    if settings.engine == "embedded":
        return "in process"
    # What administers OPA brings HTTP clients of its own, which would slow down every other command.
    from remit_service.engines.opa_admin import OpaAdmin

    token = settings.engine_token.reveal() if settings.engine_token is not None else None
    async with OpaAdmin(settings.engine, token=token) as admin:
        report = await admin.report()
    return f"OPA at {settings.engine}: {report}"


async def _opa(_settings: Settings) -> str:
    found = OpaProgram.find()
    return "not installed: `remit policy check` leaves the strict check out" if found is None else found.path


_LOOKS: dict[str, Callable[[Settings], Awaitable[str]]] = {
    "program": _python,
    "policy": _policy,
    "store": _store,
    "engine": _engine,
    "opa": _opa,
}


def _print(console: Console, _call: Call, settings: Settings, findings: list[Finding]) -> None:
    rows: list[tuple[Any, ...]] = [
        (name, value, settings.origins.get(name, "default")) for name, value in settings.describe().items()
    ]
    console.print(table("Settings", ("setting", "value", "from"), rows))
    marks = [("ok" if each.good else "FAULT", each.what, each.detail) for each in findings]
    console.print(table("\nDependencies", ("", "what", "found"), marks))
