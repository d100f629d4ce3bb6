"""Whether the table of edges tells what is of before the base as the image there does; the rows that did are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from remit_graph.sqlite.statements import STATEMENTS
from remit_graph.view.image import edges_of

if TYPE_CHECKING:
    import sqlite3

    from remit_graph.stored import Checkpoint

MOST: Final = 10
"""Edges that are named."""


def edges_unlike_the_image(connection: sqlite3.Connection, image: Checkpoint) -> list[str]:
    """Return what is wrong, one sentence an edge; what ended long before the base, the image need not hold.

    Raises:
        ModelError: it is no image.
    """
    told = {
        (each.edge_id, each.version): (each.revision_from, each.revision_to)
        for some in edges_of(image.blob)
        for each in some
    }
    unlike: list[tuple[str, int]] = []
    for edge_id, version, *span in connection.execute(STATEMENTS["edges_at_the_base"], {"base": image.revision}):
        expected = told.pop((edge_id, version), None)
        if expected != tuple(span) and not (expected is None and span[1] is not None):
            unlike.append((edge_id, version))
    return [
        f"the table of edges tells `{edge_id}@{version}` otherwise than the image of revision {image.revision}"
        for edge_id, version in sorted([*unlike, *told])[:MOST]
    ]
