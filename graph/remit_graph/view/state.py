"""The tables of the view: what the realm holds at one revision.

Everything is a plain dictionary that only `apply` writes, through a `Journal`. Lookups that a decision needs are
tables of their own, kept in step change by change, so that the cost of a question depends on the chains it looks at
and not on the size of the graph (model.md 9).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.builtin import BUILTIN_ACTIONS, BUILTIN_TYPES
from remit_graph.model.change import GENESIS
from remit_graph.model.edge import Edge, EdgeType
from remit_graph.model.instant import DAY, Instant
from remit_graph.model.realm import EnforcementPoint, Realm
from remit_graph.model.registry import Registry
from remit_graph.view.coordination.tables import Coordination
from remit_graph.view.selectors import SelectorIndex

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from remit_graph.model.principal import Principal
    from remit_graph.model.resource_type import Action, ResourceType

HISTORY_KEPT: Final = 90 * DAY
"""How long an ended edge can still be named as a near miss (rules.md 9)."""

Edges = dict[str, Edge]


@dataclass(frozen=True, slots=True)
class Resource:
    """A declared resource and its attributes."""

    key: str
    attributes: Mapping[str, Any]


class View:
    """The graph at one revision. Read freely; written only by `remit_graph.view.apply`.

    Attributes:
        scalars: `revision`, `at`, `hash`, the epochs, the active policy: whatever is a single value.
        edges: Current edges by id.
        history: Ended versions by edge id, oldest first.
        out, into: Type, then end, to current edges by id.
        was_into, was_out: The same for ended versions, by position; `was_out` for memberships only.
        was_grants: The same as `grants` for ended versions.
        grants: Holder, then selector, to current root grants by id.
        owners: Selector to current OWNS edges by id.
        under: Edge id of a right or delegation to the delegations made under it.
        grounds: What `ground` keeps of keys until the structure changes; no part of the state.
        records: Everything else (leases, capabilities, receipts …) by noun and id.
        coordination: How records of coordination are found, and what outlives them.
    """

    def __init__(self) -> None:
        """Start as an empty realm at revision 0."""
        self.scalars: dict[str, Any] = {
            "revision": 0,
            "at": 0,
            "hash": GENESIS,
            "policy_epoch": 0,
            "policy_revision": None,
            "policy_archive": None,
            "policy_offers": [],
            "authority_epoch": 0,
            "floor_read": 0,
            "floor_write": 0,
            "incarnation": 1,
            "realm": Realm(name="empty"),
            "registry": Registry(dict(BUILTIN_TYPES), {}),
        }
        self.types: dict[str, ResourceType] = dict(BUILTIN_TYPES)
        self.actions: dict[str, Action] = dict(BUILTIN_ACTIONS)
        self.aliases: dict[str, str] = {}
        self.principals: dict[str, Principal] = {}
        self.identities: dict[str, str] = {}
        self.resources: dict[str, Resource] = {}
        self.points: dict[str, EnforcementPoint] = {}
        self.point_identities: dict[str, str] = {}
        self.edges: Edges = {}
        self.history: dict[str, tuple[Edge, ...]] = {}
        self.out: dict[EdgeType, dict[str, Edges]] = {each: {} for each in EdgeType}
        self.into: dict[EdgeType, dict[str, Edges]] = {each: {} for each in EdgeType}
        self.was_into: dict[EdgeType, dict[str, Edges]] = {each: {} for each in EdgeType}
        self.was_out: dict[EdgeType, dict[str, Edges]] = {each: {} for each in EdgeType}
        self.was_grants: dict[str, dict[str, Edges]] = {}
        self.grants: dict[str, dict[str, Edges]] = {}
        self.owners: dict[str, Edges] = {}
        self.under: dict[str, dict[str, None]] = {}
        self.selectors = SelectorIndex()
        self.grounds: dict[str, object] = {}
        self.records: dict[str, dict[str, Mapping[str, Any]]] = {}
        self.coordination = Coordination(self.records)

    @property
    def revision(self) -> int:
        """Number of the last applied command."""
        return self.scalars["revision"]  # type: ignore[no-any-return]

    @property
    def at(self) -> Instant:
        """Instant of the last applied command, microseconds UTC."""
        return self.scalars["at"]  # type: ignore[no-any-return]

    @property
    def hash(self) -> str:
        """Hash of the last applied row."""
        return self.scalars["hash"]  # type: ignore[no-any-return]

    @property
    def realm(self) -> Realm:
        """The realm's settings."""
        return self.scalars["realm"]  # type: ignore[no-any-return]

    @property
    def registry(self) -> Registry:
        """The coordination key registry."""
        return self.scalars["registry"]  # type: ignore[no-any-return]

    @property
    def policy_epoch(self) -> int:
        """Grows when another bundle digest becomes active."""
        return self.scalars["policy_epoch"]  # type: ignore[no-any-return]

    @property
    def policy_revision(self) -> str | None:
        """Digest of the active bundle, or None before one was activated."""
        return self.scalars["policy_revision"]  # type: ignore[no-any-return]

    @property
    def policy_archive(self) -> str | None:
        """The active bundle itself, a tar.gz in base64; None where the change that activated it brought none."""
        return self.scalars["policy_archive"]  # type: ignore[no-any-return]

    @property
    def policy_offers(self) -> dict[str, str]:
        """By the name of a replica, the bundle it was last started with; the newest 256 names."""
        return dict(self.scalars["policy_offers"])

    @property
    def authority_epoch(self) -> int:
        """Grows with a high-risk governance change."""
        return self.scalars["authority_epoch"]  # type: ignore[no-any-return]

    @property
    def incarnation(self) -> int:
        """Of the store, as the ledger was last told; one more after each restore (rules.md 2)."""
        return self.scalars["incarnation"]  # type: ignore[no-any-return]

    def floor(self, *, writes: bool) -> int:
        """Return the minimum authority epoch of edges for this class of action."""
        return self.scalars["floor_write" if writes else "floor_read"]  # type: ignore[no-any-return]

    def is_root(self, principal: str) -> bool:
        """Whether `principal` is a living root of the realm."""
        known = self.principals.get(principal)
        return principal in self.realm.root and known is not None and not known.disabled

    def alive(self, principal: str) -> bool:
        """Whether a principal exists and is not disabled."""
        known = self.principals.get(principal)
        return known is not None and not known.disabled

    def minimum_epoch(self, edge: Edge, *, writes: bool) -> int:
        """Return the epoch below which `edge` is dead: the realm's floor and both ends'."""
        lowest: int = self.scalars["floor_write" if writes else "floor_read"]
        for end in (edge.from_, edge.to):
            known = self.principals.get(end)
            if known is not None and known.minimum_epoch > lowest:
                lowest = known.minimum_epoch
        return lowest

    def outgoing(self, edge: EdgeType, end: str) -> Iterator[Edge]:
        """Iterate the current edges of one type from `end`."""
        return iter(self.out[edge].get(end, _NONE).values())

    def incoming(self, edge: EdgeType, end: str) -> Iterator[Edge]:
        """Iterate the current edges of one type to `end`."""
        return iter(self.into[edge].get(end, _NONE).values())

    def version(self, edge_id: str, version: int) -> Edge | None:
        """Return one version of an edge, current or ended, or None."""
        current = self.edges.get(edge_id)
        if current is not None and current.version == version:
            return current
        return next((each for each in self.history.get(edge_id, ()) if each.version == version), None)


_NONE: Final[Edges] = {}
