"""What a governance command asks for, read strictly from its body; the forms of http-api.md.

A member that is not known is refused and not ignored: a misspelt `valid_until` would be authority without end. A member
whose value is null counts as absent; in an amendment it opens the bound it names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_graph.errors import ModelError
from remit_graph.model.edge import MEMBERSHIPS, Edge, EdgeType, check_ends, parse_edge
from remit_graph.model.instant import parse_instant
from remit_graph.model.key import check_name
from remit_graph.model.scope import check_scope
from remit_graph.world.names import edge_id_of
from remit_service.decision.request import RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMON: Final = frozenset({"reason", "dry_run", "impact", "actor", "approval_id"})
"""Members that every command may have; they are read by whoever takes it."""

_EDGE: Final = COMMON | {"valid_from", "valid_until", "scope", "max_depth"}
_GRANT: Final = _EDGE | {"edge_id", "edge", "from", "to", "issuer", "fields", "conditions", "count", "domains"}
_DELEGATION: Final = _EDGE | {"delegation_id", "delegator", "delegate", "under"}
_MEMBERSHIP: Final = COMMON | {"edge_id", "edge", "from", "to", "valid_from", "valid_until"}
_AMENDMENT: Final = _EDGE | {"fields", "conditions", "under"}
_GROUPS: Final = frozenset({"team", "organization"})


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeSpec:
    """An edge that is asked for, not judged yet.

    Attributes:
        edge: As it would be stored, `version`, `epoch` and stamps still open.
        under: Edge id of the right it should rest on, or None for any.
        names_issuer: Whether the body says in whose name it is issued; else that follows from the actor.
    """

    edge: Edge
    under: str | None = None
    names_issuer: bool = False


def delegation_spec(body: Mapping[str, Any]) -> EdgeSpec:
    """Read `POST /v1/delegations`.

    Raises:
        RequestError: a member is missing, unknown or malformed.
    """
    refuse_unknown(body, _DELEGATION)
    delegator, delegate = text(body, "delegator"), text(body, "delegate")
    record = {
        **_window(body),
        "edge_id": _id(text(body, "delegation_id"), "delegation_id"),
        "edge": EdgeType.DELEGATES.value,
        "from": delegator,
        "to": delegate,
        "issuer": delegator,
        "scope": _scope(body),
        "max_depth": _depth(body),
    }
    return EdgeSpec(edge=_checked(record), under=optional(body, "under"))


def grant_spec(body: Mapping[str, Any], *, issuer: str) -> EdgeSpec:
    """Read `POST /v1/grants`; `issuer` stands where the body names none.

    Raises:
        RequestError: a member is missing, unknown or malformed, or the edge joins what it may not.
    """
    refuse_unknown(body, _GRANT)
    kind = text(body, "edge")
    if kind == EdgeType.DELEGATES.value:
        raise RequestError("a delegation is made at /v1/delegations", pointer="/edge")
    record = {
        **_window(body),
        "edge_id": _id(text(body, "edge_id"), "edge_id"),
        "edge": kind,
        "from": text(body, "from"),
        "to": text(body, "to"),
        "issuer": optional(body, "issuer") or issuer,
        "scope": _scope(body),
        "max_depth": _depth(body),
        **{name: body[name] for name in ("count", "domains") if name in body},
    }
    return EdgeSpec(edge=_checked(record), names_issuer=body.get("issuer") is not None)


def membership_spec(body: Mapping[str, Any], *, issuer: str) -> EdgeSpec:
    """Read `POST /v1/memberships`: who acts as a role, or belongs to a team; id and kind follow from the two ends.

    Raises:
        RequestError: a member is missing, unknown or malformed, or the edge joins what it may not.
    """
    refuse_unknown(body, _MEMBERSHIP)
    member, of = text(body, "from"), text(body, "to")
    usual = EdgeType.MEMBER_OF if of.partition(":")[0] in _GROUPS else EdgeType.ACTS_AS
    kind = optional(body, "edge") or usual.value
    if kind not in MEMBERSHIPS:
        raise RequestError(f"`edge` is one of {', '.join(sorted(MEMBERSHIPS))}", pointer="/edge")
    record = {
        **_window(body),
        "edge_id": _id(optional(body, "edge_id") or edge_id_of(EdgeType(kind), member, of), "edge_id"),
        "edge": kind,
        "from": member,
        "to": of,
        "issuer": issuer,
    }
    return EdgeSpec(edge=_checked(record))


def amended(current: Edge, body: Mapping[str, Any]) -> EdgeSpec:
    """Read `PATCH /v1/grants/{edge_id}`: what the body names replaces what the edge has; null opens a bound.

    Raises:
        RequestError: a member is unknown or malformed.
    """
    refuse_unknown(body, _AMENDMENT)
    record = current.record()
    if body.keys() & {"scope", "fields", "conditions"}:
        # Fields and conditions may stand beside a scope, as in a grant; alone they replace theirs and leave the rest.
        base = body.get("scope") if "scope" in body else current.scope.record()
        record["scope"] = _scope({**body, "scope": base})
    record.update(_window(body))
    if "max_depth" in body:
        record["max_depth"] = _depth(body)
    return EdgeSpec(edge=_checked(record), under=optional(body, "under"))


def text(body: Mapping[str, Any], name: str) -> str:
    """Return a member that is a text and must be there.

    Raises:
        RequestError: it is missing, or no text.
    """
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise RequestError(f"`{name}` is a text and required", pointer=f"/{name}")
    return value


def optional(body: Mapping[str, Any], name: str) -> str | None:
    """Return a member that is a text, or None where it is absent.

    Raises:
        RequestError: it is there and no text.
    """
    return None if body.get(name) is None else text(body, name)


def flag(body: Mapping[str, Any], name: str) -> bool:
    """Return a member that is true or false, false where it is absent.

    Raises:
        RequestError: it is something else.
    """
    value = body.get(name)
    if value is None:
        return False
    if type(value) is not bool:
        raise RequestError(f"`{name}` is true or false", pointer=f"/{name}")
    return value


def trial(body: Mapping[str, Any]) -> tuple[bool, bool]:
    """Return `dry_run` and `impact` of a command.

    Raises:
        RequestError: one is no flag, or `impact` is asked of what is no dry run: nothing would tell it.
    """
    dry_run, impact = flag(body, "dry_run"), flag(body, "impact")
    if impact and not dry_run:
        raise RequestError("`impact` belongs to `dry_run`: what was done cannot be tried any more", pointer="/impact")
    return dry_run, impact


def instant(body: Mapping[str, Any], name: str) -> int | None:
    """Return a member that is a time, or None where it is absent.

    Raises:
        RequestError: it is no RFC 3339 time with offset.
    """
    value = body.get(name)
    if value is None:
        return None
    try:
        return parse_instant(value)
    except ModelError as error:
        raise RequestError(error.message, pointer=f"/{name}") from error


def refuse_unknown(body: Mapping[str, Any], known: frozenset[str]) -> None:
    """Refuse members that a command does not have.

    Raises:
        RequestError: naming the first, and those there are.
    """
    for name in body:
        if name not in known:
            raise RequestError(f"there is no member `{name}`; known are {', '.join(sorted(known))}", pointer=f"/{name}")


def _id(value: str, name: str) -> str:
    try:
        return check_name(value)
    except ModelError as error:
        raise RequestError(error.message, pointer=f"/{name}") from error


def _scope(body: Mapping[str, Any]) -> dict[str, Any]:
    scope = body.get("scope")
    if scope is not None and not isinstance(scope, dict):
        raise RequestError("`scope` is an object", pointer="/scope")
    found = dict(scope or {})
    found.update({name: body[name] for name in ("fields", "conditions") if body.get(name) is not None})
    return found


def _depth(body: Mapping[str, Any]) -> int | None:
    value = body.get("max_depth")
    if value is not None and (type(value) is not int or value < 0):
        raise RequestError("`max_depth` is a whole number from 0 on", pointer="/max_depth")
    return value


def _checked(record: Mapping[str, Any]) -> Edge:
    begins, ends = record.get("valid_from"), record.get("valid_until")
    if begins is not None and ends is not None and begins >= ends:
        raise RequestError("`valid_until` lies after `valid_from`", pointer="/valid_until")
    try:
        edge = parse_edge({name: value for name, value in record.items() if value is not None})
        check_ends(edge)
        check_scope(edge.scope)
    except ModelError as error:
        raise RequestError(error.message, code=error.code, pointer="") from error
    return edge


def _window(body: Mapping[str, Any]) -> dict[str, int | None]:
    return {name: instant(body, name) for name in ("valid_from", "valid_until") if name in body}
