"""What a governance command asks for, read strictly from its body; the forms of http-api.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.edge import Edge, EdgeType, check_ends, parse_edge
from remit_graph.model.instant import parse_instant
from remit_graph.model.key import check_name
from remit_service.decision.request import RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.view.state import View

_COMMON: Final = frozenset({"reason", "dry_run", "actor", "valid_from", "valid_until", "scope", "max_depth"})
_GRANT: Final = _COMMON | {"edge_id", "edge", "from", "to", "issuer", "fields", "conditions", "count", "domains"}
_DELEGATION: Final = _COMMON | {"delegation_id", "delegator", "delegate", "under"}
_AMENDMENT: Final = _COMMON | {"version"}


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeSpec:
    """An edge that is asked for, not judged yet.

    Attributes:
        edge: As it would be stored, `version`, `epoch` and stamps still open.
        under: Edge id of the right it should rest on, or None for any.
        reason: Free text for the ledger.
    """

    edge: Edge
    under: str | None = None
    reason: str | None = None


def delegation_spec(body: Mapping[str, Any]) -> EdgeSpec:
    """Read `POST /v1/delegations`.

    Raises:
        RequestError, ModelError: a member is missing, unknown or malformed.
    """
    _refuse_unknown(body, _DELEGATION)
    delegator, delegate = _text(body, "delegator"), _text(body, "delegate")
    record = {
        **_window(body),
        "edge_id": check_name(_text(body, "delegation_id")),
        "edge": EdgeType.DELEGATES.value,
        "from": delegator,
        "to": delegate,
        "issuer": delegator,
        "scope": body.get("scope"),
        "max_depth": body.get("max_depth"),
    }
    return EdgeSpec(edge=_checked(record), under=body.get("under"), reason=_optional(body, "reason"))


def grant_spec(body: Mapping[str, Any], *, issuer: str) -> EdgeSpec:
    """Read `POST /v1/grants`; `issuer` stands where the body names none.

    Raises:
        RequestError, ModelError: a member is missing, unknown or malformed, or the edge joins what it may not.
    """
    _refuse_unknown(body, _GRANT)
    scope = dict(body.get("scope") or {})
    for name in ("fields", "conditions"):
        if name in body:
            scope[name] = body[name]
    kind = _text(body, "edge")
    if kind == EdgeType.DELEGATES.value:
        raise RequestError("a delegation is made at /v1/delegations, at `/edge`", pointer="/edge")
    record = {
        **_window(body),
        "edge_id": check_name(_text(body, "edge_id")),
        "edge": kind,
        "from": _text(body, "from"),
        "to": _text(body, "to"),
        "issuer": _optional(body, "issuer") or issuer,
        "scope": scope,
        **{name: body[name] for name in ("max_depth", "count", "domains") if name in body},
    }
    return EdgeSpec(edge=_checked(record), reason=_optional(body, "reason"))


def amended(current: Edge, body: Mapping[str, Any]) -> EdgeSpec:
    """Read `PATCH /v1/grants/{edge_id}`: what the body names replaces what the edge has; null opens a bound.

    Raises:
        RequestError, ModelError: a member is unknown or malformed.
    """
    _refuse_unknown(body, _AMENDMENT)
    record = current.record()
    if "scope" in body:
        record["scope"] = body["scope"]
    record.update(_window(body))
    if "max_depth" in body:
        record["max_depth"] = body["max_depth"]
    return EdgeSpec(edge=_checked(record), reason=_optional(body, "reason"))


def next_version(view: View, edge_id: str) -> int:
    """Return the version that an edge of this id gets when it is made now."""
    ended = view.history.get(edge_id, ())
    current = view.edges.get(edge_id)
    return 1 + max([each.version for each in ended] + ([current.version] if current else []), default=0)


def _checked(record: Mapping[str, Any]) -> Edge:
    edge = parse_edge({name: value for name, value in record.items() if value is not None})
    check_ends(edge)
    return edge


def _window(body: Mapping[str, Any]) -> dict[str, Any]:
    bounds = {name: body[name] for name in ("valid_from", "valid_until") if name in body}
    return {name: None if value is None else parse_instant(value) for name, value in bounds.items()}


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise RequestError(f"`{name}` is a text and required at `/{name}`", pointer=f"/{name}")
    return value


def _optional(body: Mapping[str, Any], name: str) -> str | None:
    return None if body.get(name) is None else _text(body, name)


def _refuse_unknown(body: Mapping[str, Any], known: frozenset[str]) -> None:
    for name in body:
        if name not in known:
            raise RequestError(
                f"there is no member `{name}`; known are {', '.join(sorted(known))}, at `/{name}`", pointer=f"/{name}"
            )
