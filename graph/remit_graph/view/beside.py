"""A large revision made ready beside the view: on copies of the tables it writes, in slices, and then in their place.

Whoever reads the view meanwhile reads it as it was before, whole; once the copies are entered, as it is after, whole.
The slices may take long, the entering takes a few writes. No edge may be begun or ended between the two.

    made = yield from beside(view, changes, revision=entry.revision, at=entry.at)
    apply(view, entry, journal, made=made)

Changes can be made ready before the ledger has them; `becoming` gives them the number and the instant they got there.

Edges are what may be many. What a revision changes besides, and PART_OF edges, under which leases are entered again,
is left for the handlers of `apply`; it touches nothing of the edges that were made ready.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.change import Change
from remit_graph.model.edge import EdgeType, parse_edge
from remit_graph.view.apply import link_edge, remember, unlink_edge
from remit_graph.view.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence

    from remit_graph.model.change import Entry
    from remit_graph.model.edge import Edge
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View

LARGE: Final = 500
"""Edges of one revision that are written where they stand: about 15 us each."""

STEP: Final = 64
"""Edges between two pauses."""

_FLAT: Final = ("edges", "history", "owners", "under", "grants", "was_grants")
_BY_KIND: Final = ("out", "into", "was_into", "was_out")


@dataclass(slots=True, kw_only=True)
class Beside:
    """What was made ready.

    Attributes:
        view: Beside which view.
        changes: What was made ready.
        revision, at: Of the entry that holds them, as far as that is known.
        tables: Attributes of the view, as they are after the edges of the changes.
        rest: Changes that are left to be applied, in order.
        fresh: Versions of edges that nobody else has seen yet: those that begin, and those that ended.
    """

    view: View
    changes: tuple[Change, ...]
    revision: int
    at: Instant
    tables: Mapping[str, Any]
    rest: tuple[Change, ...]
    fresh: Sequence[Edge]

    def enter(self, view: View, journal: Journal) -> None:
        """Put the tables in place."""
        for name, table in self.tables.items():
            journal.put(view.__dict__, name, table)

    def becoming(self, entry: Entry) -> Generator[None, None, bool]:
        """Become ready for an entry that begins with the same changes; False, and of no use, where it does not.

        Pauses between slices, like `beside`.
        """
        own = len(self.changes)
        for one, other in zip_longest(self.changes, entry.changes[:own]):
            if one != other:
                return False
            yield
        for count, edge in enumerate(self.fresh):
            # Nobody has these values yet, so that their numbers may still be set.
            if edge.revision_from == self.revision:
                object.__setattr__(edge, "revision_from", entry.revision)
            if edge.revision_to is not None:
                object.__setattr__(edge, "revision_to", entry.revision)
                object.__setattr__(edge, "ended_at", entry.at)
            if count % STEP == 0:
                yield
        self.rest = (*self.rest, *entry.changes[own:])
        self.changes, self.revision, self.at = entry.changes, entry.revision, entry.at
        return True


def is_large(changes: Iterable[Change]) -> bool:
    """Whether changes begin and end so many edges that they are made ready beside the view."""
    return sum(change.edges_ended + (change.kind == "edge.begin") for change in changes) > LARGE


def beside(view: View, changes: Iterable[Change], *, revision: int, at: Instant) -> Generator[None, None, Beside]:
    """Make changes of one revision ready; pauses between slices, during which nothing may be applied to the view.

    Raises:
        KeyError, TypeError, ModelError: a change is malformed; the view is as before.
    """
    all_changes = tuple(changes)
    work = _Work(copy(view), revision, at)
    yield from work.copy_tables()
    for change in all_changes:
        yield from work.take(change)
    names = (*_FLAT, *_BY_KIND, "selectors")
    return Beside(
        view=view,
        changes=all_changes,
        revision=revision,
        at=at,
        tables={name: vars(work.view)[name] for name in names},
        rest=tuple(work.rest),
        fresh=work.fresh,
    )


class _Work:
    """Edges on a view of their own, which shares with the first one whatever was not written yet."""

    def __init__(self, view: View, revision: int, at: Instant) -> None:
        self.view = view
        self.rest: list[Change] = []
        self.fresh: list[Edge] = []
        self._revision, self._at = revision, at
        self._journal = _Copying()
        self._left: set[str] = set()
        self._since = 0

    def copy_tables(self) -> Generator[None, None, None]:
        tables = vars(self.view)
        for name in _FLAT:
            tables[name] = dict(tables[name])
            yield
        for name in _BY_KIND:
            tables[name] = dict(tables[name])
            for kind, table in tables[name].items():
                tables[name][kind] = dict(table)
                yield
        self.view.selectors = self.view.selectors.copied()

    def take(self, change: Change) -> Generator[None, None, None]:
        if change.kind == "edges.end":
            yield from self._end(change)
        elif change.kind == "edge.begin":
            self._begin(change)
            if self._is_long():
                yield
        else:
            self.rest.append(change)

    def _begin(self, change: Change) -> None:
        edge = parse_edge(change.body, revision_from=self._revision)
        if edge.edge is EdgeType.PART_OF or edge.edge_id in self._left:
            self._left.add(edge.edge_id)
            self.rest.append(change)
        else:
            link_edge(self.view, edge, self._journal)
            self.fresh.append(edge)

    def _end(self, change: Change) -> Generator[None, None, None]:
        left: list[Any] = []
        for pair in change.body["edges"]:
            edge_id, version = pair
            current = self.view.edges.get(edge_id)
            if edge_id in self._left or current is None or current.edge is EdgeType.PART_OF:
                self._left.add(edge_id)
                left.append(pair)
            elif current.version == version:
                unlink_edge(self.view, current, self._journal)
                past = current.ended(revision=self._revision, at=self._at, cause=change.body["cause"])
                remember(self.view, past, self._journal)
                self.fresh.append(past)
            if self._is_long():
                yield
        if left:
            self.rest.append(Change(change.kind, {**change.body, "edges": left}))

    def _is_long(self) -> bool:
        self._since = (self._since + 1) % STEP
        return not self._since


class _Copying(Journal):
    """Copies a table within a table before it is first written; remembers nothing, since the first one is untouched."""

    __slots__ = ("_own",)

    def __init__(self) -> None:
        super().__init__(keep=False)
        # The tables themselves and not their names alone: what goes on living keeps its `id`.
        self._own: dict[int, dict[Any, Any]] = {}

    def bucket(self, table: dict[Any, Any], key: Any) -> dict[Any, Any]:
        found = table.get(key)
        if found is not None and id(found) in self._own:
            own: dict[Any, Any] = found
            return own
        own = table[key] = {} if found is None else dict(found)
        self._own[id(own)] = own
        return own

    def leave(self, table: dict[Any, Any], key: Any, item: Any) -> None:
        bucket = table.get(key)
        if bucket is None or item not in bucket:
            return
        if len(bucket) == 1:
            # The last one needs no copy: the table goes with it.
            del table[key]
        else:
            del self.bucket(table, key)[item]
