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
    assert [each["state"] for each in remit(at, "transfer", "list")[1]["transfers"]] == ["ABORTED"]


def test_a_wait_from_the_command_line(served: Served) -> None:
    """Its place in the queue, then the lease; leaving is as good twice as once, and a notice tells who lost what."""
    at = ("--url", served.url)
    first = remit(at, "operation", "begin", *AGENT, "wp:post:1025", *READ)[1]
    waits = remit(at, "operation", "begin", *OTHER, "wp:post:1025", *READ, "--wait", "30")[1]
    place = remit(at, "waiter", "show", waits["waiter_id"], "--within", "0")
    remit(at, "operation", "abort", first["coordination_id"])
    granted = remit(at, "waiter", "show", waits["waiter_id"], "--within", "20")
    other = remit(at, "operation", "begin", *AGENT, "wp:post:1025", *READ, "--wait", "30")[1]
    left = [remit(at, "waiter", "leave", other["waiter_id"]) for _ in range(2)]
    gone = remit(at, "waiter", "show", other["waiter_id"])

    assert (place[0], place[1]["position"]) == (0, 1)
    assert (granted[0], granted[1]["lease"]["holder"]) == (0, "instance:seo-agent-8")
    assert left == [(0, {"done": True})] * 2
    assert (gone[0], gone[1]["problem"]["state"]) == (1, "LEFT")
    assert remit(at, "notices", "instance:seo-agent-8") == (0, {"notices": []})
    remit(at, "operation", "abort", granted[1]["coordination_id"])


def test_several_resources_from_the_command_line(served: Served) -> None:
    """Two posts in one operation, all or none; without a lease it meets others at the version alone."""
    at = ("--url", served.url)
    both = remit(at, "operation", "begin", *AGENT, "wp:post:1026", *READ, "--also", "wp:post:1028")
    busy = remit(at, "operation", "begin", *OTHER, "wp:post:1024", *READ, "--also", "wp:post:1028")
    remit(at, "operation", "abort", both[1]["coordination_id"])
    free = remit(at, "operation", "begin", *AGENT, "wp:post:1028", *READ, "--no-lease")

    assert [each["resource_key"] for each in both[1]["leases"]] == ["wp:post:1026", "wp:post:1028"]
    assert (busy[0], busy[1]["problem"]["code"]) == (1, "resource_busy")
    assert (free[0], free[1]["leases"]) == (0, [])


@pytest.mark.feature("S66")
def test_an_outcome_is_added_to_the_receipt(served: Served) -> None:
    """Days later, with no lease held, and after the receipt has left the view; it is no second write."""
    at = ("--url", served.url)
    view = served.point.view
    begun = remit(at, "operation", "begin", *AGENT, "wp:post:1027", *READ, "--no-lease")[1]
    operation, token = begun["coordination_id"], ("--token", str(begun["lease_epoch"]))
    remit(at, "operation", "precondition", operation, "rev_1")
    remit(at, "operation", "executed", operation, "applied", *token)
    remit(at, "operation", "verified", operation, *token)
    done = remit(at, "operation", "complete", operation, "rev_2", *token)[1]["receipt"]
    written = dict(view.coordination.counters)
    del view.coordination.kept_records["receipt"].items[operation]
    added = remit(at, "operation", "outcome", operation, "-c", "indexed=true", "-c", "rank=3")
    receipt = remit(at, "receipt", operation)[1]

    assert (done["status"], added[0]) == ("COMPLETED", 0)
    found = {name: receipt["outcome_checks"][0][name] for name in ("by", "indexed", "rank")}
    assert found == {"by": "instance:seo-agent-7", "indexed": True, "rank": 3}
    assert {name: each for name, each in receipt.items() if name != "outcome_checks"} == done
    assert dict(view.coordination.counters) == written


def test_what_is_said_of_resources_from_the_command_line(served: Served) -> None:
    """Observations, declared runs, and the feed, which goes on where it ended; usage is exit code 2."""
    at = ("--url", served.url)
    seen = remit(at, "observation", "report", "wp:post:1028", "--field", "canonical", "--version", "rev_9",
                 "--reporter", "human:operator")  # fmt: skip
    runs = [
        remit(
            at, "work-set", "declare", name, "--expires-at", "2098-01-01T00:00:00Z", "--write", "wp:post:1028",
            "--actor", "instance:orchestrator-1",
        )
        for name in ("run-1", "run-2")
    ]  # fmt: skip
    listed = remit(at, "work-set", "list")[1]["work_sets"]
    ended = [remit(at, "work-set", "end", each)[0] for each in ("run-1", "run-2")]
    feed = remit(at, "changes", "--kind", "work_set")
    rest = remit(at, "changes", "--kind", "work_set", "--after", feed[1]["revision"])

    assert (seen[0], seen[1]["finding"]) == (0, "ownership_violation")
    observed = remit(at, "observation", "list")[1]
    assert [each["finding"] for each in observed["observations"]] == ["ownership_violation"]
    assert observed["coverage"]["writes_uncoordinated"] == 1
    assert [[each["run_id"] for each in run[1]["conflicts"]] for run in runs] == [[], ["run-1"]]
    assert ([each["run_id"] for each in listed], ended) == (["run-1", "run-2"], [0, 0])
    kinds = [change["kind"] for entry in feed[1]["entries"] for change in entry["changes"]]
    assert kinds == ["work_set.put", "work_set.put", "work_set.end", "work_set.end"]
    assert rest[1]["entries"] == []
    assert remit(at, "changes", "--after", "not a token!")[0] == 2
    assert CliRunner().invoke(app, [*at, "changes", "--wait", "99"]).exit_code == 2


def test_a_service_that_is_not_there_is_a_fault() -> None:
    """Exit code 3, and what to do."""
    code, document = remit(("--url", "http://127.0.0.1:1"), "waiter", "show", "wait_1")

    assert code == 3
    assert "the service cannot be reached" in document["error"]["messages"][0]


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
