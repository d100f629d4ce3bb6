"""`remit demo`: start a decision point on the demo world, play the story over HTTP, leave nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from remit_service.cli.context import Call, call_of, run
from remit_service.cli.exits import DONE, REFUSED

if TYPE_CHECKING:
    import httpx


def demo(
    context: typer.Context,
    store: Annotated[
        str | None, typer.Option(help="An empty store to play on, such as neo4j://neo4j@localhost; emptied at the end.")
    ] = None,
) -> None:
    """Play the story this system exists for; exit 1 where a verdict is not the promised one."""
    call = call_of(context)
    if store is not None:
        call.options["store"] = store

    async def work() -> int:
        from remit_service.demo.player import Player

        started = perf_counter()
        async with _serving(call) as client:
            up = perf_counter() - started
            call.output.console.print(f"Remit is up after {up:.2f} s, at {client.base_url}", markup=False)
            score = await Player(client, call.output.console).play()
        mean = score.seconds / max(score.asked, 1) * 1000
        verdicts = f"{score.asked} verdicts, {score.differing} not as promised"
        call.output.console.print(f"\n{verdicts}; {mean:.1f} ms each over HTTP", style="bold", markup=False)
        return DONE if not score.differing else REFUSED

    run(call, work, fast=True)


@asynccontextmanager
async def _serving(call: Call) -> AsyncIterator[httpx.AsyncClient]:
    """Serve the demo world on a free port of this machine, for as long as the block runs."""
    import httpx

    from remit_service.application import running_app
    from remit_service.http.server import listen, make_server

    settings = call.settings(demo=True, listen="127.0.0.1:0", decision_log="none", log_level="error")
    listener = listen(settings)
    address = f"127.0.0.1:{listener.getsockname()[1]}"
    settings = replace(settings, listen=address)
    async with running_app(settings) as app:
        server = make_server(app, settings, log_level="critical")
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            async with httpx.AsyncClient(base_url=f"http://{address}", timeout=10) as client:
                yield client
        finally:
            # Also where the story fails: the server ends before what it serves.
            server.should_exit = True
            await task
