"""Exit codes, and the one place where an error becomes a sentence (interfaces.md 4).

0 permit or done · 1 deny or refused · 2 usage · 3 fault. No traceback reaches a user: what is not expected here is a
fault too, says so, and points at `--debug`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import httpx

from remit_graph.errors import GraphError, LedgerError, ModelError
from remit_graph.world.source import WorldRefused
from remit_service.bundle.errors import BundleRefused
from remit_service.engines.errors import EngineError
from remit_service.identity.errors import IdentityError
from remit_service.settings import SettingsError

DONE: Final = 0
REFUSED: Final = 1
USAGE: Final = 2
FAULT: Final = 3


class Failure(Exception):
    """Ends a command with a code and sentences; raised by commands themselves."""

    def __init__(self, message: str, *, code: int = USAGE, advice: str = "") -> None:
        """Keep what is told."""
        super().__init__(message)
        self.message = message
        self.code = code
        self.advice = advice


def told(error: BaseException) -> tuple[int, list[str]]:
    """Return the exit code and the lines that tell a person what went wrong and what to do next."""
    if isinstance(error, Failure):
        return error.code, _lines([error.message], error.advice)
    if isinstance(error, httpx.TransportError):
        return FAULT, _lines(
            [f"the service cannot be reached: {error}"], "start it with `remit serve`, or correct --url"
        )
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return FAULT, _lines([f"{place}{error.strerror or error}"], "")
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code, _lines(str(error).splitlines(), getattr(error, "advice", ""))
    return FAULT, _lines([f"{type(error).__name__}: {error}"], "this is a fault of Remit's; run again with --debug")


_CODES: Final[tuple[tuple[type[Exception], int], ...]] = (
    (SettingsError, USAGE),
    (WorldRefused, USAGE),
    (BundleRefused, USAGE),
    (LedgerError, FAULT),
    (EngineError, FAULT),
    (IdentityError, REFUSED),
    (ModelError, USAGE),
    (GraphError, USAGE),
)
"""The first kind that fits gives the code."""


def _lines(messages: Iterable[str], advice: str) -> list[str]:
    return [*messages, *([f"→ {advice}"] if advice else [])]
