"""What a ledger keeps beside the rows of its log, as it goes from one store into another: answers and checkpoints."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remit_graph.model.change import Row
    from remit_graph.model.instant import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResult:
    """What a request id was answered with, and for which body.

    Attributes:
        keep_until: When it goes, microseconds UTC, if its row was removed and it does not stay; `remains` alone tells.
    """

    request_id: str
    fingerprint: str | None
    revision: int
    result: str
    keep_until: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrote:
    """That a receipt was written in a revision that was removed."""

    receipt_id: str
    revision: int


Remains = StoredResult | Wrote
"""What outlives the rows that it came with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A revision as it stands in a ledger, to be put into another one byte for byte."""

    rows: tuple[Row, ...]
    answer: StoredResult | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A compact image of the whole state at one revision.

    Attributes:
        revision: The revision it stands for.
        hash: Hash of that revision's last row.
        digest: SHA-256 of `blob`, lower-case hex; also written into the chain as an `anchor` row.
        blob: The image, compressed by whoever made it.
    """

    revision: int
    hash: str
    digest: str
    blob: bytes

    @property
    def is_intact(self) -> bool:
        """Whether the image has the digest that it names."""
        return sha256(self.blob).hexdigest() == self.digest


def request_in(row: Row) -> tuple[str, str | None] | None:
    """Return request id and fingerprint in the row of a command."""
    if '"request_id"' not in row.body:
        return None
    document = json.loads(row.body)
    request_id: str | None = document.get("request_id")
    return None if request_id is None else (request_id, document.get("fingerprint"))
