"""Pieces of the OpenAPI document that routes are declared with; the schemas are in each room's `schemas.yaml`."""

from __future__ import annotations

from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import yaml

JSON: Final = "application/json"
PROBLEM: Final = "application/problem+json"
_HERE: Final = Path(__file__).parent
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The parser in C, where PyYAML has it: with the other, these files were an eleventh of a start."""


@lru_cache(maxsize=1)
def schemas() -> dict[str, Any]:
    """Return the schemas of bodies and answers by name."""
    found: dict[str, Any] = {}
    for file in sorted(_HERE.rglob("schemas.yaml")):
        found |= yaml.load(file.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506 - a safe loader, either way
    return found


def reference(name: str) -> dict[str, str]:
    """Return a reference to a schema.

    Raises:
        KeyError: there is none of this name; better at the start than in somebody's client.
    """
    _ = schemas()[name]
    return {"$ref": f"#/components/schemas/{name}"}


def body(name: str) -> dict[str, Any]:
    """Return the request body of a route, as `openapi_extra`."""
    return {"requestBody": {"required": True, "content": {JSON: {"schema": reference(name)}}}}


def answers(
    schema: str | None, status: int = 200, *, problems: tuple[int, ...] = ()
) -> dict[int | str, dict[str, Any]]:
    """Return the answers of a route: one of `schema`, and problems with these statuses."""
    content = {} if schema is None else {"content": {JSON: {"schema": reference(schema)}}}
    found: dict[int | str, dict[str, Any]] = {status: {"description": HTTPStatus(status).phrase, **content}}
    problem = {media: {"schema": reference("Problem")} for media in (PROBLEM, JSON)}
    return found | {each: {"description": HTTPStatus(each).phrase, "content": problem} for each in problems}
