"""Where decisions are recorded before they are given out, as far as the decision point cares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_service.decision.caller import Caller
    from remit_service.decision.decision import Decision
    from remit_service.decision.request import Evaluation


class Recorder(Protocol):
    """Where decisions are recorded before they are given out."""

    async def record(
        self, decision: Decision, evaluation: Evaluation, caller: Caller, labels: Mapping[str, Any]
    ) -> None:
        """Record a decision.

        Raises:
            RecordingFailed: it could not be recorded, and its action class demands that it is.
        """


class RecordingFailed(Exception):
    """The decision log cannot write, and the action class demands a record."""
