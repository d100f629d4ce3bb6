"""Who may present what was given out: the identity it was given to, or the enforcement point that asked for it.

A capability that is stolen is worth nothing to somebody else: the identity of whoever presents it is verified by this
service, as that of every caller, and never read from the capability or the request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_service.decision.request import RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.view.state import View
    from remit_service.decision.caller import Caller

Binding = dict[str, str]
"""`{"identity": ...}` or `{"point": ...}`."""


def binding_of(caller: Caller) -> Binding:
    """Return what a capability is bound to that a caller asks for: the user's verified identity where one was shown."""
    if caller.subject_identity is not None:
        return {"identity": caller.subject_identity}
    if caller.point is not None:
        return {"point": caller.point.id}
    return {"identity": caller.identity or "anonymous"}


def named_binding(view: View, principal: str, name: str) -> Binding:
    """Return the binding that a request names: an identity of the subject, or an enforcement point of the realm.

    Raises:
        RequestError: it is neither.
    """
    if name in view.points:
        return {"point": name}
    if view.identities.get(name) == principal:
        return {"identity": name}
    raise RequestError(
        f"`{name}` is no enforcement point, and no identity of `{principal}`, at `/bind_to`", pointer="/bind_to"
    )


def holds(bound_to: Mapping[str, str], caller: Caller) -> bool:
    """Whether a caller is who something was given to; whoever holds the store itself may show anything."""
    if caller.trusts_all:
        return True
    if "point" in bound_to:
        return caller.point is not None and caller.point.id == bound_to["point"]
    return bound_to["identity"] in (caller.subject_identity, caller.identity)
