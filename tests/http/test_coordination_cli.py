"""The verbs of coordination: against a running service, and on the store itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from remit_service.cli.app import app
from tests.http.serving import serve, stopped_later

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.http.serving import Served

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"
AGENT = ("instance:seo-agent-7", "UPDATE_CANONICAL")
OTHER = ("instance:seo-agent-8", "UPDATE_CANONICAL")
READ = ("-c", "risk=LOW", "-c", "expected_version=rev_1")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The content platform, for callers of this machine."""
    yield from stopped_later(serve(tmp_path_factory.mktemp("verbs"), SEO, demo=True))


def remit(place: tuple[str, str], *words: str) -> tuple[int, dict[str, Any]]:
    """Run a command with `--json`; returns its exit code and document."""
    result = CliRunner().invoke(app, [*place, "--json", *words])
    return result.exit_code, json.loads(result.stdout)


def test_an_operation_from_the_command_line(served: Served) -> None:
    """Begin, a conflict told with exit code 1, the queue, abort, receipt."""
    at = ("--url", served.url)
    code, begun = remit(at, "operation", "begin", *AGENT, "wp:post:1024", *READ, "--ttl", "60")
    busy = remit(at, "operation", "begin", *OTHER, "wp:post:1024", *READ)
    waits = remit(at, "operation", "begin", *OTHER, "wp:post:1024", *READ, "--wait", "30")
    queue = remit(at, "queue", "wp:post:1024")[1]["waiters"]
    aborted = remit(at, "operation", "abort", begun["coordination_id"])
    receipt = remit(at, "receipt", begun["coordination_id"])

    assert code == 0
    assert (busy[0], busy[1]["problem"]["code"]) == (1, "resource_busy")
    assert (waits[0], waits[1]["position"]) == (0, 1)
    assert [each["holder"] for each in queue] == ["instance:seo-agent-8"]
    assert aborted[0] == 0
    assert (receipt[0], receipt[1]["status"]) == (0, "ABORTED")
    assert len(remit(at, "conflicts", "list")[1]["conflicts"]) >= 1
    assert remit(at, "conflicts", "map")[1]["pairs"] == []


def test_signals_and_transfers_from_the_command_line(served: Served) -> None:
    """Presence, an incident, and a transfer that is given up."""
    at = ("--url", served.url)
    present = remit(at, "presence", "signal", "human:editor-1", "wp:post:1027", "--field", "title")[1]
    opened = remit(
        at, "incident", "open", "inc_9", "site:example.com", "--severity", "SEV2", "--actor", "human:commander"
    )
    owners = ("--from", "controller:seo-control-plane", "--to", "controller:content-control-plane")
    move = remit(at, "transfer", "propose", "wp:post:2001", *owners, "--field", "canonical", "--reason", "trial")[1]
    actor = ("--actor", "controller:seo-control-plane")
    aborted = remit(at, "transfer", "abort", move["transfer_id"], *actor)

    assert [each["presence_id"] for each in remit(at, "presence", "list")[1]["presences"]] == [present["presence_id"]]
    assert remit(at, "presence", "leave", present["presence_id"])[0] == 0
    assert (opened[0], opened[1]["status"]) == (0, "OPEN")
    assert (aborted[0], aborted[1]["state"]) == (0, "ABORTED")


def test_leases_on_the_store_itself(tmp_path: Path) -> None:
    """Each call opens the store anew; the lease is in it, and whoever may write the file may release it."""
    at = ("--store", f"sqlite:///{tmp_path / 'remit.db'}")
    made = CliRunner().invoke(app, [*at, "store", "init", "--world", str(SEO)])
    lease = remit(at, "lease", "acquire", *AGENT, "wp:post:1024", *READ, "--ttl", "120")[1]["lease"]
    token = ("--token", str(lease["lease_epoch"]))

    listed = remit(at, "lease", "list", "--under", "wp:post:1024")[1]["leases"]
    renewed = remit(at, "lease", "renew", lease["lease_id"], *token, "--ttl", "300")
    refused = remit(at, "lease", "preempt", lease["lease_id"], *OTHER, *READ)
    released = remit(at, "lease", "release", lease["lease_id"], *token)

    assert made.exit_code == 0
    assert [each["lease_id"] for each in listed] == [lease["lease_id"]]
    assert (renewed[0], renewed[1]["version"]) == (0, 2)
    assert (refused[0], refused[1]["problem"]["code"]) == (1, "preemption_not_authorized")
    assert released == (0, {"done": True})
