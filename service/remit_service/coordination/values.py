"""What passes between the machine and whoever drives it: questions, verdicts, claims, answers and refusals."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remit_graph.model.change import Change
    from remit_graph.model.instant import Instant
    from remit_graph.model.resource_type import Action, ResourceType

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A question for the policy.

    Attributes:
        request: What is asked: an evaluation as the driver knows it, or in AuthZEN's form where it was stored.
        caller: Who asks, as the driver knows it; None where the request is a stored one, believed as it was stored.
        phase: `begin` and `renew` take control, `rest` asks whether what is held may stay, `probe` asks as a writer.
        mode: `exclusive` or `shared`.
        preempt: Whether taking over is asked for.
        lease_id: The lease in whose name it is asked; it counts as presented and current.
        governance: Facts of a governance command, or None.
    """

    request: Any
    caller: Any = None
    phase: str = "begin"
    mode: str = "exclusive"
    preempt: bool = False
    lease_id: str | None = None
    governance: Record | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A request, resolved: who asks for what.

    Attributes:
        subject: The principal.
        action: The declared action.
        key: Canonical key of the resource.
        type: Its type.
        fields: Effective fields; empty is the whole resource.
        concurrency: The class in force for this request.
        request: Its stored form, with nothing in it that was not believed.
        set_operations: `{add, remove}` of a set merge, or None.
        context: What was presented: `expected_version`, `change_id`, `sequence`, `work_set_id` and the like.
        owner: The current owner of the touched fields, where there is one for all of them.
    """

    subject: str
    action: Action
    key: str
    type: ResourceType
    fields: tuple[str, ...]
    concurrency: str
    request: Record
    set_operations: Record | None = None
    context: Record = field(default_factory=dict)
    owner: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the policy says to one question.

    Attributes:
        effect, outcome: As in a decision.
        codes: Every failing question.
        reasons: The same with sentences and facts.
        proof: Positions of the edges that carried it.
        conflicts: What it conflicts with, each with `lease_id` and `result`.
        obligations: What a permit demands.
        not_after: Earliest end of anything it rests on.
        epochs: `policy`, `authority`, `ownership` by field.
        decision_id: Of the decision that was recorded.
        claim: The request resolved; None where subject, action or resource is unknown.
    """

    effect: str
    outcome: str
    codes: tuple[str, ...] = ()
    reasons: tuple[Record, ...] = ()
    proof: tuple[str, ...] = ()
    conflicts: tuple[Record, ...] = ()
    obligations: tuple[Record, ...] = ()
    not_after: Instant | None = None
    epochs: Record = field(default_factory=dict)
    decision_id: str = ""
    claim: Claim | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A command that changes nothing: a code of the closed set, and what the answer names.

    Attributes:
        code: Why.
        outcome: What to do next; empty is what the table of reasons says of the code.
        facts: What its sentence names.
        reasons: All of them, where the policy gave several.
        conflicts: What is in the way.
        retry_at: When asking again can help.
    """

    code: str
    outcome: str = ""
    facts: Record = field(default_factory=dict)
    reasons: tuple[Record, ...] = ()
    conflicts: tuple[Record, ...] = ()
    retry_at: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A command that was carried out; its changes may be none where it found nothing to do."""

    result: Record


@dataclass(frozen=True, slots=True)
class Changed:
    """The whole of a step: what it changes, in order, and what its caller is told."""

    changes: tuple[Change, ...]
    result: Record


@dataclass(frozen=True, slots=True)
class Question:
    """A step that needs one more verdict: what is asked, on the state with these changes made."""

    ask: Ask
    changes: tuple[Change, ...]


Steps = Generator[Ask, Verdict, Answer | Refusal]
"""A command on its way: it asks, is sent a verdict, and returns."""

Asking = Generator[Ask, Verdict, None]
"""A part of one that returns nothing."""
