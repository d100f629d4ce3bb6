"""Edges: grants, delegations, rights and structure, as (`edge_id`, `version`) (model.md 3, rules.md 2).

An edge is immutable: amending it ends one version and begins the next in one revision. What an edge may join is a
table here, so that a shape the model forbids is refused when it is made and ignored if it got in otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from sys import intern
from typing import TYPE_CHECKING, Any, Final

from remit_graph.errors import ModelError
from remit_graph.model.key import check_name, parse_key, parse_selector
from remit_graph.model.principal import KINDS, check_principal_id
from remit_graph.model.scope import OPEN, Scope, check_scope, parse_scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from remit_graph.model.instant import Instant


class EdgeType(StrEnum):
    """The edges of the graph, by the names they also have in Neo4j."""

    ACTS_AS = "ACTS_AS"
    AFFECTS = "AFFECTS"
    DELEGATES = "DELEGATES"
    MAY_APPROVE = "MAY_APPROVE"
    MAY_DELEGATE = "MAY_DELEGATE"
    MAY_PREEMPT = "MAY_PREEMPT"
    MAY_READ = "MAY_READ"
    MAY_RECONCILE = "MAY_RECONCILE"
    MAY_REVOKE = "MAY_REVOKE"
    MAY_WRITE = "MAY_WRITE"
    MEMBER_OF = "MEMBER_OF"
    MUST_COORDINATE_WITH = "MUST_COORDINATE_WITH"
    OWNS = "OWNS"
    PART_OF = "PART_OF"
    REPORTS_TO = "REPORTS_TO"


GRANT_CLASS: Final = {
    EdgeType.MAY_READ: "read",
    EdgeType.MAY_WRITE: "write",
    EdgeType.MAY_APPROVE: "approve",
    EdgeType.MAY_RECONCILE: "reconcile",
}
"""Root grants and the one class of action each conveys; OWNS conveys all four."""

ROOT_GRANTS: Final = frozenset({EdgeType.OWNS, *GRANT_CLASS})
MEMBERSHIPS: Final = frozenset({EdgeType.ACTS_AS, EdgeType.MEMBER_OF})
AUTHORITY: Final = frozenset(
    {*ROOT_GRANTS, EdgeType.DELEGATES, EdgeType.MAY_DELEGATE, EdgeType.MAY_PREEMPT, EdgeType.MAY_REVOKE}
)
RESOURCE_EDGES: Final = frozenset({EdgeType.MUST_COORDINATE_WITH, EdgeType.AFFECTS, EdgeType.PART_OF})
TO_SELECTOR: Final = ROOT_GRANTS

_ANY: Final = frozenset(KINDS)
ENDS: Final[Mapping[EdgeType, tuple[frozenset[str], frozenset[str]]]] = {
    EdgeType.OWNS: (frozenset({"controller", "organization"}), frozenset({"resource"})),
    EdgeType.MAY_READ: (_ANY, frozenset({"resource"})),
    EdgeType.MAY_WRITE: (_ANY, frozenset({"resource"})),
    EdgeType.MAY_APPROVE: (_ANY, frozenset({"resource"})),
    EdgeType.MAY_RECONCILE: (_ANY, frozenset({"resource"})),
    EdgeType.MAY_DELEGATE: (_ANY, _ANY),
    EdgeType.DELEGATES: (_ANY, _ANY),
    EdgeType.MAY_PREEMPT: (_ANY, _ANY),
    EdgeType.MAY_REVOKE: (_ANY, _ANY),
    EdgeType.MUST_COORDINATE_WITH: (frozenset({"resource"}), frozenset({"resource"})),
    EdgeType.AFFECTS: (frozenset({"resource"}), frozenset({"resource"})),
    EdgeType.PART_OF: (frozenset({"resource"}), frozenset({"resource"})),
    EdgeType.ACTS_AS: (
        frozenset({"instance", "human", "service"}),
        frozenset({"role", "agent_type", "controller", "organization", "team"}),
    ),
    EdgeType.MEMBER_OF: (_ANY, frozenset({"team", "organization"})),
    EdgeType.REPORTS_TO: (_ANY, _ANY),
}
"""The kinds each edge may join. ACTS_AS reaches organization and team for governance only (rules.md 5)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One version of one edge.

    Attributes:
        edge: Its type.
        from_: A principal id; for AFFECTS, PART_OF and MUST_COORDINATE_WITH a resource key.
        to: A principal id, a resource key, or for root grants a selector.
        valid_from: First instant at which it counts, inclusive; None is unbounded.
        valid_until: First instant at which it no longer counts; None is unbounded.
        epoch: Authority epoch when made.
        issuer: The principal in whose name it was made.
        max_depth: DELEGATES edges allowed after it; None is the realm's bound.
        ownership_epoch: On OWNS, which owner this is.
        rests_on: On grants, the (edge id, ownership epoch) of each OWNS it was issued under.
        under: On DELEGATES, `edge_id@version` of the right or delegation it was made under.
        except_: On OWNS, selectors that were transferred away.
        revision_to: The revision that ended it; None while current.
        ended_by: Why it ended: `revoked`, `amended`, `removed`, `transferred`, `replaced`, `expired`.
    """

    edge_id: str
    version: int
    edge: EdgeType
    from_: str
    to: str
    scope: Scope = OPEN
    valid_from: Instant | None = None
    valid_until: Instant | None = None
    epoch: int = 0
    issuer: str = ""
    max_depth: int | None = None
    ownership_epoch: int | None = None
    rests_on: tuple[tuple[str, int], ...] = ()
    under: str | None = None
    except_: tuple[str, ...] = ()
    count: int | None = None
    domains: tuple[str, ...] | None = None
    revision_from: int = 0
    revision_to: int | None = None
    ended_by: str | None = None
    ended_at: Instant | None = None

    @property
    def position(self) -> str:
        """`edge_id@version`, the way proofs cite it."""
        return f"{self.edge_id}@{self.version}"

    def is_live(self, at: Instant) -> bool:
        """Whether `at` lies in the half-open window."""
        return (self.valid_from is None or self.valid_from <= at) and (
            self.valid_until is None or at < self.valid_until
        )

    def ended(self, *, revision: int, at: Instant, cause: str) -> Edge:
        """Return this version as history."""
        return replace(self, revision_to=revision, ended_at=at, ended_by=cause)

    def record(self) -> dict[str, Any]:
        """Return the form of the ledger: sorted by the writer, absent members left out."""
        record: dict[str, Any] = {
            "edge_id": self.edge_id,
            "version": self.version,
            "edge": str(self.edge),
            "from": self.from_,
            "to": self.to,
            "epoch": self.epoch,
            "issuer": self.issuer,
        }
        if scope := self.scope.record():
            record["scope"] = scope
        for name in ("valid_from", "valid_until", "max_depth", "ownership_epoch", "under", "count"):
            if getattr(self, name) is not None:
                record[name] = getattr(self, name)
        if self.rests_on:
            record["rests_on"] = [{"edge_id": each, "ownership_epoch": epoch} for each, epoch in self.rests_on]
        if self.except_:
            record["except"] = list(self.except_)
        if self.domains is not None:
            record["domains"] = list(self.domains)
        return record


def parse_edge(record: Mapping[str, Any], *, revision_from: int = 0) -> Edge:
    """Read an edge from its ledger record; instants are integers here.

    Raises:
        ModelError: an unknown type or a member of the wrong shape. Ends are checked by `check_ends`, since a stored
            edge of a forbidden shape must be readable in order to be reported.
    """
    get = record.get
    kind = _BY_NAME.get(str(get("edge")))
    if kind is None:
        raise ModelError(f"`{get('edge')}` is no kind of edge; known are {', '.join(EdgeType)}")
    for name in _NUMBERS:
        # Exact type: this is on the path of every row of a load, and a boolean is no number.
        if (value := get(name)) is not None and type(value) is not int:
            raise ModelError(f"`{get('edge_id')}`: `{name}` is a whole number, not `{value}`")
    domains = get("domains")
    return Edge(
        edge_id=check_name(record["edge_id"]),
        version=get("version") or 1,
        edge=kind,
        from_=intern(record["from"]),
        to=intern(record["to"]),
        scope=_shared(get("scope")),
        valid_from=get("valid_from"),
        valid_until=get("valid_until"),
        epoch=get("epoch") or 0,
        issuer=intern(get("issuer", "")),
        max_depth=get("max_depth"),
        ownership_epoch=get("ownership_epoch"),
        rests_on=_rests_on(get("rests_on")),
        under=get("under"),
        except_=tuple(sorted(get("except") or ())),
        count=get("count"),
        domains=None if domains is None else tuple(sorted(domains)),
        revision_from=revision_from,
    )


_BY_NAME: Final[Mapping[str, EdgeType]] = {str(each): each for each in EdgeType}
_NUMBERS: Final = ("version", "valid_from", "valid_until", "epoch", "max_depth", "ownership_epoch", "count")

_SCOPES: dict[str, Scope] = {}
_SCOPES_KEPT: Final = 100_000


def _shared(record: Mapping[str, Any] | None) -> Scope:
    """Return the scope of a record, the same one for edges that say the same: a million edges must fit in memory.

    They are told apart by their text. Values do not do: `1` and `true` are equal in Python.
    """
    if not record:
        return OPEN
    text = repr(record)
    scope = _SCOPES.get(text)
    if scope is None:
        if len(_SCOPES) >= _SCOPES_KEPT:
            _SCOPES.clear()
        scope = _SCOPES[text] = parse_scope(record)
    return scope


def _rests_on(records: Iterable[Mapping[str, Any]] | None) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((each["edge_id"], each["ownership_epoch"]) for each in records)) if records else ()


def check_ends(edge: Edge) -> None:
    """Refuse an edge whose ends the model does not allow, or that loops on itself where that means nothing.

    Raises:
        ModelError: naming the rule.
    """
    froms, tos = ENDS[edge.edge]
    _check_end(edge, "from", edge.from_, froms)
    _check_end(edge, "to", edge.to, tos)
    if edge.from_ == edge.to:
        raise ModelError(f"`{edge.edge_id}`: {edge.edge} joins `{edge.to}` to itself", code="delegation_cycle")
    if edge.valid_from is not None and edge.valid_until is not None and edge.valid_from >= edge.valid_until:
        raise ModelError(f"`{edge.edge_id}`: `valid_from` is not before `valid_until`")
    if edge.max_depth is not None and edge.max_depth < 0:
        raise ModelError(f"`{edge.edge_id}`: `max_depth` is 0 or more")
    check_scope(edge.scope)
    for selector in edge.except_:
        parse_selector(selector)


def joins_allowed_kinds(edge: Edge) -> bool:
    """Whether both ends are of kinds that the model allows; keys and selectors are not looked at here."""
    froms, tos = ENDS[edge.edge]
    return _is_of(edge.from_, froms) and _is_of(edge.to, tos)


def _is_of(end: str, kinds: frozenset[str]) -> bool:
    return "resource" in kinds or end.partition(":")[0] in kinds


def _check_end(edge: Edge, side: str, value: str, kinds: frozenset[str]) -> None:
    if "resource" in kinds:
        (parse_selector if edge.edge in TO_SELECTOR and side == "to" else parse_key)(value)
        return
    kind = check_principal_id(value).partition(":")[0]
    if kind not in kinds:
        allowed = ", ".join(sorted(kinds))
        raise ModelError(f"`{edge.edge_id}`: {edge.edge} {side} a {kind} (`{value}`) is refused; allowed: {allowed}")
