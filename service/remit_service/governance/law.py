"""Ask the policy whether a governance command may be done (rules.md 5).

A command needs its own law, and a MAY_WRITE chain on `remit:graph` for its action; for a root principal, and for the
right to end what one made, the law alone decides. Both are judged by `remit.decision` in one evaluation, with the
facts of the command as `governance` in its input.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.registry import GRAPH_KEY, KEY_TYPE
from remit_graph.view.grounds import ViewGrounds
from remit_service.asking import ask_now
from remit_service.decision.caller import Caller
from remit_service.decision.decide import decide_now, prepare
from remit_service.decision.request import Entity, Evaluation
from remit_service.presenting import facts_of
from remit_service.writer.command import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from remit_graph.laws.refusal import Refusal
    from remit_graph.model.builtin import Governance
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.decision.decision import Decision
    from remit_service.decision.resolve import Question
    from remit_service.policy import Policy

MAX_REASONS: Final = 64
"""Broken laws that one refusal names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """The principal in whose name a command is given, already proven by whoever takes commands.

    Attributes:
        principal: Its id.
        approval_id: An approval of the command, where policy data asks for one.
        decisions: What the policy was asked in its name and answered, for the record; emptied when it is asked again.
    """

    principal: str
    approval_id: str | None = None
    decisions: list[tuple[Evaluation, Decision]] = field(default_factory=list, compare=False, repr=False)

    def speaks_for(self, principal: str, view: View, at: Instant) -> bool:
        """Whether it is the principal, or acts as it (never over MEMBER_OF)."""
        return principal in ViewGrounds(view=view, at=at).acts_as(self.principal)

    def is_root(self, view: View, at: Instant) -> bool:
        """Whether it is a root principal, or acts as one."""
        return any(view.is_root(each) for each in ViewGrounds(view=view, at=at).acts_as(self.principal))


def permitted(
    policy: Policy, view: View, at: Instant, actor: Actor, action: Governance, **facts: Mapping[str, Any]
) -> Decision:
    """Return the policy's decision on a command; `facts` are its law's: `delegation`, `power` or `revocation`."""
    kind, _, name = actor.principal.partition(":")
    # The version of the graph is its revision, and the append compares it.
    context: dict[str, Any] = {"expected_version": str(view.revision), "resource_version": str(view.revision)}
    if actor.approval_id is not None:
        context["approval_id"] = actor.approval_id
    evaluation = Evaluation(
        subject=Entity(type=kind, id=name),
        action=action.value,
        resource=Entity(type=KEY_TYPE, id=GRAPH_KEY),
        context=context,
    )
    governance = {
        "command": action.value,
        "root": actor.is_root(view, at),
        "delegation": None,
        "power": None,
        "revocation": None,
        "transfer": None,
        **facts,
    }

    def collect(state: View, question: Question) -> Mapping[str, Any]:
        return {**facts_of(state, question, policy.tables), "governance": governance}

    caller = Caller(point=None, identity=actor.principal, trusts_all=True)
    prepared = prepare(evaluation, caller, view, at, rules=policy, coordination=collect)
    decision = decide_now(prepared, partial(ask_now, policy), rules=policy)
    actor.decisions.append((evaluation, decision))
    return decision


def refused_by_policy(decision: Decision, broken: Sequence[Refusal] = ()) -> Refused | None:
    """Return the refusal that a decision and broken laws amount to, or None where the command may be done.

    A broken law names the dimension that would be widened; the policy's reason of the same code gives way to it.
    """
    reasons: list[dict[str, Any]] = [each.record() for each in broken[:MAX_REASONS]]
    named = {each.code for each in broken}
    if decision.effect != "permit" or decision.outcome != "execute":
        reasons += [each.record() for each in decision.reasons if each.code not in named]
    if not reasons:
        return None
    first = reasons[0]
    return Refused(
        code=str(first["code"]),
        message=str(first["message"]),
        facts={"reasons": reasons, "decision_id": decision.decision_id},
    )
