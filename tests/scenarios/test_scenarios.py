"""Every scenario of fixtures/scenarios, in process on the embedded store and engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.scenario.document import Scenario, scenarios
from tests.support.scenario.play import play
from tests.support.scenario.stage import sqlite_in, stage_for

if TYPE_CHECKING:
    from pathlib import Path

ALL = [
    pytest.param(each, id=each.name, marks=[pytest.mark.feature(row) for row in each.shows]) for each in scenarios()
]


@pytest.mark.parametrize("scenario", ALL)
async def test_scenario_on_the_embedded_store(scenario: Scenario, tmp_path: Path) -> None:
    """Each step of the scenario is answered as its file says."""
    async with stage_for(scenario, sqlite_in(tmp_path)) as stage:
        await play(scenario, stage)
