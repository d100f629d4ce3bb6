"""One page in the making: candidate after candidate, in slices between which everything else may run."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from remit_service.search.candidates import candidates
from remit_service.search.likeness import Alike, shape_of
from remit_service.search.query import candidate_question

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.decision.caller import Caller
    from remit_service.search.catalogue import Catalogue
    from remit_service.search.ports import Searchable
    from remit_service.search.query import Query


class Walk:
    """Decides candidates until a page is full, the time is over, or none is left.

    Attributes:
        found: Candidates that are listed, with the outcome of each.
        last: The last candidate that was looked at; where the next page begins.
        looked_at: How many were decided.
        cause: Why it stopped before the end, or None.
    """

    def __init__(self, point: Searchable, query: Query, caller: Caller, *, limit: int, after: str) -> None:
        """Begin after the candidate `after`."""
        self._point, self._query, self._caller = point, query, caller
        self._limit = limit
        self._alike = Alike()
        self._candidates: Iterator[str | None] | None = None
        self.found: list[tuple[str, str]] = []
        self.last = after
        self.looked_at = 0
        self.cause: str | None = None

    def slice(self, view: View, at: Instant, catalogue: Catalogue, *, until: float, deadline: float) -> bool:
        """Go on until the clock says `until`; True where the page is done.

        Args:
            view: The graph at the revision of the search, and at no other.
            at: The instant of the search.
            catalogue: What resources there are.
            until: End of this slice.
            deadline: End of the page; at least one candidate is looked at, so that every page gets on.
        """
        if self._candidates is None:
            self._candidates = candidates(self._query, self._caller, view, at, catalogue, self.last)
        for candidate in self._candidates:
            if candidate is not None:
                if self._is_cut(deadline):
                    return True
                self._decide(candidate, view, at)
                if self.cause is not None:
                    return True
            if perf_counter() > until:
                return False
        return True

    def _is_cut(self, deadline: float) -> bool:
        """Whether there is a further candidate that this page has no room or no time for."""
        if len(self.found) == self._limit:
            self.cause = "limit"
        elif self.looked_at and perf_counter() > deadline:
            self.cause = "deadline"
        return self.cause is not None

    def _decide(self, candidate: str, view: View, at: Instant) -> None:
        question = candidate_question(self._query, candidate)
        prepared = self._point.prepare_now(question, self._caller, view=view, at=at)
        policy = self._point.policy
        # Subjects and actions differ in more than the name of a resource, so that no two of them have one shape.
        may_share = self._query.kind == "resource" and not policy.tells_names_apart
        shape = shape_of(prepared) if may_share else None
        outcome = self._alike.find(policy.revision, shape)
        if outcome is None:
            decision = self._point.judge(prepared)
            if decision.deny_is_fault:
                # Not known is not denied: the page ends before it, and says why.
                self.cause = decision.codes[0]
                return
            outcome = decision.outcome
            self._alike.note(policy.revision, shape, outcome)
        self.looked_at, self.last = self.looked_at + 1, candidate
        if outcome in self._query.outcomes:
            self.found.append((candidate, outcome))
