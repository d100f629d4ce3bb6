"""Full garbage collections of a serving process wait for a quiet moment (rules.md 11)."""

from __future__ import annotations

import asyncio
import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from remit_service.keeping.garbage import collecting_nothing, collecting_when_idle
from tests.support.process import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

OBJECTS = 400_000
"""Ten times what makes the interpreter look at everything, where nothing is old yet."""


@contextmanager
def full_collections() -> Iterator[list[str]]:
    """Note when a full collection begins; what is there before is not looked at."""
    seen: list[str] = []

    def note(phase: str, info: dict[str, Any]) -> None:
        if phase == "start" and info["generation"] == 2:
            seen.append(phase)

    gc.collect()
    gc.freeze()
    gc.collect()
    gc.callbacks.append(note)
    try:
        yield seen
    finally:
        gc.callbacks.remove(note)
        gc.unfreeze()


def objects() -> list[list[int]]:
    """Return many objects that stay, as a graph of the past is."""
    return [[number] for number in range(OBJECTS)]


def test_without_it_the_interpreter_collects_in_the_middle() -> None:
    """What the others show is not so by itself."""
    with full_collections() as seen:
        kept = objects()

    assert (len(kept), len(seen) > 0) == (OBJECTS, True)


async def test_nothing_is_collected_while_somebody_asks_and_all_is_when_nobody_does() -> None:
    """Work that makes many objects passes without a full collection; the first quiet moment makes one."""
    begun, thresholds = 0, gc.get_threshold()
    with full_collections() as seen:
        async with collecting_when_idle(lambda: begun, quiet_seconds=0.05):
            kept = objects()
            for _ in range(5):
                begun += 1
                await asyncio.sleep(0.02)
            assert (len(kept), seen) == (OBJECTS, [])
            await asyncio.to_thread(wait_until, lambda: bool(seen))

    assert seen == ["start"]
    assert gc.get_threshold() == thresholds


def test_nothing_is_collected_while_a_program_is_imported() -> None:
    """Whoever had collections on has them again; whoever had them off keeps it so."""
    with collecting_nothing():
        inside = gc.isenabled()
        with collecting_nothing():
            pass
        still = gc.isenabled()

    assert (inside, still, gc.isenabled()) == (False, False, True)
