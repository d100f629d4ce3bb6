"""Candidates of a search, sorted: what could be permitted at all, before each is decided."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from remit_graph.model.key import parse_key
from remit_graph.model.registry import KEY_TYPE
from remit_graph.view.ground import ground_of
from remit_graph.view.reach import reachable_subjects, root_selectors
from remit_service.decision.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.decision.caller import Caller
    from remit_service.search.query import Query


@dataclass(slots=True)
class Catalogue:
    """Ids of stored resources by AuthZEN type, kept until the structure of the graph changes."""

    _of: object = None
    _by_type: dict[str, list[str]] = field(default_factory=dict)

    def ids(self, view: View, type_name: str) -> list[str]:
        """Return the ids of a type, sorted."""
        if self._of is not view.grounds:
            self._of, self._by_type = view.grounds, {}
            for key in view.resources:
                segments = parse_key(key)
                declared = view.registry.type_of(segments)
                if declared is not None:
                    values = declared.key.match(segments) or ()
                    self._by_type.setdefault(declared.name, []).append(":".join(values))
                self._by_type.setdefault(KEY_TYPE, []).append(key)
            for ids in self._by_type.values():
                ids.sort()
        return self._by_type.get(type_name, [])


def candidates(
    query: Query, caller: Caller, view: View, at: Instant, catalogue: Catalogue, after: str
) -> Iterator[str]:
    """Iterate the candidates that sort after `after`, in order; none where the rest of the question is unknown."""
    question = resolve(query.question, caller, view, at)
    if query.kind == "action":
        names = sorted(view.actions) if question.principal is not None and question.resource is not None else []
        yield from names[bisect_right(names, after) :]
        return
    if question.action is None:
        return
    if query.kind == "subject" and question.ground is not None:
        kind = view.realm.kind_of(query.entity_type or "")
        reached = reachable_subjects(view, question.ground, question.action.class_)
        ids = sorted(each.partition(":")[2] for each in reached if each.partition(":")[0] == kind)
        yield from ids[bisect_right(ids, after) :]
    elif query.kind == "resource" and question.principal is not None:
        selectors = sorted(root_selectors(view, question.principal.id, question.action.class_))
        ids = catalogue.ids(view, query.entity_type or "")
        for identifier in ids[bisect_right(ids, after) :] if selectors else ():
            resolved = view.registry.resolve(query.entity_type or "", identifier)
            if resolved is not None:
                ground = ground_of(view, resolved.key, at)
                if any(ground.under(each) for each in selectors):
                    yield identifier
