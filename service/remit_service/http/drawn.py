"""A drawing as an answer: its media types, and headers that let it do nothing but be looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import Query, Response

from remit_service.drawing.formats import MEDIA_TYPES, Format, drawn

if TYPE_CHECKING:
    from remit_service.drawing.figure import Figure

FormatQuery = Annotated[Format, Query(description="As a document, or drawn for whoever may see it.")]

# An SVG that is opened by itself is a document of this origin: it may style itself and nothing else.
_HEADERS: Final = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}


def drawing(figure: Figure, form: Format) -> Response:
    """Return a figure in one of the formats that draw."""
    return Response(drawn(figure, form), headers=_HEADERS, media_type=MEDIA_TYPES[form])


def or_drawn(found: dict[int | str, dict[str, Any]]) -> dict[int | str, dict[str, Any]]:
    """Return the answers of a route whose document can be drawn as well."""
    content = found[200]["content"] | {media: {"schema": {"type": "string"}} for media in MEDIA_TYPES.values()}
    return {**found, 200: {**found[200], "content": content}}
