"""`GET /bundles/remit.tar.gz`: the policy bundle as OPA fetches it, with an entity tag and a long poll.

OPA sends `Prefer: modes=snapshot,delta;wait=30` and the tag it has; the answer waits until the bundle in force has
another one. Open waits have a bound of their own, so that they cannot take the place of decisions. A program on this
machine needs no credentials: OPA runs beside the decision point, and needs the policy before any graph is loaded.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from remit_service.bundle.serve import BUNDLE_PATH, LONG_POLL_MEDIA_TYPE, MEDIA_TYPE
from remit_service.identity.loopback import is_local
from remit_service.identity.ports import Presented

if TYPE_CHECKING:
    from remit_service.http.exchange import Exchange
    from remit_service.http.polls import Polls
    from remit_service.http.service import Service

PATH: Final = f"/{BUNDLE_PATH}"
MAX_WAIT_SECONDS: Final = 60
_WAIT: Final = re.compile(rb"(?:^|[;,\s])wait=(\d{1,6})(?:$|[;,\s])")


async def serve_bundle(service: Service, exchange: Exchange, polls: Polls) -> tuple[int, str, bytes, dict[str, str]]:
    """Return status, media type, body and headers."""
    if not is_local(Presented(exchange.headers, exchange.peer)) or b"authorization" in exchange.headers:
        await service.caller(exchange)
    known = exchange.headers.get(b"if-none-match", b"").decode("latin-1")
    seconds = wait_seconds(exchange.headers.get(b"prefer", b""))
    kind = LONG_POLL_MEDIA_TYPE if seconds else MEDIA_TYPE
    etag, body = service.point.bundle_archive()
    if seconds and known == etag:
        async with polls.open(exchange) as poll:
            await poll.news(service.point.wait_for_bundle(etag, timedelta(seconds=seconds)))
        etag, body = service.point.bundle_archive()
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    if known == etag:
        return 304, kind, b"", headers
    return 200, kind, body, headers


def wait_seconds(prefer: bytes) -> int:
    """Return how long a caller would wait, at most `MAX_WAIT_SECONDS`; 0 where it would not."""
    match = _WAIT.search(prefer)
    return min(int(match[1]), MAX_WAIT_SECONDS) if match else 0
