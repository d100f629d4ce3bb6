"""One page of a search, and the body it is answered with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from remit_graph.model.change import canonical, digest

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_service.search.query import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What one page brought.

    Attributes:
        results: Entities, `{type, id}` or `{name}`, in that key order.
        outcomes: What the decision on each came to.
        next_token: Where to go on, empty at the end.
        cause: Why it is not complete: `limit`, `deadline`, or the code of a fault of the policy engine.
        revision: That all pages answer for.
        at: The instant they answer for.
        looked_at: Candidates that were decided.
    """

    results: tuple[dict[str, str], ...]
    outcomes: tuple[str, ...]
    next_token: str
    cause: str | None
    revision: int
    at: Instant
    looked_at: int

    @property
    def complete(self) -> bool:
        """Whether nothing follows."""
        return self.cause is None

    @property
    def digest(self) -> str:
        """Digest of the results, for the record."""
        return f"sha256:{digest(canonical(list(self.results)))}"


def page_document(page: Page, query: Query, *, revision_token: str, with_context: bool) -> dict[str, Any]:
    """Return the response body: `page` first, then `context`, then `results`.

    Args:
        page: What was found.
        query: What was asked.
        revision_token: The token of the page's revision.
        with_context: Whether the caller takes more than entities; a list that was cut has its `next_token` anyway.
    """
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
