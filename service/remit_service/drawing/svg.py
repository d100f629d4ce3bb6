"""A figure as an SVG document that stands alone: no script, no link, no font and no style from outside.

Text is set in a monospaced font, so that what fits a box can be counted: names are cut into lines, never shortened.
Sizes are in pixels.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from remit_service.drawing.figure import Arrow, Box, Figure, Lane

_COLUMNS: Final = 26
"""Columns of text in a box and beside an arrow: an id of usual length stands on one line."""
_NOTE_COLUMNS: Final = 110
_ADVANCE: Final = 7.3
"""Width of one column of 12 pixel monospaced text; the widest of the usual fonts takes 7.23."""
_LINE: Final = 16
_PAD: Final = 10
_BOX: Final = round(_COLUMNS * _ADVANCE) + 2 * _PAD
_GAP: Final = _BOX
_MARGIN: Final = 20
_TITLE: Final = 30

_STYLE: Final = (
    "text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#222}"
    ".h{font-weight:bold}.m{text-anchor:middle}"
    "rect{stroke-width:1.2}.target{fill:#eef4fb;stroke:#3b6ea5}.root{fill:#e9f5ec;stroke:#2f7d46}"
    ".principal{fill:#f7f7f5;stroke:#77756e}.subject{fill:#fff6e0;stroke:#a67c00}"
    "path.a{stroke:#555;stroke-width:1.4;fill:none;marker-end:url(#e)}"
    "path.f{stroke:#b3261e;stroke-width:1.8;stroke-dasharray:6 4;fill:none;marker-end:url(#f)}text.f{fill:#b3261e}"
)
_MARKERS: Final = "".join(
    f'<marker id="{name}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto" '
    f'markerUnits="userSpaceOnUse"><path d="M0 0L8 4L0 8z" fill="{colour}"/></marker>'
    for name, colour in (("e", "#555"), ("f", "#b3261e"))
)


def svg(figure: Figure) -> str:
    """Return the figure as an SVG document."""
    title = wrapped(figure.title, _NOTE_COLUMNS)
    body = [_text(_MARGIN, _MARGIN + _LINE * place, line, "h") for place, line in enumerate(title, 1)]
    y = _MARGIN + _LINE * len(title) + _LINE
    widest = _NOTE_COLUMNS * _ADVANCE
    for lane in figure.lanes:
        drawn = _Drawn(lane, y)
        body.extend(drawn.parts())
        y += drawn.height + _LINE
        widest = max(widest, len(lane.boxes) * (_BOX + _GAP) - _GAP)
    for note in figure.notes:
        for line in wrapped(note, _NOTE_COLUMNS):
            y += _LINE
            body.append(_text(_MARGIN, y, line))
    width, height = round(widest) + 2 * _MARGIN, y + _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-labelledby="t"><title id="t">{escape(_shown(figure.title))}</title><style>{_STYLE}</style>'
        f'<defs>{_MARKERS}</defs><rect width="{width}" height="{height}" fill="#fff"/>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


@dataclass(slots=True)
class _Drawn:
    """One lane at a height of the page."""

    lane: Lane
    y: int

    @property
    def height(self) -> int:
        """How much of the page it takes."""
        return _TITLE + self._tallest

    @property
    def _tallest(self) -> int:
        above_and_below = [2 * max(_above(arrow), _below(arrow)) for arrow in self.lane.arrows]
        return max([_height(box) for box in self.lane.boxes] + [each * _LINE + _LINE for each in above_and_below])

    def parts(self) -> Iterator[str]:
        """Iterate what is drawn."""
        yield _text(_MARGIN, self.y + _LINE, self.lane.title, "h")
        middle = self.y + _TITLE + self._tallest / 2
        for place, box in enumerate(self.lane.boxes):
            yield from _drawn_box(_MARGIN + place * (_BOX + _GAP), middle, box)
        for place, arrow in enumerate(self.lane.arrows):
            yield from _drawn_arrow(_MARGIN + place * (_BOX + _GAP) + _BOX, middle, arrow)


def _height(box: Box) -> int:
    return _LINE * len(wrapped(box.name)) + 2 * _PAD


def _drawn_box(x: int, middle: float, box: Box) -> Iterator[str]:
    lines, height = wrapped(box.name), _height(box)
    top = middle - height / 2
    yield f'<rect class="{box.role}" x="{x}" y="{top:g}" width="{_BOX}" height="{height}" rx="6"/>'
    for place, line in enumerate(lines, 1):
        yield _text(x + _BOX / 2, top + _PAD + _LINE * place - 4, line, "m")


def _drawn_arrow(x: int, middle: float, arrow: Arrow) -> Iterator[str]:
    start, end = (x + _GAP, x) if arrow.back else (x, x + _GAP)
    kind = "f" if arrow.failed else "a"
    yield f'<path class="{kind}" d="M{start} {middle:g}L{end} {middle:g}"/>'
    style = "m f" if arrow.failed else "m"
    above = wrapped(arrow.lines[0])
    for place, line in enumerate(above):
        yield _text(x + _GAP / 2, middle - 6 - _LINE * (len(above) - 1 - place), line, style)
    for place, line in enumerate(_rest(arrow), 1):
        yield _text(x + _GAP / 2, middle + _LINE * place, line, style)


def _rest(arrow: Arrow) -> list[str]:
    return [line for each in arrow.lines[1:] for line in wrapped(each)]


def _above(arrow: Arrow) -> int:
    return len(wrapped(arrow.lines[0]))


def _below(arrow: Arrow) -> int:
    return len(_rest(arrow))


def _text(x: float, y: float, text: str, style: str = "") -> str:
    kind = f' class="{style}"' if style else ""
    return f'<text{kind} x="{x:g}" y="{y:g}">{escape(_shown(text))}</text>'


def wrapped(text: str, columns: int = _COLUMNS) -> Sequence[str]:
    """Cut a text into lines of at most so many columns, at a space or after a colon where one is near."""
    lines: list[str] = []
    rest = text
    while _width(rest) > columns:
        cut = _fitting(rest, columns)
        near = max(rest.rfind(mark, cut // 2, cut) for mark in " :/")
        cut = near + 1 if near >= 0 else cut
        lines.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    return [*lines, rest]


def _shown(text: str) -> str:
    """Return a text without what XML cannot hold and a reader cannot see: in its place stands a mark for it."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)


def _width(text: str) -> int:
    return sum(_columns(each) for each in text)


def _columns(character: str) -> int:
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _fitting(text: str, columns: int) -> int:
    taken = 0
    for place, each in enumerate(text):
        taken += _columns(each)
        if taken > columns:
            return place
    return len(text)
