"""Leases in this process: distinct keys on both stores, and one hot key on the embedded one."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, Final

from bench.inprocess import shipped
from bench.report import Row, percentiles, tell
from bench.stores import fresh_ledger, name_of, neo4j
from bench.world import base, chain, edge
from remit_graph.model.change import Change, Command
from remit_graph.model.instant import SECOND
from remit_graph.model.realm import EnforcementPoint
from remit_service.activating import put_policy_in_force
from remit_service.cli.target import Unrecorded
from remit_service.clock import SystemClock
from remit_service.coordinator.coordinator import Coordinator
from remit_service.coordinator.leases import Leases
from remit_service.decision.caller import Caller
from remit_service.decision.request import Entity, Evaluation
from remit_service.keeping.garbage import collecting_when_idle
from remit_service.point import DecisionPoint

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from remit_graph.neo4j import Neo4jOptions
    from remit_service.coordinator.reply import Reply

CALLERS: Final = 32
CALLERS_OF_NEO4J: Final = 64
HOT: Final = 16
ACTION: Final = "UPDATE_CANONICAL"
CALLER: Final = Caller(
    point=EnforcementPoint(
        id="service:bench", speaks_for=("instance:*",), trusted=("environment", "risk"), visibility="full"
    )
)


def _people(count: int) -> list[Change]:
    """Return so many instances that act as the last role of the chain."""
    changes: list[Change] = []
    for index in range(count):
        name = f"instance:agent-{index}"
        changes.append(Change("principal.put", {"id": name, "trust": 2}))
        changes.append(edge(f"acts-{index}", "ACTS_AS", name, "role:level-2"))
    return changes


class Bench:
    """A decision point with its coordinator, and the hands of many callers on it."""

    def __init__(self, point: DecisionPoint) -> None:
        """Stand beside a started point."""
        self.point = point
        self.coordinator = Coordinator(point, rates=False)
        self.leases = Leases(self.coordinator)

    async def acquire(self, who: int, key: str, **options: Any) -> Reply:
        """Ask for a lease on one field of a post."""
        asked = Evaluation(
            subject=Entity(type="instance", id=f"agent-{who}"),
            action=ACTION,
            resource=Entity(type="key", id=key),
            context={"risk": "LOW", "environment": "production"},
        )
        reply = await self.leases.acquire([asked], CALLER, ttl_us=60 * SECOND, **options)
        if reply.is_refused:
            raise AssertionError(f"the benchmark's request was refused: {reply}")
        return reply

    async def granted(self, who: int, key: str) -> dict[str, Any]:
        """Ask for a lease and wait until it is granted."""
        reply = await self.acquire(who, key, wait_us=300 * SECOND)
        lease: dict[str, Any] | None = reply.body.get("lease")
        return await self.waited(reply.body["waiter_id"]) if lease is None else lease

    async def waited(self, waiter_id: str) -> dict[str, Any]:
        """Wait until a lease is granted that was queued for."""
        told = await self.leases.wait(waiter_id, CALLER, within_seconds=300.0)
        if told.is_refused or "lease" not in told.body:
            raise AssertionError(f"the benchmark's wait ended {told}")
        lease: dict[str, Any] = told.body["lease"]
        return lease

    async def release(self, lease: dict[str, Any]) -> None:
        """Give a lease back."""
        reply = await self.leases.release(lease["lease_id"], CALLER, token=lease["lease_epoch"])
        if reply.is_refused:
            raise AssertionError(f"the benchmark's release was refused: {reply}")


@asynccontextmanager
async def opened(
    people: int, *more: Change, options: Neo4jOptions | None = None, **tables: Any
) -> AsyncIterator[Bench]:
    """Open a bench on a fresh store; `tables` replaces members of the policy's tables."""
    async with fresh_ledger(options) as ledger:
        head = await ledger.head()
        changes = (*base(), *chain(2), *_people(people), Change("principal.put", {"id": "service:bench"}), *more)
        await ledger.append(head, [Command(action="BENCH", actor="system", at=head.now, changes=changes)])
        policy = shipped()
        policy = replace(policy, tables=replace(policy.tables, **tables))
        point = DecisionPoint(ledger=ledger, policy=policy, clock=SystemClock(), recorder=Unrecorded())
        await point.start()
        await put_policy_in_force(point)
        bench = Bench(point)
        await bench.coordinator.start()
        try:
            # As a serving process does; here, somebody always asks.
            async with collecting_when_idle(count().__next__):
                yield bench
        finally:
            await bench.coordinator.aclose()
            await point.aclose()


async def _distinct(pairs: int, options: Neo4jOptions | None, callers: int, target: str) -> Row:
    samples: list[float] = []
    async with opened(callers, options=options) as bench:

        async def work(who: int, count: int) -> None:
            for _ in range(count):
                started = perf_counter()
                reply = await bench.acquire(who, f"wp:post:{who}")
                await bench.release(reply.body["lease"])
                samples.append((perf_counter() - started) * 1e6)

        await asyncio.gather(*(work(who, 4) for who in range(callers)))
        samples.clear()
        started, spent = perf_counter(), process_time()
        await asyncio.gather(*(work(who, pairs // callers) for who in range(callers)))
        taken, cost = perf_counter() - started, process_time() - spent
    return Row(
        f"lease acquire + release, distinct keys, {name_of(options)}",
        target,
        len(samples) / taken,
        percentiles(samples),
        {"callers": callers, "pairs per CPU second": round(len(samples) / cost)},
    )


async def _hot(turns: int) -> Row:
    """Callers stand in one queue; whoever is granted releases at once and asks again."""
    handed: list[float] = []
    async with opened(HOT) as bench:
        left = turns
        released = perf_counter()

        async def work(who: int) -> None:
            nonlocal left, released
            while left > 0:
                reply = await bench.acquire(who, "wp:post:1", wait_us=300 * SECOND)
                lease = reply.body.get("lease")
                if lease is None:
                    lease = await bench.waited(reply.body["waiter_id"])
                    handed.append((perf_counter() - released) * 1e6)
                left -= 1
                released = perf_counter()
                await bench.release(lease)

        started, spent = perf_counter(), process_time()
        await asyncio.gather(*(work(who) for who in range(HOT)))
        taken, cost = perf_counter() - started, process_time() - spent
    return Row(
        "lease hand-off, one hot key, embedded",
        ">= 500 hand-offs/s, p99 <= 20 ms",
        len(handed) / taken,
        percentiles(handed),
        {"callers": HOT, "hand-offs per CPU second": round(len(handed) / cost)},
    )


def rows(pairs: int, turns: int, *, with_neo4j: bool = True) -> list[Row]:
    """Measure distinct keys, on both stores, and one hot key."""
    tell("leases on distinct keys")
    found = [asyncio.run(_distinct(pairs, None, CALLERS, ">= 1,500 pairs/s"))]
    tell("hand-offs on one key")
    found.append(asyncio.run(_hot(turns)))
    if with_neo4j:
        with neo4j() as options:
            if options is not None:
                tell("leases on distinct keys, on Neo4j")
                found.append(asyncio.run(_distinct(pairs, options, CALLERS_OF_NEO4J, ">= 1,000 pairs/s")))
    return found
