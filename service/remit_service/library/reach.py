"""The HTTP API as an `httpx.AsyncClient`: of a running service, or of the store in this process.

On the store itself the routes are called without a network, by a caller that may speak for anyone: whoever may write
the file. So the command line and Python have one form for both, and it is the one of HTTP.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import httpx

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from remit_service.settings import Settings

LOCAL: Final = "http://127.0.0.1"
TIMEOUT_SECONDS: Final = 30.0
ANY_SIZE: Final = 1 << 40
"""Bytes of a body in this process: a bound protects a service from its callers, and here they are the same."""


@asynccontextmanager
async def service(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """Open the running service at `settings.url`, with the API key of `settings.key`."""
    headers = {"Authorization": f"Bearer {settings.key.reveal()}"} if settings.key is not None else {}
    async with httpx.AsyncClient(base_url=settings.url or "", headers=headers, timeout=TIMEOUT_SECONDS) as client:
        yield client


@asynccontextmanager
async def in_process(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """Run the service on the store, in this process and without a port."""
    # The web face and all it needs would slow down every command that asks a running service.
    from remit_service.application import running_app

    settings = replace(
        settings, anonymous_loopback=True, decision_log="none", listen="127.0.0.1:0", max_body_bytes=ANY_SIZE
    )
    async with running_app(settings, activate=False) as app:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url=LOCAL, timeout=TIMEOUT_SECONDS) as client:
            yield client
