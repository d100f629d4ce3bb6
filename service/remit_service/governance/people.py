"""Declare principals and change what is known of them: names, trust, attributes, and the identities bound to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_graph.model.builtin import Governance
from remit_graph.model.change import Change
from remit_graph.model.principal import Principal, parse_principal
from remit_service.governance.law import Actor, permitted, refused_by_policy
from remit_service.governance.names import unknown_principal
from remit_service.governance.roots import opens, unless_root
from remit_service.governance.standing import set_disabled
from remit_service.writer.command import Accepted, Refused, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.policy import Policy


def declare(policy: Policy, view: View, at: Instant, actor: Actor, *, principal: Principal) -> Verdict:
    """Decide a new principal; one of the same name from earlier leaves it nothing."""
    if principal.id in view.principals:
        message = f"`{principal.id}` exists already"
        return Refused(code="already_exists", message=message, facts={"id": principal.id})
    if taken := _taken(view, principal):
        return taken
    if refused := refused_by_policy(permitted(policy, view, at, actor, Governance.GRANT)):
        return refused
    return Accepted(changes=(Change("principal.put", principal.record()),), result={"principal": principal.id})


def change(
    policy: Policy, view: View, at: Instant, actor: Actor, *, principal: str, members: Mapping[str, Any]
) -> Verdict:
    """Decide that a principal is known otherwise; members that are not named stay as they are.

    Raises:
        ModelError: a member is malformed.
    """
    known = view.principals.get(principal)
    if known is None:
        return unknown_principal(principal)
    if set(members) == {"disabled"}:
        return set_disabled(policy, view, at, actor, principal=principal, disabled=members["disabled"])
    wanted = parse_principal({**known.record(), **members})
    if wanted.disabled != known.disabled:
        message = "whether a principal is disabled is changed by a command of its own: name nothing else"
        return Refused(code="malformed_request", message=message, facts={"pointer": "/disabled"})
    if taken := _taken(view, wanted):
        return taken
    decision = permitted(policy, view, at, actor, Governance.AMEND)
    if refused := refused_by_policy(decision) or unless_root(opens(view, wanted), view, at, actor):
        return refused
    changes = () if wanted == known else (Change("principal.put", wanted.record()),)
    return Accepted(changes=changes, result={"principal": principal, **wanted.record()})


def _taken(view: View, principal: Principal) -> Refused | None:
    """Refuse an identity that is bound to somebody else: it belongs to at most one (model.md 1)."""
    for identity in principal.identities:
        owner = view.identities.get(identity) or view.point_identities.get(identity)
        if owner not in (None, principal.id):
            message = f"`{identity}` belongs to `{owner}`"
            return Refused(code="already_exists", message=message, facts={"id": identity})
    return None
