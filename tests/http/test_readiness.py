"""Readiness and the policy engine: a dead one is told of, a lagging one stood in for, and both mend by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest

from remit_service.bundle.build import build_bundle
from remit_service.bundle.folder import read_folder, shipped_policy
from tests.http.conftest import WORLDS
from tests.http.questions import EVALUATION, PERMITTED
from tests.http.serving import Served, serve, stopped_later
from tests.support.engines import write_bundle
from tests.support.opa_server import OpaServer
from tests.support.process import free_port, wait_until
from tests.support.programs import opa
from tests.support.services import require_service

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.opa


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OpaServer]:
    """An OPA of the test's own, with the shipped bundle, which it may kill."""
    require_service(opa)
    bundle = write_bundle(build_bundle(read_folder(shipped_policy())), tmp_path / "bundle")
    made = OpaServer(tmp_path / "opa", load=[bundle])
    made.start()
    yield made
    made.stop()


@pytest.fixture
def served(server: OpaServer, tmp_path: Path) -> Iterator[Served]:
    """A decision point whose decisions that OPA makes."""
    yield from stopped_later(serve(tmp_path, WORLDS / "seo.yaml", keys=("gateway",), engine=server.url))


def ready(served: Served) -> tuple[int, dict[str, Any]]:
    """Return the status and the document of readiness."""
    reply = served.client().get("/health/ready")
    return reply.status_code, reply.json()


def decision(served: Served) -> bool:
    """Return the answer to a question that the world permits."""
    answer: bool = served.client("gateway").post(EVALUATION, json=PERMITTED).json()["decision"]
    return answer


def test_a_dead_engine_is_not_ready_and_recovers_by_itself(server: OpaServer, served: Served) -> None:
    """Readiness soon names the engine that died, liveness does not care, and all is well after its restart."""
    assert (ready(served)[0], decision(served)) == (200, True)

    server.kill()
    wait_until(lambda: ready(served)[0] == httpx.codes.SERVICE_UNAVAILABLE)
    _, document = ready(served)
    assert document["ready"] is False
    assert [server.url in problem for problem in document["problems"]] == [True]
    assert document["problems"][0].startswith("the policy engine cannot decide: ")
    assert "remit_ready 0.0" in served.client().get("/metrics").text
    assert served.client().get("/health/live").status_code == httpx.codes.OK
    assert decision(served) is False

    server.start()
    wait_until(lambda: ready(served)[0] == httpx.codes.OK)
    assert (ready(served)[1]["problems"], decision(served)) == ([], True)


def test_a_frozen_engine_is_not_ready(server: OpaServer, served: Served) -> None:
    """An engine that takes questions and answers none is as good as dead."""
    server.pause()
    wait_until(lambda: ready(served)[0] == httpx.codes.SERVICE_UNAVAILABLE)
    assert f"no answer from `{server.url}` within 1.0 s" in ready(served)[1]["problems"][0]

    server.resume()
    wait_until(lambda: ready(served)[0] == httpx.codes.OK)


def test_an_engine_that_waits_for_its_first_bundle_keeps_nobody_waiting(tmp_path: Path) -> None:
    """OPA without a bundle: this process is ready and decides, so OPA can fetch the bundle from whoever is ready."""
    require_service(opa)
    port = free_port()
    served = serve(tmp_path, WORLDS / "seo.yaml", keys=("gateway",), engine=f"http://127.0.0.1:{port}")
    try:
        assert ready(served)[0] == httpx.codes.SERVICE_UNAVAILABLE
        assert served.client().get("/bundles/remit.tar.gz").status_code == httpx.codes.OK
        empty = OpaServer(tmp_path / "empty", port=port)
        empty.start()
        wait_until(lambda: ready(served)[0] == httpx.codes.OK)
        assert decision(served) is True
        assert served.point.policy.engine.answered_by_standby > 0  # type: ignore[attr-defined]
        empty.stop()
        wait_until(lambda: ready(served)[0] == httpx.codes.SERVICE_UNAVAILABLE)

        fetching = OpaServer(tmp_path / "fetching", port=port, configuration=bundle_from(served))
        fetching.start()
        wait_until(lambda: ready(served)[0] == httpx.codes.OK)
        before = served.point.policy.engine.answered_by_standby  # type: ignore[attr-defined]
        assert decision(served) is True
        assert served.point.policy.engine.answered_by_standby == before  # type: ignore[attr-defined]
        fetching.stop()
    finally:
        served.stop()


def bundle_from(served: Served) -> dict[str, Any]:
    """Return the configuration of an OPA that fetches its bundle from `served`."""
    return {
        "services": {"remit": {"url": served.url, "credentials": {"bearer": {"token": served.keys["gateway"]}}}},
        "bundles": {
            "remit": {
                "service": "remit",
                "resource": "bundles/remit.tar.gz",
                "polling": {"min_delay_seconds": 1, "max_delay_seconds": 2},
            }
        },
    }
