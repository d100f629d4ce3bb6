"""What an operation holds or asks for: its keys, and on each key the parts of it.

The keys of an operation are its own, every AFFECTS target whose count reaches the type's `escalate_at`, and every key
it MUST_COORDINATE_WITH (rules.md 8). A part is one field, or the whole resource. A field that is not independent is
fenced as the whole resource: a slug edit locks the post.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.edge import EdgeType
from remit_service.coordination.matrix import ANYTHING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from remit_graph.model.instant import Instant
    from remit_graph.model.resource_type import Action, ResourceType
    from remit_graph.view.state import View
    from remit_service.coordination.values import Claim, Record

WHOLE: Final = "*"
"""The fence of a whole resource."""

OWN: Final = "own"
AFFECTS: Final = "affects"
MUST_COORDINATE: Final = "must_coordinate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """One side of a comparison.

    Attributes:
        holder: The principal.
        keys: `{key, relation, parts}`, the own key first, as they stand in a lease.
        mode: `exclusive` or `shared`.
        concurrency: The class in force for it.
        set_operations: Of a set merge.
        is_next: Whether it is the next operation of its line.
    """

    holder: str
    keys: tuple[Record, ...]
    mode: str
    concurrency: str
    set_operations: Record | None = None
    is_next: bool = False

    @property
    def key(self) -> str:
        """The own key."""
        return str(self.keys[0]["key"])

    @property
    def shape(self) -> str:
        """Equal for two holdings that everybody compares alike, whoever has them."""
        parts = [
            f"{entry['relation']} {entry['key']}#{part['fence']}:{','.join(part['fields'])}:{','.join(part['domains'])}"
            for entry in self.keys
            for part in entry["parts"]
        ]
        return "|".join([self.mode, self.concurrency, str(self.set_operations or ""), *parts])


def holding_of(record: Record) -> Holding:
    """Read a lease, or a claim of a waiter."""
    return Holding(
        holder=record["holder"],
        keys=tuple(record["keys"]),
        mode=record["mode"],
        concurrency=record["concurrency"],
        set_operations=record.get("set_operations"),
        is_next=record.get("is_next", False),
    )


def wanted(view: View, claim: Claim, mode: str, at: Instant, *, is_next: bool = False) -> Holding:
    """Return what a claim would hold."""
    return Holding(
        holder=claim.subject,
        keys=tuple(impact(view, claim.key, claim.type, claim.action, claim.fields, at)),
        mode=mode,
        concurrency=claim.concurrency,
        set_operations=claim.set_operations,
        is_next=is_next,
    )


def impact(
    view: View, key: str, declared: ResourceType, action: Action, fields: tuple[str, ...], at: Instant
) -> Iterator[dict[str, Any]]:
    """Iterate the keys of an operation, the own key first."""
    own = parts_of(declared, action, fields)
    yield {"key": key, "relation": OWN, "parts": own}
    if not action.writes:
        return
    for edge in sorted(view.outgoing(EdgeType.AFFECTS, key), key=lambda each: each.edge_id):
        if edge.is_live(at) and reaches(declared, edge.count):
            yield {"key": edge.to, "relation": AFFECTS, "parts": [_whole(edge.domains or (ANYTHING,))]}
    domains = sorted({domain for part in own for domain in part["domains"]})
    for edge in sorted(view.outgoing(EdgeType.MUST_COORDINATE_WITH, key), key=lambda each: each.edge_id):
        if edge.is_live(at):
            yield {"key": edge.to, "relation": MUST_COORDINATE, "parts": [_whole(domains)]}


def reaches(declared: ResourceType, count: int | None) -> bool:
    """Whether an impact of this count widens the scope of the operation (S50)."""
    return declared.escalate_at is not None and count is not None and count >= declared.escalate_at


def parts_of(declared: ResourceType, action: Action, fields: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the parts of a resource that an action touches."""
    by_action = [action.domain] if action.domain is not None else []
    if not fields:
        domains = {spec.domain for spec in declared.fields.values() if spec.domain is not None}
        return [_whole(sorted(domains.union(by_action)))]
    parts: list[dict[str, Any]] = []
    for name in fields:
        spec = declared.fields.get(name)
        if spec is not None:
            parts.append(
                {
                    "fence": name if spec.independent else WHOLE,
                    "fields": [name],
                    "domains": [spec.domain] if spec.domain is not None else by_action,
                    "merge": spec.merge,
                    "independent": spec.independent,
                }
            )
    return parts or [_whole(by_action)]


def _whole(domains: tuple[str, ...] | list[str]) -> dict[str, Any]:
    return {"fence": WHOLE, "fields": [], "domains": list(domains), "merge": None, "independent": False}


def held_keys(holdings: Iterable[Holding | Record]) -> list[str]:
    """Return every key of some holdings, leases or claims, in their order."""
    entries = (each.keys if isinstance(each, Holding) else each["keys"] for each in holdings)
    return [entry["key"] for keys in entries for entry in keys]


def domains_of(holding: Holding) -> list[str]:
    """Return the conflict domains of the own key."""
    return sorted({domain for part in holding.keys[0]["parts"] for domain in part["domains"]})
