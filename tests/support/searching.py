"""Searches on a graph without a store: the parts of a search, put together over one view."""

from __future__ import annotations

from functools import partial
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any

from remit_service.asking import ask_now
from remit_service.decision.decide import decide_now, prepare
from remit_service.point import NO_COORDINATION
from remit_service.search.catalogue import Catalogue
from remit_service.search.query import candidate_question, parse_query
from remit_service.search.walk import Walk
from tests.support.graphs import CALLER, NOW
from tests.support.scenario.stage import policy_with

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from remit_graph.view.state import View
    from remit_service.decision.caller import Caller
    from remit_service.decision.decide import Prepared
    from remit_service.decision.decision import Decision
    from remit_service.decision.request import Evaluation


class Judge:
    """Decides single questions where nothing is held."""

    def __init__(self, files: tuple[tuple[str, str], ...] = ()) -> None:
        """Take the shipped policy, with files of a site laid over it."""
        self.policy = policy_with(files)

    def prepare_now(self, evaluation: Evaluation, caller: Caller, *, view: View, at: int) -> Prepared:
        """Collect the facts."""
        return prepare(evaluation, caller, view, at, rules=self.policy, coordination=NO_COORDINATION)

    def judge(self, prepared: Prepared) -> Decision:
        """Decide."""
        return decide_now(prepared, partial(ask_now, self.policy), rules=self.policy)

    def judge_now(self, evaluation: Evaluation, caller: Caller, *, view: View, at: int) -> Decision:
        """Decide one question alone."""
        return self.judge(self.prepare_now(evaluation, caller, view=view, at=at))


JUDGE: Any = Judge()


def searched(
    view: View, kind: str, body: Mapping[str, Any], judge: Any = JUDGE, *, limit: int | None = None
) -> list[str]:
    """Return what a search finds, in order: all of it, or its first page."""
    walk = Walk(judge, parse_query(kind, body), CALLER, limit=limit or 100_000, after="")
    assert walk.slice(view, NOW, Catalogue(), until=inf, deadline=inf)
    assert walk.cause is None or len(walk.found) == limit
    return [candidate for candidate, _ in walk.found]


def decided_one_by_one(
    view: View, kind: str, body: Mapping[str, Any], everything: Iterable[str], *, limit: int | None = None
) -> list[str]:
    """Return those of `everything` whose single evaluation permits to act now, or the first of them, in order."""
    query = parse_query(kind, body)
    permitted = (
        each
        for each in sorted(everything)
        if JUDGE.judge_now(candidate_question(query, each), CALLER, view=view, at=NOW).executes
    )
    return list(islice(permitted, limit))
