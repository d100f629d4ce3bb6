"""What a decision can be explained from: the question, the facts the policy saw, what it answered, and the graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remit_graph.model.condition import Scales
    from remit_graph.view.state import View
    from remit_service.decision.facts import Facts
    from remit_service.decision.resolve import Question

Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What a reason can be explained from.

    Attributes:
        question: What was asked.
        facts: The policy input.
        result: The policy's document: conflicts, site denials, policy errors, approvals.
        view: The graph; where an engine was waited for, it may have gone on.
        revision: Of the view when the facts were collected.
        scales: Ordered scales.
        config: The policy's configuration data.
    """

    question: Question
    facts: Facts
    result: Result
    view: View
    revision: int
    scales: Scales
    config: Mapping[str, Any]

    @property
    def environments(self) -> list[str]:
        """Where the request is: what the graph says of its resource, and the context."""
        found = self.document["resource"]["dimensions"].get("environment") or {}
        return [*found.get("graph", ()), *([found["context"]] if found.get("context") else [])]

    @property
    def document(self) -> Mapping[str, Any]:
        """The policy input."""
        return self.facts.document
