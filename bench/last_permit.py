"""From the acknowledgement of a revocation to the last permit that rests on it, here and on a second decision point.

Two decision points are processes of their own on one store. One of them is asked without a pause, over its own
connection, while the other revokes. What counts is how long after the answer to the revocation a question could still be
asked that was permitted: a permit that was under way already when the revocation was answered is no later answer.
"""

from __future__ import annotations

import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Final

from bench.report import Row, percentiles, tell
from bench.stores import name_of, neo4j
from tests.support.process import wait_until
from tests.support.replicas import ServedReplica, sqlite_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.neo4j import Neo4jOptions

WARM_UP: Final = 10
GIVE_UP_SECONDS: Final = 30.0


def rows(rounds: int, *, with_neo4j: bool = True) -> list[Row]:
    """Measure the embedded store and, where there is one, Neo4j."""
    found = _on(None, rounds)
    if with_neo4j:
        with neo4j() as options:
            if options is not None:
                found += _on(options, rounds)
    return found


def _on(options: Neo4jOptions | None, rounds: int) -> list[Row]:
    tell(f"revocations, {name_of(options)}")
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as folder, ExitStack() as ends:
        store = _settings(options, Path(folder))
        revoking, other = (ServedReplica(name, store, Path(folder)) for name in ("one", "two"))
        for each in (revoking, other):
            ends.callback(each.stop)
            each.start()
        same = _measured(revoking, revoking, rounds)
        elsewhere = _measured(revoking, other, rounds)
    return [
        Row(f"revocation to last permit, same process, {name_of(options)}", "0", None, percentiles(same)),
        Row(
            f"revocation to last permit, another replica, {name_of(options)}",
            "p99 <= 100 ms",
            None,
            percentiles(elsewhere),
        ),
    ]


def _settings(options: Neo4jOptions | None, folder: Path) -> Mapping[str, str]:
    if options is None:
        return sqlite_settings(folder)
    store = options.url.replace("://", f"://{options.user}@")
    return {"REMIT_STORE": store, "REMIT_STORE_PASSWORD": options.password}


def _measured(revoking: ServedReplica, asked: ServedReplica, rounds: int) -> list[float]:
    """Return the microseconds of each round, 0 where no permit came after the acknowledgement."""
    found = [_round(revoking, asked) for _ in range(WARM_UP + rounds)]
    return found[WARM_UP:]


def _round(revoking: ServedReplica, asked: ServedReplica) -> float:
    asked_at: list[float] = []
    denied, begun = threading.Event(), threading.Event()

    def ask() -> None:
        until = monotonic() + GIVE_UP_SECONDS
        while monotonic() < until:
            before = perf_counter()
            codes = asked.codes()
            if "subject_disabled" in codes:
                denied.set()
                return
            # A busy machine may make a view stale for a moment: that is no permit, and no revocation.
            if not codes:
                asked_at.append(before)
                begun.set()

    # What the round before enabled may have to reach this one yet.
    wait_until(lambda: not asked.codes(), within_seconds=GIVE_UP_SECONDS)
    thread = threading.Thread(target=ask)
    thread.start()
    if not begun.wait(GIVE_UP_SECONDS):
        raise AssertionError(f"`{asked.name}` permits nothing for {GIVE_UP_SECONDS} s")
    revoking.disable(disabled=True)
    acknowledged = perf_counter()
    thread.join()
    if not denied.is_set():
        raise AssertionError(f"`{asked.name}` permits {GIVE_UP_SECONDS} s after the revocation")
    revoking.disable(disabled=False)
    return max(0.0, asked_at[-1] - acknowledged) * 1e6
