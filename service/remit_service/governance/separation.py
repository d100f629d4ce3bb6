"""Separation of duties as data: actions that nobody may hold together, and roles that nobody may play together.

Policy data lists the rules (`separation_of_duties` of the configuration); of the sides of a rule, or of its roles, one
principal holds one at most:

    - {rule: maker-checker, actions: [[PUBLISH_POST], [APPROVE_PUBLICATION]]}
    - {rule: two-hats, roles: ["role:editor", "role:security-officer"]}

Asked of everybody who runs or lives (instance, human, service), since a role is nobody: a command after which somebody
would hold two sides is refused, and `remit review` lists who holds them already. What somebody could do is taken wide:
scopes narrow what an action may touch, and two duties on different resources are two duties still. A command is
judged at its own instant and at each later one at which something begins for those it touches; duties that follow
each other in time are not joined.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_graph.errors import ModelError
from remit_graph.model.edge import GRANT_CLASS, MEMBERSHIPS, ROOT_GRANTS, Edge, EdgeType
from remit_graph.model.principal import HOLDER_KINDS
from remit_graph.view.grounds import ViewGrounds
from remit_service.governance.trying import tried
from remit_service.writer.command import Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from remit_graph.model.change import Change
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View


SIDES: Final = 2
"""Of one rule; holding so many is what it forbids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One separation.

    Attributes:
        rule: Its name.
        sides: Actions of each side, or None where it separates roles.
        roles: Roles that exclude each other.
    """

    rule: str
    sides: tuple[frozenset[str], ...] = ()
    roles: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """Somebody who holds two sides of a rule."""

    rule: str
    principal: str
    holds: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """Return the form of reports."""
        return {"rule": self.rule, "principal": self.principal, "holds": list(self.holds)}


def rules_of(config: Mapping[str, Any]) -> tuple[Rule, ...]:
    """Read the rules from policy data; none where it names none.

    Raises:
        ModelError: a rule is none: it would hold nothing apart, and nobody would notice.
    """
    rows = config.get("separation_of_duties") or []
    if not isinstance(rows, list):
        raise ModelError("`separation_of_duties` is a list of rules")
    return tuple(_rule(row, f"separation_of_duties[{number}]") for number, row in enumerate(rows))


def _rule(row: Any, place: str) -> Rule:
    if not isinstance(row, dict) or not isinstance(row.get("rule"), str) or not row["rule"]:
        raise ModelError(f"`{place}` has no `rule`, its name")
    if set(row) not in ({"rule", "actions"}, {"rule", "roles"}):
        raise ModelError(f"`{place}` has `rule` and one of `actions` and `roles`, and nothing else")
    if "roles" in row:
        return Rule(rule=row["rule"], roles=_apart(row["roles"], f"{place}.roles"))
    sides = row["actions"]
    if not isinstance(sides, list) or len(sides) < SIDES:
        raise ModelError(f"`{place}.actions` is a list of at least two lists of actions")
    return Rule(rule=row["rule"], sides=tuple(_names(each, f"{place}.actions") for each in sides))


def _apart(value: Any, place: str) -> frozenset[str]:
    names = _names(value, place)
    if len(names) < SIDES:
        raise ModelError(f"`{place}` names at least two roles")
    return names


def _names(value: Any, place: str) -> frozenset[str]:
    if not isinstance(value, list) or not value or not all(isinstance(each, str) and each for each in value):
        raise ModelError(f"`{place}` is a list of names, and not empty")
    return frozenset(value)


def breaches(view: View, at: Instant, rules: Sequence[Rule], among: Iterable[str] | None = None) -> Iterator[Breach]:
    """Iterate who holds two sides of a rule, by principal; `among` limits who is looked at."""
    if not rules:
        return
    graph = ViewGrounds(view=view, at=at)
    names = view.principals if among is None else among
    for name in sorted(names):
        known = view.principals.get(name)
        if known is None or known.kind not in HOLDER_KINDS or known.disabled:
            continue
        reaches = graph.reaches(name)
        actions = _actions(view, graph, reaches)
        for rule in rules:
            held = _held(rule, reaches, actions)
            if held:
                yield Breach(rule=rule.rule, principal=name, holds=held)


def _held(rule: Rule, reaches: frozenset[str], actions: frozenset[str]) -> tuple[str, ...]:
    roles = sorted(rule.roles & reaches)
    if len(roles) >= SIDES:
        return tuple(roles)
    sides = [sorted(side & actions) for side in rule.sides if side & actions]
    return tuple(each for side in sides for each in side) if len(sides) >= SIDES else ()


def _actions(view: View, graph: ViewGrounds, reaches: frozenset[str]) -> frozenset[str]:
    """Return the actions that somebody could take over what it reaches, on whatever resource."""
    found: set[str] = set()
    for holder in reaches:
        for edge in (*graph.roots(holder), *graph.held(holder)):
            found |= _of_edge(view, graph, edge)
    return frozenset(found)


def _of_edge(view: View, graph: ViewGrounds, edge: Edge) -> set[str]:
    """Return the actions of one edge; a delegation that leaves them open has those of what it rests on."""
    step: Edge | None = edge
    seen: set[str] = set()
    while step is not None and step.scope.actions is None and step.edge_id not in seen:
        seen.add(step.edge_id)
        if step.edge in ROOT_GRANTS:
            conveyed = GRANT_CLASS.get(step.edge)
            return {each.name for each in view.actions.values() if conveyed in (None, each.class_)}
        step = graph.parent(step)
    return set(step.scope.actions or ()) if step is not None else set(view.actions)


_GIVES: Final = frozenset({*ROOT_GRANTS, *MEMBERSHIPS, EdgeType.DELEGATES})
_WIDENS: Final = frozenset({"action.put", "realm.set"})
"""Changes that may give everybody an action: of the registry, or of who is a root and so whose grants count."""


def joined(view: View, changes: Sequence[Change], at: Instant, rules: Sequence[Rule]) -> Refused | None:
    """Refuse changes after which somebody would hold two sides of a rule, now or later, and would not without them."""
    if not rules:
        return None
    ends = _touched(view, changes)
    if ends is not None and not ends:
        return None
    with tried(view, changes, at) as after:
        among = sorted(after.principals) if ends is None else sorted(_below(after, ends))
        moments = [at, *_beginnings(after, at, among)]
        found = {moment: set(breaches(after, moment, rules, among)) for moment in moments}
    worse: set[Breach] = set()
    for moment, new in found.items():
        worse |= new - set(breaches(view, moment, rules, among)) if new else new
    if not worse:
        return None
    told = sorted(worse, key=lambda each: (each.principal, each.rule, each.holds))
    first = told[0]
    message = f"rule `{first.rule}` keeps duties apart, and `{first.principal}` would hold {', '.join(first.holds)}"
    return Refused(
        code="policy_denied",
        message=message,
        facts={"rule": first.rule, "message": "duties are kept apart", "breaches": [each.record() for each in told]},
    )


def _touched(view: View, changes: Sequence[Change]) -> set[str] | None:
    """Return the principals that changes may give something, those below them not counted; None for everybody."""
    found: set[str] = set()
    for each in changes:
        body = each.body
        if each.kind in _WIDENS:
            return None
        if each.kind == "edge.begin" and body["edge"] == EdgeType.OWNS:
            # What the owner issued counts by it, for whomever it was issued to.
            return None
        if each.kind == "edge.begin" and body["edge"] in _GIVES:
            found.add(body["to"] if body["edge"] == EdgeType.DELEGATES else body["from"])
        if each.kind == "principal.put" and body["id"] in view.principals and not view.alive(body["id"]):
            # Enabled again: what it held all the while counts once more, for those whom it backs too.
            return None
    return found


def _beginnings(view: View, at: Instant, among: Iterable[str]) -> list[Instant]:
    """Return the later instants at which something begins that these hold, or reach something by."""
    stored = ViewGrounds(view=view, at=at, dormant=True)
    found: set[Instant] = set()
    for name in {each for principal in among for each in stored.reaches(principal)}:
        memberships = (edge for kind in MEMBERSHIPS for edge in view.outgoing(kind, name))
        for edge in (*memberships, *stored.roots(name), *stored.held(name)):
            if edge.valid_from is not None and edge.valid_from > at:
                found.add(edge.valid_from)
    return sorted(found)


def _below(view: View, ends: Iterable[str]) -> set[str]:
    """Return the principals and all that reach them over memberships."""
    found, frontier = set(ends), list(ends)
    while frontier:
        each = frontier.pop()
        for kind in MEMBERSHIPS:
            for edge in view.incoming(kind, each):
                if edge.from_ not in found:
                    found.add(edge.from_)
                    frontier.append(edge.from_)
    return found
