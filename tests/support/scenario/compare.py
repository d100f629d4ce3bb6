"""What two plays of one scenario told, made comparable: all but what is drawn anew or measured in each of them."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from dataclasses import asdict, is_dataclass
from typing import Any, Final

_MEASURED: Final = frozenset({"timings_us", "decision_id"})
_DRAWN: Final = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
"""Ids that are drawn; digests of content have twice the length, and count."""


def unvaried(told: Any) -> Any:
    """Return `told` as plain values; two plays that differ in verdict, reason, proof or number differ here."""
    if is_dataclass(told) and not isinstance(told, type):
        return unvaried(asdict(told))
    if isinstance(told, dict):
        return {name: _unvaried(name, value) for name, value in told.items() if name not in _MEASURED}
    if isinstance(told, list | tuple):
        return [unvaried(each) for each in told]
    return _DRAWN.sub("…", told) if isinstance(told, str) else told


def _unvaried(name: str, value: Any) -> Any:
    if name == "revision" and isinstance(value, str):
        # A revision token names the store, which is drawn, then incarnation and revision, which are not.
        return urlsafe_b64decode(value + "=" * (-len(value) % 4)).decode().partition(".")[2]
    return unvaried(value)
