"""How much a policy may hold; checked while reading, so that a small archive cannot unpack to a large one (F052)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from remit_service.bundle.errors import BundleRefused, Problem

MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one policy. The shipped one has about 0.2 MiB in fewer than a hundred files."""

    unpacked_bytes: int = 64 * MIB
    """OPA needs about twenty times as much memory as a bundle has bytes."""
    archive_bytes: int = 64 * MIB
    files: int = 4096
    path_characters: int = 512

    def refuse_more_bytes(self, path: str, total: int) -> None:
        """Refuse a policy that has reached `total` bytes with the file at `path`."""
        if total > self.unpacked_bytes:
            raise BundleRefused(Problem(path, 0, f"the policy has more than {self.unpacked_bytes} bytes unpacked"))

    def refuse_more_files(self, path: str, count: int) -> None:
        """Refuse a policy that has reached `count` files with the one at `path`."""
        if count > self.files:
            raise BundleRefused(Problem(path, 0, f"the policy has more than {self.files} files"))


STANDARD: Final = Limits()
