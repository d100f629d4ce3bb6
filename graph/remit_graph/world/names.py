"""Readable ids for edges whose short form has none: `acts_as:instance:seo-agent-7>role:seo-agent`.

The id follows from the edge's type and ends alone, so that the same line of a file is the same edge for ever. Where
that would break the rules of an id, a digest of the same parts stands in for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.errors import ModelError
from remit_graph.model.change import digest_parts
from remit_graph.model.key import check_name

if TYPE_CHECKING:
    from remit_graph.model.edge import EdgeType

_DIGITS = 24
"""Hexadecimal digits of a digest, 96 bits: no two edges of one realm meet by chance."""


def edge_id_of(edge: EdgeType, from_: str, to: str) -> str:
    """Return the id of an edge that was written without one."""
    prefix = edge.value.lower()
    readable = f"{prefix}:{from_}>{to}"
    try:
        return check_name(readable)
    except ModelError:
        return f"{prefix}:{digest_parts([from_, to])[:_DIGITS]}"
