"""Fixtures for real servers. Each server is started once per run, when the first test asks for it.

Missing programs skip the test with one line that says how to get them. Where services are required, `report.py` turns
the skip into a failure.

A test that has `neo4j_server` or `opa_server` gets it running and empty, whatever the test before did to it.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pytest

from tests.support import programs
from tests.support.gateways import gateway
from tests.support.neo4j_server import Neo4jServer, neo4j_in
from tests.support.opa_server import OpaServer
from tests.support.process import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tests.support.process import Process

Found = TypeVar("Found")


def pytest_configure() -> None:
    """Let the programs under test find the OPA that the tests use, for this run only."""
    with suppress(programs.Missing):
        os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", ""), str(programs.opa().parent)])


def require_service(look: Callable[[], Found]) -> Found:
    """Return what `look` finds, or skip the test with what is missing.

    For programs without a fixture of their own: `require_service(lambda: program("chromium"))`.
    """
    try:
        return look()
    except programs.Missing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def neo4j_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neo4jServer]:
    """The one Neo4j; tests take `neo4j_server`."""
    server = require_service(lambda: neo4j_in(tmp_path_factory.mktemp("neo4j")))
    yield server
    server.stop()


@pytest.fixture
def neo4j_server(neo4j_of_this_run: Neo4jServer) -> Neo4jServer:
    """A running, empty Neo4j: `url`, `user`, `password`, `query`; `kill`, `restart`, `pause`, `resume` for chaos."""
    neo4j_of_this_run.revive()
    neo4j_of_this_run.empty()
    return neo4j_of_this_run


@pytest.fixture(scope="session")
def opa_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpaServer]:
    """The one OPA without policy of its own; tests take `opa_server`."""
    server = require_service(lambda: OpaServer(tmp_path_factory.mktemp("opa")))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def opa_server(opa_of_this_run: OpaServer) -> OpaServer:
    """A running OPA server without policy or data: `url`; `kill`, `restart`, `pause`, `resume` for chaos."""
    opa_of_this_run.revive()
    opa_of_this_run.clear()
    return opa_of_this_run


class StartOpa(Protocol):
    """Start an OPA of the test's own, ended with the test."""

    def __call__(
        self, *load: Path, configuration: Mapping[str, Any] | None = None, port: int | None = None
    ) -> OpaServer:
        """Return a healthy OPA that has loaded `load` and runs with `configuration`."""


@pytest.fixture
def start_opa(tmp_path: Path) -> Iterator[StartOpa]:
    """A starter of OPA servers with a configuration, for bundles and other things that are fixed at the start."""
    with ExitStack() as ends:

        def start(*load: Path, configuration: Mapping[str, Any] | None = None, port: int | None = None) -> OpaServer:
            at = port or free_port()
            folder = tmp_path / f"opa-{at}"
            server = require_service(lambda: OpaServer(folder, load=load, configuration=configuration, port=at))
            ends.callback(server.stop)
            server.start()
            return server

        yield start


class StartGateway(Protocol):
    """Start a gateway of the test's own, ended with the test."""

    def __call__(self, name: str, configuration: str, *, port: int) -> Process:
        """Return nginx, Caddy or HAProxy once it accepts connections on `port`."""


@pytest.fixture
def start_gateway(tmp_path: Path) -> Iterator[StartGateway]:
    """A starter of nginx, Caddy and HAProxy; see `gateways.py`."""
    with ExitStack() as ends:

        def start(name: str, configuration: str, *, port: int) -> Process:
            folder = tmp_path / f"{name}-{port}"
            process = require_service(lambda: gateway(name, configuration, port=port, folder=folder))
            ends.callback(process.stop)
            return process

        yield start
