"""What a whole realm or a principal stands on: authority epochs and their floors, and who may act at all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from remit_graph.model.builtin import Governance
from remit_graph.model.change import Change
from remit_graph.view.grounds import ViewGrounds
from remit_service.governance.law import Actor, permitted, refused_by_policy
from remit_service.governance.names import unknown_principal
from remit_service.governance.roots import opens, unless_root
from remit_service.governance.trying import tried
from remit_service.writer.command import Accepted, Refused, Verdict

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
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
    floors = {"read": view.floor(writes=False), "write": view.floor(writes=True)} | minimum
    change = Change("epoch.set", body)
    with tried(view, [change], at) as after:
        left = who_governs(after, at)
    result = {"authority": epoch, "floor": floor, "minimum_authority": floors, "can_govern": left}
    return Accepted(changes=(change,), result=result)


def who_governs(view: View, at: Instant) -> list[str]:
    """Return who has an identity and is a root, or acts as one: a floor ends memberships too, those of its maker first.

    Where nobody is left, only `remit recover` on the store's own host leads back.
    """
    proven = [each.id for each in view.principals.values() if each.identities and not each.disabled]
    graph = ViewGrounds(view=view, at=at)
    return sorted(each for each in proven if any(view.is_root(voice) for voice in graph.acts_as(each)))


def bump_principal(policy: Policy, view: View, at: Instant, actor: Actor, *, principal: str) -> Verdict:
    """Decide that edges to or from a principal made before now are dead; the epoch itself moves on too."""
    known = view.principals.get(principal)
    if known is None:
        return unknown_principal(principal)
    if refused := refused_by_policy(permitted(policy, view, at, actor, Governance.BUMP_EPOCH)):
        return refused
    epoch = view.authority_epoch + 1
    renewed = replace(known, minimum_epoch=epoch)
    changes = (Change("epoch.set", {"authority": epoch}), Change("principal.put", renewed.record()))
    return Accepted(changes=changes, result={"authority": epoch, "principal": principal, "minimum_epoch": epoch})


def set_disabled(policy: Policy, view: View, at: Instant, actor: Actor, *, principal: str, disabled: bool) -> Verdict:
    """Decide that a principal may do nothing, or may again; its edges stay and count again with it."""
    known = view.principals.get(principal)
    if known is None:
        return unknown_principal(principal)
    if disabled and _is_last_root(view, principal):
        message = f"`{principal}` is the last root that is not disabled; nobody could enable it again"
        return Refused(code="still_referenced", message=message, facts={"id": principal})
    changed = replace(known, disabled=disabled)
    decision = permitted(policy, view, at, actor, Governance.AMEND)
    if refused := refused_by_policy(decision) or unless_root(opens(view, changed), view, at, actor):
        return refused
    result = {"principal": principal, "disabled": disabled}
    if known.disabled == disabled:
        return Accepted(changes=(), result=result)
    return Accepted(changes=(Change("principal.put", changed.record()),), result=result)


def _is_last_root(view: View, principal: str) -> bool:
    others = [each for each in view.realm.root if each != principal and view.is_root(each)]
    return principal in view.realm.root and not others
