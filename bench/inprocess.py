"""Decisions in this process: the shipped bundle, no server, no cache."""

from __future__ import annotations

import gc
from functools import partial
from time import perf_counter, perf_counter_ns
from typing import TYPE_CHECKING

from bench.report import Row, memory_mib, percentiles, tell
from bench.world import NOW, base, beside, chain, fan_out, view_of
from remit_graph.model.realm import EnforcementPoint
from remit_service.asking import ask_now
from remit_service.bundle.build import build_bundle
from remit_service.bundle.folder import read_folder, shipped_policy
from remit_service.decision.caller import Caller
from remit_service.decision.decide import decide_now, prepare
from remit_service.decision.request import parse_evaluation
from remit_service.point import NO_COORDINATION
from remit_service.policy import Policy, policy_of

if TYPE_CHECKING:
    from remit_graph.view.state import View

POINT = EnforcementPoint(
    id="service:bench", speaks_for=("instance:*",), trusted=("environment", "risk"), visibility="full"
)
CALLER = Caller(point=POINT)
BODY = {
    "subject": {"type": "instance", "id": "agent"},
    "action": {"name": "UPDATE_CANONICAL"},
    "resource": {"type": "wp:post", "id": "1024"},
    "context": {"risk": "LOW", "expected_version": "rev_1"},
}


def shipped() -> Policy:
    """Return the shipped policy, compiled."""
    return policy_of(build_bundle(read_folder(shipped_policy())))


def measure(policy: Policy, view: View, count: int) -> list[float]:
    """Return the microseconds of `count` decisions, from the decoded body to the verdict, each a permit."""
    ask = partial(ask_now, policy)
    samples: list[float] = []
    for _ in range(count):
        started = perf_counter_ns()
        prepared = prepare(parse_evaluation(BODY), CALLER, view, NOW, rules=policy, coordination=NO_COORDINATION)
        decision = decide_now(prepared, ask, rules=policy)
        samples.append((perf_counter_ns() - started) / 1_000)
        if decision.outcome != "execute":
            raise AssertionError(f"the benchmark's question was answered {decision.outcome}: {decision.codes}")
    return samples


def three_hops(count: int) -> list[Row]:
    """The case the design names first: three hops and a membership."""
    tell("in process, three hops")
    policy, view = shipped(), view_of(base(), chain(2))
    measure(policy, view, 200)
    samples = measure(policy, view, count)
    rate = 1e6 / (sum(samples) / len(samples))
    facts = {"policy input bytes": _input_bytes(policy, view)}
    return [
        Row(
            "decision in process, three hops, no cache",
            "p50 <= 220 us, p99 <= 500 us",
            rate,
            percentiles(samples),
            facts,
        )
    ]


def _input_bytes(policy: Policy, view: View) -> int:
    prepared = prepare(parse_evaluation(BODY), CALLER, view, NOW, rules=policy, coordination=NO_COORDINATION)
    return len(prepared.encoded)


def shapes(count: int) -> list[Row]:
    """Growth with the chain, and with what stands beside it."""
    rows: list[Row] = []
    policy = shipped()
    for depth in (1, 3, 6, 12):
        tell(f"chain of {depth}")
        view = view_of(base(), chain(depth))
        measure(policy, view, 50)
        rows.append(
            Row(f"chain of {depth} delegations", "at most linear", None, percentiles(measure(policy, view, count)))
        )
    for width in (1, 10, 50):
        tell(f"fan-out of {width}")
        view = view_of(base(), chain(2), fan_out(width))
        measure(policy, view, 50)
        rows.append(
            Row(f"{width} dead delegations beside the chain", "flat", None, percentiles(measure(policy, view, count)))
        )
    return rows


def large(edges: int, count: int) -> list[Row]:
    """A large graph: time to build the view, memory, and what a decision costs in it."""
    tell(f"{edges:,} edges")
    policy, small = shipped(), view_of(base(), chain(2))
    measure(policy, small, 100)
    reference = percentiles(measure(policy, small, count))
    changes = [*base(), *chain(2), *beside(edges)]
    before = memory_mib()
    started = perf_counter()
    view = view_of(changes)
    built = perf_counter() - started
    del changes
    gc.collect()
    gc.freeze()
    measure(policy, view, 100)
    figures = percentiles(measure(policy, view, count))
    facts = {
        "edges": len(view.edges),
        "seconds to build the view": round(built, 2),
        "memory MiB, peak with the changes": round(memory_mib()),
        "memory MiB before": round(before),
        "p99 against the small graph": round(figures["p99"] / reference["p99"], 2),
    }
    return [
        Row(
            f"decision among {edges:,} edges", "p99 <= 1.5 x small graph; 1M: <= 60 s, <= 1.5 GiB", None, figures, facts
        )
    ]
