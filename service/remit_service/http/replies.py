"""What every FastAPI route here shares: the exchange it answers, and how a JSON answer is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from fastapi import Response

if TYPE_CHECKING:
    from fastapi import Request

    from remit_service.http.exchange import Exchange

CALLED: Final = (401, 403, 429, 503)
"""Problems that any call which needs a caller may end with."""

ASKED: Final = (400, 413, *CALLED)
"""Problems that any call with a body may end with."""


def json(document: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a JSON response."""
    return Response(msgspec.json.encode(document), status, headers, "application/json")


def exchange_of(request: Request) -> Exchange:
    """Return the exchange that the outer application began."""
    return request.scope["remit"]  # type: ignore[no-any-return]
