"""Run a search: decide candidate after candidate on one view at one instant, in slices, within a deadline."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.change import digest
from remit_graph.model.instant import SECOND, Instant
from remit_service.decision.request import RequestError
from remit_service.replica.history import view_at_revision
from remit_service.search.candidates import Catalogue, candidates
from remit_service.search.query import MAX_LIMIT, Query, candidate_question
from remit_service.search.token import PageToken, seal, unseal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_graph.view.state import View
    from remit_service.decision.caller import Caller
    from remit_service.point import DecisionPoint

SLICE_SECONDS: Final = 0.005
"""Decisions wait no longer than this for a search (rules.md 13)."""

DEADLINE_SECONDS: Final = 2.0
"""After this a page ends with what was found, and says so."""

KEPT_SECONDS: Final = 60
"""How long the revision of a first page can be gone back to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What one page brought.

    Attributes:
        results: Entities, `{type, id}` or `{name}`, in that key order.
        next_token: Where to go on, empty at the end.
        complete: Whether nothing follows.
        cause: Why it is not complete: `limit` or `deadline`.
        revision: That all pages answer for.
        looked_at: Candidates that were decided.
    """

    results: tuple[dict[str, str], ...]
    next_token: str
    complete: bool
    cause: str | None
    revision: int
    looked_at: int


class PageTokenStale(RequestError):
    """The revision of the first page is no longer kept."""

    code = "page_token_stale"


@dataclass(slots=True)
class Searcher:
    """Searches over one decision point."""

    point: DecisionPoint
    outcomes: frozenset[str] = frozenset({"execute"})
    deadline_seconds: float = DEADLINE_SECONDS
    _catalogue: Catalogue = field(default_factory=Catalogue)
    _past: dict[int, View] = field(default_factory=dict)
    _key: bytes | None = None

    async def search(self, query: Query, caller: Caller) -> Page:
        """Return one page.

        Raises:
            RequestError: the page token is of another search, was changed, or is too old.
            LedgerError: the history cannot be read.
        """
        token = unseal(query.token, await self._mac_key(), query.fingerprint) if query.token else None
        view, at = await self._ground(token)
        limit = query.limit or (token.limit if token else MAX_LIMIT)
        after = token.after if token else ""
        return await self._page(query, caller, view, at, limit, after)

    async def _ground(self, token: PageToken | None) -> tuple[View, Instant]:
        point = self.point
        if token is None:
            return point.view, point.now()
        if token.revision == point.view.revision:
            return point.view, token.at
        if point.now() - token.at > KEPT_SECONDS * SECOND or token.revision > point.view.revision:
            raise PageTokenStale(
                f"the page token is of revision {token.revision}, which is no longer kept; search again",
                pointer="/page/token",
                revision=token.revision,
            )
        if token.revision not in self._past:
            self._past = {token.revision: await view_at_revision(point.ledger, point.view, token.revision)}
        return self._past[token.revision], token.at

    async def _page(self, query: Query, caller: Caller, view: View, at: Instant, limit: int, after: str) -> Page:
        revision = view.revision
        started = sliced = perf_counter()
        results: list[dict[str, str]] = []
        looked_at, last, cause = 0, after, None
        for candidate in candidates(query, caller, view, at, self._catalogue, after):
            now = perf_counter()
            if len(results) == limit or now - started > self.deadline_seconds:
                cause = "limit" if len(results) == limit else "deadline"
                break
            if now - sliced > SLICE_SECONDS:
                await asyncio.sleep(0)
                sliced = perf_counter()
                if view.revision != revision:
                    # The view moved while others were served: go on at the revision this page began with.
                    view = await view_at_revision(self.point.ledger, view, revision)
                    rest = await self._page(query, caller, view, at, limit - len(results), last)
                    return _joined(results, looked_at, rest)
            decision = await self.point.judge(candidate_question(query, candidate), caller, view=view, at=at)
            looked_at, last = looked_at + 1, candidate
            if decision.outcome in self.outcomes:
                results.append(entity_of(query, candidate))
        next_token = ""
        if cause is not None:
            going_on = PageToken(revision=revision, at=at, after=last, limit=limit, fingerprint=query.fingerprint)
            next_token = seal(going_on, await self._mac_key())
        return Page(
            results=tuple(results),
            next_token=next_token,
            complete=cause is None,
            cause=cause,
            revision=revision,
            looked_at=looked_at,
        )

    async def _mac_key(self) -> bytes:
        """Return what tokens are sealed with: known to every replica of the store, and to nobody else."""
        if self._key is None:
            async for row in self.point.ledger.rows(0):
                self._key = digest(f"page token {row.hash}").encode()
                break
        return self._key or b""


def _joined(results: Sequence[dict[str, str]], looked_at: int, rest: Page) -> Page:
    return Page(
        results=(*results, *rest.results),
        next_token=rest.next_token,
        complete=rest.complete,
        cause=rest.cause,
        revision=rest.revision,
        looked_at=looked_at + rest.looked_at,
    )


def entity_of(query: Query, candidate: str) -> dict[str, str]:
    """Return a result; the key order is what interop runners compare."""
    if query.kind == "action":
        return {"name": candidate}
    return {"type": query.entity_type or "", "id": candidate}


def page_document(page: Page, query: Query, *, revision_token: str, with_context: bool) -> dict[str, Any]:
    """Return the response body: `page` first, then `context`, then `results`."""
    document: dict[str, Any] = {}
    if query.paged or not page.complete:
        document["page"] = {"next_token": page.next_token, "count": len(page.results)}
    if with_context:
        context: dict[str, Any] = {"complete": page.complete, "revision": revision_token}
        if page.cause is not None:
            context["cause"] = page.cause
        document["context"] = context
    document["results"] = list(page.results)
    return document
