"""The model-based suite on the pure machine: chance plays, the reference judges every revision and every answer."""

from __future__ import annotations

import pytest

from tests.model.game import play

COMMANDS = 970_000
SHARDS = 10
GAME = 400


@pytest.mark.timeout(900)
@pytest.mark.feature("S62", "S65", "S72", "S116")
@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_law_breaks_on_the_pure_machine(shard: int) -> None:
    """Random commands, pauses, clock jumps, crashes between decide and append, lost acknowledgements: no law breaks."""
    decided, seed = 0, shard * 1_000_000
    while decided < COMMANDS // SHARDS:
        decided += play(seed, GAME)
        seed += 1


@pytest.mark.soak
@pytest.mark.parametrize("length", [100, 400, 4_000])
def test_no_law_breaks_in_long_play(length: int) -> None:
    """Five million more, in short games and in long ones."""
    decided, seed = 0, 10_000_000 * length
    while decided < 5_000_000:
        decided += play(seed, length)
        seed += 1
