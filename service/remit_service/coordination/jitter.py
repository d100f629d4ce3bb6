"""Spread without chance: the same caller, key and revision give the same instant, different ones different instants."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant


def spread(earliest: Instant, width_us: int, *parts: str) -> Instant:
    """Return an instant in the `width_us` after `earliest`, chosen by `parts` alone."""
    digest = hashlib.blake2b("\x1f".join(parts).encode(), digest_size=8).digest()
    return earliest + int.from_bytes(digest, "big") % max(width_us, 1)
