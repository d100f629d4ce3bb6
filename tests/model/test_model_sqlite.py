"""The model-based suite on the embedded ledger: several writers, a bad day, and one linearizable history."""

from __future__ import annotations

import pytest

from tests.model.sqlite import play

COMMANDS = 30_000
SHARDS = 10
GAME = 1_500


@pytest.mark.timeout(900)
@pytest.mark.feature("S61", "S62", "S65", "S116")
@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_law_breaks_on_the_embedded_ledger(shard: int) -> None:
    """What three writers do side by side on one file is one history in which every answer has its place."""
    sent, seed = 0, shard * 1_000_000
    while sent < COMMANDS // SHARDS:
        sent += play(seed, GAME)
        seed += 1


@pytest.mark.soak
def test_no_law_breaks_on_the_embedded_ledger_in_long_play() -> None:
    """A million more."""
    sent, seed = 0, 100_000_000
    while sent < 1_000_000:
        sent += play(seed, 5_000)
        seed += 1
