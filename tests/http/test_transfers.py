"""Ownership transfer over HTTP and from the command line: every step, what it freezes, what an abort leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from remit_service.cli.app import app
from tests.http.serving import finish, serve, stopped_later

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from tests.http.serving import Served

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"
OLD, NEW = "controller:seo-control-plane", "controller:content-control-plane"
THIRD = "controller:wordpress-plugin-control"
READ = {"risk": "LOW", "expected_version": "rev_1"}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """The content platform; each test moves something of its own."""
    yield from stopped_later(serve(tmp_path, SEO, demo=True))


@pytest.fixture
def client(served: Served) -> httpx.Client:
    """A local caller, which sees the graph and speaks for anyone."""
    return served.client()


def asking(who: str, key: str = "wp:post:2001", **more: Any) -> dict[str, Any]:
    """Return the body that asks for the canonical of a post."""
    kind, _, name = who.partition(":")
    body = {"subject": {"type": kind, "id": name}, "action": {"name": "UPDATE_CANONICAL"}}
    return {**body, "resource": {"type": "key", "id": key}, "context": READ, **more}


def proposed(client: httpx.Client, **more: Any) -> str:
    """Propose to move the canonical of an article, and return the path of the transfer."""
    body = {"actor": OLD, "from": OLD, "to": NEW, "resource": "wp:post:2001", "fields": ["canonical"], "reason": "4711"}
    reply = client.post("/v1/transfers", json={**body, **more})
    assert reply.status_code == 201, reply.text
    return f"/v1/transfers/{reply.json()['transfer_id']}"


def step(client: httpx.Client, path: str, name: str, **more: Any) -> httpx.Response:
    """Take a step in the name of the old owner."""
    return client.post(f"{path}/{name}", json={"actor": OLD, **more})


def verdict(client: httpx.Client, who: str, key: str = "wp:post:2001") -> list[str]:
    """Return why somebody may not write the canonical now; nothing where it may."""
    answer = client.post("/access/v1/evaluation", json=asking(who, key)).json()
    return [each["code"] for each in answer["context"]["reasons"]]


@pytest.mark.feature("S40", "S113")
def test_the_old_writer_is_frozen_and_what_runs_may_finish(client: httpx.Client) -> None:
    """From the freeze on nothing starts or renews; what was begun before goes on to its receipt, and then it moves."""
    running = client.post("/v1/operations", json=asking("instance:seo-agent-7")).json()
    path, operation = proposed(client), f"/v1/operations/{running['coordination_id']}"
    token = {"lease_epoch": running["lease_epoch"]}
    dependencies = step(client, path, "validate").json()["steps"][-1]["evidence"]["dependencies"]
    frozen = step(client, path, "freeze").json()
    started = client.post("/v1/operations", json=asking("instance:seo-agent-8"))
    leaseless = verdict(client, "instance:seo-agent-8")
    renewed = client.post(f"{operation}/renew", json=token)
    early = step(client, path, "transfer")
    receipt = finish(client, running, "rev_1", "rev_2")
    moved = step(client, path, "transfer")

    assert running["lease"]["lease_id"] in json.dumps(dependencies)
    assert frozen["freeze_deadline"] > frozen["steps"][-1]["at"]
    assert (started.status_code, started.json()["code"], leaseless[0]) == (403, "owner_frozen", "owner_frozen")
    assert (renewed.status_code, renewed.json()["code"]) == (403, "owner_frozen")
    assert (early.status_code, early.json()["code"], early.json()["holder"]) == (
        409,
        "resource_busy",
        "instance:seo-agent-7",
    )
    assert int(early.headers["retry-after"]) > 0
    assert receipt["status"] == "COMPLETED"
    assert (moved.status_code, moved.json()["state"]) == (200, "TRANSFERRED")
    assert "not_owner" in verdict(client, "instance:seo-agent-7")


@pytest.mark.feature("S40")
def test_a_probe_that_fails_leaves_it_registered_and_frozen(client: httpx.Client) -> None:
    """Given probes are asked instead of the owners; a failed one is noted, and nobody writes before one passes."""
    path = proposed(client)
    for name in ("validate", "freeze", "transfer", "register"):
        step(client, path, name).raise_for_status()
    wrong = [asking("instance:content-agent-1"), asking(OLD)]
    failed = step(client, path, "verify", probes=wrong).json()
    during = verdict(client, NEW)
    one = step(client, path, "verify", probes=wrong[:1])
    skipped = step(client, path, "retire")
    passed = step(client, path, "verify", probes=[asking(NEW), asking("instance:seo-agent-7")]).json()
    back = step(client, path, "abort")
    retired = step(client, path, "retire").json()

    assert (failed["state"], failed["steps"][-1]["evidence"]["passed"]) == ("REGISTERED", False)
    assert "owner_frozen" in during
    assert (one.status_code, one.json()["code"]) == (400, "malformed_request")
    assert [(each.status_code, each.json()["code"]) for each in (skipped, back)] == [(409, "invalid_transition")] * 2
    assert (passed["state"], passed["steps"][-1]["evidence"]["old_writer"]) == ("VERIFIED", "attenuation_violated")
    assert verdict(client, NEW) == []
    steps = client.get(path).json()["steps"]
    assert retired["state"] == "RETIRED"
    assert [each["step"] for each in steps] == [
        "propose", "validate", "freeze", "transfer", "register", "verify", "verify", "retire",
    ]  # fmt: skip
    revisions = [each["revision"] for each in steps]
    assert revisions == sorted(set(revisions))
    assert {each["actor"] for each in steps} == {OLD}


@pytest.mark.feature("S40")
@pytest.mark.parametrize("reached", [[], ["validate"], ["validate", "freeze"]])
def test_an_abort_leaves_the_state_before(served: Served, client: httpx.Client, reached: list[str]) -> None:
    """Graph, leases and verdicts are what they were, whoever waited is served, and a second abort is refused."""
    held = client.post("/v1/operations", json=asking("instance:seo-agent-7", "wp:post:1024")).json()

    def state() -> tuple[Any, ...]:
        return (
            client.get("/v1/graph/export").text,
            client.get("/v1/leases").json()["leases"],
            [verdict(client, who) for who in ("instance:seo-agent-8", "human:senior-editor", NEW)],
            dict(served.point.view.coordination.frozen),
            dict(served.point.view.coordination.fences.items),
        )

    before = state()
    path = proposed(client, resource="wp:post:*")
    for name in reached:
        step(client, path, name).raise_for_status()
    aborted = step(client, path, "abort")
    again = step(client, path, "abort")
    after = state()

    assert (aborted.status_code, aborted.json()["state"]) == (200, "ABORTED")
    assert (again.status_code, again.json()["code"]) == (409, "invalid_transition")
    assert after == before
    renewed = client.post(f"/v1/operations/{held['coordination_id']}/renew", json={"lease_epoch": held["lease_epoch"]})
    assert renewed.status_code == 200


@pytest.mark.feature("S40", "S113")
def test_the_deadline_ends_what_did_not_finish(client: httpx.Client) -> None:
    """With a deadline that is over the lease from before is revoked with the move, and writes no more."""
    running = client.post("/v1/operations", json=asking("instance:seo-agent-7", ttl_seconds=60)).json()
    path = proposed(client, freeze_deadline_seconds=0)
    for name in ("validate", "freeze"):
        step(client, path, name).raise_for_status()
    moved = step(client, path, "transfer")
    body = {"current_version": "rev_1"}
    late = client.post(f"/v1/operations/{running['coordination_id']}/precondition", json=body)
    receipt = client.get(f"/v1/receipts/{running['coordination_id']}").json()

    assert (moved.status_code, moved.json()["state"]) == (200, "TRANSFERRED")
    assert (late.status_code, late.json()["code"]) == (410, "lease_revoked")
    assert (receipt["status"], receipt["cause"]) == ("REVOKED", "ownership")


def test_who_may_not_and_what_is_not_there(client: httpx.Client) -> None:
    """Only the parties take steps, whatever right a third one has; what is unknown is told as such."""
    path = proposed(client)
    foreign = [client.post(f"{path}/validate", json={"actor": who}) for who in (THIRD, "instance:seo-agent-7")]
    again = client.post(
        "/v1/transfers",
        json={"actor": OLD, "from": OLD, "to": NEW, "resource": "wp:post:2001", "fields": ["canonical"], "reason": "x"},
    )
    nobody = client.post("/v1/transfers/transfer_0/validate", json={"actor": OLD})
    nothing = client.post(f"{path}/vanish", json={"actor": OLD})
    body = {"actor": OLD, "from": OLD, "to": NEW, "resource": "wp:post:2001", "reason": "x"}
    unnamed = [client.post("/v1/transfers", json={**body, "fields": each}) for each in ([], ["body"])]

    assert [each.status_code for each in foreign] == [403, 403]
    assert (again.status_code, again.json()["code"]) == (409, "already_exists")
    assert (nobody.status_code, nothing.status_code) == (404, 400)
    assert [(each.status_code, each.json()["code"]) for each in unnamed] == [
        (400, "malformed_request"),
        (403, "not_owner"),
    ]
    assert client.get(path).json()["state"] == "PROPOSED"


@pytest.mark.feature("S40")
def test_seven_steps_from_the_command_line(served: Served) -> None:
    """Each a verb, with the probes as words; a step out of turn is exit code 1, a probe that is none 2."""

    def remit(*words: str) -> tuple[int, dict[str, Any]]:
        result = CliRunner().invoke(app, ["--url", served.url, "--json", "transfer", *words])
        return result.exit_code, json.loads(result.stdout) if result.stdout.startswith("{") else {}

    owners = ("--from", OLD, "--to", NEW, "--field", "canonical", "--reason", "trial")
    move = remit("propose", "wp:post:2001", *owners)[1]["transfer_id"]
    by = ("--actor", OLD)
    early = remit("retire", move, *by)
    walked = [remit(name, move, *by) for name in ("validate", "freeze", "transfer", "register")]
    probes = [f"{NEW} UPDATE_CANONICAL wp:post:2001", "instance:seo-agent-7 UPDATE_CANONICAL wp:post:2001"]
    none = remit("verify", move, *by, "--probe", "nobody")
    verified = remit("verify", move, *by, *(word for each in probes for word in ("--probe", each)))
    retired = remit("retire", move, *by)

    assert (early[0], early[1]["problem"]["code"]) == (1, "invalid_transition")
    assert [(code, each["state"]) for code, each in (*walked, verified, retired)] == [
        (0, state) for state in ("VALIDATED", "FROZEN", "TRANSFERRED", "REGISTERED", "VERIFIED", "RETIRED")
    ]
    assert none[0] == 2
