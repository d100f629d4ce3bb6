"""What a record does not show: members whose names policy data masks (`remit.config.masked`), wherever they are nested.

Removed members are listed in `masked`, as JSON pointers, as OPA's decision log does. The values handed in are never
changed: what is masked is copied.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MAX_DEPTH: Final = 8
"""Deeper than any attribute of a request that means something; what lies below is removed as a whole."""


class Masker:
    """Removes what policy data masks."""

    def __init__(self, masked: Mapping[str, Any]) -> None:
        """Mask the names in `masked`: `context` for the context, `attributes` for subject, action and resource."""
        self._context = frozenset(masked.get("context") or ())
        self._attributes = frozenset(masked.get("attributes") or ())

    def request(self, request: Mapping[str, Any], masked: list[str]) -> dict[str, Any]:
        """Return an AuthZEN request without what is masked; pointers are added to `masked`."""
        shown = dict(request)
        shown["context"] = _without(request.get("context") or {}, self._context, "/context", masked)
        for part in ("subject", "action", "resource"):
            properties = request[part].get("properties")
            if properties:
                place = f"/{part}/properties"
                shown[part] = {**request[part], "properties": _without(properties, self._attributes, place, masked)}
        return shown

    def facts(self, document: Mapping[str, Any], masked: list[str]) -> Mapping[str, Any]:
        """Return a policy input without what is masked; pointers are added to `masked`."""
        if not document:
            return document
        count = len(masked)
        asked = document["request"]
        request = {**asked, "context": _without(asked["context"], self._context, "/input/request/context", masked)}
        parts: dict[str, Any] = {}
        for part in ("action", "resource"):
            place = f"/input/request/{part}/properties"
            shown = _without(asked[part].get("properties") or {}, self._attributes, place, masked)
            request[part] = {**asked[part], "properties": shown}
        for part in ("subject", "resource"):
            place = f"/input/{part}/attributes"
            shown = _without(document[part]["attributes"], self._attributes, place, masked)
            parts[part] = {**document[part], "attributes": shown}
        return document if len(masked) == count else {**document, **parts, "request": request}


def _without(
    value: Mapping[str, Any], names: frozenset[str], pointer: str, masked: list[str], depth: int = 0
) -> Mapping[str, Any]:
    """Return `value` itself where nothing is masked in it, which is nearly always."""
    changed: dict[str, Any] | None = None
    for name, each in value.items():
        place = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
        if name in names:
            shown: Any = _REMOVED
            masked.append(place)
        elif isinstance(each, Mapping | list):
            shown = _inside(each, names, place, masked, depth + 1)
        else:
            continue
        if shown is not each:
            changed = dict(value) if changed is None else changed
            if shown is _REMOVED:
                del changed[name]
            else:
                changed[name] = shown
    return value if changed is None else changed


_REMOVED: Final = object()


def _inside(value: Any, names: frozenset[str], pointer: str, masked: list[str], depth: int) -> Any:
    if depth > MAX_DEPTH:
        masked.append(pointer)
        return _REMOVED
    if isinstance(value, Mapping):
        return _without(value, names, pointer, masked, depth)
    if not isinstance(value, list):
        return value
    shown = [_inside(each, names, f"{pointer}/{index}", masked, depth + 1) for index, each in enumerate(value)]
    kept = [each for each in shown if each is not _REMOVED]
    return value if len(kept) == len(value) and all(a is b for a, b in zip(kept, value, strict=True)) else kept
