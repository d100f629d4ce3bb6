"""Resolve a question: who, what, on which key, and what of it the caller is believed about (decision.md 1).

What a caller says about itself proves nothing. Each enforcement point has an allow-list of attributes; what is not on
it stays out of the policy input and goes to the record. Facts of the graph win over what is said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from remit_graph.errors import ModelError
from remit_graph.model.principal import Principal
from remit_graph.view.ground import Ground, ground_of
from remit_graph.view.target import Target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.instant import Instant
    from remit_graph.model.registry import Resolved
    from remit_graph.model.resource_type import Action
    from remit_graph.view.state import View
    from remit_service.decision.caller import Caller
    from remit_service.decision.request import Entity, Evaluation

PRESENTED: Final = (
    "approval_id", "change_id", "coordination_id", "expected_version", "on_behalf_of", "ownership_epoch", "preempt",
    "proof", "purpose", "set_operations",
)  # fmt: skip
"""Members of the context that need no trust: they only present something, or restrict the search."""

CONTROL: Final = frozenset({"capability", "consistency", "explain", "fields", "lease", "resource_version"})
"""Members that are read elsewhere and never reach a condition as they are."""


@dataclass(slots=True, kw_only=True)
class Question:
    """An evaluation, resolved against one view at one instant.

    Attributes:
        evaluation: As asked.
        caller: Who asked.
        at: The decision's instant.
        principal: The subject, or None where it is unknown.
        action: The declared action, or None.
        resource: Canonical key and type, or None.
        faults: Codes found before the policy, with their sentences.
        fields: Effective fields, sorted.
        context: What of the context the policy may read.
        properties: Trusted properties of subject, resource and action.
        ground: What the graph knows of the resource.
        target: What the graph is asked about; None where action or resource is unknown.
        ignored: Names of what the caller said and is not trusted for.
        is_for_another: Whether it names another one to act for than the user's token does.
    """

    evaluation: Evaluation
    caller: Caller
    at: Instant
    principal: Principal | None
    action: Action | None
    resource: Resolved | None
    faults: dict[str, str] = field(default_factory=dict)
    fields: tuple[str, ...] = ()
    context: Mapping[str, Any] = field(default_factory=dict)
    properties: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    ground: Ground | None = None
    target: Target | None = None
    ignored: tuple[str, ...] = ()
    is_for_another: bool = False

    @property
    def is_subject_proven(self) -> bool:
        """Whether the caller may name this subject; a user's token that it passed on must be that subject's."""
        if self.principal is None:
            return True
        return not self.is_for_another and may_name(self.caller, self.principal)


def may_name(caller: Caller, principal: Principal) -> bool:
    """Whether a caller may name this principal as its subject; a token that it passed on must be that principal's."""
    identity = caller.subject_identity
    return (identity is None or identity in principal.identities) and caller.may_speak_for(principal.id)


_NOBODY: Final = Principal(id="")
"""Stands where the subject is unknown, so that ownership can be asked about all the same."""


def resolve(evaluation: Evaluation, caller: Caller, view: View, at: Instant) -> Question:
    """Resolve `evaluation`; what cannot be resolved is noted in the question, never raised."""
    question = Question(
        evaluation=evaluation,
        caller=caller,
        at=at,
        principal=subject_of(evaluation.subject, view),
        action=view.actions.get(evaluation.action),
        resource=None,
    )
    _resolve_resource(question, view)
    _believe(question)
    _act_for(question, view)
    _effective_fields(question)
    if question.resource is not None:
        question.ground = ground_of(view, question.resource.key, at)
    if question.action is not None and question.ground is not None:
        question.target = _target(question, question.principal or _NOBODY, question.action, question.ground, view)
    return question


def subject_of(entity: Entity, view: View) -> Principal | None:
    """Return the principal an AuthZEN subject names: an identity where the id holds `://`, else `<kind>:<id>`."""
    kind = view.realm.kind_of(entity.type)
    if kind is None:
        return None
    identifier = view.identities.get(entity.id) if "://" in entity.id else f"{kind}:{entity.id}"
    principal = view.principals.get(identifier) if identifier else None
    return principal if principal is not None and principal.kind == kind else None


def _resolve_resource(question: Question, view: View) -> None:
    entity = question.evaluation.resource
    try:
        found = view.registry.resolve(entity.type, entity.id)
    except ModelError as error:
        question.faults["malformed_resource_key"] = error.message
        return
    if found is not None and found.type.stored and found.key not in view.resources:
        return
    question.resource = found


def _believe(question: Question) -> None:
    """Split what was said into what the policy may read and what is only recorded."""
    evaluation, caller = question.evaluation, question.caller
    context: dict[str, Any] = {}
    ignored: list[str] = []
    for name, value in evaluation.context.items():
        if name in CONTROL or value is None:
            continue
        if name in PRESENTED or caller.trusts(name):
            context[name] = value
        else:
            ignored.append(f"context.{name}")
    properties: dict[str, dict[str, Any]] = {}
    for root, said in _properties_said(evaluation):
        believed = {name: value for name, value in said.items() if _trusts_property(caller, root, name)}
        ignored.extend(f"{root}.{name}" for name in said if name not in believed)
        properties[root] = believed
    question.context, question.properties, question.ignored = context, properties, tuple(ignored)


def _act_for(question: Question, view: View) -> None:
    """Keep a delegated token to the authority of the one it was given for: only chains with that root (rules.md 3).

    Who is not known here has no chain. Naming somebody else than the token does is a mismatch, whatever the chains.
    """
    identity = question.caller.on_behalf_of
    if identity is None:
        return
    principal = view.identities.get(identity, identity)
    question.is_for_another = question.context.get("on_behalf_of", principal) != principal
    question.context = {**question.context, "on_behalf_of": principal}


def _properties_said(evaluation: Evaluation) -> list[tuple[str, Mapping[str, Any]]]:
    said = [
        ("subject", evaluation.subject.properties),
        ("resource", evaluation.resource.properties),
        ("action", evaluation.action_properties),
    ]
    return [(root, properties) for root, properties in said if properties]


def _trusts_property(caller: Caller, root: str, name: str) -> bool:
    # Kind, trust, roles and ownership are never accepted from a caller, whatever the allow-list says (rules.md 6).
    if root == "subject" and name in _NEVER:
        return False
    return caller.trusts(f"{root}.{name}") or caller.trusts(f"{root}.properties.{name}")


_NEVER: Final = frozenset({"kind", "owner", "priority", "role", "roles", "trust"})


def _effective_fields(question: Question) -> None:
    """Action's declared fields, with those named by an enforcement point that is trusted for `fields` (rules.md 4)."""
    fields = set(question.action.fields) if question.action is not None else set()
    if question.caller.trusts("fields"):
        fields.update(question.evaluation.context.get("fields") or ())
    question.fields = tuple(sorted(fields))


def _target(question: Question, principal: Principal, action: Action, ground: Ground, view: View) -> Target:
    return Target(
        spec=action,
        ground=ground,
        fields=question.fields,
        at=question.at,
        subject=principal,
        dimensions=frozenset(view.realm.dimensions),
        context=question.context,
        properties=question.properties,
    )
