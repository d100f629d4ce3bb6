"""`remit serve`: the decision point over HTTP."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import structlog
import typer

from remit_service.cli.context import Call, call_of, run
from remit_service.cli.exits import DONE, FAULT, Failure
from remit_service.keeping.garbage import collecting_nothing
from remit_service.settings import Settings

if TYPE_CHECKING:
    from remit_service.http.app import Application


def serve(
    context: typer.Context,
    listen: Annotated[str | None, typer.Option(help="Address and port, 127.0.0.1:8180.")] = None,
    world: Annotated[Path | None, typer.Option(help="World for a store that is empty or not made yet.")] = None,
    engine: Annotated[str | None, typer.Option(help="embedded, or the address of an OPA server.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Serve the demo world from a store that goes with it.")] = False,
    anonymous_loopback: Annotated[
        bool, typer.Option("--anonymous-loopback", help="Trust local callers for everything. For trials only.")
    ] = False,
) -> None:
    """Answer over HTTP until it is told to stop."""
    call = call_of(context)

    async def work() -> int:
        settings = call.settings(
            listen=listen,
            world=world,
            engine=engine,
            demo=True if demo else None,
            anonymous_loopback=True if anonymous_loopback else None,
        )
        await _serve(call, settings)
        return DONE

    run(call, work, fast=True)


async def _serve(call: Call, settings: Settings) -> None:
    # The web server and all it needs would slow down every other command.
    with collecting_nothing():
        from remit_service.application import running_app
        from remit_service.keeping.garbage import collecting_when_idle

    set_up_logging(settings)
    async with running_app(settings) as app:
        _announce(call, settings)
        async with collecting_when_idle(lambda: app.service.in_flight.begun):
            await _run(app, settings)


async def _run(app: Application, settings: Settings) -> None:
    from remit_service.http.server import listen, make_server

    try:
        listener = listen(settings)
    except OSError as error:
        reason = error.strerror or str(error)
        raise Failure(
            f"cannot listen on {settings.listen}: {reason}", code=FAULT, advice="is another process there?"
        ) from error
    await make_server(app, settings).serve(sockets=[listener])


def _announce(call: Call, settings: Settings) -> None:
    call.output.tell(f"Remit answers at {settings.public_url}  (Ctrl-C stops it)")
    if settings.demo or settings.anonymous_loopback:
        call.output.tell("callers on this machine are NOT authenticated; nobody else can reach this address")


def set_up_logging(settings: Settings) -> None:
    """Write the operating log to standard error, in the form the settings ask for."""
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if settings.log_format == "json" else structlog.dev.ConsoleRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=_standard_error,
    )


def _standard_error(*_: object) -> structlog.PrintLogger:
    """Return a logger on standard error as it is now: whoever embeds this may have replaced it since."""
    return structlog.PrintLogger(sys.stderr)
