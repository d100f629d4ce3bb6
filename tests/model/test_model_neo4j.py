"""The model-based suite on Neo4j: several writers with real connections, and one linearizable history."""

from __future__ import annotations

import pytest

from tests.contract.ledgers import neo4j_store
from tests.model.stores import WRITERS, play_on

COMMANDS = 1_500
"""Each costs some tens of milliseconds, most of it in the driver; the endurance tests play more."""

SOAKED = 20_000
GAMES = 4
AT_ONCE = 48


@pytest.mark.neo4j
@pytest.mark.timeout(900)
@pytest.mark.feature("S61", "S62", "S65", "S116")
async def test_no_law_breaks_on_neo4j(request: pytest.FixtureRequest) -> None:
    """What three writers do side by side on one database is one history in which every answer has its place."""
    assert await _played(request, 0, COMMANDS) >= COMMANDS


@pytest.mark.soak
@pytest.mark.neo4j
@pytest.mark.parametrize("seed", range(1, 1 + GAMES))
async def test_no_law_breaks_on_neo4j_in_long_play(request: pytest.FixtureRequest, seed: int) -> None:
    """Twenty thousand more."""
    assert await _played(request, seed, SOAKED // GAMES) >= SOAKED // GAMES


async def _played(request: pytest.FixtureRequest, seed: int, count: int) -> int:
    store = await neo4j_store(request)
    try:
        ledgers = [await store.open() for _ in range(WRITERS)]
        return await play_on("neo4j", ledgers, seed, count, AT_ONCE)
    finally:
        await store.aclose()
