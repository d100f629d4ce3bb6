"""JSON lines on disk: one stream, in files that are begun anew when they are full.

- A stream belongs to one process at a time (a lock on a file beside it); another process with the same name takes the
  next free one, `remit-2`.
- A batch is one write. If it fails half way, what was written of it is cut off again; a record torn by a crash is cut
  off at the next start, and counted.
- Files are named for their first record, so that a folder is in order by name: `remit-000000000001.jsonl`.
"""

from __future__ import annotations

import asyncio
import fcntl
import mmap
import os
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from remit_service.evidence.decision_log.chain import GENESIS, Link, read_line
from remit_service.evidence.decision_log.errors import SinkUnavailable, StreamBroken

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

MAX_STREAMS: Final = 256
"""Processes of one name in one folder."""

MAX_SEARCHED_BYTES: Final = 1 << 30
"""How far back a record is looked for; further back is a matter for tools, not for a web page."""

_FILE: Final = re.compile(r"(?P<stream>.+)-\d{12}\.jsonl\Z")


class FileSink:
    """Writes one stream of `folder`."""

    def __init__(self, folder: Path, name: str, max_bytes: int) -> None:
        """Write files of about `max_bytes`; the stream is called `name`, or the next free name."""
        self._folder = folder
        self._name = name
        self._max_bytes = max_bytes
        self._link = Link(name, 0, GENESIS)
        self._lock = -1
        self._file = -1
        self._size = 0
        # One thread: writes follow each other, and a slow disk holds up nothing but them.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="remit-decision-log")

    async def _in_thread(self, work: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)
        except OSError as error:
            raise SinkUnavailable(f"`{self._folder}`: {error.strerror or error}") from error

    async def open(self) -> tuple[Link, int]:
        """Take a free stream and continue it."""
        torn: int = await self._in_thread(self._open)
        return self._link, torn

    def _open(self) -> int:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        stream = self._take_stream()
        self._link = Link(stream, 0, GENESIS)
        files = self._files(stream)
        if not files:
            self._begin()
            return 0
        torn = 0
        for path in reversed(files):
            # An empty newest file follows a crash between its making and its first record.
            end, dropped = _last_line(path)
            torn += dropped
            if end is not None:
                self._link = end
                break
        self._file = os.open(files[-1], os.O_RDWR | os.O_APPEND)
        self._size = os.fstat(self._file).st_size
        return torn

    def _take_stream(self) -> str:
        for number in range(1, MAX_STREAMS + 1):
            stream = self._name if number == 1 else f"{self._name}-{number}"
            lock = os.open(self._folder / f"{stream}.lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                continue
            self._lock = lock
            return stream
        raise SinkUnavailable(f"`{self._folder}` holds {MAX_STREAMS} streams called `{self._name}`, all of them taken")

    def _files(self, stream: str | None = None) -> list[Path]:
        found = ((path, _FILE.match(path.name)) for path in self._folder.glob("*.jsonl"))
        return sorted(path for path, match in found if match and stream in (None, match["stream"]))

    def _begin(self) -> None:
        path = self._folder / f"{self._link.stream}-{self._link.seq + 1:012d}.jsonl"
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        if self._file >= 0:
            os.close(self._file)
        self._file, self._size = file, 0

    async def write(self, lines: Sequence[bytes], *, durably: bool) -> None:
        """Append `lines` as one write."""
        await self._in_thread(self._write, lines, durably)

    def _write(self, lines: Sequence[bytes], durably: bool) -> None:  # noqa: FBT001 - called through a thread pool
        if self._size >= self._max_bytes:
            self._begin()
        data = b"".join(lines)
        try:
            written = 0
            while written < len(data):
                written += os.write(self._file, data[written:])
            if durably:
                os.fdatasync(self._file)
        except OSError:
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(data)
        self._link, _, _ = read_line(lines[-1])

    async def find(self, needle: bytes) -> bytes | None:
        """Look through every stream of the folder, the newest files first."""
        return await asyncio.to_thread(self._find, needle)

    def _find(self, needle: bytes) -> bytes | None:
        left = MAX_SEARCHED_BYTES
        for path in sorted(self._files(), key=lambda each: each.stat().st_mtime_ns, reverse=True):
            found = _find_line(path, needle)
            left -= path.stat().st_size
            if found is not None or left <= 0:
                return found
        return None

    async def close(self) -> None:
        """Close the files and let the stream go."""
        await self._in_thread(self._close)
        self._thread.shutdown(wait=False)

    def _close(self) -> None:
        for descriptor in (self._file, self._lock):
            if descriptor >= 0:
                os.close(descriptor)
        self._file = self._lock = -1


def _last_line(path: Path) -> tuple[Link | None, int]:
    """Return where a file ends, cutting off a record without its end, and how many bytes that were."""
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        if size == 0:
            return None, 0
        with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as content:
            whole = content.rfind(b"\n") + 1
            start = content.rfind(b"\n", 0, max(whole - 1, 0)) + 1
            line = content[start:whole]
        if whole < size:
            file.truncate(whole)
    if not line:
        return None, size - whole
    try:
        return read_line(line)[0], size - whole
    except StreamBroken as error:
        raise SinkUnavailable(
            f"`{path}` does not end with a record, so nothing may follow it: {error.message}"
        ) from error


def _find_line(path: Path, needle: bytes) -> bytes | None:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size == 0:
            return None
        with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as content:
            place = content.rfind(needle)
            if place < 0:
                return None
            start, end = content.rfind(b"\n", 0, place) + 1, content.find(b"\n", place)
            return content[start : end if end >= 0 else size]
