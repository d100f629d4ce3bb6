"""A new file for its owner alone, which appears whole or not at all and takes nobody's place: keys are kept in such.

Whatever hinders it is found out before `private_file` yields; once its text is written, the file is there, whole.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@contextmanager
def private_file(path: Path) -> Iterator[Callable[[str], None]]:
    """Yield what writes the whole text of a new file, once; without a call of it nothing is left behind.

    Raises:
        FileExistsError: something is there already, be it a link that leads nowhere; also when it came meanwhile.
        OSError: the folder is missing or takes no file, or the disk is full.
    """
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, "it is there already, and is never overwritten", str(path))
    # Another name each time: what a process that was killed left behind must not be in the way of a later one.
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR)

    def write(text: str) -> None:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
        os.link(part, path)

    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            yield write
    finally:
        part.unlink()
