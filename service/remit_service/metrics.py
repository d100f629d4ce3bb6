"""Metrics in Prometheus' form, under the names of reference/metrics.md. No id of a subject or resource is a label.

One registry for each process and decision point, none that is global: tests and embedded points do not share counts.
What is a state, not an event (revision, epochs, staleness, lost records), is read when somebody asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, InfoMetricFamily
from prometheus_client.registry import Collector

from remit_service.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from prometheus_client.metrics_core import Metric

    from remit_service.decision.decision import Decision

CONTENT_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"
DECISION_BUCKETS: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
HTTP_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
POLICY_DIGITS: Final = 16
"""Enough of a bundle's digest to tell the few apart that one process has had."""

DEPTH_BUCKETS: Final = (0, 1, 2, 3, 4, 5, 8, 12, 16)
BATCH_BUCKETS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)

DEPENDENCIES: Final[Mapping[str, str]] = {
    "engine_unavailable": "engine",
    "engine_timeout": "engine",
    "result_undefined": "policy",
    "result_malformed": "policy",
    "policy_error": "policy",
    "policy_mismatch": "policy",
    "authority_stale": "ledger",
    "revision_not_reached": "ledger",
    "decision_log_unavailable": "decision_log",
}
"""Which dependency a fault speaks of."""


class Metrics:
    """Everything that is counted in one process."""

    def __init__(self) -> None:
        """Register every metric."""
        self.registry = CollectorRegistry()
        self._decisions = Counter(
            "remit_decisions",
            "Decisions by AuthZEN boolean, first reason, outcome, policy and semantic of the batch.",
            ("decision", "reason", "outcome", "policy", "semantic"),
            registry=self.registry,
        )
        self._duration = Histogram(
            "remit_decision_duration_seconds",
            "Time of one decision, by stage.",
            ("stage",),
            buckets=DECISION_BUCKETS,
            registry=self.registry,
        )
        self.batch_size = Histogram(
            "remit_batch_size", "Items of one batch.", buckets=BATCH_BUCKETS, registry=self.registry
        )
        self._errors = Counter(
            "remit_errors", "Calls that were no question, and failures, by kind.", ("kind",), registry=self.registry
        )
        self._fail_closed = Counter(
            "remit_fail_closed", "Denies by a fault, by dependency.", ("dependency",), registry=self.registry
        )
        self._requests = Histogram(
            "http_server_request_duration_seconds",
            "Time of one HTTP request.",
            ("route", "method", "status"),
            buckets=HTTP_BUCKETS,
            registry=self.registry,
        )
        self._found = Histogram(
            "remit_search_results",
            "Results of one page of a search, by what was looked for and whether nothing follows.",
            ("kind", "complete"),
            buckets=BATCH_BUCKETS,
            registry=self.registry,
        )
        self._reasons = Counter(
            "remit_decision_reasons", "Every reason of every decision, by code.", ("reason",), registry=self.registry
        )
        self._depth = Histogram(
            "remit_delegation_chain_depth",
            "Delegations in the chain that a permit rests on.",
            buckets=DEPTH_BUCKETS,
            registry=self.registry,
        )
        self.tally = Tally(self.registry)
        self._counters: dict[tuple[str, ...], Counter] = {}
        self._timers: dict[tuple[str, ...], Histogram] = {}

    def decided(self, decision: Decision, semantic: str) -> None:
        """Count one decision and its stages."""
        codes = decision.codes
        reason, policy = (
            codes[0] if codes else "none",
            (decision.policy_revision or "none").removeprefix("sha256:")[:POLICY_DIGITS],
        )
        key = ("true" if decision.executes else "false", reason, decision.outcome, policy, semantic)
        counter = self._counters.get(key)
        if counter is None:
            counter = self._counters[key] = self._decisions.labels(*key)
        counter.inc()
        for stage, microseconds in decision.timings_us.items():
            self._timer(self._duration, (stage,)).observe(microseconds / 1e6)
        for code in codes:
            self._reasons.labels(code).inc()
        self.tally.denied(codes)
        if decision.chain_depth is not None:
            self._depth.observe(decision.chain_depth)
        if decision.deny_is_fault and codes:
            self._fail_closed.labels(DEPENDENCIES.get(codes[0], "other")).inc()

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one HTTP request; `route` is a template, never a path with ids in it."""
        self._timer(self._requests, (route, method, str(status))).observe(seconds)

    def searched(self, kind: str, *, results: int, complete: bool) -> None:
        """Count one page of a search."""
        self._found.labels(kind, "true" if complete else "false").observe(results)

    def failed(self, kind: str) -> None:
        """Count a call that was no question, or a failure."""
        self._errors.labels(kind).inc()

    def _timer(self, histogram: Histogram, labels: tuple[str, ...]) -> Histogram:
        found = self._timers.get(labels)
        if found is None:
            found = self._timers[labels] = histogram.labels(*labels)
        return found

    def watch(self, name: str, help_text: str, read: Callable[[], float], **labels: str) -> None:
        """Expose a state that is read when somebody asks."""
        gauge = Gauge(name, help_text, tuple(labels), registry=self.registry)
        (gauge.labels(**labels) if labels else gauge).set_function(read)

    def watch_each(self, name: str, help_text: str, label: str, reads: Mapping[str, Callable[[], float]]) -> None:
        """Expose a state that has a value for each of some labels."""
        gauge = Gauge(name, help_text, (label,), registry=self.registry)
        for value, read in reads.items():
            gauge.labels(value).set_function(read)

    def watch_count(self, name: str, help_text: str, read: Callable[[], float]) -> None:
        """Expose a count that somebody else keeps, as `<name>_total`."""
        self.registry.register(_Count(name, help_text, read))

    def watch_info(self, name: str, help_text: str, label: str, read: Callable[[], str]) -> None:
        """Expose a text, as the label of `<name>_info`."""
        self.registry.register(_Info(name, help_text, label, read))

    def text(self) -> bytes:
        """Return everything in Prometheus' text form."""
        return generate_latest(self.registry)


class _Count(Collector):
    """A counter that is read when somebody asks."""

    def __init__(self, name: str, help_text: str, read: Callable[[], float]) -> None:
        self._name = name
        self._help = help_text
        self._read = read

    def collect(self) -> Iterator[Metric]:
        """Return the one sample."""
        yield CounterMetricFamily(self._name, self._help, value=self._read())


class _Info(Collector):
    """A gauge of value 1 whose label is read when somebody asks."""

    def __init__(self, name: str, help_text: str, label: str, read: Callable[[], str]) -> None:
        self._name = name
        self._help = help_text
        self._label = label
        self._read = read

    def collect(self) -> Iterator[Metric]:
        """Return the one sample."""
        info = InfoMetricFamily(self._name, self._help)
        info.add_metric([], {self._label: self._read()})
        yield info
