"""From the policy's document to a `Decision`; anything that is not a well-formed permit is a deny."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from remit_graph.model.edge import EdgeType
from remit_service.decision.decision import Decision, Reason
from remit_service.decision.held import own_lease, retry_after_seconds
from remit_service.decision.passes import ends_of_presented
from remit_service.decision.reason_facts import facts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from remit_graph.model.edge import Edge
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.decision.case import Case
    from remit_service.decision.facts import Facts
    from remit_service.decision.reasons import ReasonTable
    from remit_service.decision.resolve import Question


def new_id(prefix: str) -> str:
    """Return a random id, `dec_…`."""
    return f"{prefix}_{uuid4().hex}"


@dataclass(frozen=True, slots=True)
class Answer:
    """A policy document that was checked."""

    effect: str
    outcome: str
    reasons: tuple[str, ...]
    determining: tuple[str, ...]
    obligations: tuple[Mapping[str, Any], ...]
    policy_revision: str
    document: Mapping[str, Any]


def conclude(case: Case, answer: Answer, *, table: ReasonTable, timings_us: dict[str, int], encoded: bytes) -> Decision:
    """Turn a policy document that was checked into a decision with sentences."""
    question = case.question
    carrying = _carrying(case.facts, answer.determining)
    own = own_lease(case)
    return Decision(
        decision_id=new_id("dec"),
        effect=answer.effect,
        outcome=answer.outcome,
        reasons=tuple(table.reason(code, facts_of(code, case)) for code in answer.reasons),
        at=question.at,
        revision=case.revision,
        obligations=answer.obligations,
        determining=answer.determining,
        conflicts=tuple(case.result.get("conflicts") or ()),
        epochs=epochs_of(case.facts),
        policy_revision=answer.policy_revision,
        not_after=not_after(carrying, case) if answer.effect == "permit" else None,
        retry_after_seconds=retry_after_seconds(case, answer.outcome),
        lease=own.lease,
        receipt_id=own.receipt_id,
        chain_depth=_depth(carrying),
        record_input=case.facts.document,
        record_json=encoded,
        timings_us=timings_us,
    )


def refuse(
    code: str,
    facts: Mapping[str, Any],
    *,
    question: Question | None,
    view: View,
    at: Instant,
    table: ReasonTable,
    document: Mapping[str, Any] | None = None,
) -> Decision:
    """Return the deny of a fault: its one reason, and nothing that would let anybody proceed."""
    reason: Reason = table.reason(code, facts)
    return Decision(
        decision_id=new_id("dec"),
        effect="deny",
        outcome="deny",
        reasons=(reason,),
        at=at if question is None else question.at,
        revision=view.revision,
        epochs={"policy": view.policy_epoch, "authority": view.authority_epoch, "ownership": {}, "lease": None},
        policy_revision=view.policy_revision,
        record_input=document or {},
        deny_is_fault=table.is_fault(code),
    )


def epochs_of(facts: Facts) -> dict[str, Any]:
    """Return the four epochs, kept apart, as the policy saw them."""
    ownership = {row.field: row.edges[0].ownership_epoch for row in facts.ownership if row.edges}
    presented = facts.document.get("coordination", {}).get("presented") or {}
    return {
        "policy": facts.document["epochs"]["policy"],
        "authority": facts.document["epochs"]["authority"],
        "ownership": ownership,
        "lease": presented.get("current_token"),
    }


def _carrying(facts: Facts, determining: Sequence[str]) -> list[Edge]:
    if not determining or facts.proof is None:
        return []
    wanted = set(determining)
    for chain in facts.proof.found.chains:
        if len(chain.edges) == len(wanted) and wanted.issuperset(chain.ids):
            return list(chain.edges)
    return []


def _depth(carrying: Sequence[Edge]) -> int | None:
    """Return how many delegations a permit rests on, or None where it rests on no chain."""
    return sum(edge.edge is EdgeType.DELEGATES for edge in carrying) if carrying else None


def not_after(edges: Iterable[Edge], case: Case) -> Instant | None:
    """Return the earliest end of anything a permit rests on: edges, PART_OF edges above the resource, what is shown."""
    question = case.question
    ends = [edge.valid_until for edge in edges if edge.valid_until is not None]
    ends += ends_of_presented(case.facts.document, case.view)
    if question.ground is not None and question.ground.until is not None:
        ends.append(question.ground.until)
    return min(ends, default=None)
