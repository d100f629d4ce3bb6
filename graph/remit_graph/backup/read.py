"""Reads a backup and believes nothing: its lines, its hash chain, its counts and its end are checked on the way.

with BackupReader(path) as backup:
    backup.header
    backup.image()    # where history was cut: the state that it begins with, then what outlived it
    for each in backup.remains():
        ...
    for stored in backup.revisions():
        ...
    backup.end        # set when the last line was read, and everything fitted
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from remit_graph.backup.errors import BackupRefused
from remit_graph.backup.form import (
    ANSWER,
    IMAGE,
    KEPT,
    ROW,
    WROTE,
    End,
    Header,
    parse_answer,
    parse_end,
    parse_header,
    parse_image,
    parse_remains,
    parse_row,
    request_of,
)
from remit_graph.errors import ChainBroken, ModelError
from remit_graph.model.change import Row, verify_rows
from remit_graph.stored import Checkpoint, Stored, StoredResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from remit_graph.stored import Remains

MAX_LINE: Final = 64 << 20
"""Bytes of one line: a row is 64 KiB at most where Remit writes it, and a file may hold anything."""


MALFORMED: Final = "holds a line that is not well formed"

_NO_TEXT: Final = (ValueError, RecursionError)
"""What is raised for what no ledger has ever held: no UTF-8, no JSON, no hash, lone surrogates, a thousand brackets."""

T = TypeVar("T")


class BackupReader:
    """One backup file, read once from its beginning to its end. Its methods block.

    Attributes:
        header: What it is of.
        end: What it ends with; None before the last line was read.
    """

    def __init__(self, path: Path) -> None:
        """Open the file and read what it is of.

        Raises:
            BackupRefused: it is missing, or no backup.
        """
        self._path = path
        try:
            self._file = gzip.GzipFile(path, "rb")
        except OSError as error:
            raise BackupRefused(path, f"cannot be read: {error.strerror}", advice="name a backup file") from error
        self._sha = hashlib.sha256()
        self._latest = b""
        self._next: Any = None
        self._revisions = self._rows = self._answers = 0
        self.end: End | None = None
        try:
            self.header = self._read_header()
        except BaseException:
            self._file.close()
            raise
        self._hash = self.header.base.hash

    def __enter__(self) -> Self:
        """Return the reader."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    def image(self) -> Checkpoint | None:
        """Return the state that the rows begin with, or None where they begin with the first one; before the rest.

        Raises:
            BackupRefused: it is not that of the base.
        """
        base, parts = self.header.base, []
        if base.is_whole:
            return None
        while self._peek()[:1] == [IMAGE]:
            parts.append(self._parsed(parse_image, self._take()))
        checkpoint = Checkpoint(revision=base.revision, hash=base.hash, digest=base.digest, blob=b"".join(parts))
        if hashlib.sha256(checkpoint.blob).hexdigest() != base.digest:
            raise BackupRefused(self._path, "was altered: the state it begins with does not have its digest")
        return checkpoint

    def remains(self) -> Iterator[Remains]:
        """Yield what is left of removed revisions; after the image and before the revisions.

        Raises:
            BackupRefused: something does not fit.
        """
        while self._peek()[:1] in ([KEPT], [WROTE]):
            yield self._parsed(parse_remains, self._take())

    def _peek(self) -> list[Any]:
        """Return the next line without taking it; an empty list where it is no row of any kind."""
        if self._next is None:
            self._next = next(self._documents(), None)
        return self._next if isinstance(self._next, list) else []

    def _take(self) -> Any:
        taken, self._next = self._next, None
        return taken

    def _all(self) -> Iterator[Any]:
        if self._next is not None:
            yield self._take()
        yield from self._documents()

    def revisions(self) -> Iterator[Stored]:
        """Yield every revision, each whole and following the one before it; the end is checked with the last.

        Raises:
            BackupRefused: something does not fit; what was yielded before did.
        """
        rows: list[Row] = []
        answer: StoredResult | None = None
        for document in self._all():
            if rows and (isinstance(document, dict) or (document[:1] == [ROW] and document[1:2] != [rows[0].revision])):
                yield self._whole(rows, answer)
                rows, answer = [], None
            if isinstance(document, dict):
                self._check_end(document)
                return
            if document[:1] == [ROW] and answer is None:
                rows.append(self._parsed(parse_row, document, len(rows)))
            elif document[:1] == [ANSWER] and rows and answer is None:
                answer = self._parsed(parse_answer, document, rows[0].revision)
            else:
                raise BackupRefused(self._path, MALFORMED)
        raise BackupRefused(self._path, f"is cut short after revision {self._reached}")

    def _whole(self, rows: list[Row], answer: StoredResult | None) -> Stored:
        """Return a revision that follows the one before it, with the answer that its command must have."""
        try:
            self._hash = verify_rows(rows, previous=self._hash, after=self._reached)
        except ChainBroken as error:
            raise BackupRefused(self._path, f"was altered: {error.message}") from error
        except _NO_TEXT as error:
            raise BackupRefused(self._path, MALFORMED) from error
        stored = Stored(rows=tuple(rows), answer=answer)
        if request_of(stored) != (None if answer is None else (answer.request_id, answer.fingerprint)):
            raise BackupRefused(self._path, f"was altered: revision {rows[0].revision} has another answer")
        self._revisions += 1
        self._rows += len(rows)
        self._answers += answer is not None
        return stored

    @property
    def _reached(self) -> int:
        return self.header.base.revision + self._revisions

    def _check_end(self, document: dict[str, Any]) -> None:
        # The digest is of all lines before this one, which is the latest that was read.
        digest = self._sha.hexdigest()
        end = self._parsed(parse_end, document)
        if (end.revisions, end.rows, end.answers) != (self._revisions, self._rows, self._answers):
            raise BackupRefused(self._path, "was altered: it does not hold as much as its last line says")
        if (self._reached, self._hash) != (self.header.revision, self.header.hash):
            raise BackupRefused(
                self._path,
                f"ends at revision {self._reached} with hash `{self._hash}`, "
                f"its first line says {self.header.revision} and `{self.header.hash}`",
            )
        if end.digest != digest:
            raise BackupRefused(self._path, "was altered: its lines do not have the digest that its last one says")
        if next(self._documents(), None) is not None:
            raise BackupRefused(self._path, "goes on after its end")
        self.end = end

    def _read_header(self) -> Header:
        document = next(self._documents(), None)
        header = self._parsed(parse_header, document)
        if header is None:
            raise BackupRefused(
                self._path, "is no backup of Remit", advice="name a file that `remit store backup` has written"
            )
        return header

    def _documents(self) -> Iterator[Any]:
        """Yield the lines as documents: a list is a row or an answer, an object the beginning or the end."""
        while line := self._line():
            self._sha.update(self._latest)
            self._latest = line
            try:
                document = json.loads(line)
            except _NO_TEXT as error:
                what = "is cut short" if line[-1:] != b"\n" else MALFORMED
                raise BackupRefused(self._path, what) from error
            if not isinstance(document, dict | list):
                raise BackupRefused(self._path, MALFORMED)
            yield document

    def _line(self) -> bytes:
        try:
            line = self._file.readline(MAX_LINE)
        except EOFError as error:
            raise BackupRefused(self._path, "is cut short: it ends in the middle") from error
        except gzip.BadGzipFile as error:
            raise BackupRefused(
                self._path, f"is no backup of Remit, or was altered: {error}",
                advice="name a file that `remit store backup` has written; nothing was changed",
            ) from error  # fmt: skip
        except zlib.error as error:
            raise BackupRefused(self._path, f"was altered: {error}") from error
        except OSError as error:
            raise BackupRefused(self._path, f"cannot be read: {error.strerror or error}") from error
        if len(line) >= MAX_LINE:
            raise BackupRefused(self._path, f"holds a line of more than {MAX_LINE >> 20} MiB")
        return line

    def _parsed(self, parse: Callable[..., T], *arguments: Any) -> T:
        try:
            return parse(*arguments)
        except ModelError as error:
            raise BackupRefused(self._path, error.message) from error
