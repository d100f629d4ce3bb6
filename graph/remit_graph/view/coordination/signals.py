"""How receipts, observations, presence, incidents, transfers, work sets and notices move the tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from remit_graph.view.coordination.due import schedule, unschedule
from remit_graph.view.coordination.leases import enter

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_graph.view.coordination.tables import Coordination
    from remit_graph.view.journal import Journal
    from remit_graph.view.state import View

Body = Mapping[str, Any]

SUPERSEDED_KEPT: Final = 64
"""Superseded versions remembered of one key: a plan older than so many writes is found at the resource."""

WRITERS_KEPT: Final = 4
"""Writers remembered of one field: A, B, A, B is an oscillation (FM-035)."""

FREEZING: Final = frozenset({"FROZEN", "TRANSFERRED", "REGISTERED"})
"""States of a transfer in which nothing starts or renews under it; a failed verification stays REGISTERED."""


def put_receipt(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    """Evidence of how an operation ended; a completed one says which versions it replaced and what it wrote."""
    tables = view.coordination
    kept = tables.kept_records["receipt"]
    if kept.get(body["id"]) is not None or body.get("outcome_checks"):
        # A later finding on an outcome adds to the receipt, which may have left the view, and is no other write.
        kept.add(body["id"], body, journal)
        return
    kept.add(body["id"], body, journal)
    if body.get("status") != "COMPLETED":
        return
    _count(tables, "writes_completed", journal)
    for step in body.get("versions", ()):
        before = step.get("expected_version")
        _note_version(tables, step["key"], (before, step["final_version"]), body["id"], journal)
    for fence_key in body.get("wrote", ()):
        _note_writer(tables, fence_key, body["principal"], journal)


def put_observation(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    """A change seen at the resource that no operation explains."""
    tables = view.coordination
    tables.kept_records["observation"].add(body["id"], body, journal)
    _count(tables, "writes_uncoordinated", journal)
    if body.get("observed_version") is not None:
        _note_version(tables, body["resource_key"], (None, body["observed_version"]), body["id"], journal)
    if body.get("actor") is not None:
        for fence_key in body.get("wrote", ()):
            _note_writer(tables, fence_key, body["actor"], journal)


def _count(tables: Coordination, name: str, journal: Journal) -> None:
    journal.put(tables.counters, name, tables.counters[name] + 1)


def _note_version(tables: Coordination, key: str, versions: tuple[str | None, str], by: str, journal: Journal) -> None:
    """Note the current version; only what a completed operation replaced counts as superseded (rules.md 6)."""
    before, after = versions
    superseded = (tables.versions.get(key) or {"superseded": ()})["superseded"]
    if before is not None and before != after:
        superseded = (*(each for each in superseded if each != before), before)[-SUPERSEDED_KEPT:]
    # A resource that came back to a version is at it again.
    superseded = tuple(each for each in superseded if each != after)
    tables.versions.add(key, {"current": after, "superseded": superseded, "by": by}, journal)


def _note_writer(tables: Coordination, fence_key: str, principal: str, journal: Journal) -> None:
    writers = (*(tables.writers.get(fence_key) or ()), principal)[-WRITERS_KEPT:]
    tables.writers.add(fence_key, writers, journal)


def put_presence(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    """Somebody edits, or still does."""
    tables = view.coordination
    enter(tables.present, body["resource_key"], body["id"], journal)
    enter(tables.editing, body["actor"], body["id"], journal)
    enter(tables.asked_by, ("presence", body["point"]), body["id"], journal)
    schedule(tables, "presence", body["id"], body["expires_at"], journal)
    journal.put(journal.bucket(view.records, "presence"), body["id"], body)


def end_presence(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    """Somebody has stopped editing."""
    tables, presences = view.coordination, journal.bucket(view.records, "presence")
    known = presences.get(body["id"])
    if known is None:
        return
    journal.leave(tables.present, known["resource_key"], body["id"])
    journal.leave(tables.editing, known["actor"], body["id"])
    journal.leave(tables.asked_by, ("presence", known["point"]), body["id"])
    unschedule(tables, "presence", body["id"], journal)
    journal.drop(presences, body["id"])


def put_incident(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    """An incident is declared, changed or closed."""
    end_incident(view, body, journal, _revision, _at)
    if body["status"] == "OPEN":
        enter(view.coordination.incidents, body["resource_key"], body["id"], journal)
    journal.put(journal.bucket(view.records, "incident"), body["id"], body)


def end_incident(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    """An incident is forgotten."""
    incidents = journal.bucket(view.records, "incident")
    known = incidents.get(body["id"])
    if known is not None:
        journal.leave(view.coordination.incidents, known["resource_key"], body["id"])
        journal.drop(incidents, body["id"])


def put_transfer(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    """A transfer takes a step."""
    frozen = view.coordination.frozen
    if body["state"] in FREEZING:
        journal.put(frozen, body["id"], None)
    else:
        journal.drop(frozen, body["id"])
    journal.put(journal.bucket(view.records, "transfer"), body["id"], body)


def put_work_set(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    """A run declares what it will read, write and delete."""
    tables = view.coordination
    if body["id"] in view.records.get("work_set", {}):
        tables.work_sets.remove(body["id"], journal)
    named = dict.fromkeys([*body["reads"], *body["writes"], *body["deletes"], *body.get("affects", ())])
    tables.work_sets.add(view, body["id"], named, journal)
    schedule(tables, "work_set", body["id"], body["expires_at"], journal)
    journal.put(journal.bucket(view.records, "work_set"), body["id"], body)


def end_work_set(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    """A run is over."""
    tables, sets = view.coordination, journal.bucket(view.records, "work_set")
    if body["id"] in sets:
        tables.work_sets.remove(body["id"], journal)
        unschedule(tables, "work_set", body["id"], journal)
        journal.drop(sets, body["id"])


def put_conflict(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    """How a conflict was settled."""
    view.coordination.kept_records["conflict"].add(body["id"], body, journal)


def put_notice(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    """Something that a principal has to be told."""
    tables = view.coordination
    forgotten = tables.kept_records["notice"].add(body["id"], body, journal)
    enter(tables.notices_for, body["subject"], body["id"], journal)
    if forgotten is not None:
        journal.leave(tables.notices_for, forgotten["subject"], forgotten["id"])


def end_notice(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    """A notice was read."""
    tables = view.coordination
    known = tables.kept_records["notice"].get(body["id"])
    if known is not None:
        journal.leave(tables.notices_for, known["subject"], body["id"])
        tables.kept_records["notice"].drop(body["id"], journal)


def set_incarnation(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    """The store was put back from a backup: tokens from before are foreign (rules.md 2)."""
    journal.put(view.scalars, "incarnation", body["incarnation"])
