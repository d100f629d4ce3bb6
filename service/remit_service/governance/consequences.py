"""What a command brings about besides edges: leases, waiters and capabilities that rested on what it ends or narrows.

Every accepted command goes through here, whatever it is called: ending, amending, disabling, bumping, applying a world.
What still finds a chain stays, on that chain; the rest ends in the same revision, each told its own code (rules.md 9).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.change import Change
from remit_graph.model.instant import Instant
from remit_graph.view.state import View
from remit_service.coordination.resting import Consequences as Found
from remit_service.coordination.resting import end_what_rests_on
from remit_service.coordinator.judge import judge
from remit_service.governance.separation import joined
from remit_service.writer.command import Accepted, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.view.beside import Beside
    from remit_service.policy import Policy

Consequences = Callable[[View, Sequence[Change], Instant], Found]
"""Decides again what rests on what changes touch, and returns what that changes."""

NOUNS: Final[Mapping[str, str]] = {
    "approval": "approvals",
    "capability": "capabilities",
    "lease": "leases",
    "operation": "operations",
    "waiter": "waiters",
}
"""How answers call what ended."""

CODES: Final[Mapping[str, str]] = {
    "approvals": "approval_stale",
    "capabilities": "capability_revoked",
    "delegations": "delegation_revoked",
    "edges": "delegation_revoked",
    "leases": "lease_revoked",
    "operations": "lease_revoked",
    "waiters": "lease_revoked",
}
"""What whoever presents it later is told."""

_RESTING: Final = ("lease", "waiter", "capability", "approval")


def anything_rests(view: View) -> bool:
    """Whether anything is held, waited for or issued at all, so that changes have to be tried on it."""
    return any(view.records.get(noun) for noun in _RESTING)


def consequences_of(policy: Policy, made: Beside | None = None) -> Consequences:
    """Return what decides again by `policy`; `made` is what is to be tried, made ready beside the view."""

    def decide_again(view: View, changes: Sequence[Change], at: Instant) -> Found:
        if not anything_rests(view):
            return Found(changes=(), ended={}, re_anchored={})
        return end_what_rests_on(
            view, changes, at, tables=policy.tables, ask=lambda state, ask: judge(policy, state, at, ask)[0], made=made
        )

    return decide_again


def concluded(verdict: Verdict, view: View, at: Instant, policy: Policy) -> Verdict:
    """Return what a decided command comes to: refused where it joins duties, else with all that it brings about."""
    if isinstance(verdict, Accepted):
        refused = joined(view, verdict.changes, at, policy.duties)
        if refused is not None:
            return refused
    made = verdict.made if isinstance(verdict, Accepted) else None
    return with_consequences(verdict, view, at, consequences_of(policy, made))


def with_consequences(verdict: Verdict, view: View, at: Instant, consequences: Consequences) -> Verdict:
    """Return a verdict with all that its changes bring about, or a refusal as it is."""
    if not isinstance(verdict, Accepted) or not verdict.changes:
        return verdict
    found = consequences(view, verdict.changes, at)
    ended = {NOUNS.get(noun, noun): sorted(ids) for noun, ids in found.ended.items()}
    if operations := sorted(each.body["id"] for each in found.changes if each.kind == "operation.end"):
        ended["operations"] = operations
    result = dict(verdict.result)
    if "ended" in result or ended:
        result["ended"] = {"delegations": [], "leases": [], "waiters": [], "capabilities": []} | _ended(result) | ended
        result["codes"] = {noun: CODES[noun] for noun, ids in result["ended"].items() if ids and noun in CODES}
    if found.re_anchored:
        result["re_anchored"] = [*result.get("re_anchored", ()), *_stay(found.re_anchored)]
    return replace(verdict, changes=(*verdict.changes, *found.changes), result=result)


def _ended(result: Mapping[str, Any]) -> dict[str, Any]:
    return dict(result.get("ended", {}))


def _stay(re_anchored: Mapping[str, list[str]]) -> list[dict[str, str]]:
    return [{f"{noun}_id": each} for noun in sorted(re_anchored) for each in sorted(re_anchored[noun])]
