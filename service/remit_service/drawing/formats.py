"""The formats a figure is drawn in, by name."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from remit_service.drawing.mermaid import mermaid
from remit_service.drawing.svg import svg

if TYPE_CHECKING:
    from collections.abc import Callable

    from remit_service.drawing.figure import Figure


class Format(StrEnum):
    """How an explanation is handed out: as a document, or drawn."""

    JSON = "json"
    MERMAID = "mermaid"
    SVG = "svg"


MEDIA_TYPES: Final = {Format.MERMAID: "text/vnd.mermaid", Format.SVG: "image/svg+xml"}
"""Of the drawings; `json` is the answer itself."""

_DRAWERS: Final[dict[Format, Callable[[Figure], str]]] = {Format.MERMAID: mermaid, Format.SVG: svg}


def drawn(figure: Figure, form: Format) -> str:
    """Return a figure in one of the formats that draw.

    Raises:
        KeyError: `form` is `json`, which draws nothing.
    """
    return _DRAWERS[form](figure)
