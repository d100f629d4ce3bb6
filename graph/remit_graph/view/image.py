"""The image of a view: the whole state at one revision as compact bytes, the same bytes for the same state.

An image is what a checkpoint holds, so that a start need not read the ledger from its first row on. It says the state
as the shortest history that leads there: one `put` for each thing that is there now, the edges as rows, then what
outlives its cause (fencing tokens, superseded versions, who wrote last). What is only looked up is made anew.

    blob = pack(view)
    assert pack(unpack(blob)) == blob

Lines of canonical JSON, `[section, content]`, through zlib. Ended versions of edges are in it as long as a near miss
may name them (`HISTORY_KEPT`); of what ended longer ago stay the last version, whose number must not be given again,
and every OWNS, whose epoch must not.

It is deterministic and not signed: a checkpoint counts because its digest stands in the hash chain.
"""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any, Final

from remit_graph.errors import ModelError
from remit_graph.model.change import Change
from remit_graph.view.image_edges import ScopesIn, edge_of
from remit_graph.view.image_read import Restoring
from remit_graph.view.image_write import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_graph.model.edge import Edge
    from remit_graph.view.state import View

LEVEL: Final = 3
"""Of zlib: rows repeat themselves, so a higher one takes far longer for little."""

_PIECE: Final = 1 << 18


def compressor() -> zlib._Compress:
    """Return what makes the bytes of an image from its lines."""
    return zlib.compressobj(LEVEL)


def pack(view: View) -> bytes:
    """Return the image of `view`."""
    stream = compressor()
    pieces = [stream.compress(line) for line in Snapshot(view).lines()]
    return b"".join([*pieces, stream.flush()])


def lines_of(blob: bytes) -> Iterator[bytes]:
    """Yield the lines of an image as they are decompressed.

    Raises:
        ModelError: these are not the bytes of an image.
    """
    stream = zlib.decompressobj()
    rest = b""
    try:
        for start in range(0, len(blob), _PIECE):
            *lines, rest = (rest + stream.decompress(blob[start : start + _PIECE])).split(b"\n")
            yield from lines
    except zlib.error as error:
        raise ModelError(f"the image cannot be decompressed: {error}") from error
    if rest or not stream.eof:
        raise ModelError("the image ends in the middle")


def puts_of(blob: bytes) -> Iterator[Change]:
    """Yield what an image holds beside edges, as the changes that put it.

    Raises:
        ModelError: these are not the bytes of an image.
    """
    for section, content in _sections(blob):
        if section == "changes":
            yield from (Change(kind, body) for kind, body in content)


def edges_of(blob: bytes) -> Iterator[list[Edge]]:
    """Yield the versions of edges that an image holds, some at a time: the current ones, then those that ended.

    Raises:
        ModelError: these are not the bytes of an image.
    """
    scopes = ScopesIn()
    for section, content in _sections(blob):
        if section == "scopes":
            scopes.learn(content)
        elif section in ("edges", "history"):
            yield [edge_of(row, scopes) for row in content]


def _sections(blob: bytes) -> Iterator[tuple[str, Any]]:
    for line in lines_of(blob):
        try:
            section, content = json.loads(line)
        except ValueError as error:
            raise ModelError(f"a line of the image cannot be read: {error}") from error
        yield section, content


def unpack(blob: bytes) -> View:
    """Return the view that an image was made of.

    Raises:
        ModelError: these are not the bytes of an image, or of one in another form.
    """
    restoring = Restoring()
    for line in lines_of(blob):
        restoring.feed(line)
    return restoring.view()
