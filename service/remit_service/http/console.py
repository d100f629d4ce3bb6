"""`GET /`: a page that shows the graph and recent decisions and lets one ask; plain HTML and JavaScript, no build.

Everything on it comes from the API with the caller's own rights; the page itself holds nothing. Its policy allows
scripts, styles and connections of this origin only, and nobody may put it into a frame.
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Final

from fastapi import Response

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fastapi import APIRouter

    Endpoint = Callable[[], Awaitable[Response]]

SECURITY: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_FILES: Final = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/console.css": ("console.css", "text/css; charset=utf-8"),
    "/console.js": ("console.js", "text/javascript; charset=utf-8"),
}

_HIDDEN_WARNING: Final = b'<p id="warning" role="alert" hidden>'
_SHOWN_WARNING: Final = b'<p id="warning" role="alert">'


def html(text: str) -> Response:
    """Return a page under the same policy."""
    return Response(text, headers=SECURITY | {"Content-Type": "text/html; charset=utf-8"})


def add_routes(router: APIRouter, *, warns: bool = False) -> None:
    """Serve the page and its two files; they are no part of the API.

    With `warns` the page says, before anything else and without JavaScript, that callers are not authenticated.
    """
    folder = resources.files("remit_service.http").joinpath("page")
    for path, (name, kind) in _FILES.items():
        content = folder.joinpath(name).read_bytes()
        if warns:
            content = content.replace(_HIDDEN_WARNING, _SHOWN_WARNING)
        router.add_api_route(path, _answer(content, kind), include_in_schema=False, name=name)


def _answer(content: bytes, kind: str) -> Endpoint:
    async def endpoint() -> Response:
        return Response(content, headers=SECURITY | {"Content-Type": kind})

    return endpoint
