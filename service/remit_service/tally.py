"""What the commands of this process came to, as metrics of coordination and governance (evidence.md 6).

Every replica sees every change; each counts only what it appended or refused itself, so the sum over all replicas is
what happened. A rate needs what it is a rate of: `remit_commands_total` is the number of commands of an action,
whatever came of them, and `remit_decisions_total` that of decisions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from prometheus_client import Counter, Histogram

from remit_service.coordination.states import Cause, LeaseState
from remit_service.writer.command import Accepted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prometheus_client import CollectorRegistry

    from remit_service.writer.command import Done, Submission

BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
CONFLICTS: Final = frozenset(
    {"resource_busy", "resource_coordinated", "conflicting_operation", "conflict_unknown", "human_presence"}
)
"""Codes by which a request for control meets somebody else's."""

FENCED: Final = "stale_fencing_token"
_ENDS: Final = {LeaseState.EXPIRED: "expired", LeaseState.RELEASED: "released"}


class Tally:
    """Counts commands by action and what came of them, and what they did to leases."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register every metric."""
        self._commands = Counter(
            "remit_commands", "Commands by action and code; `none` is done.", ("action", "code"), registry=registry
        )
        self._seconds = Histogram(
            "remit_command_duration_seconds",
            "From a command to its answer.",
            ("action",),
            buckets=BUCKETS,
            registry=registry,
        )
        self._acquired = Counter("remit_lease_acquired", "Leases granted, by mode.", ("mode",), registry=registry)
        self._leases = {
            what: Counter(f"remit_lease_{what}", f"Leases {what}.", registry=registry)
            for what in ("renewed", "expired", "released", "preempted", "revoked")
        }
        self._conflicts = Counter(
            "remit_lease_conflicts", "Requests for control that met somebody else's.", registry=registry
        )
        self._records = Counter(
            "remit_conflict_records", "Conflict records by type and decision.", ("type", "decision"), registry=registry
        )
        self._fenced = Counter("remit_fencing_rejections", "Stale tokens that were refused.", registry=registry)
        self._waits = Counter(
            "remit_waits_ended", "Places in queues that ended, by state and code.", ("state", "code"), registry=registry
        )
        self._seen = Counter(
            "remit_observed_writes",
            "Changes seen at resources that no operation explains.",
            ("finding",),
            registry=registry,
        )
        self._handlers: dict[str, Callable[[Mapping[str, Any]], None]] = {
            "lease.put": self._put,
            "lease.end": self._ended,
            "conflict.put": lambda body: self._records.labels(body["conflict_type"], body["decision"]).inc(),
            "waiter.end": lambda body: self._waits.labels(body["state"], body.get("code") or "none").inc(),
            "observation.put": lambda body: self._seen.labels(body["finding"]).inc(),
        }  # fmt: skip

    def note(self, submission: Submission, done: Done, seconds: float) -> None:
        """Count one command; a stored answer was counted when it was made."""
        if done.replayed:
            return
        self._seconds.labels(submission.action).observe(seconds)
        if isinstance(done.verdict, Accepted):
            self._commands.labels(submission.action, "none").inc()
            for change in done.verdict.changes:
                handler = self._handlers.get(change.kind)
                if handler is not None:
                    handler(change.body)
            return
        code = done.verdict.code
        self._commands.labels(submission.action, code).inc()
        if code in CONFLICTS:
            self._conflicts.inc()
        if code == FENCED:
            self._fenced.inc()

    def denied(self, codes: tuple[str, ...]) -> None:
        """Count a decision that refused a stale token."""
        if FENCED in codes:
            self._fenced.inc()

    def _put(self, body: Mapping[str, Any]) -> None:
        if body["version"] == 1:
            self._acquired.labels(body["mode"]).inc()
        else:
            self._leases["renewed"].inc()

    def _ended(self, body: Mapping[str, Any]) -> None:
        ended = _ENDS.get(body["state"])
        self._leases[ended or ("preempted" if body.get("cause") == Cause.PREEMPTION else "revoked")].inc()
