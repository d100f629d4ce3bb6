"""The hash chain of one stream of records.

A record is a JSON object; its line is the same object with `chain` as its last member. The hash runs over the bytes of
the object as they are stored, preceded by the hash before, the stream and the number, so nobody has to write JSON
again to verify it, and a line cannot be moved to another place or another stream.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from remit_service.evidence.decision_log.errors import StreamBroken

if TYPE_CHECKING:
    from collections.abc import Iterable

GENESIS: Final = "0" * 64
"""The hash before the first record."""

_TAIL: Final = b',"chain":{"stream":"'


@dataclass(frozen=True, slots=True)
class Link:
    """Where a stream stands: its name, the number of its last record, and that record's hash."""

    stream: str
    seq: int
    hash: str


class _Chain(msgspec.Struct, frozen=True):
    stream: str
    seq: int
    previous: str
    hash: str


class _Line(msgspec.Struct, frozen=True):
    chain: _Chain


_decode = msgspec.json.Decoder(_Line).decode


def append(link: Link, record: bytes) -> tuple[Link, bytes]:
    """Return the next link, and the line of `record`, which is a JSON object with at least one member."""
    seq = link.seq + 1
    found = _hash(link.hash, link.stream, seq, record)
    tail = f'{link.stream}","seq":{seq},"previous":"{link.hash}","hash":"{found}"}}}}\n'
    return Link(link.stream, seq, found), record[:-1] + _TAIL + tail.encode()


def _hash(previous: str, stream: str, seq: int, record: bytes) -> str:
    sha = hashlib.sha256(bytes.fromhex(previous))
    sha.update(f"{stream}\n{seq}\n".encode())
    sha.update(record)
    return sha.hexdigest()


def read_line(line: bytes) -> tuple[Link, str, bytes]:
    """Return where a line stands, the hash it follows, and its record.

    Raises:
        StreamBroken: it is no line of a stream.
    """
    text = line.rstrip(b"\n")
    try:
        chain = _decode(text).chain
    except msgspec.MsgspecError as error:
        raise StreamBroken(f"a line is no record: {error}") from error
    return Link(chain.stream, chain.seq, chain.hash), chain.previous, text[: text.rfind(_TAIL)] + b"}"


def verify(lines: Iterable[bytes], *, after: Link | None = None) -> Link | None:
    """Check that each line follows the one before it, and return where the stream ends.

    Args:
        lines: In order; of one stream.
        after: Where the stream stood before the first line, or None where that is not known.

    Raises:
        StreamBroken: at the first line that does not follow; `facts` hold its number and both hashes.
    """
    for line in lines:
        link, previous, record = read_line(line)
        expected = _hash(previous, link.stream, link.seq, record)
        follows = after is None or (link.stream, link.seq, previous) == (after.stream, after.seq + 1, after.hash)
        if not follows or expected != link.hash:
            raise StreamBroken(
                f"stream `{link.stream}` breaks at record {link.seq}",
                seq=link.seq,
                expected=expected,
                stored=link.hash,
                previous=after.hash if after is not None else previous,
            )
        after = link
    return after
