"""From a view to the lines of its image, in slices, so that decisions go on meanwhile.

`Snapshot` copies tables, not what is in them: values of the view are never changed, only replaced. That is the one step
that must not be interrupted; a million edges take some 30 ms. The lines are made afterwards, a millisecond each.
"""

from __future__ import annotations

import json
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar
from zlib import crc32

from remit_graph.model.builtin import BUILTIN_ACTIONS, BUILTIN_TYPES
from remit_graph.view.coordination.image import outliving
from remit_graph.view.image_edges import ScopesOut, row_of, worth_keeping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from remit_graph.model.edge import Edge
    from remit_graph.view.state import View

FORMAT: Final = 1
"""Of images; one in another form is not read, and the ledger is replayed instead."""

ROWS: Final = 256
"""Items of one line, about a millisecond's work."""

STRIDE: Final = 4_096
"""Items that are put into buckets between two pauses."""

PAUSE: Final = b""
"""A line that is none: a place where the maker of an image may let others work."""

T = TypeVar("T")
_ENCODE: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False
).encode


class Snapshot:
    """What a view holds at one revision; the view may move on.

    Attributes:
        revision, hash, at: Of the view.
        edges: How many current edges there are.
    """

    def __init__(self, view: View) -> None:
        """Copy the tables of `view`; nothing may be awaited meanwhile."""
        self.revision, self.hash, self.at = view.revision, view.hash, view.at
        self.edges = len(view.edges)
        self._scalars = {name: value for name, value in view.scalars.items() if name not in ("realm", "registry")}
        self._declared = _declared(view)
        self._identities = dict(view.identities), dict(view.point_identities)
        self._principals = list(view.principals.values())
        self._resources = list(view.resources.values())
        self._edges = list(view.edges.values())
        self._history = list(view.history.values())
        kept = view.coordination.kept_records
        self._records = {noun: list(table.values()) for noun, table in view.records.items() if noun not in kept}
        self._kept_records = {noun: [record for _, record in kept[noun].pairs()] for noun in kept}
        self._outliving = outliving(view.coordination)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the image, each with its end; `PAUSE` in between where there is nothing to write yet."""
        # (1) Single values, and what is declared.
        yield _line("image", {"format": FORMAT, "scalars": self._scalars})
        yield _line("changes", self._declared)
        # (2) Who and what there is.
        yield from _puts("principal.put", self._principals, attrgetter("id"), lambda each: each.record())
        yield from _puts("resource.put", self._resources, attrgetter("key"), _resource)
        yield _line("identities", self._identities)
        # (3) Edges, and those that ended.
        yield from self._edge_lines("edges", self._edges, attrgetter("edge_id"), lambda each: [each])
        yield from self._edge_lines("history", self._history, _id_of_versions, self._worth_keeping)
        # (4) Records, and what outlives them.
        for noun, records in sorted(self._records.items()):
            yield from _puts(f"{noun}.put", records, _id_of_record, lambda each: each)
        for noun, records in sorted(self._kept_records.items()):
            # Which of them is forgotten next depends on their order.
            for some in _slices(records):
                yield _line("changes", [[f"{noun}.put", each] for each in some])
        yield _line("records_end", None)
        for name, pairs in self._outliving:
            yield from (_line("outliving", [name, some]) for some in _slices(pairs))
        # (5) An image without its end is none.
        yield _line("end", {"edges": self.edges, "hash": self.hash, "revision": self.revision})

    def _worth_keeping(self, versions: Sequence[Edge]) -> list[Edge]:
        return worth_keeping(versions, self.at)

    def _edge_lines(
        self, name: str, items: Sequence[T], key: Callable[[T], str], versions: Callable[[T], list[Edge]]
    ) -> Iterator[bytes]:
        if name == "edges":
            self._scopes = ScopesOut()
        for some in _in_order(items, key):
            rows = [row_of(edge, self._scopes) for each in some for edge in versions(each)]
            if self._scopes.new:
                yield _line("scopes", self._scopes.new)
                self._scopes.new = []
            yield _line(name, rows) if rows else PAUSE


def _declared(view: View) -> list[list[Any]]:
    """Return what the world declares as changes on an empty view; few, whatever the size of the graph."""
    changes: list[list[Any]] = [["realm.set", view.realm.record()]]
    changes += [["resource_type.end", {"name": each}] for each in sorted(BUILTIN_TYPES.keys() - view.types.keys())]
    changes += [["action.end", {"name": each}] for each in sorted(BUILTIN_ACTIONS.keys() - view.actions.keys())]
    types = [each for name, each in sorted(view.types.items()) if BUILTIN_TYPES.get(name) != each]
    actions = [each for name, each in sorted(view.actions.items()) if BUILTIN_ACTIONS.get(name) != each]
    changes += [["resource_type.put", each.record()] for each in types]
    changes += [["action.put", each.record()] for each in actions]
    changes += [["alias.put", {"alias": alias, "key": key}] for alias, key in sorted(view.aliases.items())]
    changes += [["enforcement_point.put", each.record()] for _, each in sorted(view.points.items())]
    return changes


def _puts(kind: str, items: Sequence[T], key: Callable[[T], str], record: Callable[[T], Any]) -> Iterator[bytes]:
    for some in _in_order(items, key):
        yield _line("changes", [[kind, record(each)] for each in some]) if some else PAUSE


def _in_order(items: Sequence[T], key: Callable[[T], str]) -> Iterator[list[T]]:
    """Yield items in an order that depends on their keys alone, in lists of a bounded size.

    Sorting a million keys at once would take a second in which nothing else happens. So they go into buckets first.
    """
    buckets: list[list[T]] = [[] for _ in range(len(items) // ROWS + 1)]
    count = len(buckets)
    for start in range(0, len(items), STRIDE):
        for each in items[start : start + STRIDE]:
            buckets[crc32(key(each).encode()) % count].append(each)
        yield []
    for bucket in buckets:
        yield sorted(bucket, key=key)


def _slices(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + ROWS] for start in range(0, len(items), ROWS))


def _line(section: str, content: Any) -> bytes:
    return f"{_ENCODE([section, content])}\n".encode()


def _resource(each: Any) -> dict[str, Any]:
    return {"key": each.key, "attributes": each.attributes}


def _id_of_record(record: Mapping[str, Any]) -> str:
    return str(record["id"])


def _id_of_versions(versions: Sequence[Edge]) -> str:
    return versions[0].edge_id
