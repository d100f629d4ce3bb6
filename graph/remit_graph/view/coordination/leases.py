"""How leases move the tables: who holds what, and the fence (rules.md 8).

A lease names its keys, and for each key the parts of it that it holds:

    {"id", "lease_id", "holder", "resource_key", "keys": [{"key", "relation", "parts": [{"fence", "fields", "domains",
     "merge", "independent"}]}], "fencing_tokens": {"wp:post:1024#canonical": 803}, "lease_epoch": 803, "expires_at",
     "proof": ["own-seo@1", ...], ...}

A token higher than the last one of its fence key *raises* the fence: every other lease on it is stale from then on. An
equal one is shared. `lease.end` names the tokens it raises in `raised`, and says in `state` how the lease ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from remit_graph.view.coordination.due import schedule, unschedule

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_graph.view.coordination.kept import Kept
    from remit_graph.view.coordination.tables import Coordination
    from remit_graph.view.journal import Journal
    from remit_graph.view.state import View

Body = Mapping[str, Any]
NOUN: Final = "lease"


def fence_keys(lease: Body) -> Iterable[tuple[str, str, Body]]:
    """Iterate a lease's fence keys as (resource key, field or `*`, part)."""
    for entry in lease["keys"]:
        for part in entry["parts"]:
            yield entry["key"], part["fence"], part


def put_lease(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    """A grant, or anything that changes about a lease while it is held."""
    tables, lease_id = view.coordination, body["id"]
    leases = journal.bucket(view.records, NOUN)
    known = leases.get(lease_id)
    if known is None:
        _begin(view, tables, body, journal)
    elif known["proof"] != body["proof"] or known.get("request") != body.get("request"):
        rest_no_more(tables, NOUN, known, journal)
        rest(tables, NOUN, body, journal)
    schedule(tables, NOUN, lease_id, body["expires_at"], journal)
    journal.put(leases, lease_id, body)


def _begin(view: View, tables: Coordination, body: Body, journal: Journal) -> None:
    lease_id = body["id"]
    tables.leases.add(view, lease_id, [entry["key"] for entry in body["keys"]], journal)
    enter(tables.held, body["holder"], lease_id, journal)
    entangle(tables, body["holder"], journal)
    enter(tables.asked_by, (NOUN, body["point"]), lease_id, journal)
    rest(tables, NOUN, body, journal)
    tables.delays.drop(body["resource_key"], journal)
    for key, field, part in fence_keys(body):
        fence_key = f"{key}#{field}"
        token = body["fencing_tokens"][fence_key]
        # Asked of the members, which are never forgotten while one of them lives: a shared token raises nothing.
        members = tables.members.get(fence_key)
        if members is None or token > max(members.values()):
            raise_fence(view, lease_id, (key, field, part), token, journal)
            journal.put(tables.members, fence_key, {lease_id: token})
        else:
            journal.put(members, lease_id, token)


def raise_fence(view: View, lease_id: str, fence: tuple[str, str, Body], token: int, journal: Journal) -> None:
    """Set the last token of a lease's fence key, and the marks by which those above and below it see the raise."""
    tables, (key, field, part) = view.coordination, fence
    marks = dict.fromkeys(part["domains"], token)
    _mark(tables.fences, key, {field: token}, journal)
    _mark(tables.raised, key, marks, journal)
    for each in tables.leases.ancestors(lease_id, key)[1:]:
        _mark(tables.raised_below, each, marks, journal)


def _mark(kept: Kept, key: str, marks: dict[str, int], journal: Journal) -> None:
    known = kept.get(key)
    kept.add(key, {**known, **marks} if known else marks, journal)


def end_lease(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    """The end of a lease, however it came about."""
    tables, lease_id = view.coordination, body["id"]
    leases = journal.bucket(view.records, NOUN)
    known = leases.get(lease_id)
    if known is None:
        return
    raised = body.get("raised") or {}
    for key, field, part in fence_keys(known):
        if (fence_key := f"{key}#{field}") in raised:
            raise_fence(view, lease_id, (key, field, part), raised[fence_key], journal)
    tables.leases.remove(lease_id, journal)
    journal.leave(tables.held, known["holder"], lease_id)
    entangle(tables, known["holder"], journal)
    journal.leave(tables.asked_by, (NOUN, known["point"]), lease_id)
    rest_no_more(tables, NOUN, known, journal)
    unschedule(tables, NOUN, lease_id, journal)
    journal.drop(leases, lease_id)
    tables.ended.add(lease_id, {**known, **body}, journal)
    for fence_key in known["fencing_tokens"]:
        _leave_fence(view, fence_key, lease_id, released=body["state"] != "EXPIRED", journal=journal)
    if "free_at" in body:
        tables.delays.add(known["resource_key"], body["free_at"], journal)
    if "cooldown_until" in body:
        journal.put(tables.cooldowns, known["holder"], body["cooldown_until"])


def _leave_fence(view: View, fence_key: str, lease_id: str, *, released: bool, journal: Journal) -> None:
    """Take a lease from its fence; one that expired unreleased stays while others still share the token with it."""
    members = view.coordination.members.get(fence_key)
    if members is None or lease_id not in members:
        return
    leases = view.records[NOUN]
    if any(each in leases for each in members):
        if released:
            journal.drop(members, lease_id)
    else:
        journal.drop(view.coordination.members, fence_key)


def rest(tables: Coordination, noun: str, body: Body, journal: Journal) -> None:
    """Index a record under the edges its authority rests on, and under what it was asked for with."""
    for position in body["proof"]:
        enter(tables.resting, position, (noun, body["id"]), journal)
    for shown in _shown_by(noun, body):
        enter(tables.shown, shown, (noun, body["id"]), journal)


def rest_no_more(tables: Coordination, noun: str, body: Body, journal: Journal) -> None:
    """Take a record from under its edges, and from under what it was asked for with."""
    for position in body["proof"]:
        journal.leave(tables.resting, position, (noun, body["id"]))
    for shown in _shown_by(noun, body):
        journal.leave(tables.shown, shown, (noun, body["id"]))


def _shown_by(noun: str, body: Body) -> set[tuple[str, str]]:
    """Return the capabilities and approvals that a lease or a waiter showed when it was asked for."""
    if noun not in (NOUN, "waiter"):
        return set()
    shown: set[tuple[str, str]] = set()
    for each in body["claims"] if noun == "waiter" else (body,):
        context = (each.get("request") or {}).get("context") or {}
        capability, approval = (context.get("capability") or {}).get("capability_id"), context.get("approval_id")
        if isinstance(capability, str):
            shown.add(("capability", capability))
        if isinstance(approval, str):
            shown.add(("approval", approval))
    return shown


def entangle(tables: Coordination, principal: str, journal: Journal) -> None:
    """Note whether a principal waits, and has something else besides, now that it has more or less of either."""
    waiting, held = len(tables.waiting.get(principal, ())), len(tables.held.get(principal, ()))
    if waiting and waiting + held > 1:
        if principal not in tables.entangled:
            journal.put(tables.entangled, principal, None)
    else:
        journal.drop(tables.entangled, principal)


def enter(table: dict[Any, Any], key: Any, item: Any, journal: Journal) -> None:
    """Add an item to the bucket of a key."""
    journal.put(journal.bucket(table, key), item, None)
