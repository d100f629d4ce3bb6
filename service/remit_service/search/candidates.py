"""Candidates of a search, sorted: what could be permitted at all, before each is decided.

Collecting them can take longer than a decision may wait, so the iterators say None wherever they can be left alone for
a moment: `None, None, "1024", None, "1025"`.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from remit_graph.view.ground import ground_of
from remit_graph.view.reach import Roots, reachable_subjects
from remit_service.decision.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.decision.caller import Caller
    from remit_service.decision.resolve import Question
    from remit_service.search.catalogue import Catalogue
    from remit_service.search.query import Query

PASSED_OVER: Final = 64
"""Ids that are passed over between two pauses."""


def candidates(
    query: Query, caller: Caller, view: View, at: Instant, catalogue: Catalogue, after: str
) -> Iterator[str | None]:
    """Iterate the candidates that sort after `after`, in order; none where the rest of the question is unknown.

    The view may move between two candidates, and must be back at its revision whenever the next one is asked for.
    """
    question = resolve(query.question, caller, view, at)
    if query.kind == "action":
        names = sorted(view.actions) if question.principal is not None and question.resource is not None else []
        yield from names[bisect_right(names, after) :]
    elif question.action is None:
        return
    elif query.kind == "subject":
        yield from _subjects(query, question, view, after)
    elif question.principal is not None:
        yield from _resources(query, question, view, catalogue, after)


def _subjects(query: Query, question: Question, view: View, after: str) -> Iterator[str | None]:
    if question.ground is None or question.action is None:
        return
    kind = view.realm.kind_of(query.entity_type or "")
    reached = yield from reachable_subjects(view, question.ground, question.action.class_)
    ids = sorted(each.partition(":")[2] for each in reached if each.partition(":")[0] == kind)
    yield from ids[bisect_right(ids, after) :]


def _resources(query: Query, question: Question, view: View, catalogue: Catalogue, after: str) -> Iterator[str | None]:
    if question.principal is None or question.action is None:
        return
    roots = Roots(view, question.principal.id, question.action.class_)
    if not roots.any:
        return
    yield from catalogue.build(view)
    type_name = query.entity_type or ""
    for count, identifier in enumerate(catalogue.ids(type_name, after), 1):
        if count % PASSED_OVER == 0:
            yield None
        resolved = view.registry.resolve(type_name, identifier)
        if resolved is None or resolved.key not in view.resources:
            continue
        # What covers the key is found in the index: a subject may hold as many selectors as there are resources.
        if roots.cover(ground_of(view, resolved.key, question.at)):
            yield identifier
