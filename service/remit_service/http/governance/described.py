"""Pieces of the OpenAPI document that the routes of governance share."""

from __future__ import annotations

import re
from enum import Enum
from typing import Annotated, Any, Final

from fastapi import Path, Query

from remit_service.decision.request import RequestError
from remit_service.http.idempotency import PARAMETER
from remit_service.http.problems import Problem, ProblemError
from remit_service.http.replies import ASKED, CALLED

Tags = list[str | Enum]
"""Under which heading routes are listed; the type is FastAPI's."""

COMMANDS: Final[Tags] = ["governance"]
GRAPH: Final[Tags] = ["graph"]
COMMAND: Final = tuple(sorted({404, 409, 410, 412, 422, 428, *ASKED}))
"""Problems a command may end with: the status of each reason code (rules.md 7)."""

READ: Final = (400, 404, *CALLED)

Name = Annotated[str, Path(min_length=1, max_length=1024, description="Its id.")]
Key = Annotated[str, Path(min_length=1, max_length=4096, description="Its canonical key.")]
AtRevision = Annotated[int | None, Query(ge=1, description="As it was at this revision.")]

IF_MATCH: Final[dict[str, Any]] = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "description": "The version that is amended, quoted: the answer of a read has it as ETag.",
    "schema": {"type": "string", "pattern": r"^\"[0-9]{1,9}\"$"},
}
_VERSION: Final = re.compile(rb'(?:W/)?"?([0-9]{1,9})"?')


def version_of(header: bytes | None) -> int:
    """Return the version that `If-Match` names.

    Raises:
        ProblemError: 428; it is missing.
        RequestError: it is no version.
    """
    if header is None:
        detail = "say which version is amended: If-Match, with the version in quotes"
        raise ProblemError(Problem(code="version_required", detail=detail))
    match = _VERSION.fullmatch(header.strip())
    if match is None:
        raise RequestError('If-Match is one version in quotes, such as "3"', pointer="", header="If-Match")
    return int(match[1])


def keyed(schema: dict[str, Any], *more: dict[str, Any], required: bool = False) -> dict[str, Any]:
    """Return the body of a command with the headers it reads, as `openapi_extra`."""
    return {**schema, "parameters": [{**PARAMETER, "required": required}, *more]}
