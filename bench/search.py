"""What a search over many resources costs: the first page, the whole list, memory; and that no list is short in silence.

A real store and a real decision point, in a process of their own. An agent may read every other post; who follows the
tokens gets exactly those, and every page that is not the last says that it is not. The whole list is asked for at an
exact revision: the newest one is readable for a minute, and a slow client, or a busy machine, may need longer.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

from bench.inprocess import CALLER
from bench.load_graph import fill
from bench.report import Row, in_a_process, memory_mib, percentiles, tell
from bench.world import base, edge
from remit_graph.model.change import Change
from remit_graph.sqlite.ledger import SqliteLedger
from remit_service.bootstrap import running_point
from remit_service.cli.target import Unrecorded
from remit_service.replica.loading import without_collections
from remit_service.search.query import Moment, parse_query
from remit_service.search.searcher import Searcher
from remit_service.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_service.search.page import Page

FIRST_PAGES = 100
LIMIT = 100
BODY = {
    "subject": {"type": "instance", "id": "reader"},
    "action": {"name": "READ_POST"},
    "resource": {"type": "wp:post"},
}


def rows(resources: int) -> list[Row]:
    """Search over so many resources, in a process of its own."""
    tell(f"a search over {resources:,} resources")
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as folder:
        found: dict[str, Any] = in_a_process("bench.search", str(Path(folder) / "remit.db"), str(resources))
    facts: dict[str, Any] = found["facts"]
    return [
        Row(
            "search: first page", "p99 published; complete, or says that it is not", None, found["first_page_us"], facts
        ),
        Row("search: the whole list", "every key once", facts["found"] / facts["whole_seconds"], {}, {}),
    ]


def world(resources: int) -> Iterator[Change]:
    """Iterate the posts, and the grants on every other of them."""
    yield Change("action.put", {"name": "READ_POST", "class": "read"})
    yield Change("principal.put", {"id": "instance:reader", "trust": 2})
    for number in range(resources):
        key = f"wp:post:{number:07}"
        yield Change("resource.put", {"key": key, "attributes": {}})
        if number % 2 == 0:
            yield edge(f"read-{number}", "MAY_READ", "instance:reader", key)


async def page(searcher: Searcher, limit: int, token: str = "", moment: Moment | None = None) -> Page:
    """Return one page."""
    asked = {**BODY, "page": {"limit": limit, **({"token": token} if token else {})}}
    return await searcher.search(parse_query("resource", asked, moment=moment), CALLER)


async def whole(searcher: Searcher, revision: int) -> tuple[list[str], int]:
    """Follow the tokens to the end; returns the keys, and how many pages were cut.

    Raises:
        AssertionError: a page that is not the last says nothing, or the last one says that it is cut.
    """
    keys: list[str] = []
    pages, token = 0, ""
    while True:
        found = await page(searcher, 1_000, token, Moment(revision=revision))
        keys.extend(each["id"] for each in found.results)
        pages += 1
        if (found.cause is None) != (found.next_token == ""):
            raise AssertionError(f"page {pages} has cause {found.cause!r} and token {found.next_token!r}")
        if found.cause is None:
            return keys, pages
        token = found.next_token


async def measure(path: Path, resources: int) -> dict[str, Any]:
    """Fill a store and search it.

    Raises:
        AssertionError: a key is missing, or comes twice.
    """
    ledger = await SqliteLedger.init(path, "bench")
    with without_collections():
        await fill(ledger, [*base(), *world(resources)])
    await ledger.aclose()
    async with running_point(Settings(store=f"sqlite:///{path}"), Unrecorded()) as point:
        searcher, before = Searcher(point), memory_mib()
        started = perf_counter()
        await page(searcher, LIMIT)
        cold = perf_counter() - started
        samples: list[float] = []
        for _ in range(FIRST_PAGES):
            started = perf_counter()
            await page(searcher, LIMIT)
            samples.append((perf_counter() - started) * 1e6)
        started, cpu = perf_counter(), process_time()
        keys, pages = await whole(searcher, point.view.revision)
        taken, cpu = perf_counter() - started, process_time() - cpu
        if len(set(keys)) != len(keys) or len(keys) != (resources + 1) // 2:
            raise AssertionError(f"{len(keys)} keys, {len(set(keys))} different, of {(resources + 1) // 2}")
        facts = {
            "resources": resources,
            "found": len(keys),
            "pages": pages,
            "very_first_page_ms": round(cold * 1e3, 1),
            "whole_seconds": round(taken, 2),
            "whole_cpu_seconds": round(cpu, 2),
            "memory_mib": round(memory_mib()),
            "memory_mib_before": round(before),
        }
        return {"first_page_us": percentiles(samples), "facts": facts}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure(Path(sys.argv[1]), int(sys.argv[2])))))
