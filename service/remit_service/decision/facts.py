"""Facts: the policy input of decision.md section 2, built from one view at one instant.

Everything here is a fact and nothing a verdict. Python may leave out a chain that cannot hold; it never turns a deny
into an allow. The schema is `policy/schemas/input.json`, and a test checks what this module builds against it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.edge import EdgeType
from remit_graph.model.resource_type import concurrency_of
from remit_graph.view.members import reached
from remit_graph.view.ownership import FieldOwnership, owners_of, ownership
from remit_service.decision.proof import Proof, chain_facts, near_facts, prove

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.condition import Scales
    from remit_graph.model.resource_type import Action, ResourceType
    from remit_graph.view.state import View
    from remit_service.decision.resolve import Question

_NO_PROOF: Final[dict[str, Any]] = {
    "chains": [],
    "near_misses": [],
    "search": {"truncated": False, "depth_bound_hit": False},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The policy input, with what its building found.

    Attributes:
        document: The input, ready to be encoded.
        proof: Chains and near misses, or None where the question could not be resolved.
        ownership: One row for each touched field.
    """

    document: Mapping[str, Any]
    proof: Proof | None
    ownership: tuple[FieldOwnership, ...]


def collect(question: Question, view: View, *, scales: Scales, coordination: Mapping[str, Any]) -> Facts:
    """Build the policy input for `question`.

    Args:
        question: What is asked, resolved against `view`.
        view: The graph at the decision's revision.
        scales: Ordered scales of the policy data.
        coordination: The members `coordination`, `capability`, `approval`, `incidents` of the input.
    """
    target = question.target
    rows: tuple[FieldOwnership, ...] = ()
    frozen = _frozen(coordination)
    proof: Proof | None = None
    proof_facts = _NO_PROOF
    if target is not None:
        owners = owners_of(view, target)
        rows = tuple(ownership(view, target, owners, frozen))
        if question.principal is not None:
            proof = prove(view, target, scales)
            proof_facts = _proof_facts(view, question, proof)
    document = {
        "request": _request(question),
        "identity": {
            "authenticated": question.caller.is_authenticated,
            "speaks_for": question.caller.is_authenticated and question.is_subject_proven,
        },
        "subject": _subject(question, view),
        "action": _action(question.action, question.evaluation.action),
        "resource": _resource(question, view, rows, coordination["coordination"]),
        **proof_facts,
        **coordination,
        "epochs": {
            "policy": view.policy_epoch,
            "authority": view.authority_epoch,
            "minimum_authority": {"read": view.floor(writes=False), "write": view.floor(writes=True)},
        },
    }
    return Facts(document=document, proof=proof, ownership=rows)


def _proof_facts(view: View, question: Question, proof: Proof) -> dict[str, Any]:
    target = question.target
    assert target is not None  # noqa: S101 - for the type checker; the caller has just looked
    return {
        "chains": [chain_facts(view, target, chain, number) for number, chain in enumerate(proof.found.chains, 1)],
        "near_misses": [near_facts(view, target, miss, number) for number, miss in enumerate(proof.near, 1)],
        "search": {"truncated": proof.found.truncated, "depth_bound_hit": proof.found.depth_bound_hit},
    }


def _request(question: Question) -> dict[str, Any]:
    asked, properties = question.evaluation, question.properties
    return {
        "subject": {"type": asked.subject.type, "id": asked.subject.id},
        "action": {"name": asked.action, "properties": properties.get("action", {})},
        "resource": {
            "type": asked.resource.type,
            "id": asked.resource.id,
            "properties": properties.get("resource", {}),
        },
        "fields": list(question.fields),
        "context": question.context,
        "at": question.at,
        "faults": list(question.faults),
    }


def _subject(question: Question, view: View) -> dict[str, Any]:
    principal = question.principal
    if principal is None:
        return {"principal": None, "kind": None, "disabled": False, "trust": 0, "acts_as": [], "attributes": {}}
    writes = question.action is not None and question.action.writes
    return {
        "principal": principal.id,
        "kind": principal.kind,
        "disabled": principal.disabled,
        "trust": principal.trust,
        "acts_as": reached(view, principal.id, question.at, writes=writes),
        "attributes": principal.attributes,
    }


def _action(action: Action | None, name: str) -> dict[str, Any]:
    if action is None:
        return {
            "name": name, "known": False, "class": None, "risk": None, "reversible": False, "domain": None,
            "strict": False, "record_required": False,
        }  # fmt: skip
    return {
        "name": action.name,
        "known": True,
        "class": action.class_,
        "risk": action.risk,
        "reversible": action.reversible,
        "domain": action.domain,
        "strict": False,
        "record_required": False,
    }


def _frozen(coordination: Mapping[str, Any]) -> frozenset[str]:
    """Return the fields under whose owner nothing starts or renews: those of a transfer that is under way."""
    transfer = coordination["coordination"]["transfer"]
    return frozenset(transfer["fields"]) if transfer is not None else frozenset()


def _resource(
    question: Question, view: View, rows: tuple[FieldOwnership, ...], coordination: Mapping[str, Any]
) -> dict[str, Any]:
    resolved, asked = question.resource, question.evaluation
    if resolved is None:
        return {
            "key": None, "coordination_key": None, "type": asked.resource.type, "known": False, "attributes": {},
            "ancestors": [], "concurrency": None, "version": None, "version_trusted": False, "superseded": False,
            "dimensions": {}, "escalated": False, "type_fields": {}, "ownership": [],
        }  # fmt: skip
    trusted = question.caller.trusts("resource_version")
    declared = resolved.type
    expected = question.context.get("expected_version")
    return {
        "key": resolved.key,
        "coordination_key": resolved.key,
        "type": declared.name,
        "known": True,
        "attributes": question.ground.attributes if question.ground is not None else {},
        "ancestors": question.ground.keys if question.ground is not None else [],
        "concurrency": str(concurrency_of(declared, question.action, question.fields)),
        "version": asked.context.get("resource_version") if trusted else None,
        "version_trusted": trusted,
        "superseded": expected is not None and view.coordination.is_superseded(resolved.key, expected),
        "dimensions": _dimensions(question),
        "escalated": _is_escalated(question, view),
        "type_fields": _type_fields(question, declared, coordination),
        "ownership": [_owner_row(row) for row in rows],
    }


def _is_escalated(question: Question, view: View) -> bool:
    """Whether an operation here has an impact that is a coordination key of its own (S50)."""
    assert question.resource is not None  # noqa: S101 - for the type checker; the caller has just looked
    bound = question.resource.type.escalate_at
    return bound is not None and any(
        edge.count is not None and edge.count >= bound and edge.is_live(question.at)
        for edge in view.outgoing(EdgeType.AFFECTS, question.resource.key)
    )


def _type_fields(question: Question, declared: ResourceType, coordination: Mapping[str, Any]) -> dict[str, Any]:
    """Return the declarations of the touched fields and of those held beside them; of all for a whole resource."""
    beside = {name for row in coordination["overlapping"] if row["relation"] == "same" for name in row["fields"]}
    touched = {*question.fields, *beside} if question.fields else declared.fields.keys()
    return {
        name: _field(spec.domain, spec.merge, spec.managed, spec.independent)
        for name, spec in declared.fields.items()
        if name in touched
    }


def _dimensions(question: Question) -> dict[str, Any]:
    target = question.target
    if target is None:
        return {}
    return {
        name: {"graph": list(values), "context": question.context.get(name)}
        for name, values in target.ground.dimensions.items()
    }


def _field(domain: str | None, merge: str | None, managed: bool, independent: bool) -> dict[str, Any]:  # noqa: FBT001
    return {"domain": domain, "merge": merge, "managed": managed, "independent": independent}


def _owner_row(row: FieldOwnership) -> dict[str, Any]:
    edge = row.edges[0] if row.edges else None
    return {
        "field": row.field,
        "managed": row.managed,
        "owner": edge.from_ if edge else None,
        "edge_id": edge.edge_id if edge else None,
        "ownership_epoch": edge.ownership_epoch if edge else None,
        "frozen": row.frozen,
        "owners": sorted({each.from_ for each in row.edges}),
    }
