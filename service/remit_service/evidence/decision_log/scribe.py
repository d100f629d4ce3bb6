"""Spells records, and keeps the newest of them at hand."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

import msgspec

from remit_service.evidence.decision_log.event import decision_event
from remit_service.evidence.decision_log.mask import Masker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from remit_service.decision.caller import Caller
    from remit_service.decision.decision import Decision
    from remit_service.decision.request import Evaluation

SHIPPED_MASK: Final[Mapping[str, Any]] = {
    "context": ("authorization", "cookie", "password", "secret", "token"),
    "attributes": ("email", "phone"),
}
"""What is masked before the policy in force is known: the names of the shipped policy data."""

_encode = msgspec.json.Encoder().encode


def is_required(decision: Decision) -> bool:
    """Whether the record has to exist before the answer: the policy's obligation `record`.

    A deny carries no obligations, and lets nobody act unseen.
    """
    return any(each["type"] == "record" for each in decision.obligations)


class Scribe:
    """Turns decisions and other events into records."""

    def __init__(self, labels: Mapping[str, str], *, with_input: bool = True, keep: int = 1_000) -> None:
        """Mark records with `labels`, and keep the newest `keep` of decisions."""
        self._labels = dict(labels)
        self._with_input = with_input
        self._keep = keep
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._masked = SHIPPED_MASK
        self._masker = Masker(SHIPPED_MASK)
        self._read: Callable[[], Mapping[str, Any]] = lambda: SHIPPED_MASK

    def follow(self, masked: Callable[[], Mapping[str, Any]]) -> None:
        """Mask what the policy in force says, from now on and after each change of it."""
        self._read = masked

    def _mask(self) -> Masker:
        masked = self._read()
        if masked is not self._masked:
            self._masked, self._masker = masked, Masker(masked)
        return self._masker

    def decision(self, decision: Decision, evaluation: Evaluation, caller: Caller, labels: Mapping[str, Any]) -> bytes:
        """Return the record of a decision, and keep it at hand."""
        event = decision_event(decision, evaluation, caller, labels, masker=self._mask(), with_input=self._with_input)
        record = self.other(event)
        self._kept[decision.decision_id] = record
        if len(self._kept) > self._keep:
            self._kept.popitem(last=False)
        return record

    def question(self, evaluation: Evaluation) -> dict[str, Any]:
        """Return a question as records show it, without what is masked; for what asks and is no decision."""
        return self._mask().request(evaluation.record(), [])

    def other(self, event: Mapping[str, Any]) -> bytes:
        """Return the record of any event."""
        return _encode({**event, "labels": self._labels})

    def recent(self, limit: int) -> list[Mapping[str, Any]]:
        """Return the newest records of decisions, newest first."""
        newest = list(self._kept.values())[: -limit - 1 : -1]
        return [msgspec.json.decode(each) for each in newest]

    def find(self, decision_id: str) -> bytes | None:
        """Return a record that is still at hand."""
        return self._kept.get(decision_id)
