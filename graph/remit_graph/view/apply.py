"""How each kind of change acts on the view; the same code serves load, tail, replay and the writer's trial.

A kind that is not known stops the view (`SchemaTooNew`): a replica never skips what it does not understand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from sys import intern
from typing import TYPE_CHECKING, Any, Final

from remit_graph.errors import SchemaTooNew
from remit_graph.model.change import SCHEMA, Change, Entry
from remit_graph.model.edge import MEMBERSHIPS, ROOT_GRANTS, Edge, EdgeType, joins_allowed_kinds, parse_edge
from remit_graph.model.instant import Instant
from remit_graph.model.principal import parse_principal
from remit_graph.model.realm import parse_enforcement_point, parse_realm
from remit_graph.model.registry import Registry
from remit_graph.model.resource_type import parse_action, parse_resource_type
from remit_graph.view.coordination.handlers import HANDLERS as COORDINATION
from remit_graph.view.coordination.handlers import structure_moved
from remit_graph.view.ground import Moved
from remit_graph.view.journal import Journal
from remit_graph.view.state import Resource, View

if TYPE_CHECKING:
    from remit_graph.view.beside import Beside

Body = Mapping[str, Any]
Handler = Callable[[View, Body, Journal, int, Instant], None]

RECORD_NOUNS: Final = frozenset(
    {
        "api_key", "approval", "backlog", "break_glass", "capability", "conflict", "incident", "lease", "notice",
        "observation", "operation", "presence", "receipt", "recovery", "sequence", "transfer", "waiter", "work_set",
    }
)  # fmt: skip
"""Nouns whose changes are `<noun>.put` with an `id`, and `<noun>.end`."""

PART: Final = 256
"""Changes of one revision between two pauses, each edge that ends counted: a few milliseconds, or one row."""

OFFERS_KEPT: Final = 256
"""Replicas whose last offer of a policy is remembered; more than ever share a store."""


def apply(view: View, entry: Entry, journal: Journal | None = None, *, made: Beside | None = None) -> None:
    """Bring `view` to `entry`, which must be the next revision.

    Args:
        view: The graph.
        entry: The revision.
        journal: Remembers how to take it back.
        made: What was made ready of it beside this very view (`beside`), where it is large.

    Raises:
        SchemaTooNew: the entry was written by a later version, or holds a kind that is not known here.
        ValueError: the entry is not the next one.
    """
    _require_next(view, entry)
    log = journal or Journal(keep=False)
    apply_changes(view, entry.changes, log, revision=entry.revision, at=entry.at, made=made)
    _arrive(view, entry, log)


def applying(view: View, entry: Entry) -> Iterator[None]:
    """Do the same to a view that nobody reads yet, and pause now and then; raises what `apply` does."""
    _require_next(view, entry)
    log = Journal(keep=False)
    for part in _parts(entry.changes):
        apply_changes(view, part, log, revision=entry.revision, at=entry.at)
        yield
    _arrive(view, entry, log)


def _parts(changes: Iterable[Change]) -> Iterator[list[Change]]:
    part: list[Change] = []
    weight = 0
    for change in changes:
        part.append(change)
        weight += max(change.edges_ended, 1)
        if weight >= PART:
            yield part
            part, weight = [], 0
    yield part


def _require_next(view: View, entry: Entry) -> None:
    if entry.revision != view.revision + 1:
        raise ValueError(f"revision {entry.revision} does not follow {view.revision}")
    if entry.schema > SCHEMA:
        raise SchemaTooNew(
            f"revision {entry.revision} has schema {entry.schema}, this program knows {SCHEMA}",
            advice="upgrade this decision point",
            schema=entry.schema,
        )


def _arrive(view: View, entry: Entry, journal: Journal) -> None:
    for name, value in (("revision", entry.revision), ("at", entry.at), ("hash", entry.hash)):
        journal.put(view.scalars, name, value)


def apply_changes(
    view: View,
    changes: Iterable[Change],
    journal: Journal,
    *,
    revision: int,
    at: Instant,
    made: Beside | None = None,
) -> None:
    """Apply changes of one revision without moving the head; the registry is rebuilt at the end if it has to be."""
    stale, moved = False, Moved(everything=made is not None)
    if made is not None:
        made.enter(view, journal)
    for change in changes if made is None else made.rest:
        handler = _HANDLERS.get(change.kind)
        if handler is None:
            raise SchemaTooNew(
                f"revision {revision} holds `{change.kind}`, which this program does not know",
                advice="upgrade this decision point",
                kind=change.kind,
            )
        moved.note(view, change)
        handler(view, change.body, journal, revision, at)
        stale = stale or change.kind in _REGISTRY_KINDS
    if stale:
        journal.put(view.scalars, "registry", Registry(dict(view.types), dict(view.aliases)))
    kept = moved.kept(view)
    if kept is not None:
        # Replaced, not cleared: undo brings the old table back with what it knew.
        journal.put(view.__dict__, "grounds", kept)


def _set_realm(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    journal.put(view.scalars, "realm", parse_realm(body))


def _put_type(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    journal.put(view.types, body["name"], parse_resource_type(body))


def _end_type(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    journal.drop(view.types, body["name"])


def _put_action(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    journal.put(view.actions, body["name"], parse_action(body))


def _end_action(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    journal.drop(view.actions, body["name"])


def _put_alias(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    journal.put(view.aliases, body["alias"], body["key"])


def _end_alias(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    journal.drop(view.aliases, body["alias"])


def _put_principal(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    principal = parse_principal(body)
    known = view.principals.get(principal.id)
    for identity in known.identities if known else ():
        journal.drop(view.identities, identity)
    for identity in principal.identities:
        journal.put(view.identities, identity, principal.id)
    journal.put(view.principals, intern(principal.id), principal)


def _end_principal(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    known = view.principals.get(body["id"])
    for identity in known.identities if known else ():
        journal.drop(view.identities, identity)
    journal.drop(view.principals, body["id"])


def _put_resource(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    journal.put(view.resources, intern(body["key"]), Resource(body["key"], body.get("attributes") or {}))


def _end_resource(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    journal.drop(view.resources, body["key"])


def _put_point(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    _end_point(view, body, journal, _revision, _at)
    point = parse_enforcement_point(body)
    journal.put(view.points, point.id, point)
    for identity in point.identities:
        journal.put(view.point_identities, identity, point.id)


def _end_point(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    known = view.points.get(body["id"])
    for identity in known.identities if known else ():
        journal.drop(view.point_identities, identity)
    journal.drop(view.points, body["id"])


def _set_epoch(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    if "authority" in body:
        journal.put(view.scalars, "authority_epoch", body["authority"])
    for name in ("read", "write"):
        if name in body.get("minimum_authority", {}):
            journal.put(view.scalars, f"floor_{name}", body["minimum_authority"][name])


def _activate_policy(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    if "archive" in body or body["policy_revision"] != view.policy_revision:
        journal.put(view.scalars, "policy_archive", body.get("archive"))
    journal.put(view.scalars, "policy_epoch", body["policy_epoch"])
    journal.put(view.scalars, "policy_revision", body["policy_revision"])
    if "offered_by" in body:
        others = [each for each in view.scalars["policy_offers"] if each[0] != body["offered_by"]]
        offers = [*others, [body["offered_by"], body["policy_revision"]]]
        journal.put(view.scalars, "policy_offers", offers[-OFFERS_KEPT:])


def _begin_edge(view: View, body: Body, journal: Journal, revision: int, _at: Instant) -> None:
    link_edge(view, parse_edge(body, revision_from=revision), journal)


def _end_edges(view: View, body: Body, journal: Journal, revision: int, at: Instant) -> None:
    for edge_id, version in body["edges"]:
        current = view.edges.get(edge_id)
        if current is not None and current.version == version:
            unlink_edge(view, current, journal)
            remember(view, current.ended(revision=revision, at=at, cause=body["cause"]), journal)


def link_edge(view: View, edge: Edge, journal: Journal) -> None:
    """Enter a current edge into every table that finds it; one of a forbidden shape is kept, and found by none."""
    journal.put(view.edges, edge.edge_id, edge)
    if not joins_allowed_kinds(edge):
        return
    journal.put(journal.bucket(view.out[edge.edge], edge.from_), edge.edge_id, edge)
    if edge.edge in ROOT_GRANTS:
        journal.put(journal.bucket(journal.bucket(view.grants, edge.from_), edge.to), edge.edge_id, edge)
        view.selectors.add(edge.to, journal)
        if edge.edge is EdgeType.OWNS:
            journal.put(journal.bucket(view.owners, edge.to), edge.edge_id, edge)
    else:
        journal.put(journal.bucket(view.into[edge.edge], edge.to), edge.edge_id, edge)
    if edge.under is not None:
        journal.put(journal.bucket(view.under, right_of(edge.under)), edge.edge_id, None)
    if edge.edge is EdgeType.PART_OF:
        structure_moved(view, edge.from_, journal)


def unlink_edge(view: View, edge: Edge, journal: Journal) -> None:
    """Take a current edge out of every table that found it."""
    journal.drop(view.edges, edge.edge_id)
    if not joins_allowed_kinds(edge):
        return
    journal.leave(view.out[edge.edge], edge.from_, edge.edge_id)
    if edge.edge in ROOT_GRANTS:
        held = journal.bucket(view.grants, edge.from_)
        journal.leave(held, edge.to, edge.edge_id)
        if not held:
            journal.drop(view.grants, edge.from_)
        view.selectors.remove(edge.to, journal)
        if edge.edge is EdgeType.OWNS:
            journal.leave(view.owners, edge.to, edge.edge_id)
    else:
        journal.leave(view.into[edge.edge], edge.to, edge.edge_id)
    if edge.under is not None:
        journal.leave(view.under, right_of(edge.under), edge.edge_id)
    if edge.edge is EdgeType.PART_OF:
        structure_moved(view, edge.from_, journal)


def right_of(under: str) -> str:
    """Return the edge id of the right that `under` names: an amended right goes on carrying what was made under it."""
    return under.rpartition("@")[0] or under


def remember(view: View, edge: Edge, journal: Journal) -> None:
    """Keep an ended version where near misses and history find it."""
    journal.put(view.history, edge.edge_id, (*view.history.get(edge.edge_id, ()), edge))
    if not joins_allowed_kinds(edge):
        return
    if edge.edge in ROOT_GRANTS:
        selectors = journal.bucket(view.was_grants, edge.from_)
        journal.put(journal.bucket(selectors, edge.to), edge.position, edge)
    else:
        journal.put(journal.bucket(view.was_into[edge.edge], edge.to), edge.position, edge)
        if edge.edge in MEMBERSHIPS:
            journal.put(journal.bucket(view.was_out[edge.edge], edge.from_), edge.position, edge)


def _put_record(noun: str) -> Handler:
    def put(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
        journal.put(journal.bucket(view.records, noun), body["id"], body)

    return put


def _end_record(noun: str) -> Handler:
    def end(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
        journal.drop(journal.bucket(view.records, noun), body["id"])

    return end


def _anchor(_view: View, _body: Body, _journal: Journal, _revision: int, _at: Instant) -> None:
    """A digest of something kept elsewhere (checkpoint, log stream) changes nothing in the view."""


_REGISTRY_KINDS: Final = frozenset({"resource_type.put", "resource_type.end", "alias.put", "alias.end"})
_HANDLERS: Final[dict[str, Handler]] = {
    "realm.set": _set_realm,
    "resource_type.put": _put_type,
    "resource_type.end": _end_type,
    "action.put": _put_action,
    "action.end": _end_action,
    "alias.put": _put_alias,
    "alias.end": _end_alias,
    "principal.put": _put_principal,
    "principal.end": _end_principal,
    "resource.put": _put_resource,
    "resource.end": _end_resource,
    "enforcement_point.put": _put_point,
    "enforcement_point.end": _end_point,
    "epoch.set": _set_epoch,
    "policy.activate": _activate_policy,
    "edge.begin": _begin_edge,
    "edges.end": _end_edges,
    "anchor": _anchor,
    **{f"{noun}.put": _put_record(noun) for noun in RECORD_NOUNS},
    **{f"{noun}.end": _end_record(noun) for noun in RECORD_NOUNS},
    **COORDINATION,
}
