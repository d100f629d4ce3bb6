"""`GET /problems/{code}`: what a problem type or a reason code means, for people and for programs."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Final

from remit_service.http.problems import HTTP_ROWS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_service.decision.reasons import ReasonRow, ReasonTable

RESOLVERS: Final[Mapping[str, str]] = {
    "requester": "Whoever asks can settle it: change the request and ask again.",
    "delegator": "Whoever grants or delegates the authority can settle it.",
    "owner": "The owner of the field can settle it.",
    "operator": "The operators of the service or its security engineers can settle it.",
    "human_reviewer": "A person has to review it.",
    "wait": "It settles itself: ask again later.",
}


def find(code: str, table: ReasonTable) -> ReasonRow | None:
    """Return what is known of a code, or None."""
    if code in HTTP_ROWS:
        return HTTP_ROWS[code]
    return table.row(code) if code in table.codes else None


def describe(row: ReasonRow) -> dict[str, Any]:
    """Return the page for programs."""
    return {
        "code": row.code,
        "title": row.fixed,
        "group": row.group,
        "status": row.status,
        "resolver": row.resolver,
        "advice": RESOLVERS[row.resolver],
    }


def page(row: ReasonRow) -> str:
    """Return the page for people."""
    title, code, group = escape(row.fixed), escape(row.code), escape(row.group)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{code} - Remit</title>"
        '<link rel="stylesheet" href="/console.css"></head><body><main>'
        f"<h1><code>{code}</code></h1><p>{title}</p>"
        f"<dl><dt>Group</dt><dd>{group}</dd><dt>HTTP status where a command is refused for it</dt>"
        f"<dd>{row.status}</dd><dt>Who can settle it</dt><dd>{escape(RESOLVERS[row.resolver])}</dd></dl>"
        '<p><a href="/">Remit</a></p></main></body></html>'
    )
