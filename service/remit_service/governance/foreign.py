"""What an edit past the ledger would be as a command: the same verbs, bodies and laws as for everybody else.

An edit that no command could have made is refused here and never reaches the writer.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_graph.drift import Finding, Slip
from remit_graph.errors import ModelError
from remit_graph.model.edge import MEMBERSHIPS, EdgeType
from remit_graph.model.instant import format_instant
from remit_graph.world.names import edge_id_of
from remit_service.decision.request import RequestError
from remit_service.governance.verbs import VERBS, Asked, Place
from remit_service.writer.command import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from remit_graph.view.state import View

Body = dict[str, Any]

_SHARED: Final = ("scope", "max_depth")
_GRANT: Final = ("edge_id", "edge", "from", "to", "issuer", "count", "domains", *_SHARED)
_PRINCIPAL: Final = ("display_name", "trust", "disabled", "identities")
_TYPES: Final = frozenset(str(each) for each in EdgeType)
PUT_BACK: Final = "`remit graph quarantine` puts it back"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """An edit, and the command that it would be.

    Attributes:
        finding: What was found.
        verb: The command's name in `VERBS`, for answers.
        asked: The command, or None where there is none.
        refused: Why there is none.
        actor: In whose name it is given.
    """

    finding: Finding
    actor: str
    verb: str = ""
    asked: Asked | None = None
    refused: Refused | None = None


def edits_of(findings: Sequence[Finding], view: View, actor_of: Callable[[Finding], str]) -> list[Edit]:
    """Return the edits in the order in which their commands can follow each other, each in its actor's name."""
    return [_edit(each, view, actor_of(each)) for each in sorted(findings, key=_rank)]


def hands_on(finding: Finding) -> str | None:
    """Return who hands authority on by a delegation that was added or changed, or None where it is none."""
    if finding.kind != EdgeType.DELEGATES or finding.slip is Slip.REMOVED or finding.joins is None:
        return None
    return finding.joins[0]


def _rank(finding: Finding) -> tuple[int, str, str]:
    """Principals before what joins them, roots before what is handed on, and what ends last."""
    if finding.slip is Slip.REMOVED:
        return (6 if finding.joins is None else 5), finding.kind, finding.name
    order = {"Principal": 0, **{str(each): 1 for each in MEMBERSHIPS}, "OWNS": 2, "DELEGATES": 4}
    return order.get(finding.kind, 3), finding.kind, finding.name


def _edit(finding: Finding, view: View, actor: str) -> Edit:
    make = _of_node if finding.joins is None else _of_edge
    try:
        verb, body, place = make(finding, view, actor)
        return Edit(finding=finding, actor=actor, verb=verb, asked=VERBS[verb](body, place))
    except _NoCommandError as error:
        return Edit(finding=finding, actor=actor, refused=Refused(code=error.code, message=str(error)))
    except (RequestError, ModelError) as error:
        return Edit(
            finding=finding, actor=actor, refused=Refused(code=error.code, message=error.message, facts=error.facts)
        )


class _NoCommandError(Exception):
    def __init__(self, message: str, code: str = "malformed_request") -> None:
        super().__init__(message)
        self.code = code


def _of_edge(finding: Finding, view: View, actor: str) -> tuple[str, Body, Place]:
    if finding.kind not in _TYPES:
        if finding.kind.removeprefix("WAS_") in _TYPES:
            raise _NoCommandError(f"history is not rewritten: {PUT_BACK}", "invalid_transition")
        if finding.record is None and finding.slip is Slip.ADDED:
            raise _NoCommandError(f"the model has no edge of type `{finding.kind}`: {PUT_BACK}")
        raise _NoCommandError(f"it repeats what edges say and says nothing itself: {PUT_BACK}", "invalid_transition")
    if finding.slip is Slip.REMOVED:
        return "revoke", {"target": {"edge_id": finding.name.rpartition("@")[0]}}, Place(actor=actor)
    record = dict(finding.record or {})
    edge_id = str(record.get("edge_id") or "")
    current = view.edges.get(edge_id)
    if finding.slip is Slip.ADDED:
        if current is not None:
            message = f"`{edge_id}` is there already, from `{current.from_}` to `{current.to}`: choose another id"
            raise _NoCommandError(message, "already_exists")
        return _made(record, actor)
    if current is None:
        raise _NoCommandError(f"`{edge_id}` is not current any more: {PUT_BACK}", "not_found")
    if (record.get("from"), record.get("to")) != (current.from_, current.to):
        raise _NoCommandError(f"`{edge_id}` was pointed elsewhere: end it and make another; {PUT_BACK}")
    before = current.record()
    body = {name: record.get(name) for name in _SHARED if record.get(name) != before.get(name)} | {
        name: None if record.get(name) is None else _time(record[name])
        for name in ("valid_from", "valid_until")
        if record.get(name) != before.get(name)
    }
    if not body:
        raise _NoCommandError(f"nothing of it can be amended: {PUT_BACK}")
    return "amend", body, Place(actor=actor, id=edge_id)


def _made(record: Mapping[str, Any], actor: str) -> tuple[str, Body, Place]:
    kind, place = str(record["edge"]), Place(actor=actor)
    if record.get("from") is None or record.get("to") is None:
        raise _NoCommandError(f"an end of it has no name: give it an `id` or a `key`, or take it out; {PUT_BACK}")
    body: Body = {name: record[name] for name in _GRANT if record.get(name) is not None}
    body |= {name: _time(record[name]) for name in ("valid_from", "valid_until") if record.get(name) is not None}
    if kind in MEMBERSHIPS and "edge_id" not in body:
        body["edge_id"] = edge_id_of(EdgeType(kind), str(body["from"]), str(body["to"]))
    if "edge_id" not in body:
        raise _NoCommandError("it has no `edge_id`: set one, and adopt again")
    if kind != EdgeType.DELEGATES:
        return "grant", body, place
    body["delegation_id"] = body.pop("edge_id")
    body["delegator"], body["delegate"] = body.pop("from"), body.pop("to")
    for name in ("edge", "issuer"):
        body.pop(name, None)
    if isinstance(record.get("under"), str):
        body["under"] = str(record["under"]).partition("@")[0]
    return "delegate", body, place


def _time(value: Any) -> str:
    """Return an instant as commands take it; what is no integer of microseconds is refused by whoever reads it."""
    return format_instant(value) if type(value) is int else str(value)


def _of_node(finding: Finding, view: View, actor: str) -> tuple[str, Body, Place]:
    if finding.kind != "Principal":
        raise _NoCommandError(
            f"a {finding.kind} is made and changed by its own commands alone: {PUT_BACK}", "invalid_transition"
        )
    name = finding.name.removeprefix("principal/")
    if finding.slip is Slip.REMOVED:
        return "revoke", {"target": {"principal": name}}, Place(actor=actor)
    said = _said(finding.properties)
    if finding.slip is Slip.ADDED:
        return "declare", {**said, "id": name}, Place(actor=actor)
    known = view.principals.get(name)
    if known is None or finding.properties.get("id") != name:
        raise _NoCommandError(f"`{name}` is not what it was: a principal keeps its id; {PUT_BACK}")
    before = {"trust": 0, "disabled": False, "identities": [], "attributes": {}, **known.record()}
    body = {each: value for each, value in said.items() if value != before.get(each)}
    if not body:
        raise _NoCommandError(f"nothing of it can be changed by a command: {PUT_BACK}")
    return "change_principal", body, Place(actor=actor, id=name)


def _said(properties: Mapping[str, Any]) -> Body:
    said: Body = {each: properties[each] for each in _PRINCIPAL if each in properties}
    if isinstance(text := properties.get("attributes"), str):
        try:
            said["attributes"] = json.loads(text)
        except ValueError as error:
            raise _NoCommandError("its `attributes` are no JSON") from error
    return said
