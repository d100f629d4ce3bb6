"""Faults a scenario can bring about: engines that break their promise, and a ledger that is gone."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from remit_graph.errors import LedgerUnavailable
from remit_service.engines.errors import EngineTimeout, EngineUnavailable, PolicyError, ResultUndefined

if TYPE_CHECKING:
    from remit_service.engines.ports import Document
    from remit_service.point import DecisionPoint
    from remit_service.policy import Policy


class BrokenEngine:
    """Answers every question with one error, or one document, or never."""

    def __init__(self, revision: str, answer: Document | Exception | asyncio.Event) -> None:
        """Keep what it answers."""
        self.policy_revision = revision
        self._answer = answer

    async def evaluate(self, *_: Any) -> Document:
        """Give the answer."""
        if isinstance(self._answer, Exception):
            raise self._answer
        if isinstance(self._answer, asyncio.Event):
            await self._answer.wait()  # Nobody sets it.
            return None
        return self._answer

    async def check(self) -> None:
        """Is never asked."""

    async def aclose(self) -> None:
        """Hold nothing."""


def break_engine(what: str, policy: Policy) -> BrokenEngine:
    """Return the engine that shows a fault."""
    other: Document = {
        "effect": "permit", "outcome": "execute", "reasons": [], "determining": [], "conflicts": [], "obligations": [],
        "policy_revision": "sha256:other",
    }  # fmt: skip
    answers: dict[str, Document | Exception | asyncio.Event] = {
        "engine_unavailable": EngineUnavailable("connection refused"),
        "engine_timeout": EngineTimeout("no answer", timeout_ms=1000),
        "result_undefined": ResultUndefined("the entry point has no value"),
        "result_malformed": True,
        "policy_mismatch": other,
        "deadline_exceeded": asyncio.Event(),
        "policy_error": PolicyError("division by zero"),
    }
    return BrokenEngine(policy.revision, answers[what])


def break_ledger(point: DecisionPoint) -> None:
    """Let every further call to the ledger fail, as if its server were gone."""

    async def gone(*_: Any, **__: Any) -> Any:
        raise LedgerUnavailable("the store is gone")

    for name in ("head", "read", "watch", "append"):
        setattr(point.ledger, name, gone)
