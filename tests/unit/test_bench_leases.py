"""The benchmarks of leases run, and say what they measured: the smallest of each."""

from __future__ import annotations

from bench import fairness, leases


def test_the_rows_of_leases() -> None:
    """Every pair and every hand-off is counted, and none of them was refused."""
    distinct, hot = leases.rows(64, 16, with_neo4j=False)

    assert (distinct.per_second or 0) > 0
    assert (hot.per_second or 0) > 0
    assert set(hot.latency_us) == {"p50", "p95", "p99", "p99.9", "max"}


def test_the_rows_of_fairness() -> None:
    """The order of a queue is kept around its dead, and low priority is served."""
    queue, low = fairness.rows(12, 1)

    assert set(queue.facts) == {"granted in the order of their coming", "hand-offs per CPU second"}
    assert queue.facts["granted in the order of their coming"] == 7
    assert queue.facts["hand-offs per CPU second"] > 0
    assert low.facts["turns of the stream"] > 0
