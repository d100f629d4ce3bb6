"""A folder in memory, where there is such a place: waiting for a disk is most of the time of many tests."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

MEMORY: Final = Path("/dev/shm")  # noqa: S108 - shared memory of Linux; each use makes a folder of its own in it
ENOUGH: Final = 4 * 2**30
"""Bytes that must be free in it: containers often have 64 MB."""


@contextmanager
def quick_folder() -> Iterator[Path]:
    """Make a folder in memory where there is room for it, else on disk; it goes with the block."""
    with tempfile.TemporaryDirectory(prefix="remit-test-", dir=MEMORY if _has_room() else None) as folder:
        yield Path(folder)


def _has_room() -> bool:
    return os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ENOUGH
