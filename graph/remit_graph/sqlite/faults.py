"""What SQLite reports, in the words of the ledger port: no exception of `sqlite3` leaves this package.

Each fault names the file and says what to do next. Which fault it is comes from SQLite's result code; where the code
says only "cannot open", the file system is asked why.
"""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING, Final, NamedTuple

from remit_graph.errors import ForeignStore, LedgerError, LedgerUnavailable, OutcomeUnknown

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class _Fault(NamedTuple):
    error: type[LedgerError]
    sentence: str
    advice: str


_LOCKED: Final = _Fault(
    LedgerUnavailable,
    "is locked by another process",
    "end whatever holds a transaction on the file open, such as an sqlite3 shell, or wait",
)
_BROKEN: Final = _Fault(
    LedgerUnavailable,
    "is damaged",
    "stop every process that uses it, keep the file and its -wal, and restore from a backup with `remit store restore`",
)
_FAULTS: Final[Mapping[int, _Fault]] = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_PROTOCOL: _LOCKED,
    sqlite3.SQLITE_READONLY: _Fault(
        LedgerUnavailable,
        "cannot be written",
        "give this process write permission on the file and its folder",
    ),
    sqlite3.SQLITE_FULL: _Fault(
        LedgerUnavailable,
        "cannot grow: the disk is full",
        "free space on its disk; nothing was appended, and writing goes on by itself",
    ),
    sqlite3.SQLITE_IOERR: _Fault(
        LedgerUnavailable,
        "could not be read or written",
        "look for disk errors and quotas in the system's log",
    ),
    sqlite3.SQLITE_NOTADB: _Fault(
        ForeignStore,
        "is not a SQLite file",
        "name another file, or make a ledger with `remit store init`",
    ),
    sqlite3.SQLITE_CORRUPT: _BROKEN,
}
_PRIMARY: Final = 0xFF
"""The low byte of an extended result code is the primary one."""


def translate(error: sqlite3.Error, path: Path) -> LedgerError:
    """Return what `error`, met on `path`, is called at the port."""
    code = _code(error)
    if code == sqlite3.SQLITE_CANTOPEN:
        return cannot_open(path)
    fault = _FAULTS.get(code)
    if fault is None:
        return LedgerUnavailable(f"`{path}` failed: {error}", advice="this is not expected: please report it")
    return fault.error(f"`{path}` {fault.sentence}: {error}", advice=fault.advice, path=str(path))


def cannot_open(path: Path) -> LedgerUnavailable:
    """Say why a file cannot be opened, by asking the file system."""
    if not path.parent.is_dir():
        return LedgerUnavailable(f"there is no folder `{path.parent}`", advice="make the folder first", path=str(path))
    if not path.exists():
        return LedgerUnavailable(
            f"there is no ledger at `{path}`", advice="make one with `remit store init`", path=str(path)
        )
    if path.is_dir():
        return LedgerUnavailable(f"`{path}` is a folder", advice="name a file in it", path=str(path))
    writable = os.access(path, os.R_OK | os.W_OK) and os.access(path.parent, os.R_OK | os.W_OK | os.X_OK)
    reason = "SQLite cannot open it" if writable else "this process has no permission to read and write there"
    return LedgerUnavailable(
        f"`{path}` cannot be opened: {reason}",
        advice="SQLite keeps a -wal and a -shm file beside it: check the permissions of file and folder, and quotas",
        path=str(path),
    )


def commit_failed(error: sqlite3.Error, path: Path) -> LedgerError:
    """Return what a failed commit is called: unknown where the bytes may have reached the disk."""
    if _code(error) != sqlite3.SQLITE_IOERR:
        return translate(error, path)
    return OutcomeUnknown(
        f"`{path}` failed while committing: {error}",
        advice="look the request ids up; then look for disk errors in the system's log",
        path=str(path),
    )


def _code(error: sqlite3.Error) -> int:
    # `sqlite3` raises some errors of its own, which carry no code.
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & _PRIMARY
