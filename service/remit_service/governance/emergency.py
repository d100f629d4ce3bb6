"""Break-glass: a short, scoped grant in an emergency, which always carries an alarm and the duty to look at its use.

- It is a root grant like any other, issued in the name of a root principal, to somebody who runs or lives, for a named
  resource and named actions of one class, for minutes. It cannot be handed on.
- Who may make one holds BREAK_GLASS on `remit:graph`; policy data may ask for approvals on top.
- Every permit that rests on it carries the obligation `review` (policy), every root is told at once (a notice), and the
  record stays open until somebody other than its maker and its holder has looked at what was done with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.builtin import Governance
from remit_graph.model.change import Change
from remit_graph.model.edge import GRANT_CLASS, Edge, check_ends
from remit_graph.model.instant import SECOND, format_instant
from remit_graph.model.key import check_name
from remit_graph.model.principal import HOLDER_KINDS
from remit_graph.model.scope import check_scope, parse_scope
from remit_service.decision.request import RequestError
from remit_service.governance.law import Actor, permitted, refused_by_policy
from remit_service.governance.making import stamped
from remit_service.governance.names import misnamed, unknown_ends
from remit_service.governance.spec import text
from remit_service.governance.versions import begin, lives_on, next_version
from remit_service.writer.command import Accepted, Refused, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.policy import Policy

MEMBERS: Final = frozenset({"grant_id", "principal", "actions", "resource", "fields", "minutes", "incident_id"})
MAX_MINUTES: Final = 240
"""Longest life of one; who needs longer breaks the glass again, and tells why again."""

DEFAULT_MINUTES: Final = 30
REVIEW_HOURS: Final = 72
"""Within which its use is to be looked at; an open record that is older is a finding of every review."""

NOUN: Final = "break_glass"
KIND_OF_CLASS: Final = {class_: kind for kind, class_ in GRANT_CLASS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Emergency:
    """What is asked for.

    Attributes:
        reason: Why; for whoever reviews it.
        minutes: How long it lives.
    """

    grant_id: str
    principal: str
    actions: tuple[str, ...]
    resource: str
    fields: tuple[str, ...] | None
    minutes: int
    reason: str
    incident_id: str | None


def asked_for(body: Mapping[str, Any]) -> Emergency:
    """Read `POST /v1/break-glass`.

    Raises:
        RequestError, ModelError: a member is missing or malformed.
    """
    minutes = DEFAULT_MINUTES if body.get("minutes") is None else body["minutes"]
    if type(minutes) is not int or not 0 < minutes <= MAX_MINUTES:
        raise RequestError(f"`minutes` is a whole number from 1 to {MAX_MINUTES}", pointer="/minutes")
    actions, fields = _names(body, "actions"), _names(body, "fields")
    if not actions:
        raise RequestError("`actions` names at least one action", pointer="/actions")
    principal = text(body, "principal")
    if principal.partition(":")[0] not in HOLDER_KINDS:
        known = ", ".join(sorted(HOLDER_KINDS))
        raise RequestError(f"it goes to somebody who runs or lives: {known}", pointer="/principal")
    incident = body.get("incident_id")
    return Emergency(
        grant_id=check_name(text(body, "grant_id")),
        principal=principal,
        actions=actions,
        resource=text(body, "resource"),
        fields=fields,
        minutes=minutes,
        reason=text(body, "reason"),
        incident_id=None if incident is None else text(body, "incident_id"),
    )


def _names(body: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        raise RequestError(f"`{name}` is a list of names", pointer=f"/{name}")
    return tuple(sorted(set(value)))


def break_glass(asked: Emergency, policy: Policy, view: View, at: Instant, actor: Actor) -> Verdict:
    """Decide a break-glass grant."""
    edge = _edge(asked, view, at)
    if isinstance(edge, Refused):
        return edge
    if missing := lives_on(view, edge, at) or unknown_ends(view, edge):
        return missing
    decision = permitted(policy, view, at, actor, Governance.BREAK_GLASS)
    if refused := refused_by_policy(decision, misnamed(view, policy, edge)):
        return refused
    made = begin(policy, view, at, edge)
    due = at + REVIEW_HOURS * 3_600 * SECOND
    record: dict[str, Any] = {
        "id": edge.position,
        "edge_id": edge.edge_id,
        "principal": asked.principal,
        "actor": actor.principal,
        "actions": list(asked.actions),
        "resource": asked.resource,
        "reason": asked.reason,
        "granted_at": at,
        "valid_until": edge.valid_until,
        "review_due": due,
        "state": "OPEN",
        **({"incident_id": asked.incident_id} if asked.incident_id is not None else {}),
    }
    changes = (*made.changes, Change(f"{NOUN}.put", record), *_alarm(view, record, at))
    result = {**made.result, "break_glass_id": edge.position, "review_due": format_instant(due)}
    return Accepted(changes=changes, result=result)


def _edge(asked: Emergency, view: View, at: Instant) -> Edge | Refused:
    unknown = [each for each in asked.actions if each not in view.actions]
    if unknown:
        message = f"action `{unknown[0]}` is not declared"
        return Refused(code="unknown_action", message=message, facts={"action": unknown[0]})
    classes = {view.actions[each].class_ for each in asked.actions}
    if len(classes) > 1:
        message = f"the actions are of the classes {', '.join(sorted(classes))}, and one grant conveys one"
        return Refused(code="malformed_request", message=message, facts={"pointer": "/actions"})
    roots = [each for each in view.realm.root if view.is_root(each)]
    if not roots:
        return Refused(code="no_authority", message="no root of this realm is left, in whose name it could be issued")
    scope: dict[str, Any] = {"actions": list(asked.actions)}
    if asked.fields is not None:
        scope["fields"] = list(asked.fields)
    edge = Edge(
        edge_id=asked.grant_id,
        version=next_version(view, asked.grant_id),
        edge=KIND_OF_CLASS[classes.pop()],
        from_=asked.principal,
        to=asked.resource,
        scope=check_scope(parse_scope(scope)),
        valid_until=at + asked.minutes * 60 * SECOND,
        epoch=view.authority_epoch,
        issuer=roots[0],
        max_depth=0,
    )
    check_ends(edge)
    return stamped(view, edge)


def _alarm(view: View, record: Mapping[str, Any], at: Instant) -> list[Change]:
    """Tell every root, at once."""
    return [
        Change(
            "notice.put",
            {
                "id": f"{NOUN}:{record['id']}:{root}",
                "subject": root,
                "code": NOUN,
                "by": record["actor"],
                "principal": record["principal"],
                "edge": record["id"],
                "reason": record["reason"],
                "at": at,
            },
        )
        for root in view.realm.root
    ]


def review(glass_id: str, finding: str, policy: Policy, view: View, at: Instant, actor: Actor) -> Verdict:
    """Decide that the use of a break-glass grant was looked at; by nobody who made or used it."""
    record = view.records.get(NOUN, {}).get(glass_id)
    if record is None:
        message = f"there is no break-glass grant `{glass_id}`"
        return Refused(code="unknown_resource", message=message, facts={"key": glass_id})
    if actor.principal in (record["actor"], record["principal"]):
        message = f"`{actor.principal}` made or used `{glass_id}`, and somebody else has to look at it"
        return Refused(code="self_approval", message=message, facts={"subject": actor.principal})
    if refused := refused_by_policy(permitted(policy, view, at, actor, Governance.APPROVE)):
        return refused
    if record["state"] == "REVIEWED":
        return Accepted(changes=(), result=shown(record))
    done = {**record, "state": "REVIEWED", "reviewed_by": actor.principal, "reviewed_at": at, "finding": finding}
    return Accepted(changes=(Change(f"{NOUN}.put", done),), result=shown(done))


def shown(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record as answers show it."""
    instants = ("granted_at", "valid_until", "review_due", "reviewed_at")
    told = {name: format_instant(value) if name in instants else value for name, value in record.items()}
    told["break_glass_id"] = told.pop("id")
    return told


def open_reviews(view: View, at: Instant) -> list[dict[str, Any]]:
    """Return the break-glass grants whose use nobody has looked at, oldest first, with whether that is overdue."""
    found = [each for each in view.records.get(NOUN, {}).values() if each["state"] == "OPEN"]
    found.sort(key=lambda each: (each["granted_at"], each["id"]))
    return [{**shown(each), "overdue": each["review_due"] <= at} for each in found]
