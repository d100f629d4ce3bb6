"""What may be wrong with a backup file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.errors import GraphError

if TYPE_CHECKING:
    from pathlib import Path


class BackupRefused(GraphError):
    """The file is no backup, is cut short, or is not what was written; nothing was changed."""

    code = "backup_refused"

    def __init__(self, path: Path, why: str, *, advice: str = "take another backup; nothing was changed") -> None:
        """Say what is wrong with the file at `path`."""
        super().__init__(f"`{path}` {why}", advice=advice, path=str(path))
