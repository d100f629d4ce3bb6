"""The fence: which token a grant gets, and which token is stale (rules.md 8).

The token is the revision of the raise, with the incarnation of the store in the bits from 2^40 up: no counters to keep,
growing for ever on every key, comparable between a site and its pages. A grant shares the last token with leases it is
compatible with, and raises it otherwise. It never raises it past a compatible lease that is live, whose writes the
guard at the resource would refuse from then on: it waits for its end instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from remit_graph.view.coordination.leases import fence_keys
from remit_graph.view.ground import ground_of
from remit_service.coordination.compare import judge
from remit_service.coordination.holding import WHOLE, Holding, domains_of, holding_of
from remit_service.coordination.matrix import COMPATIBLE, cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.coordination.tables import Tables
    from remit_service.coordination.values import Record


@dataclass(frozen=True, slots=True)
class Blocked:
    """A grant that cannot be made now.

    Attributes:
        by: The leases it stands behind.
        for_one_step: Whether it waits for the next revision only, and not for their end.
    """

    by: tuple[str, ...]
    for_one_step: bool = False


INCARNATION_BITS: Final = 40
"""A token is the revision below this bit and the incarnation above it; the whole stays below 2^53."""


def token_at(view: View, revision: int) -> int:
    """Return the token of a raise at `revision`; the first incarnation adds nothing."""
    return ((view.incarnation - 1) << INCARNATION_BITS) | revision


def incarnation_of(token: int) -> int:
    """Return the incarnation of the store that a token was issued by."""
    return (token >> INCARNATION_BITS) + 1


def tokens_for(view: View, tables: Tables, wanted: Holding, at: Instant, token: int) -> Mapping[str, int] | Blocked:
    """Return the token of each fence key of a grant, or what it has to wait for."""
    tokens: dict[str, int] = {}
    for key, field, _ in fence_keys({"keys": wanted.keys}):
        fence_key = f"{key}#{field}"
        shared = _shared(view, tables, wanted, (key, field), at)
        if isinstance(shared, Blocked):
            return shared
        tokens[fence_key] = token if shared is None else shared
    return tokens


def _shared(view: View, tables: Tables, wanted: Holding, fence: tuple[str, str], at: Instant) -> int | Blocked | None:
    """Return the token to share on one fence key, None to raise it, or the leases to wait for."""
    key, field = fence
    members = view.coordination.members.get(f"{key}#{field}")
    if not members:
        return None
    leases = view.records["lease"]
    live = [each for each in members if each in leases and leases[each]["expires_at"] > at]
    if not live:
        return None
    last = view.coordination.fence(key, field)
    together = all(_stands_with(view, tables, wanted, each, at) for each in members)
    if together and all(members[each] == last for each in live):
        return last
    others = [each for each in live if leases[each]["holder"] != wanted.holder]
    return Blocked(tuple(sorted(others))) if others else None


def _stands_with(view: View, tables: Tables, wanted: Holding, lease_id: str, at: Instant) -> bool:
    record = view.records["lease"].get(lease_id) or view.coordination.ended.get(lease_id)
    # What expired so long ago that nothing is known of it any more is not shared with.
    return record is not None and judge(view, tables, wanted, holding_of(record), at) == COMPATIBLE


def is_fenced_out(view: View, lease: Record) -> bool:
    """Whether a conflicting raise has passed a lease that is held, on one of its fence keys."""
    members = view.coordination.members
    return any(lease["id"] not in members.get(each, ()) for each in lease["fencing_tokens"])


def raised_since(view: View, tables: Tables, held: Holding, token: int, at: Instant) -> int | None:
    """Return the last token of a conflicting raise since `token`, on the keys of `held`, above or below; or None."""
    raises = [each for each in _conflicting(view, tables, held, at) if each > token]
    return max(raises, default=None)


def _conflicting(view: View, tables: Tables, held: Holding, at: Instant) -> Iterator[int]:
    """Iterate the last tokens of all raises that this holding conflicts with."""
    coordination = view.coordination
    for entry in held.keys:
        key = entry["key"]
        known: Mapping[str, int] = coordination.fences.get(key) or {}
        touched = {part["fence"] for part in entry["parts"]}
        for field, last in known.items():
            if field in touched or WHOLE in (field, *touched):
                yield last
        domains = sorted({domain for part in entry["parts"] for domain in part["domains"]}) or domains_of(held)
        for each in ground_of(view, key, at).keys[1:]:
            yield from _by_domain(tables, domains, coordination.raised.get(each) or {})
        yield from _by_domain(tables, domains, coordination.raised_below.get(key) or {})


def _by_domain(tables: Tables, mine: Iterable[str], raised: Mapping[str, int]) -> Iterator[int]:
    for theirs, last in raised.items():
        if any(cell(tables, each, theirs) != COMPATIBLE for each in mine):
            yield last
