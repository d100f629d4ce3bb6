"""Separation of duties as data: actions that nobody may hold together, and roles that nobody may play together.

Policy data lists the rules (`separation_of_duties` of the configuration):

    - {rule: maker-checker, actions: [[PUBLISH_POST], [APPROVE_PUBLICATION]]}
    - {rule: two-hats, roles: ["role:editor", "role:security-officer"]}

Asked of everybody who runs or lives (instance, human, service), since a role is nobody: a command after which somebody
would hold both sides is refused, and `remit review` lists who holds both already. What somebody could do is taken
wide: scopes narrow what an action may touch, and two duties on different resources are two duties still.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
    """Somebody who holds both sides of a rule."""

    rule: str
    principal: str
    holds: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """Return the form of reports."""
        return {"rule": self.rule, "principal": self.principal, "holds": list(self.holds)}


def rules_of(config: Mapping[str, Any]) -> tuple[Rule, ...]:
    """Read the rules from policy data; none where it names none."""
    return tuple(
        Rule(
            rule=str(row["rule"]),
            sides=tuple(frozenset(side) for side in row.get("actions") or ()),
            roles=frozenset(row.get("roles") or ()),
        )
        for row in config.get("separation_of_duties") or ()
    )


def breaches(view: View, at: Instant, rules: Sequence[Rule], among: Iterable[str] | None = None) -> Iterator[Breach]:
    """Iterate who holds both sides of a rule, by principal; `among` limits who is looked at."""
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
    if len(roles) > 1:
        return tuple(roles)
    sides = [sorted(side & actions) for side in rule.sides]
    return tuple(each for side in sides for each in side) if len(sides) > 1 and all(sides) else ()


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


_GIVES = frozenset({*ROOT_GRANTS, *MEMBERSHIPS, EdgeType.DELEGATES})


def joined(view: View, changes: Sequence[Change], at: Instant, rules: Sequence[Rule]) -> Refused | None:
    """Refuse changes after which somebody would hold both sides of a rule and did not before."""
    given = [each.body for each in changes if each.kind == "edge.begin" and each.body["edge"] in _GIVES]
    if not rules or not given:
        return None
    ends = {body["to"] if body["edge"] == EdgeType.DELEGATES else body["from"] for body in given}
    with tried(view, changes, at) as after:
        among = _below(after, ends)
        new = list(breaches(after, at, rules, among))
    old = set(breaches(view, at, rules, among)) if new else set()
    worse = [each for each in new if each not in old]
    if not worse:
        return None
    first = worse[0]
    message = f"rule `{first.rule}` keeps duties apart, and `{first.principal}` would hold {', '.join(first.holds)}"
    return Refused(
        code="policy_denied",
        message=message,
        facts={"rule": first.rule, "message": "duties are kept apart", "breaches": [each.record() for each in worse]},
    )


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
