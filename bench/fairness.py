"""Fairness of queues: a long one with dead waiters in it, and low priority under a stream of high."""

from __future__ import annotations

import asyncio
from time import perf_counter, process_time
from typing import Final

from bench.leases import Bench, opened
from bench.report import Row, percentiles, tell
from bench.world import base, edge
from remit_graph.model.change import Change
from remit_graph.model.instant import SECOND

KEY: Final = "wp:post:1"
DEAD: Final = 5
STREAM: Final = 6
AGEING_SECONDS: Final = 2
"""The ageing bound of this bench; the shipped one is a minute, which nobody waits for here."""


def rows(waiters: int, lows: int) -> list[Row]:
    """Measure both."""
    tell(f"{waiters} waiters on one key, {DEAD} of them dead")
    queue = asyncio.run(_long_queue(waiters))
    tell("low priority under a stream of high")
    return [queue, asyncio.run(_low_under_high(lows))]


async def _long_queue(waiters: int) -> Row:
    """Let all queue up, some of which never ask again; release once, and see who is granted in which order."""
    order: list[int] = []
    handed: list[float] = []
    async with opened(waiters + 1) as bench:
        first = await bench.granted(waiters, KEY)
        dead = {place * waiters // DEAD + 1 for place in range(DEAD)}
        tickets = [await _queue_up(bench, who, is_dead=who in dead) for who in range(waiters)]
        released = perf_counter()

        async def work(who: int) -> None:
            nonlocal released
            lease = await bench.waited(tickets[who])
            handed.append((perf_counter() - released) * 1e6)
            order.append(who)
            released = perf_counter()
            await bench.release(lease)

        alive = [asyncio.create_task(work(who)) for who in range(waiters) if who not in dead]
        # All attend before the first hand-off, and the dead have stopped asking.
        await asyncio.sleep(1.1)
        started, spent = perf_counter(), process_time()
        released = started
        await bench.release(first)
        await asyncio.gather(*alive)
        taken, cost = perf_counter() - started, process_time() - spent
        expected = [who for who in range(waiters) if who not in dead]
        if order != expected:
            raise AssertionError(f"the order of {waiters} waiters was not kept: {order}")
    return Row(
        f"hand-off, {waiters} waiters on one key, {DEAD} dead",
        "order kept, p99 <= 20 ms",
        len(order) / taken,
        percentiles(handed),
        {"granted in the order of their coming": len(order), "hand-offs per CPU second": round(len(order) / cost)},
    )


async def _queue_up(bench: Bench, who: int, *, is_dead: bool) -> str:
    alive = {"keep_alive_us": SECOND} if is_dead else {"keep_alive_us": 120 * SECOND}
    reply = await bench.acquire(who, KEY, wait_us=600 * SECOND, **alive)
    return str(reply.body["waiter_id"])


def _by_priority() -> list[Change]:
    """Return the posts with a queue by priority, and a role of high priority for those of the stream."""
    posts = next(each for each in base() if each.body.get("name") == "wp:post")
    high = [edge(f"high-{who}", "ACTS_AS", f"instance:agent-{who}", "role:high") for who in range(1, STREAM + 1)]
    return [
        Change("resource_type.put", {**posts.body, "acquisition": "PRIORITY"}),
        Change("principal.put", {"id": "role:high", "trust": 2}),
        *high,
    ]


async def _low_under_high(lows: int) -> Row:
    """A stream of high priority that never ends, and one of low priority that asks again and again."""
    waits: list[float] = []
    ageing = AGEING_SECONDS * SECOND
    async with opened(STREAM + 1, *_by_priority(), role_priority={"role:high": 90}, ageing_us=ageing) as bench:
        is_over = asyncio.Event()

        async def stream(who: int) -> int:
            turns = 0
            while not is_over.is_set():
                await bench.release(await bench.granted(who, KEY))
                turns += 1
            return turns

        streams = [asyncio.create_task(stream(who)) for who in range(1, STREAM + 1)]
        for _ in range(lows):
            started = perf_counter()
            lease = await bench.granted(0, KEY)
            waits.append((perf_counter() - started) * 1e6)
            await bench.release(lease)
        is_over.set()
        turns = sum(await asyncio.gather(*streams))
    facts = {
        "longest wait, seconds": round(max(waits) / 1e6, 2),
        "ageing bound, seconds": AGEING_SECONDS,
        "turns of the stream": turns,
    }
    return Row("wait of low priority under a stream of high", "<= ageing bound", None, percentiles(waits), facts)
