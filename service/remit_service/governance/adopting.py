"""Adopt edits that engineers made past the ledger, or take them back: `remit graph adopt` and `quarantine`.

Steps of an adoption:
    (1) Find what differs, by name, and take of it what is meant.
    (2) Try each edit as the command that it would be, in an order in which one can follow the other.
    (3) Set aside what is accepted: the graph is what the ledger says, and what was written is kept.
    (4) Give the commands. Each is decided again by its laws and the policy, on the newest state, and appended.
    (5) Look again, so that the alarm says what is left.

What is refused, or was not chosen, stays where it is and gives no authority until somebody takes it back. The nodes
that an adopted edge was drawn to by hand go along with it: two of one name cannot be.

Adopting is idempotent by content: what was adopted is no edit any more. Each command has a request id of its own, so
that the writer settles by itself whether it was appended when a connection is cut.
"""

from __future__ import annotations

import contextlib
import secrets
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from remit_graph.drift import Slip
from remit_graph.errors import LedgerError, ModelError
from remit_graph.model.builtin import Governance
from remit_graph.model.instant import format_instant
from remit_graph.view.apply import apply_changes
from remit_graph.view.journal import Journal
from remit_service.governance.becoming import Decided
from remit_service.governance.chosen import Choice
from remit_service.governance.consequences import concluded
from remit_service.governance.foreign import Edit, edits_of, hands_on
from remit_service.governance.law import Actor, permitted, refused_by_policy
from remit_service.writer.command import Accepted, Refused, Submission

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from remit_graph.drift import Finding, Materialised
    from remit_graph.model.change import Change
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.governance.governor import Governor, Order
    from remit_service.keeping.drift import DriftWatch
    from remit_service.point import DecisionPoint
    from remit_service.policy import Policy
    from remit_service.writer.command import Verdict

REASON: Final = "adopted from the graph"
_ENDS: Final = frozenset({"Principal", "Resource", "Selector"})
"""Labels of nodes that an adopted edge brings along where they were made for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What came of one edit: `revision` where it was adopted, `refused` where it was not, else what it would change."""

    edit: Edit
    changes: Sequence[Change] = ()
    refused: Refused | None = None
    revision: int | None = None

    def record(self) -> dict[str, Any]:
        """Return the form of answers."""
        told = shown(self.edit.finding)
        if self.edit.verb:
            told["command"] = self.edit.verb
        if self.revision is not None:
            told["revision_number"] = self.revision
        if self.refused is not None:
            told |= {"code": self.refused.code, "message": self.refused.message}
            if reasons := self.refused.facts.get("reasons"):
                told["reasons"] = [dict(each) for each in reasons]
        return told


def shown(finding: Finding) -> dict[str, Any]:
    """Return a finding as answers show it, without the database's own id (faults.md F078)."""
    told: dict[str, Any] = {
        "edit_id": finding.edit_id,
        "slip": str(finding.slip),
        "kind": finding.kind,
        "name": finding.name,
        "sentence": finding.sentence,
    }
    if finding.record is not None:
        told["proposal"] = dict(finding.record)
    return told


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How edits are adopted or set aside.

    Attributes:
        choice: Which of them.
        reason: Why: for the ledger, and for what is kept of them.
        approval_id: An approval of the commands, where policy data asks for one.
        dry_run: Whether to tell only what would be.
        impact: With `dry_run`: whether to tell which recent verdicts adoption would change.
    """

    choice: Choice = field(default_factory=Choice)
    reason: str | None = None
    approval_id: str | None = None
    dry_run: bool = False
    impact: bool = False

    def actor(self, edit: Edit) -> Actor:
        """Return in whose name the command of an edit is given, with the approval."""
        return Actor(principal=edit.actor, approval_id=self.approval_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What would come of the edits that are meant, tried one after the other.

    Attributes:
        told: What would come of each, without those that go along with another.
        brought: Nodes that would go along.
        left: How many edits are neither.
        decided: All that would be changed.
    """

    told: Sequence[Told]
    brought: Sequence[Finding]
    left: int
    decided: Decided


async def adopt(
    governor: Governor,
    watch: DriftWatch,
    order: Order,
    terms: Terms,
    *,
    speaks_for: Callable[[str], bool] = lambda _principal: False,
) -> dict[str, Any]:
    """Make every edit that is meant and that the laws and the policy allow a change; say why the others are none.

    Args:
        governor: Where commands are given.
        watch: Where edits are found.
        order: Who adopts.
        terms: Which edits, and how.
        speaks_for: In whose name besides the caller may act: a delegation is made in the name of who hands on.

    Raises:
        RequestError: an edit is named that is not there; nothing was changed.
        LedgerError: the store cannot be asked; nothing was changed. Where it is gone in the middle, that is told of
            each edit.
    """
    graph = watch.graph
    # (1) Find.
    found = [] if graph is None else await watch.look()
    meant = terms.choice.among(found, () if graph is None else graph.parts())

    # (2) Try.
    def actor_of(finding: Finding) -> str:
        delegator = hands_on(finding)
        return delegator if delegator is not None and speaks_for(delegator) else order.actor

    attempt = _attempted(governor.point, found, meant, actor_of, terms)
    answer = partial(_answer, brought=attempt.brought, left=attempt.left, dry_run=terms.dry_run)
    if terms.dry_run or graph is None:

        async def again() -> Decided | Refused:
            return _attempted(governor.point, found, meant, actor_of, terms).decided

        more = {"impact": await governor.impact.of(attempt.decided, again)} if terms.impact else {}
        return answer(attempt.told) | more
    accepted = [each.edit for each in attempt.told if each.refused is None]
    # (3) Set aside.
    going = [*(each.finding for each in accepted), *attempt.brought]
    await _set_aside(graph, going, order, terms.reason or REASON)
    # (4) Give the commands.
    done = [await _given(governor, each, order, terms) for each in accepted]
    # (5) Look again. What came of the commands is told also where the store is gone by now; the watch looks by itself.
    with contextlib.suppress(LedgerError):
        await watch.look()
    return answer([*done, *(each for each in attempt.told if each.refused is not None)])


async def quarantine(governor: Governor, watch: DriftWatch, order: Order, terms: Terms) -> dict[str, Any] | Refused:
    """Bring what is meant of the graph to what the ledger says, and keep what was written as `(:Foreign)` nodes.

    That is for whoever may apply a world.

    Raises:
        RequestError: an edit is named that is not there; nothing was changed.
        LedgerError: the store cannot be asked; nothing was changed.
    """
    point, actor = governor.point, Actor(principal=order.actor, approval_id=terms.approval_id)
    decision = permitted(point.policy, point.view, point.now(), actor, Governance.APPLY_WORLD)
    await governor.record(actor, order, "QUARANTINE", dry_run=terms.dry_run)
    if refused := refused_by_policy(decision):
        return refused
    graph, found = watch.graph, await watch.look()
    meant = terms.choice.among(found, () if graph is None else graph.parts())
    if graph is not None and not terms.dry_run:
        await _set_aside(graph, meant, order, terms.reason)
        await watch.look()
    return {"set_aside": [shown(each) for each in meant], "left": len(found) - len(meant), "dry_run": terms.dry_run}


async def kept(graph: Materialised | None) -> list[dict[str, Any]]:
    """Return what was ever set aside, oldest first: the properties it had, who did it, when and why.

    Raises:
        LedgerError: the store cannot be asked.
    """
    if graph is None:
        return []
    told: list[dict[str, Any]] = []
    for each in await graph.was_set_aside():
        known = {"edit_id": each.edit_id, "set_aside_by": each.by or None, "reason": each.reason}
        told.append(
            {
                **shown(each.finding),
                "properties": dict(each.finding.properties),
                "set_aside_at": format_instant(each.at),
            }
            | known
        )
    return [{name: value for name, value in each.items() if value is not None} for each in told]


def _answer(told: Sequence[Told], *, brought: Sequence[Finding], left: int, dry_run: bool) -> dict[str, Any]:
    return {
        "adopted": [each.record() for each in told if each.refused is None],
        "refused": [each.record() for each in told if each.refused is not None],
        "brought_along": [shown(each) for each in brought],
        "left": left,
        "dry_run": dry_run,
    }


def _attempted(
    point: DecisionPoint,
    found: Sequence[Finding],
    meant: Sequence[Finding],
    actor_of: Callable[[Finding], str],
    terms: Terms,
) -> Attempt:
    """Try the edits that are meant on the graph of now."""
    view, at = point.view, point.now()
    tried = _tried(edits_of(meant, view, actor_of), terms, point.policy, view, at)
    brought = _brought_along([each.edit for each in tried if each.refused is None], found)
    along = {each.edit_id for each in brought}
    told = [each for each in tried if each.edit.finding.edit_id not in along]
    gone = along | {each.edit_id for each in meant}
    changes = tuple(change for each in told if each.refused is None for change in each.changes)
    return Attempt(
        told=told,
        brought=brought,
        left=sum(each.edit_id not in gone for each in found),
        decided=Decided.on(view, Accepted(changes=changes, result={})),
    )


def _tried(edits: Sequence[Edit], terms: Terms, policy: Policy, view: View, at: Instant) -> list[Told]:
    """Decide each edit on what those before it would make, and take all of it back."""
    journal = Journal()
    told: list[Told] = []
    try:
        for edit in edits:
            verdict = _decided(edit, terms.actor(edit), policy, view, at)
            if isinstance(verdict, Refused):
                told.append(Told(edit=edit, refused=verdict))
                continue
            apply_changes(view, verdict.changes, journal, revision=view.revision + 1, at=at)
            told.append(Told(edit=edit, changes=verdict.changes))
    finally:
        journal.undo()
    return told


def _decided(edit: Edit, actor: Actor, policy: Policy, view: View, at: Instant) -> Verdict:
    if edit.asked is None:
        return edit.refused or Refused(code="malformed_request", message=edit.finding.sentence)
    if edit.finding.slip is Slip.REMOVED and _is_over(edit, view):
        # It ended with another edit of the same adoption.
        return Accepted(changes=(), result={})
    try:
        verdict = edit.asked.decide(policy, view, at, actor)
    except ModelError as error:
        return Refused(code=error.code, message=error.message, facts=error.facts)
    return concluded(verdict, view, at, policy)


def _is_over(edit: Edit, view: View) -> bool:
    if edit.finding.joins is None:
        return edit.finding.name.removeprefix("principal/") not in view.principals
    return edit.finding.name.rpartition("@")[0] not in view.edges


def _brought_along(accepted: Sequence[Edit], found: Sequence[Finding]) -> list[Finding]:
    """Return the nodes that were made for accepted edges and are nothing by themselves: selectors, bare names."""
    ends = {end for each in accepted for end in each.finding.joins or () if each.finding.slip is Slip.ADDED}
    by_command = {each.finding.name for each in accepted if each.finding.joins is None}
    nodes = [each for each in found if each.joins is None and each.slip is Slip.ADDED and each.kind in _ENDS]
    return [each for each in nodes if each.name in ends and each.name not in by_command]


async def _set_aside(graph: Materialised, findings: Sequence[Finding], order: Order, reason: str | None) -> None:
    if findings:
        await graph.set_aside(findings, by=order.actor, reason=reason)


async def _given(governor: Governor, edit: Edit, order: Order, terms: Terms) -> Told:
    if edit.asked is None:
        return Told(edit=edit, refused=edit.refused)
    actor = terms.actor(edit)
    submission = Submission(
        action=edit.asked.action.value,
        actor=edit.actor,
        decide=partial(_decided_anew, edit, actor, governor.point.policy),
        reason=terms.reason or REASON,
        request_id=secrets.token_hex(32),
    )
    try:
        done = await governor.point.submit(submission)
    except LedgerError as error:
        # It is out of the graph already: whoever adopts has to know what became of each.
        message = f"{error.message}; the edit was set aside, and `remit graph quarantine --list` has what was written"
        return Told(edit=edit, refused=Refused(code=error.code, message=message))
    await governor.record(actor, order, edit.asked.action.value)
    if isinstance(done.verdict, Refused):
        return Told(edit=edit, refused=done.verdict)
    return Told(edit=edit, revision=done.revision)


def _decided_anew(edit: Edit, actor: Actor, policy: Policy, view: View, at: Instant) -> Verdict:
    actor.decisions.clear()
    return _decided(edit, actor, policy, view, at)
