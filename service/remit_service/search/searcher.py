"""Run searches: on one revision at one instant from the first page to the last, in slices, within a deadline."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import TYPE_CHECKING, Final

from remit_graph.errors import GraphError
from remit_graph.model.change import digest
from remit_service.decision.request import RequestError
from remit_service.replica.history import view_as_of, view_at_revision
from remit_service.replica.past import KEPT
from remit_service.search.catalogue import Catalogue
from remit_service.search.page import Page
from remit_service.search.query import MAX_LIMIT
from remit_service.search.token import PageToken, seal, unseal
from remit_service.search.walk import Walk
from remit_service.slices import SLICE_SECONDS

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.decision.caller import Caller
    from remit_service.search.ports import Searchable
    from remit_service.search.query import Moment, Query

DEADLINE_SECONDS: Final = 2.0
"""After this a page ends with what was found, and says so."""


class PageTokenStale(RequestError):
    """The revision of the first page is no longer kept."""

    code = "page_token_stale"


class NotFresh(GraphError):
    """The view is not as fresh as is asked for; `code` says why."""


class Searcher:
    """Searches over one decision point."""

    def __init__(self, point: Searchable, *, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        """Search `point`, a page within `deadline_seconds`."""
        self._point = point
        self._deadline_seconds = deadline_seconds
        self._catalogue = Catalogue()
        self._earlier: tuple[Moment, View, Catalogue] | None = None
        self._turn = asyncio.Lock()
        self._key: bytes | None = None
        self._store = ""
        point.replica.subscribe(self._catalogue.receive)

    async def search(self, query: Query, caller: Caller) -> Page:
        """Return one page.

        Raises:
            RequestError: the page token is of another search, was changed, or is too old; or the moment is none.
            NotFresh: the view cannot be brought to the freshness that is asked for.
            LedgerError: the history cannot be read.
        """
        self._note_store()
        key = await self._mac_key()
        fingerprint = digest(f"{query.fingerprint} {caller.name}")
        token = self._unsealed(query.token, key, fingerprint) if query.token else None
        limit = _limit(query, token)
        walk = Walk(self._point, query, caller, limit=limit, after=token.after if token else "")
        if query.moment is not None:
            view, catalogue, at = await self._at_moment(query.moment)
            revision = view.revision
            await self._walk(walk, view, revision, at, catalogue)
        else:
            revision, at = (token.revision, token.at) if token else await self._now(query)
            await self._walk(walk, None, revision, at, self._catalogue)
        going_on = PageToken(
            store=self._store, revision=revision, at=at, after=walk.last, limit=limit, fingerprint=fingerprint
        )
        return Page(
            results=tuple(entity_of(query, each) for each, _ in walk.found),
            outcomes=tuple(outcome for _, outcome in walk.found),
            next_token=seal(going_on, key) if walk.cause is not None else "",
            cause=walk.cause,
            revision=revision,
            at=at,
            looked_at=walk.looked_at,
        )

    async def _now(self, query: Query) -> tuple[int, Instant]:
        """Return the revision and the instant that a new search answers for, as fresh as it asks for."""
        denied = await self._point.deny_if_stale(query.question, fully=query.kind == "action")
        if denied is not None:
            reason = denied.reasons[0]
            raise NotFresh(reason.message, code=reason.code)
        return self._point.view.revision, self._point.now()

    async def _walk(self, walk: Walk, view: View | None, revision: int, at: Instant, catalogue: Catalogue) -> None:
        """Walk slice after slice; of all searches one at a time, so that others wait for one slice only."""
        deadline = perf_counter() + self._deadline_seconds
        is_done = False
        while not is_done:
            async with self._turn:
                until = perf_counter() + SLICE_SECONDS
                if view is not None:
                    is_done = walk.slice(view, at, catalogue, until=until, deadline=deadline)
                else:
                    with self._back(revision, at) as earlier:
                        is_done = walk.slice(earlier, at, catalogue, until=until, deadline=deadline)
            await asyncio.sleep(0)

    def _back(self, revision: int, at: Instant) -> AbstractContextManager[View]:
        """Bring the view back to the revision of the search for one slice."""
        point = self._point
        if point.now() - at > KEPT or not point.replica.past.keeps(point.view, revision):
            raise PageTokenStale(
                f"revision {revision}, which this search answers for, is no longer kept; search again",
                pointer="/page/token",
                revision=revision,
            )
        return point.replica.past.at(point.view, revision)

    async def _at_moment(self, moment: Moment) -> tuple[View, Catalogue, Instant]:
        """Return the graph as it was, and the instant it is judged at."""
        newest, now = self._point.view, self._point.now()
        if self._earlier is None or self._earlier[0] != moment:
            if moment.revision is not None:
                view = await view_at_revision(self._point.ledger, newest, moment.revision)
            else:
                view = await view_as_of(self._point.ledger, newest, moment.as_of or now, now)
            self._earlier = (moment, view, Catalogue())
        _, view, catalogue = self._earlier
        return view, catalogue, moment.as_of or view.at

    def _note_store(self) -> None:
        """Notice a restore under a running process: revisions of another incarnation are other revisions."""
        head = self._point.replica.head
        store = "" if head is None else f"{head.store_id}.{head.incarnation}"
        if store != self._store:
            self._store, self._key, self._earlier = store, None, None

    def _unsealed(self, text: str, key: bytes, fingerprint: str) -> PageToken:
        token = unseal(text, key, fingerprint)
        if token.store != self._store:
            raise PageTokenStale(
                f"revision {token.revision}, which this search answers for, is from before a restore; search again",
                pointer="/page/token",
                revision=token.revision,
            )
        return token

    async def _mac_key(self) -> bytes:
        """Return what tokens are sealed with: known to every replica of the store, and to no caller."""
        if self._key is None:
            first = (await self._point.ledger.base()).first or await self._first_hash()
            self._key = digest(f"page token {first}").encode() if first else None
        return self._key or b""

    async def _first_hash(self) -> str:
        async for row in self._point.ledger.rows(0):
            return row.hash
        return ""


def _limit(query: Query, token: PageToken | None) -> int:
    """Return the limit: with a token that of the first page, which a later one may leave out but not change."""
    if token is None:
        return query.limit or MAX_LIMIT
    if query.limit is not None and query.limit != token.limit:
        raise RequestError(
            f"the pages of this search have {token.limit} results, at `/page/limit`", pointer="/page/limit"
        )
    return token.limit


def entity_of(query: Query, candidate: str) -> dict[str, str]:
    """Return a result; the key order is what interop runners compare."""
    if query.kind == "action":
        return {"name": candidate}
    return {"type": query.entity_type or "", "id": candidate}
