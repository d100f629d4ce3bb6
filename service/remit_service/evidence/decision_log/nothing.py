"""No decision log: nothing is stored, and what must be recorded is denied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from remit_service.evidence.decision_log.errors import RecordingFailed
from remit_service.evidence.decision_log.scribe import Scribe, is_required

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_service.decision.caller import Caller
    from remit_service.decision.decision import Decision
    from remit_service.decision.request import Evaluation


class NoLog:
    """A `DecisionLog` that keeps the newest records at hand and stores none."""

    def __init__(self, scribe: Scribe) -> None:
        """Keep what `scribe` keeps."""
        self.scribe = scribe

    async def start(self) -> None:
        """Nothing to open."""

    async def record(
        self, decision: Decision, evaluation: Evaluation, caller: Caller, labels: Mapping[str, Any]
    ) -> None:
        """Refuse what must be recorded."""
        self.scribe.decision(decision, evaluation, caller, labels)
        if is_required(decision):
            raise RecordingFailed("no decision log is configured")

    def note(self, event: Mapping[str, Any]) -> None:
        """Nothing is stored."""

    def recent(self, limit: int) -> list[Mapping[str, Any]]:
        """Return the newest records of this process."""
        return self.scribe.recent(limit)

    async def find(self, decision_id: str) -> Mapping[str, Any] | None:
        """Return a record that is still at hand."""
        record = self.scribe.find(decision_id)
        return None if record is None else msgspec.json.decode(record)

    @property
    def lost(self) -> Mapping[str, int]:
        """Nothing is lost where nothing is promised."""
        return {}

    def problems(self) -> list[str]:
        """Nothing can go wrong."""
        return []

    async def aclose(self) -> None:
        """Nothing to close."""
