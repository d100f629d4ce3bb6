"""The record of an approval: what exactly was looked at, for whom, by whom, until when."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.instant import Instant

PER_CALL: Final = "per_call"
PER_RUN: Final = "per_run"
MODES: Final = (PER_CALL, PER_RUN)

Record = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The operation that is approved; it never changes, so that every vote is on the same.

    Attributes:
        action: Of the operation.
        keys: Canonical keys of the resources; several only for a run.
        fields: Fields it touches; empty is the whole resource.
        requester: The principal that will act.
        expected_version: The version that was looked at, or None.
        content_hash: Digest of what will be written, or None; one of both is there.
        mode: `per_call`, or `per_run` for a batch of ordinary writes of one run.
        run_id: The run, for `per_run`.
        quorum: How many others must agree.
        expires_at: Its end.
        shown: What approvers saw: resources, operation, target, expected effect, conflicts (S117).
    """

    action: str
    keys: tuple[str, ...]
    fields: tuple[str, ...]
    requester: str
    expected_version: str | None
    content_hash: str | None
    mode: str
    run_id: str | None
    quorum: int
    expires_at: Instant
    shown: Mapping[str, Any] = field(default_factory=dict)

    def members(self) -> Record:
        """Return them as the record holds them."""
        found: Record = {
            "action": self.action,
            "resource_keys": list(self.keys),
            "fields": list(self.fields),
            "requester": self.requester,
            "mode": self.mode,
            "quorum": self.quorum,
            "expires_at": self.expires_at,
            "shown": dict(self.shown),
        }
        for name in ("expected_version", "content_hash", "run_id"):
            if getattr(self, name) is not None:
                found[name] = getattr(self, name)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """That one principal agrees.

    Attributes:
        approver: Who.
        at: When.
        proof: The edges its right to approve rests on.
        decision_id: The decision that let it.
    """

    approver: str
    at: Instant
    proof: tuple[str, ...]
    decision_id: str

    def record(self) -> Record:
        """Return it as the record holds it."""
        return {"approver": self.approver, "at": self.at, "proof": list(self.proof), "decision_id": self.decision_id}


def new_record(approval_id: str, point: str, terms: Terms, at: Instant) -> Record:
    """Return the record of what is to be approved; nobody has agreed to it yet."""
    return {
        "id": approval_id, "approval_id": approval_id, "point": point, "created_at": at, **terms.members(),
        "votes": [], "proof": [],
    }  # fmt: skip


def with_vote(record: Mapping[str, Any], vote: Vote) -> Record:
    """Return a record with one more vote; a second one of the same principal takes the place of its first."""
    votes = [each for each in record["votes"] if each["approver"] != vote.approver] + [vote.record()]
    return {**record, "votes": votes, "proof": sorted({edge for each in votes for edge in each["proof"]})}
