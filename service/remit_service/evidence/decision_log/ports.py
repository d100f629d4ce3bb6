"""The port `DecisionLog`: where decisions are recorded before they are given out, and what a log promises.

- Records of one process form a stream; each holds the hash of the one before, and lost ones leave a gap record that
  counts them. Nothing is lost without a trace.
- A record that must exist (the decision carries the obligation `record`) is stored when `record` returns, or it
  raises. Any other is queued and costs the caller no waiting; when the queue is full it is counted as lost.
- A slow or broken log slows nothing down but the decisions that must be recorded, and those within a bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from remit_service.decision.caller import Caller
    from remit_service.decision.decision import Decision
    from remit_service.decision.request import Evaluation
    from remit_service.evidence.decision_log.scribe import Scribe


class DecisionLog(Protocol):
    """Where decisions are recorded; one for each process."""

    @property
    def scribe(self) -> Scribe:
        """Who spells the records; it is told what the policy in force masks."""

    async def start(self) -> None:
        """Begin or continue the stream, before the first record.

        Raises:
            DecisionLogError: the stream cannot be opened.
        """

    async def record(
        self, decision: Decision, evaluation: Evaluation, caller: Caller, labels: Mapping[str, Any]
    ) -> None:
        """Record a decision; `labels` say what belongs to the call and not to the decision, such as `request_id`.

        Raises:
            RecordingFailed: it could not be stored in time, and its action class demands that it is.
        """

    def note(self, event: Mapping[str, Any]) -> None:
        """Queue a record of something that is no decision: a refused request, a search. Never waits, never raises."""

    def recent(self, limit: int) -> Sequence[Mapping[str, Any]]:
        """Return the newest records of this process, newest first."""

    async def find(self, decision_id: str) -> Mapping[str, Any] | None:
        """Return the record of a decision as far back as this log can look, or None."""

    @property
    def lost(self) -> Mapping[str, int]:
        """How many records were lost since the start, by cause."""

    def problems(self) -> Sequence[str]:
        """Return what is wrong with the log now, one sentence each."""

    async def aclose(self) -> None:
        """Store what is queued, within a bound, and close the stream."""
