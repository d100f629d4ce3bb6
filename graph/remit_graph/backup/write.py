"""Writes a backup: to a temporary name beside it, synced, then renamed. So a file of its name is whole."""

from __future__ import annotations

import gzip
import hashlib
import os
import secrets
from typing import TYPE_CHECKING, Final, Self

from remit_graph.backup.form import End, end_line, header_line, image_lines, lines_of, remains_line

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from types import TracebackType

    from remit_graph.backup.form import Header
    from remit_graph.stored import Remains, Stored

LEVEL: Final = 3
"""Of gzip: rows repeat themselves, so a higher one takes far longer for little."""

# What a ledger tells is for its operator.
_MODE: Final = 0o600


class BackupWriter:
    """One backup on its way to a file; what is not finished is removed. Its methods block.

    Attributes:
        size: Bytes of the file, once it is finished.
    """

    def __init__(self, path: Path, header: Header) -> None:
        """Begin beside `path`.

        Raises:
            OSError: the folder is missing, full, or may not be written.
        """
        self._path = path.absolute()
        self._part = self._path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        self._file = os.fdopen(os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE), "wb")
        self._stream = gzip.GzipFile("", "wb", LEVEL, self._file, mtime=0)
        self._sha = hashlib.sha256()
        self.size = 0
        self._revisions = self._rows = self._answers = 0
        self._write(header_line(header))

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Remove what was not finished."""
        self._file.close()
        self._part.unlink(missing_ok=True)

    def begin(self, image: bytes) -> None:
        """Write the image that the ledger begins with; before all revisions."""
        for line in image_lines(image):
            self._write(line)

    def keep(self, remains: Iterable[Remains]) -> None:
        """Write what is left of removed revisions; before all revisions."""
        self._write(b"".join(map(remains_line, remains)))

    def add(self, revisions: Iterable[Stored]) -> None:
        """Write revisions, which follow those before."""
        for each in revisions:
            self._write(b"".join(lines_of(each)))
            self._revisions += 1
            self._rows += len(each.rows)
            self._answers += each.answer is not None

    def finish(self, state: str) -> End:
        """Write the end, sync, and give the file its name: from here on it is there, and whole.

        Raises:
            OSError: the disk is full; nothing is there under the name.
        """
        end = End(
            revisions=self._revisions,
            rows=self._rows,
            answers=self._answers,
            state=state,
            digest=self._sha.hexdigest(),
        )
        self._write(end_line(end))
        self._stream.close()
        self._file.flush()
        self.size = self._file.tell()
        os.fsync(self._file.fileno())
        self._part.replace(self._path)
        _sync_folder(self._path.parent)
        return end

    def _write(self, line: bytes) -> None:
        self._sha.update(line)
        self._stream.write(line)


def _sync_folder(folder: Path) -> None:
    """Let the name outlive a loss of power too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
