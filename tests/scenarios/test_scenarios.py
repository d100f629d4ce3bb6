"""Every scenario of fixtures/scenarios: in process, over HTTP, on OPA, on Neo4j; always with the same expectations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.scenario.compare import unvaried
from tests.support.scenario.document import Scenario, scenarios
from tests.support.scenario.ledgers import neo4j_on, sqlite_in
from tests.support.scenario.play import play
from tests.support.scenario.stage import stage_for
from tests.support.scenario.wire import over_http

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.neo4j_server import Neo4jServer
    from tests.support.scenario.stage import MakeEngine
    from tests.support.scenario.wire import Server

ALL = [pytest.param(each, id=each.name, marks=[pytest.mark.feature(row) for row in each.shows]) for each in scenarios()]


@pytest.mark.parametrize("scenario", ALL)
async def test_scenario_in_process(scenario: Scenario, folder: Path) -> None:
    """Each step of the scenario is answered as its file says."""
    async with stage_for(scenario, sqlite_in(folder)) as stage:
        await play(scenario, stage)


@pytest.mark.parametrize("scenario", ALL)
@pytest.mark.asyncio(loop_scope="module")
async def test_scenario_over_http(scenario: Scenario, folder: Path, server: Server) -> None:
    """The bytes that come back say the same."""
    async with stage_for(scenario, sqlite_in(folder), make_wire=over_http(server, folder)) as stage:
        await play(scenario, stage)


@pytest.mark.opa
@pytest.mark.parametrize("scenario", ALL)
@pytest.mark.asyncio(loop_scope="module")
async def test_scenario_on_opa(scenario: Scenario, folder: Path, opa_engine: MakeEngine) -> None:
    """An OPA server that holds the scenario's bundle decides the same."""
    async with stage_for(scenario, sqlite_in(folder), opa_engine) as stage:
        await play(scenario, stage)


@pytest.mark.parametrize("scenario", ALL)
async def test_scenario_on_neo4j(scenario: Scenario, empty_neo4j: Neo4jServer, folder: Path) -> None:
    """On a ledger in Neo4j every step is answered as its file says, and to the last member as on the embedded one."""
    async with stage_for(scenario, sqlite_in(folder)) as embedded:
        await play(scenario, embedded)
    async with stage_for(scenario, neo4j_on(empty_neo4j)) as shared:
        await play(scenario, shared)

    assert unvaried(shared.told) == unvaried(embedded.told)
