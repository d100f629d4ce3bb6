"""Every governance command by name: how its body is read, and how it is decided.

One table serves HTTP, the command line and Python, so that none of them can ask for what the others cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.builtin import Governance
from remit_graph.model.principal import parse_principal
from remit_service.decision.request import RequestError
from remit_service.governance import emergency, given_out, people, renewing, standing
from remit_service.governance.batch import batch
from remit_service.governance.ending import Target, revoke
from remit_service.governance.making import amend, make_delegation, make_grant
from remit_service.governance.names import unknown_edge
from remit_service.governance.spec import (
    COMMON,
    amended,
    delegation_spec,
    flag,
    grant_spec,
    membership_spec,
    optional,
    refuse_unknown,
    text,
)

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.governance.law import Actor
    from remit_service.policy import Policy
    from remit_service.writer.command import Verdict

Body = Mapping[str, Any]
Decided = Callable[["Policy", "View", "Instant", "Actor"], "Verdict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A command that was read.

    Attributes:
        action: What the ledger calls it.
        decide: How it is decided.
        target: What it ends, where it ends something: its subtree may be large.
    """

    action: Governance
    decide: Decided
    target: Target | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What stands beside the body of a command.

    Attributes:
        actor: In whose name it is given.
        id: The id in the path, of commands about something there is.
        version: Of `If-Match`, or None.
    """

    actor: str
    id: str = ""
    version: int | None = None


Read = Callable[[Body, Place], Asked]


def _grant(body: Body, place: Place) -> Asked:
    if "grants" in body:
        return _many(body, "grants", Governance.GRANT, lambda each: grant_spec(each, issuer=place.actor), make_grant)
    spec = grant_spec(body, issuer=place.actor)
    return Asked(action=Governance.GRANT, decide=partial(_on_spec, make_grant, spec))


def _delegate(body: Body, _place: Place) -> Asked:
    if "delegations" in body:
        return _many(body, "delegations", Governance.DELEGATE, delegation_spec, make_delegation)
    return Asked(action=Governance.DELEGATE, decide=partial(_on_spec, make_delegation, delegation_spec(body)))


def _many(body: Body, name: str, action: Governance, read: Callable[[Body], Any], make: Callable[..., Any]) -> Asked:
    refuse_unknown(body, COMMON | {name})
    return Asked(action=action, decide=batch(name, body[name], read, make))


def _member(body: Body, place: Place) -> Asked:
    spec = membership_spec(body, issuer=place.actor)
    return Asked(action=Governance.GRANT, decide=partial(_on_spec, make_grant, spec))


def _on_spec(make: Callable[..., Verdict], spec: Any, policy: Policy, view: View, at: Instant, actor: Actor) -> Verdict:
    return make(policy, view, at, actor, spec)


def _amend(body: Body, place: Place) -> Asked:
    def decide(policy: Policy, view: View, at: Instant, actor: Actor) -> Verdict:
        current = view.edges.get(place.id)
        if current is None:
            return unknown_edge(view, place.id)
        return amend(policy, view, at, actor, amended(current, body), version=place.version)

    return Asked(action=Governance.AMEND, decide=decide)


def _revoke(body: Body, _place: Place) -> Asked:
    refuse_unknown(body, COMMON | {"target"})
    target = target_of(body.get("target"))
    decide = partial(_on_target, target, optional(body, "reason"))
    action = Governance.END_LEASE if target.lease_id is not None else Governance.REVOKE
    return Asked(action=action, decide=decide, target=target)


def _on_target(target: Target, reason: str | None, policy: Policy, view: View, at: Instant, actor: Actor) -> Verdict:
    if target.lease_id is not None:
        return given_out.end_lease(policy, view, at, actor, target.lease_id, reason=reason)
    if target.capability_id is not None:
        return given_out.end_capability(policy, view, at, actor, target.capability_id)
    return revoke(policy, view, at, actor, target)


TARGETS: Final = ("edge_id", "delegation_id", "principal", "resource", "capability_id", "lease_id")


def target_of(value: Any) -> Target:
    """Read the target of a revocation: exactly one of its members.

    Raises:
        RequestError: there are none, several or others.
    """
    if not isinstance(value, Mapping):
        raise RequestError("`target` is an object and required", pointer="/target")
    named = {name: each for name, each in value.items() if each is not None}
    if len(named) != 1 or not named.keys() <= set(TARGETS):
        raise RequestError(f"a target has exactly one of {', '.join(TARGETS)}", pointer="/target")
    name = next(iter(named))
    try:
        found = text(named, name)
    except RequestError as error:
        raise RequestError(error.message, pointer=f"/target/{name}") from error
    return Target(**{"edge_id" if name == "delegation_id" else name: found})


def _bump(body: Body, _place: Place) -> Asked:
    refuse_unknown(body, COMMON | {"epoch", "floor", "principal"})
    if (optional(body, "epoch") or "authority") != "authority":
        raise RequestError("only the authority epoch is raised by a command", pointer="/epoch")
    principal = optional(body, "principal")
    if principal is not None:
        if body.get("floor") is not None:
            raise RequestError("a principal's own epoch is a floor for reads and writes: name none", pointer="/floor")
        return Asked(action=Governance.BUMP_EPOCH, decide=partial(_bump_principal, principal))
    floor = text(body, "floor")
    if floor not in standing.FLOORS:
        raise RequestError(f"`floor` is one of {', '.join(standing.FLOORS)}", pointer="/floor")
    return Asked(action=Governance.BUMP_EPOCH, decide=partial(_bump_realm, floor))


def _bump_realm(floor: str, policy: Policy, view: View, at: Instant, actor: Actor) -> Verdict:
    return standing.bump_epoch(policy, view, at, actor, floor=floor)


def _bump_principal(principal: str, policy: Policy, view: View, at: Instant, actor: Actor) -> Verdict:
    return standing.bump_principal(policy, view, at, actor, principal=principal)


def _renew(body: Body, _place: Place) -> Asked:
    refuse_unknown(body, COMMON | {"edges"})
    edges = renewing.selection(body.get("edges"))
    return Asked(action=Governance.RENEW_EPOCH, decide=partial(renewing.renew, edges))


_PRINCIPAL: Final = frozenset({"id", "display_name", "trust", "disabled", "attributes", "identities"})


_KINDS: Final = (("trust", int, "a whole number"), ("attributes", dict, "an object"), ("identities", list, "a list"))


def _said_of(body: Body) -> dict[str, Any]:
    """Return what a body says of a principal.

    Raises:
        RequestError: a member is of another type than its own.
    """
    optional(body, "display_name")
    flag(body, "disabled")
    for name, kind, called in _KINDS:
        if body.get(name) is not None and type(body[name]) is not kind:
            raise RequestError(f"`{name}` is {called}", pointer=f"/{name}")
    return {name: body[name] for name in _PRINCIPAL - {"id"} if body.get(name) is not None}


def _declare(body: Body, _place: Place) -> Asked:
    refuse_unknown(body, COMMON | _PRINCIPAL)
    principal = parse_principal({"id": text(body, "id"), **_said_of(body)})
    return Asked(action=Governance.GRANT, decide=partial(_declared, principal))


def _declared(principal: Any, policy: Policy, view: View, at: Instant, actor: Actor) -> Verdict:
    return people.declare(policy, view, at, actor, principal=principal)


def _change(body: Body, place: Place) -> Asked:
    refuse_unknown(body, COMMON | (_PRINCIPAL - {"id"}))
    members = _said_of(body)
    if not members:
        raise RequestError("nothing is to be changed", pointer="")

    def decide(policy: Policy, view: View, at: Instant, actor: Actor) -> Verdict:
        return people.change(policy, view, at, actor, principal=place.id, members=members)

    return Asked(action=Governance.AMEND, decide=decide)


def _break_glass(body: Body, _place: Place) -> Asked:
    refuse_unknown(body, COMMON | emergency.MEMBERS)
    return Asked(action=Governance.BREAK_GLASS, decide=partial(emergency.break_glass, emergency.asked_for(body)))


def _review_glass(body: Body, place: Place) -> Asked:
    refuse_unknown(body, COMMON | {"finding"})
    decide = partial(emergency.review, place.id, text(body, "finding"))
    return Asked(action=Governance.APPROVE, decide=decide)


VERBS: Final[Mapping[str, Read]] = {
    "amend": _amend,
    "break_glass": _break_glass,
    "bump": _bump,
    "change_principal": _change,
    "declare": _declare,
    "delegate": _delegate,
    "grant": _grant,
    "member": _member,
    "renew": _renew,
    "review_break_glass": _review_glass,
    "revoke": _revoke,
}
"""Commands by name."""
