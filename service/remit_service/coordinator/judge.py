"""Puts the machine's questions to the policy, at once and in this process (rules.md 11).

A question of a caller is decided as any other: what the caller is not believed about does not count. What was granted
is kept in a form that holds only what was believed, and is believed as it was kept when it is decided again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.resource_type import concurrency_of
from remit_service.asking import ask_now
from remit_service.capability.presented import shown_id
from remit_service.coordination.facts import Manner
from remit_service.coordination.machine import Walk
from remit_service.coordination.values import Ask, Changed, Claim, Verdict
from remit_service.decision.caller import Caller
from remit_service.decision.decide import Prepared, decide_now, prepare
from remit_service.decision.request import Entity, Evaluation
from remit_service.decision.resolve import PRESENTED
from remit_service.presenting import facts_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.instant import Instant
    from remit_graph.view.journal import Journal
    from remit_graph.view.state import View
    from remit_service.coordination.command import Command
    from remit_service.coordination.machine import Outcome
    from remit_service.decision.decision import Decision
    from remit_service.decision.resolve import Question
    from remit_service.policy import Policy

KEPT: Final = Caller(point=None, identity="system", trusts_all=True)
"""Who asks again about what was granted: everything in it was believed when it was kept."""

_NOT_KEPT: Final = frozenset({"coordination_id", "preempt", "proof"})
"""What a request only shows at its own moment; a lease may rest on another chain later (rules.md 9)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A decision as it is recorded: what was asked, by whom, in which phase."""

    decision: Decision
    evaluation: Evaluation
    caller: Caller
    phase: str


def walked(
    policy: Policy, view: View, at: Instant, command: Command, *, keep: Journal | None = None
) -> tuple[Outcome, list[Decided]]:
    """Carry a command out on the view, asking the policy whatever the machine asks.

    Args:
        policy: The policy in force.
        view: The state; it is as before afterwards.
        at: The instant.
        command: What is to be done.
        keep: The changes stay in the view instead, and can be taken back by this; not those of a command that is
            refused.

    Returns:
        The changes with the answer, or the refusal; and what was decided on the way, in order.
    """
    decisions: list[Decided] = []
    with Walk(view, policy.tables, at) as walk:
        outcome = walk.start(command)
        while isinstance(outcome, Ask):
            verdict, decided = judge(policy, view, at, outcome)
            decisions.append(decided)
            outcome = walk.send(verdict)
        if keep is not None and isinstance(outcome, Changed):
            keep.take_over(walk.work.hand_over())
    return outcome, decisions


def judge(policy: Policy, view: View, at: Instant, ask: Ask) -> tuple[Verdict, Decided]:
    """Decide one question on the view as it stands, with the changes of its step in it."""
    caller = KEPT if ask.caller is None else ask.caller
    evaluation = _evaluation(ask)
    manner = Manner(phase=ask.phase, mode=ask.mode, lease_id=ask.lease_id)
    collect = partial(_facts, policy=policy, manner=manner, governance=ask.governance)
    prepared = prepare(evaluation, caller, view, at, rules=policy, coordination=collect)
    decision = decide_now(prepared, partial(ask_now, policy), rules=policy)
    decided = Decided(decision=decision, evaluation=evaluation, caller=caller, phase=ask.phase)
    return _verdict(prepared, decision, view), decided


def _facts(view: View, question: Question, *, policy: Policy, manner: Manner, governance: Any) -> Mapping[str, Any]:
    facts = facts_of(view, question, policy.tables, manner)
    return facts if governance is None else {**facts, "governance": governance}


def _evaluation(ask: Ask) -> Evaluation:
    request = ask.request
    if isinstance(request, Evaluation):
        return replace(request, context={**request.context, "preempt": True}) if ask.preempt else request
    context = dict(request.get("context") or {})
    if ask.preempt:
        context["preempt"] = True
    return Evaluation(
        subject=_entity(request["subject"]),
        action=request["action"]["name"],
        action_properties=request["action"].get("properties") or {},
        resource=_entity(request["resource"]),
        context=context,
    )


def _entity(value: Mapping[str, Any]) -> Entity:
    return Entity(type=value["type"], id=value["id"], properties=value.get("properties") or {})


def _verdict(prepared: Prepared, decision: Decision, view: View) -> Verdict:
    return Verdict(
        effect=decision.effect,
        outcome=decision.outcome,
        codes=decision.codes,
        reasons=tuple(reason.record() for reason in decision.reasons),
        proof=decision.determining,
        conflicts=decision.conflicts,
        obligations=decision.obligations,
        not_after=_not_after(prepared, decision, view),
        epochs={
            name: decision.epochs[name] for name in ("policy", "authority", "ownership") if name in decision.epochs
        },
        decision_id=decision.decision_id,
        claim=_claim(prepared, view),
    )


def _not_after(prepared: Prepared, decision: Decision, view: View) -> Instant | None:
    """Return the earliest end of what the proof rests on, whatever the outcome: a held lease is bound to it."""
    question = prepared.question
    ends = [question.ground.until] if question.ground is not None else []
    for noun in ("capability", "approval"):
        shown = (prepared.facts.document.get(noun) or {}).get(f"{noun}_id")
        record = view.records.get(noun, {}).get(str(shown))
        ends.append(record["expires_at"] if record is not None else None)
    for position in decision.determining:
        edge_id, _, version = position.rpartition("@")
        edge = view.version(edge_id, int(version))
        ends.append(edge.valid_until if edge is not None else None)
    return min((each for each in ends if each is not None), default=None)


def _claim(prepared: Prepared, view: View) -> Claim | None:
    question = prepared.question
    if question.principal is None or question.action is None or question.resource is None:
        return None
    if question.faults or view.actions.get(question.action.name) is None:
        return None
    said = question.evaluation.context
    context = {name: question.context[name] for name in PRESENTED if name in question.context}
    context |= {name: said[name] for name in ("sequence", "work_set_id") if said.get(name) is not None}
    if (capability_id := shown_id(said.get("capability"))) is not None:
        context["capability_id"] = capability_id
    owners = {row.edges[0].from_ for row in prepared.facts.ownership if row.edges}
    return Claim(
        subject=question.principal.id,
        action=question.action,
        key=question.resource.key,
        type=question.resource.type,
        fields=question.fields,
        concurrency=str(concurrency_of(question.resource.type, question.action, question.fields)),
        request=_kept(question),
        set_operations=question.context.get("set_operations"),
        context=context,
        owner=owners.pop() if len(owners) == 1 else None,
    )


def _kept(question: Question) -> dict[str, Any]:
    """Return the request with what was believed and nothing else; the ledger takes no fractions, so none is kept."""
    assert question.principal is not None  # noqa: S101 - for the type checker; the caller has just looked
    assert question.resource is not None  # noqa: S101 - the same
    kind, _, name = question.principal.id.partition(":")
    context = {key: value for key, value in question.context.items() if key not in _NOT_KEPT}
    if question.fields:
        context["fields"] = list(question.fields)
    said = question.evaluation.context
    if said.get("sequence") is not None:
        context["sequence"] = said["sequence"]
    if (capability_id := shown_id(said.get("capability"))) is not None:
        # The id and never the token: the ledger holds nothing that could be presented.
        context["capability"] = {"capability_id": capability_id}
    action: dict[str, Any] = {"name": question.evaluation.action}
    resource: dict[str, Any] = {"type": "key", "id": question.resource.key}
    for target, root in ((action, "action"), (resource, "resource")):
        if question.properties.get(root):
            target["properties"] = question.properties[root]
    subject = {"type": kind, "id": name}
    kept: dict[str, Any] = without_fractions(
        {"subject": subject, "action": action, "resource": resource, "context": context}
    )
    return kept


_WHOLE: Final = frozenset({str, int, bool, type(None)})


def without_fractions(value: Any) -> Any:
    """Return JSON without members that the ledger has no form for."""
    if type(value) in _WHOLE:
        return value
    if isinstance(value, dict):
        return {key: without_fractions(each) for key, each in value.items() if not isinstance(each, float)}
    if isinstance(value, list | tuple):
        return [without_fractions(each) for each in value if not isinstance(each, float)]
    return value
