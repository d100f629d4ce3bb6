"""A figure as a Mermaid flowchart.

Every label stands in quotes, and in it every character that means something to Mermaid, Markdown or HTML is written as
its character code (`#34;`), which Mermaid turns back into the character after parsing. Ids are counted, never taken
from a name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from remit_service.drawing.figure import Arrow, Figure, Lane

_PLAIN: Final = re.compile(r"[^\w .,:@+=-]", re.ASCII)
"""What is not plain text: letters of other scripts too are written as codes, so that no look-alike means anything."""

_CLASSES: Final = (
    "classDef target fill:#eef4fb,stroke:#3b6ea5,color:#10243a",
    "classDef root fill:#e9f5ec,stroke:#2f7d46,color:#0f2e18",
    "classDef principal fill:#f7f7f5,stroke:#77756e,color:#222222",
    "classDef subject fill:#fff6e0,stroke:#a67c00,color:#3a2c00",
)


def mermaid(figure: Figure) -> str:
    """Return the figure as a flowchart, one subgraph a chain."""
    return "\n".join(_lines(figure)) + "\n"


def label(text: str) -> str:
    """Return a text as a quoted label that nothing in it can end."""
    return _written([text])


def _coded(text: str) -> str:
    return _PLAIN.sub(lambda found: f"#{ord(found.group())};", text)


def _lines(figure: Figure) -> Iterator[str]:
    yield f"%% {_coded(figure.title)}"
    yield "flowchart LR"
    failed: list[int] = []
    count = 0
    for number, lane in enumerate(figure.lanes, 1):
        yield f"  subgraph c{number}[{label(lane.title)}]"
        yield "    direction LR"
        yield from _boxes(number, lane)
        for place, arrow in enumerate(lane.arrows):
            yield f"    {_arrow(f'c{number}n{place}', f'c{number}n{place + 1}', arrow)}"
            if arrow.failed:
                failed.append(count)
            count += 1
        yield "  end"
    for number, note in enumerate(figure.notes, 1):
        yield f"  note{number}>{label(note)}]"
    yield from (f"  {each}" for each in _CLASSES)
    if failed:
        yield f"  linkStyle {','.join(map(str, failed))} stroke:#b3261e,color:#b3261e,stroke-dasharray:6 4"


def _boxes(number: int, lane: Lane) -> Iterator[str]:
    for place, box in enumerate(lane.boxes):
        yield f"    c{number}n{place}[{label(box.name)}]:::{box.role}"


def _arrow(before: str, after: str, arrow: Arrow) -> str:
    start, end = (after, before) if arrow.back else (before, after)
    return f"{start} -->|{_written(arrow.lines)}| {end}"


def _written(lines: Iterable[str]) -> str:
    return '"' + "<br/>".join(map(_coded, lines)) + '"'
