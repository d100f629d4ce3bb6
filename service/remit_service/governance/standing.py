"""What a whole realm or a principal stands on: authority epochs and their floors, disabling, declaring principals."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from remit_graph.model.builtin import Governance
from remit_graph.model.change import Change
from remit_service.governance.law import Actor, permitted, refused_by_policy
from remit_service.writer.command import Accepted, Refused, Verdict

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_graph.model.principal import Principal
    from remit_graph.view.state import View
    from remit_service.policy import Policy

FLOORS: Final = ("none", "writes", "all")
"""What an epoch bump does to what was made before it: nothing, end it for writes, end it for all (S34)."""


def bump_epoch(policy: Policy, view: View, at: Instant, actor: Actor, *, floor: str) -> Verdict:
    """Decide a new authority epoch for the realm; `floor` says for which actions older edges are dead."""
    if floor not in FLOORS:
        return Refused(code="malformed_request", message=f"floor `{floor}` is none of {', '.join(FLOORS)}")
    if refused := refused_by_policy(permitted(policy, view, at, actor, Governance.BUMP_EPOCH)):
        return refused
    epoch = view.authority_epoch + 1
    minimum = {"write": epoch} if floor == "writes" else {"read": epoch, "write": epoch} if floor == "all" else {}
    body = {"authority": epoch, **({"minimum_authority": minimum} if minimum else {})}
    return Accepted(changes=(Change("epoch.set", body),), result={"authority": epoch, "floor": floor})


def bump_principal(policy: Policy, view: View, at: Instant, actor: Actor, *, principal: str) -> Verdict:
    """Decide that edges to or from a principal made before now are dead; the epoch itself moves on too."""
    known = view.principals.get(principal)
    if known is None:
        return _unknown(principal)
    if refused := refused_by_policy(permitted(policy, view, at, actor, Governance.BUMP_EPOCH)):
        return refused
    epoch = view.authority_epoch + 1
    moved = replace(known, minimum_epoch=epoch)
    changes = (Change("epoch.set", {"authority": epoch}), Change("principal.put", moved.record()))
    return Accepted(changes=changes, result={"authority": epoch, "principal": principal, "minimum_epoch": epoch})


def set_disabled(policy: Policy, view: View, at: Instant, actor: Actor, *, principal: str, disabled: bool) -> Verdict:
    """Decide that a principal may do nothing, or may again; its edges stay and count again with it."""
    known = view.principals.get(principal)
    if known is None:
        return _unknown(principal)
    if refused := refused_by_policy(permitted(policy, view, at, actor, Governance.AMEND)):
        return refused
    if known.disabled == disabled:
        return Accepted(changes=(), result={"principal": principal, "disabled": disabled})
    changed = replace(known, disabled=disabled)
    return Accepted(
        changes=(Change("principal.put", changed.record()),), result={"principal": principal, "disabled": disabled}
    )


def declare(policy: Policy, view: View, at: Instant, actor: Actor, *, principal: Principal) -> Verdict:
    """Decide a new principal; one of the same name from earlier leaves it nothing."""
    if principal.id in view.principals:
        message = f"`{principal.id}` exists already"
        return Refused(code="already_exists", message=message, facts={"id": principal.id})
    taken = [each for each in principal.identities if each in view.identities]
    if taken:
        message = f"`{taken[0]}` belongs to `{view.identities[taken[0]]}`"
        return Refused(code="already_exists", message=message, facts={"id": taken[0]})
    if refused := refused_by_policy(permitted(policy, view, at, actor, Governance.GRANT)):
        return refused
    return Accepted(changes=(Change("principal.put", principal.record()),), result={"principal": principal.id})


def _unknown(principal: str) -> Refused:
    message = f"`{principal}` is no principal of this realm"
    return Refused(code="unknown_subject", message=message, facts={"id": principal})
