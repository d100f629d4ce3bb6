"""What the ways of playing share: a folder in memory, one web server in the loop of the tests, one OPA a bundle."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
import structlog

from remit_service.engines.opa import OpaEngine
from tests.support.engines import write_bundle
from tests.support.opa_server import OpaServer
from tests.support.scenario.ledgers import quick_folder
from tests.support.scenario.wire import a_server
from tests.support.services import require_service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from remit_service.engines.ports import PolicyEngine
    from remit_service.policy import Policy
    from tests.support.neo4j_server import Neo4jServer
    from tests.support.scenario.stage import MakeEngine
    from tests.support.scenario.wire import Server

PATIENCE_SECONDS = 20.0
"""An engine's own bound is shown by its contract suite; here a busy machine is no fault."""


@pytest.fixture(scope="session", autouse=True)
def quiet() -> Iterator[None]:
    """Keep the operating log out of the report."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.reset_defaults()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that is quick to write to."""
    with quick_folder() as made:
        yield made


@pytest.fixture
def empty_neo4j(neo4j_of_this_run: Neo4jServer) -> Neo4jServer:
    """The Neo4j of this run without a node; making its constraints and indexes again would take seconds."""
    neo4j_of_this_run.revive()
    neo4j_of_this_run.query("MATCH (node) DETACH DELETE node")
    return neo4j_of_this_run


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[tuple[Server, str]]:
    """A real web server, which serves one scenario after the other."""
    async with a_server() as started:
        yield started


@pytest.fixture(scope="session")
def opa_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeEngine]:
    """A maker of engines: each asks an OPA server that holds exactly the bundle it is made for."""
    servers: dict[str, OpaServer] = {}

    async def make(policy: Policy) -> PolicyEngine:
        if policy.revision not in servers:
            made = tmp_path_factory.mktemp("opa")
            bundle = write_bundle(policy.bundle, made / "bundle")
            servers[policy.revision] = require_service(lambda: OpaServer(made, load=[bundle]))
            servers[policy.revision].start()
        url = servers[policy.revision].url
        return OpaEngine(url, policy_revision=policy.revision, timeout_seconds=PATIENCE_SECONDS)

    yield make
    for each in servers.values():
        each.stop()
