"""What rests on what was ended or narrowed is decided again, in the same revision (rules.md 9).

    changes = end_what_rests_on(view, governance_changes, at, tables=tables, ask=ask).changes

Whatever some chain still permits stays: same lease, same token, new proof. The rest ends, told the code of what ended.
Removing a resource ends what is held on it, whoever else might still write there.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from remit_service.coordination.behind import keys_of
from remit_service.coordination.expire import freed_by
from remit_service.coordination.gate import lasting
from remit_service.coordination.receipt import lose_lease
from remit_service.coordination.settle import end_waiter, settle
from remit_service.coordination.states import LeaseState
from remit_service.coordination.touched import Touched, touched_by
from remit_service.coordination.values import Ask, Asking, Verdict
from remit_service.coordination.work import Work

if TYPE_CHECKING:
    from remit_graph.model.change import Change
    from remit_graph.model.instant import Instant
    from remit_graph.view.beside import Beside
    from remit_graph.view.state import View
    from remit_service.coordination.tables import Tables
    from remit_service.coordination.values import Record

Judge = Callable[["View", Ask], Verdict]
"""Puts one question on a state, at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consequences:
    """What a governance command brings about beside what it changes itself.

    Attributes:
        changes: To be appended after the command's own, in the same revision.
        ended: Noun to the ids that ended: `lease`, `waiter`, `capability`, `approval`.
        re_anchored: Noun to the ids that stay, on another chain.
    """

    changes: tuple[Change, ...]
    ended: dict[str, list[str]]
    re_anchored: dict[str, list[str]]


def end_what_rests_on(
    view: View, changes: Sequence[Change], at: Instant, *, tables: Tables, ask: Judge, made: Beside | None = None
) -> Consequences:
    """Decide again everything that rests on what `changes` end or narrow; the view is as before afterwards.

    Args:
        view: The state before the command.
        changes: What the command does itself.
        at: The instant of the command.
        tables: Policy data.
        ask: The policy.
        made: The same changes, made ready beside this very view, where they are many.
    """
    work = Work(view, tables, at)
    try:
        touched = touched_by(view, changes)
        work.take(changes, made)
        own = len(work.changes)
        found = Found()
        steps = decide_again(work, touched, found)
        verdict: Verdict | None = None
        while True:
            try:
                asked = next(steps) if verdict is None else steps.send(verdict)
            except StopIteration:
                return Consequences(changes=tuple(work.changes[own:]), ended=found.ended, re_anchored=found.re_anchored)
            verdict = ask(view, asked)
    finally:
        work.undo()


class Found:
    """What came of deciding again."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.ended: dict[str, list[str]] = {}
        self.re_anchored: dict[str, list[str]] = {}

    def note(self, table: dict[str, list[str]], noun: str, item: str) -> None:
        """Note one id."""
        table.setdefault(noun, []).append(item)


def decide_again(work: Work, touched: Touched, found: Found) -> Asking:
    """Decide again what rests on what was touched, and give what became free to those who wait."""
    freed: list[str] = []
    lost = yield from _passes_again(work, touched, found)
    touched = replace(touched, passes=touched.passes | lost)
    for lease in _of(work, "lease", touched):
        if work.record("lease", lease["id"]) is None:
            continue
        code = yield from _still(work, "lease", lease, touched, found)
        if code is not None:
            freed.extend(freed_by(work, lease))
            lose_lease(work, lease, LeaseState.REVOKED, cause=touched.cause, code="lease_revoked", reason=code)
            found.note(found.ended, "lease", lease["id"])
    for waiter in _of(work, "waiter", touched):
        code = yield from _still(work, "waiter", waiter, touched, found)
        if code is not None:
            end_waiter(work, waiter, "REFUSED", code=code)
            found.note(found.ended, "waiter", waiter["id"])
            freed.extend(keys_of(waiter))
    yield from settle(work, freed)


def _passes_again(work: Work, touched: Touched, found: Found) -> Generator[Ask, Verdict, frozenset[tuple[str, str]]]:
    """Decide again what was given out; returns what ended or may have lost a vote, as (noun, id)."""
    lost: set[tuple[str, str]] = set()
    for capability in _of(work, "capability", touched):
        code = yield from _still(work, "capability", capability, touched, found)
        if code is not None:
            _end_pass(work, "capability", capability, code, found)
            lost.add(("capability", capability["id"]))
    # A vote is looked at when it counts; what was asked for with it is asked about now.
    lost.update(("approval", each["id"]) for each in _of(work, "approval", touched))
    for approval in _of_the_gone(work, touched):
        _end_pass(work, "approval", approval, "approval_stale", found)
        lost.add(("approval", approval["id"]))
    return frozenset(lost)


def _of_the_gone(work: Work, touched: Touched) -> list[Record]:
    """Return the approvals of what removed principals would have done: a later one of the name inherits nothing."""
    if not touched.gone:
        return []
    records = work.view.records.get("approval", {})
    return [records[each] for each in sorted(records) if records[each]["requester"] in touched.gone]


def _end_pass(work: Work, noun: str, record: Record, code: str, found: Found) -> None:
    work.change(f"{noun}.end", {"id": record["id"], "state": "REVOKED", "code": code, "ended_at": work.at})
    found.note(found.ended, noun, record["id"])


def _of(work: Work, noun: str, touched: Touched) -> list[Record]:
    """Return the records of a noun that rest on what was touched, by id."""
    records = work.view.records.get(noun, {})
    if touched.everything:
        return [records[each] for each in sorted(records)]
    tables = work.view.coordination
    ids = {item for position in touched.positions for kind, item in tables.resting.get(position, ()) if kind == noun}
    ids.update(item for each in touched.passes for kind, item in tables.shown.get(each, ()) if kind == noun)
    owners = {"lease": tables.held, "waiter": tables.waiting}.get(noun, {})
    ids.update(item for principal in touched.principals for item in owners.get(principal, ()))
    if noun == "lease":
        ids.update(item for key in touched.resources for item in tables.leases.below.get(key, ()))
    return [records[each] for each in sorted(ids) if each in records]


def _still(work: Work, noun: str, record: Record, touched: Touched, found: Found) -> Any:
    """Ask whether a record may stay; returns None where it may, else the code that ends it."""
    if noun == "lease" and touched.removes(work, record["resource_key"]):
        return "unknown_resource"
    requests = [claim["request"] for claim in record["claims"]] if noun == "waiter" else [record["request"]]
    proof: list[str] = []
    not_after: list[int] = []
    for request in requests:
        lease_id = record["id"] if noun == "lease" else None
        verdict: Verdict = yield Ask(
            request=request, phase="rest", mode=record.get("mode", "exclusive"), lease_id=lease_id
        )
        code = lasting(work.tables, verdict)
        if code is not None:
            # What ended is what is told: the policy may have come further on another chain that never held.
            return touched.code_for(record) or code
        proof.extend(verdict.proof)
        not_after.extend([verdict.not_after] if verdict.not_after is not None else [])
    if noun == "waiter":
        proof = sorted(set(proof))
    changed: dict[str, Any] = {**record, "proof": proof}
    if "expires_at" in record:
        changed["expires_at"] = min([record["expires_at"], *not_after])
    if changed != record:
        work.change(f"{noun}.put", changed)
        found.note(found.re_anchored, noun, record["id"])
    return None
