"""What a request presents: a lease with its token, or a begun operation as its capability.

A lease is current for a request while it is held by the subject, has not expired, covers what the request touches, and
no conflicting raise has passed its token. Whatever else is presented says why it is not: `expired`, `revoked`,
`stale`, `not_held`, `unknown`. Tokens of another incarnation of the store are stale and never compared (rules.md 2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_graph.view.ground import ground_of
from remit_service.coordination.fence import incarnation_of, is_fenced_out, raised_since, token_at
from remit_service.coordination.holding import Holding, domains_of, holding_of

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.coordination.tables import Tables
    from remit_service.coordination.values import Record

_ENDED = {
    "EXPIRED": ("expired", "lease_expired"),
    "REVOKED": ("revoked", "lease_revoked"),
    "RELEASED": ("not_held", "lease_not_held"),
}


def presented_lease(
    view: View, tables: Tables, wanted: Holding, lease_id: str, token: int, at: Instant
) -> dict[str, Any]:
    """Return the fact `coordination.presented` for a lease and token that a request shows."""
    lease = view.records.get("lease", {}).get(lease_id)
    ended = view.coordination.ended.get(lease_id) if lease is None else None
    known = lease or ended
    state, code = _state(view, wanted, lease, ended, token, at)
    held = holding_of(known) if known is not None and known["holder"] == wanted.holder else wanted
    current = token if state == "current" else raised_since(view, tables, held, token, at)
    if incarnation_of(token) != view.incarnation:
        current = max(current or 0, token_floor(view))
    if current is None and state == "stale" and lease is not None:
        current = lease["lease_epoch"]
    shown = {"lease_id": lease_id, "fencing_token": token, "state": state, "code": code, "current_token": current}
    return shown if known is None else {**shown, "mode": known["mode"]}


def token_floor(view: View) -> int:
    """Return a token that every one of an earlier incarnation is behind."""
    return token_at(view, max(view.revision, 1))


def _state(
    view: View, wanted: Holding, lease: Record | None, ended: Record | None, token: int, at: Instant
) -> tuple[str, str | None]:
    if ended is not None and ended["holder"] == wanted.holder:
        state, code = _ENDED[ended["state"]]
        return state, ended.get("code") or code
    if lease is None:
        return ("stale", "stale_fencing_token") if incarnation_of(token) != view.incarnation else ("unknown", None)
    if lease["holder"] != wanted.holder or not covers(view, lease, wanted, at):
        return "not_held", "lease_not_held"
    if lease["expires_at"] <= at:
        return "expired", "lease_expired"
    if token not in accepted(lease):
        return ("stale", "stale_fencing_token") if token < lease["lease_epoch"] else ("not_held", "lease_not_held")
    return ("stale", "stale_fencing_token") if is_fenced_out(view, lease) else ("current", None)


def accepted(lease: Record) -> set[int]:
    """Return the tokens a lease may be presented with: its epoch, and those of its fence keys."""
    return {lease["lease_epoch"], *lease["fencing_tokens"].values()}


def covers(view: View, lease: Record, wanted: Holding, at: Instant) -> bool:
    """Whether a lease is on what a request touches: the same key or one above it, and each touched part."""
    held = holding_of(lease)
    if held.key == wanted.key:
        mine = {part["fence"] for part in held.keys[0]["parts"]}
        return "*" in mine or {part["fence"] for part in wanted.keys[0]["parts"]} <= mine
    if held.key not in ground_of(view, wanted.key, at).keys:
        return False
    return set(domains_of(wanted)) <= set(domains_of(held))


def capability_of(view: View, wanted: Holding, action: str, coordination_id: str, at: Instant) -> dict[str, Any]:
    """Return the fact `capability` of a begun operation (rules.md 6)."""
    operation = view.records.get("operation", {}).get(coordination_id)
    closed = view.coordination.closed.get(coordination_id) if operation is None else None
    known = operation or closed
    valid = operation is not None and operation["expires_at"] > at
    return {
        "capability_id": coordination_id,
        "valid": valid,
        "code": None if valid else _ended_code(known),
        "chain": _chain(known, wanted.key),
        "matches": known is not None and _matches(known, wanted, action),
    }


def _ended_code(operation: Record | None) -> str | None:
    if operation is None:
        return None
    return "capability_revoked" if operation.get("status") in ("REVOKED", "PREEMPTED") else "capability_expired"


def _chain(operation: Record | None, key: str) -> list[str]:
    resources = operation["resources"] if operation is not None else ()
    return next((list(each["proof"]) for each in resources if each["resource_key"] == key), [])


def _matches(operation: Record, wanted: Holding, action: str) -> bool:
    if operation["principal"] != wanted.holder:
        return False
    touched = {name for part in wanted.keys[0]["parts"] for name in part["fields"]}
    for each in operation["resources"]:
        if each["resource_key"] == wanted.key and each["action"] == action:
            return not each["fields"] or (bool(touched) and touched <= set(each["fields"]))
    return False
