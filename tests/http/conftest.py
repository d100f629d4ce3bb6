"""One service for each world and engine, started when the first test asks for it and stopped at the end of the run."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import structlog

from remit_service.bundle.build import build_bundle
from remit_service.bundle.folder import read_folder, shipped_policy
from tests.http.serving import Served, serve, stopped_later
from tests.support.engines import write_bundle
from tests.support.opa_server import OpaServer
from tests.support.services import require_service

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Start = Callable[..., Served]

WORLDS = Path(__file__).parents[2] / "fixtures" / "worlds"
ENGINES = ["embedded", pytest.param("opa", marks=pytest.mark.opa)]


@pytest.fixture(scope="session", autouse=True)
def quiet() -> Iterator[None]:
    """Keep the operating log of the services out of the report."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def opa_with_shipped_policy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpaServer]:
    """An OPA that holds the shipped bundle."""
    folder = tmp_path_factory.mktemp("opa")
    bundle = write_bundle(build_bundle(read_folder(shipped_policy())), folder / "bundle")
    server = require_service(lambda: OpaServer(folder, load=[bundle]))
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def engine_address(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """From the name of an engine to what `Settings.engine` says."""

    def address(name: str) -> str:
        if name == "embedded":
            return name
        return str(request.getfixturevalue("opa_with_shipped_policy").url)

    return address


@pytest.fixture(scope="session")
def start(
    tmp_path_factory: pytest.TempPathFactory, engine_address: Callable[[str], str]
) -> Iterator[Callable[..., Served]]:
    """A starter of services on a world of `fixtures/worlds`; equal ones are started once."""
    running: dict[tuple[object, ...], Served] = {}

    def one(world: str, *, engine: str = "embedded", keys: tuple[str, ...] = (), **settings: object) -> Served:
        key = (world, engine, keys, *sorted(settings.items()))
        if key not in running:
            folder = tmp_path_factory.mktemp(world)
            running[key] = serve(folder, WORLDS / f"{world}.yaml", keys=keys, engine=engine_address(engine), **settings)
        return running[key]

    yield one
    for served in running.values():
        served.stop()


@pytest.fixture(scope="session", params=ENGINES)
def certification(request: pytest.FixtureRequest, start: Start) -> Served:
    """The certification scenario on each engine; the harness shows its key."""
    return start("certification", engine=request.param, keys=("harness",), base_url="https://remit.example.com")


@pytest.fixture(scope="session", params=ENGINES)
def todo(request: pytest.FixtureRequest, start: Start) -> Served:
    """The Todo scenario on each engine; its gateway takes the bare boolean."""
    return start("authzen_todo", engine=request.param, keys=("todo-gateway",))


@pytest.fixture(scope="session")
def seo(start: Start) -> Served:
    """The content platform in process, with the keys of its enforcement points."""
    return start("seo", keys=("gateway", "edge", "strict", "nobody"))


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """What `remit serve --demo` serves: callers of this machine need no credentials."""
    folder = tmp_path_factory.mktemp("demo")
    yield from stopped_later(serve(folder, WORLDS / "seo.yaml", demo=True))
