"""Pieces of the OpenAPI document that the routes of coordination share."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Final

from fastapi import Path, Query

from remit_service.http.coordination.desk import MAX_WAIT_SECONDS
from remit_service.http.replies import ASKED

Tags = list[str | Enum]
"""Under which heading routes are listed; the type is FastAPI's."""

COMMAND: Final = tuple(sorted({404, 409, 410, 412, 422, 428, *ASKED}))
"""Problems a command may end with: the status of each reason code (rules.md 7)."""

CommandId = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:@-]{0,255}$", description="Its id.")]
Wait = Annotated[
    int, Query(ge=0, le=MAX_WAIT_SECONDS, description="Seconds that the answer may wait for news; 0 is not at all.")
]


def parameters(*each: dict[str, Any]) -> dict[str, Any]:
    """Return headers that a route reads, as `openapi_extra`."""
    return {"parameters": list(each)}
