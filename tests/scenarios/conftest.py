"""What the ways of playing share: a folder in memory, one web server in the loop of the tests, one OPA a bundle."""

from __future__ import annotations

import gc
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
import structlog

from remit_service.engines.opa import OpaEngine
from tests.support.engines import write_bundle
from tests.support.opa_server import OpaServer
from tests.support.quick_folder import quick_folder
from tests.support.scenario.stage import policy_with
from tests.support.scenario.wire import a_server
from tests.support.services import require_service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
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


@pytest.fixture(autouse=True)
def frozen_heap() -> None:
    """Take what is left from before out of garbage collection: each start of a decision point collects once.

    What stays is pytest itself and the routes of each application, which FastAPI never forgets.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that is quick to write to."""
    with quick_folder() as made:
        yield made


@pytest.fixture
def empty_neo4j(neo4j_of_this_run: Neo4jServer) -> Neo4jServer:
    """The Neo4j of this run without a node; making its constraints and indexes again would take seconds."""
    neo4j_of_this_run.revive()
    neo4j_of_this_run.empty()
    return neo4j_of_this_run


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[Server]:
    """A real web server, which serves one scenario after the other."""
    async with a_server() as started:
        yield started


@pytest.fixture(scope="session")
def opa_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Policy], str]]:
    """From a policy to the OPA server that holds exactly its bundle, started when it is first asked for."""
    servers: dict[str, OpaServer] = {}

    def address(policy: Policy) -> str:
        if policy.revision not in servers:
            made = tmp_path_factory.mktemp("opa")
            bundle = write_bundle(policy.bundle, made / "bundle")
            servers[policy.revision] = require_service(lambda: OpaServer(made, load=[bundle]))
            servers[policy.revision].start()
        return servers[policy.revision].url

    yield address
    for each in servers.values():
        each.stop()


class Shared(OpaEngine):
    """An engine that many scenarios ask in turn: making its connections takes longer than a scenario."""

    async def aclose(self) -> None:
        """Stay open until all are played."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opa_engine(opa_address: Callable[[Policy], str]) -> AsyncIterator[MakeEngine]:
    """A maker of engines on OPA servers, one for each bundle."""
    engines: dict[str, Shared] = {}

    async def make(policy: Policy) -> PolicyEngine:
        if policy.revision not in engines:
            url = opa_address(policy)
            engines[policy.revision] = Shared(url, policy_revision=policy.revision, timeout_seconds=PATIENCE_SECONDS)
        return engines[policy.revision]

    yield make
    for each in engines.values():
        await OpaEngine.aclose(each)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opa_policy(opa_engine: MakeEngine) -> Policy:
    """The shipped policy, with an OPA server as its engine."""
    shipped = policy_with(())
    return replace(shipped, engine=await opa_engine(shipped))
