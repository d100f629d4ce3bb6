"""What may be set about an embedded ledger."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from remit_graph.sharing import TURN

if TYPE_CHECKING:
    from collections.abc import Callable

    from remit_graph.model.instant import Instant


def system_clock() -> Instant:
    """Return the clock of this host, microseconds UTC."""
    return time.time_ns() // 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteOptions:
    """How an embedded ledger behaves; the file itself knows nothing of it.

    Attributes:
        clock: The store's clock. Every process on the file runs on one host, so its clock is theirs.
        max_clock_skew: How far ahead of the store's clock an `at` may be.
        busy_timeout: How long a write waits for another process before it is refused.
        poll_interval: How often `watch` looks for the commits of other processes; the most it adds to their latency.
        turn: How long a turn to append lasts that this process takes or hands on.
        readers: Threads, each with a connection, that answer reads.
    """

    clock: Callable[[], Instant] = system_clock
    max_clock_skew: timedelta = timedelta(seconds=2)
    busy_timeout: timedelta = timedelta(seconds=5)
    poll_interval: timedelta = timedelta(milliseconds=15)
    turn: timedelta = TURN
    readers: int = 4
