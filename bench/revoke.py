"""What it costs to revoke a root with many descendants: time, one revision, memory, and what others wait meanwhile.

The tree: one delegation of the owner, a hundred below it, and the leaves below those; beside it a second tree of a
hundred leaves that must not notice. It runs in a process of its own, so that its memory is its own, on a real store,
while another task goes on asking: about a leaf, about a sibling, and how long the loop was held up.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import perf_counter, perf_counter_ns, process_time
from typing import TYPE_CHECKING, Any

from bench.inprocess import CALLER
from bench.load_graph import fill
from bench.report import Row, in_a_process, memory_mib, tell
from bench.world import SCOPE, base, edge
from remit_graph.model.change import Change
from remit_graph.sqlite.ledger import SqliteLedger
from remit_service.bootstrap import running_point
from remit_service.cli.target import Unrecorded
from remit_service.decision.request import parse_evaluation
from remit_service.governance.governor import Governor, Order
from remit_service.keeping.garbage import collecting_when_idle
from remit_service.replica.loading import without_collections
from remit_service.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_service.decision.decision import Decision
    from remit_service.decision.request import Evaluation
    from remit_service.point import DecisionPoint

MIDDLES = 100
SIBLINGS = 100
TOP = "top"
STALE = "authority_stale"
"""A sibling may be told that the view is too old, where the machine is so slow; never that it has no authority."""


def rows(descendants: int) -> list[Row]:
    """Revoke the root of so many delegations, in a process of its own."""
    tell(f"a root with {descendants:,} descendants is revoked")
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as folder:
        facts: dict[str, Any] = in_a_process("bench.revoke", str(Path(folder) / "remit.db"), str(descendants))
    return [
        Row("revoke a root with its subtree", "one revision; nothing below permitted; siblings untouched", None,
            {"max": facts["seconds"] * 1e6}, facts),
    ]  # fmt: skip


def tree(descendants: int) -> Iterator[Change]:
    """Iterate the changes of the tree and of its sibling."""
    yield edge("right", "MAY_DELEGATE", "controller:seo", "role:top", max_depth=9)
    yield from _given(TOP, "controller:seo", "role:top", "right", 8)
    yield edge("right-beside", "MAY_DELEGATE", "controller:seo", "role:beside", max_depth=9)
    yield from _given("beside", "controller:seo", "role:beside", "right-beside", 8)
    for number in range(SIBLINGS):
        yield from _given(f"sibling-{number}", "role:beside", f"instance:sibling-{number}", "beside", 0)
    for middle in range(MIDDLES):
        yield from _given(f"mid-{middle}", "role:top", f"role:mid-{middle}", TOP, 7)
    for leaf in range(descendants - MIDDLES):
        middle = leaf % MIDDLES
        yield from _given(f"leaf-{leaf}", f"role:mid-{middle}", f"instance:leaf-{leaf}", f"mid-{middle}", 0)


def _given(name: str, from_: str, to: str, under: str, depth: int) -> Iterator[Change]:
    yield Change("principal.put", {"id": to, "trust": 2})
    yield edge(name, "DELEGATES", from_, to, scope=SCOPE, max_depth=depth, under=f"{under}@1")


def question(principal: str) -> Evaluation:
    """Return the question whether an instance may write now."""
    return parse_evaluation(
        {
            "subject": {"type": "instance", "id": principal},
            "action": {"name": "UPDATE_CANONICAL"},
            "resource": {"type": "wp:post", "id": "1024"},
            "context": {"risk": "LOW", "expected_version": "rev_1"},
        }
    )


class Meanwhile:
    """Asks about leaves and siblings while something else goes on, and notes how long the loop was held up."""

    def __init__(self, point: DecisionPoint) -> None:
        """Ask `point`."""
        self._point = point
        self.longest_us = 0.0
        self.permits: list[int] = []
        self.sibling_denials: Counter[str] = Counter()
        self.asked = 0

    async def run(self) -> None:
        """Ask until cancelled."""
        number = 0
        while True:
            started = perf_counter()
            await asyncio.sleep(0)
            leaf = await self._decide(f"leaf-{number % 1_000}")
            sibling = await self._decide(f"sibling-{number % SIBLINGS}")
            self.longest_us = max(self.longest_us, (perf_counter() - started) * 1e6)
            self.asked += 2
            number += 1
            if leaf.effect == "permit":
                self.permits.append(leaf.revision)
            if sibling.effect != "permit":
                self.sibling_denials[",".join(sibling.codes)] += 1

    async def _decide(self, principal: str) -> Decision:
        return await self._point.evaluate(question(principal), CALLER)


async def measure(path: Path, descendants: int) -> dict[str, Any]:
    """Fill a store, revoke, and look at what is left.

    Raises:
        AssertionError: the revocation left something, or took too much.
    """
    ledger = await SqliteLedger.init(path, "bench")
    with without_collections():
        await fill(ledger, [*base(), *tree(descendants)])
    await ledger.aclose()
    # As in a serving process: full collections are left to quiet moments, and this is none.
    async with (
        collecting_when_idle(perf_counter_ns),
        running_point(Settings(store=f"sqlite:///{path}"), Unrecorded()) as point,
    ):
        before = memory_mib()
        head = point.view.revision
        watch = Meanwhile(point)
        asking = asyncio.create_task(watch.run())
        await asyncio.sleep(0)
        started, cpu = perf_counter(), process_time()
        outcome = await Governor(point).carry_out(
            "revoke", {"target": {"edge_id": TOP}, "reason": "bench"}, Order(actor="organization:acme")
        )
        taken, cpu = perf_counter() - started, process_time() - cpu
        asking.cancel()
        if outcome.refused is not None:
            raise AssertionError(outcome.refused.message)
        await point.replica.catch_up()
        after = await point.evaluate(question(f"leaf-{descendants - MIDDLES - 1}"), CALLER)
        sibling = await point.evaluate(question("sibling-0"), CALLER)
        left = sum(1 for each in point.view.edges if each.startswith(("mid-", "leaf-")))
        late = [each for each in watch.permits if each >= outcome.revision]
        denied = dict(watch.sibling_denials)
        if left or late or after.effect == "permit" or sibling.effect != "permit" or set(denied) - {STALE}:
            raise AssertionError(f"{left} edges left, {len(late)} late permits, siblings denied: {denied}")
        return {
            "descendants": descendants,
            "store": "sqlite",
            "seconds": round(taken, 3),
            "cpu_seconds": round(cpu, 3),
            "revisions": point.view.revision - head,
            "ended": outcome.body["counts"]["delegations"],
            "longest_wait_of_another_ms": round(watch.longest_us / 1e3, 1),
            "asked_meanwhile": watch.asked,
            "denied_as_stale_meanwhile": denied.get(STALE, 0),
            "memory_mib": round(memory_mib()),
            "memory_mib_before": round(before),
        }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure(Path(sys.argv[1]), int(sys.argv[2])))))
