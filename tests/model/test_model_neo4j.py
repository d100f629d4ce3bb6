"""The model-based suite on Neo4j: several writers with real connections, and one linearizable history."""

from __future__ import annotations

import asyncio

import pytest

from tests.contract.ledgers import neo4j_store
from tests.model.stores import WRITERS, play_on

COMMANDS = 20_000
AT_ONCE = 200
"""So many share an append that each costs three milliseconds; alone it costs thirty, most of it in the driver."""

SOAKED = 100_000
GAMES = 5


@pytest.mark.neo4j
@pytest.mark.timeout(1_800)
@pytest.mark.feature("S61", "S62", "S65", "S116")
async def test_no_law_breaks_on_neo4j(request: pytest.FixtureRequest) -> None:
    """What three writers do side by side on one database is one history in which every answer has its place."""
    assert await _played(request, 0, COMMANDS) >= COMMANDS


@pytest.mark.soak
@pytest.mark.neo4j
@pytest.mark.parametrize("seed", range(1, 1 + GAMES))
async def test_no_law_breaks_on_neo4j_in_long_play(request: pytest.FixtureRequest, seed: int) -> None:
    """A hundred thousand more."""
    assert await _played(request, seed, SOAKED // GAMES) >= SOAKED // GAMES


async def _played(request: pytest.FixtureRequest, seed: int, count: int) -> int:
    store = await neo4j_store(request)
    try:
        ledgers = [await store.open() for _ in range(WRITERS)]
        return await play_on("neo4j", ledgers, seed, count, AT_ONCE)
    finally:
        await store.aclose()
        # The tests after this one have less time than it takes to remove what so many commands left.
        await asyncio.to_thread(store.server.clear)
