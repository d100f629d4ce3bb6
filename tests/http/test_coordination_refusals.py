"""Commands of coordination sent wrong: empty, huge, twice, out of order, by the wrong caller, to a locked store.

Each refusal has the status and code of its kind, and changes nothing.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.sqlite.options import SqliteOptions
from remit_service import stores
from tests.http.serving import serve, stopped_later
from tests.support.store_lock import StoreLock

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from tests.http.serving import Served

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"
OWNER = "controller:seo-control-plane"
AGENT = {"type": "instance", "id": "seo-agent-7"}
OF_AN_OWNER = {"type": "controller", "id": "seo-control-plane"}
POST = {"type": "wp:post", "id": "1025"}
ASKED: dict[str, Any] = {
    "subject": AGENT,
    "action": {"name": "UPDATE_CANONICAL"},
    "resource": POST,
    "context": {"risk": "LOW", "expected_version": "rev_1"},
}
TOKEN = {"lease_epoch": 1}
LATER = "2098-01-01T00:00:00Z"

COMMANDS: dict[str, dict[str, Any]] = {
    "POST /v1/operations": ASKED,
    "POST /v1/operations/{operation}/precondition": {"current_version": "rev_1"},
    "POST /v1/operations/{operation}/renew": TOKEN,
    "POST /v1/operations/{operation}/executed": {**TOKEN, "result": "applied"},
    "POST /v1/operations/{operation}/verified": {**TOKEN, "passed": True},
    "POST /v1/operations/{operation}/complete": {**TOKEN, "final_version": "rev_2"},
    "POST /v1/operations/{operation}/abort": {"reason": "given up"},
    "POST /v1/leases": ASKED,
    "PUT /v1/leases/{lease}": TOKEN,
    "POST /v1/leases/{lease}/preempt": {"subject": AGENT, "action": {"name": "UPDATE_CANONICAL"}},
    "POST /v1/presence": {"resource": POST, "actor": "human:editor-1", "fields_touched": ["title"]},
    "POST /v1/incidents": {"incident_id": "inc_1", "severity": "SEV1", "resource": POST, "actor": "human:commander"},
    "POST /v1/observations": {"resource": POST, "fields": ["canonical"], "reporter": "human:operator"},
    "POST /v1/work-sets": {"run_id": "run-1", "actor": "instance:orchestrator-1", "writes": ["wp:post:1024"],
                           "expires_at": LATER},
    "POST /v1/transfers": {"actor": OWNER, "from": OWNER, "to": "controller:content-control-plane",
                           "resource": "wp:post:2001", "fields": ["canonical"], "reason": "test"},
    "POST /v1/transfers/{transfer}/validate": {"actor": OWNER},
}  # fmt: skip
"""Commands with a body that is well formed; what they name is there."""

ANYWAY = {
    "POST /v1/operations/{operation}/executed": (409, "invalid_transition"),
    "POST /v1/operations/{operation}/verified": (409, "invalid_transition"),
    "POST /v1/operations/{operation}/complete": (409, "not_verified"),
    "POST /v1/transfers": (403, "identity_mismatch"),
    "POST /v1/transfers/{transfer}/validate": (403, "identity_mismatch"),
}
"""What is refused whether the store can be written or not: steps out of order, and words for a control plane."""

NEEDED = {
    "POST /v1/operations": "/action",
    "POST /v1/operations/{operation}/precondition": "/current_version",
    "POST /v1/operations/{operation}/renew": "/lease_epoch",
    "POST /v1/operations/{operation}/executed": "/lease_epoch",
    "POST /v1/operations/{operation}/verified": "/passed",
    "POST /v1/operations/{operation}/complete": "/lease_epoch",
    "POST /v1/operations/{operation}/abort": "/reason",
    "POST /v1/leases": "/action",
    "PUT /v1/leases/{lease}": "/lease_epoch",
    "POST /v1/leases/{lease}/preempt": "/action",
    "POST /v1/presence": "/resource",
    "POST /v1/incidents": "/resource",
    "POST /v1/observations": "/resource",
    "POST /v1/work-sets": "/run_id",
    "POST /v1/transfers": "/from",
}
"""Where an empty object is refused; a step of a transfer needs nothing."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The content platform with its enforcement points; a write waits for another process for a moment only."""
    folder = tmp_path_factory.mktemp("refusals")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stores, "SqliteOptions", partial(SqliteOptions, busy_timeout=timedelta(milliseconds=300)))
        served = serve(folder, SEO, keys=("gateway", "edge", "nobody"))
    yield from stopped_later(served)


@pytest.fixture(scope="module")
def lock(served: Served) -> Iterator[StoreLock]:
    """A process that can hold the store's own write lock."""
    other = StoreLock(served.settings.store)
    yield other
    other.close()


@pytest.fixture(scope="module")
def names(served: Served) -> dict[str, str]:
    """An operation, its lease, and a transfer, which are there all the time."""
    client = served.client("gateway")
    held = client.post("/v1/operations", json={**ASKED, "resource": {"type": "wp:post", "id": "1024"}}).json()
    lease = held["lease"]
    return {
        "operation": held["coordination_id"], "lease": lease["lease_id"], "token": str(lease["lease_epoch"]),
        "transfer": "transfer_1",
    }  # fmt: skip


def call(client: httpx.Client, command: str, names: dict[str, str], **sent: Any) -> httpx.Response:
    """Send a command."""
    method, _, path = command.partition(" ")
    headers = {"If-Match": "*", **sent.pop("headers", {})}
    return client.request(method, path.format(**names), headers=headers, **sent)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_body_that_is_none_is_400(served: Served, names: dict[str, str], command: str) -> None:
    """Nothing, no JSON, a list, another media type; an empty object is refused at the first member it lacks."""
    client = served.client("gateway")
    before = served.point.view.revision
    kind = {"Content-Type": "application/json"}
    replies = [
        call(client, command, names),
        call(client, command, names, content=b"{", headers=kind),
        call(client, command, names, json=[]),
        call(client, command, names, content=b"{}", headers={"Content-Type": "text/plain"}),
        call(client, command, names, content=b'{"actor": NaN}', headers=kind),
    ]
    empty = call(client, command, names, json={})

    assert [(each.status_code, each.json()["code"]) for each in replies] == [(400, "malformed_request")] * 5
    if command in NEEDED:
        assert (empty.status_code, empty.json()["errors"][0]["pointer"]) == (400, f"#{NEEDED[command]}"), empty.text
    assert served.point.view.revision == before


@pytest.mark.parametrize("command", COMMANDS)
def test_a_body_that_is_too_large_is_413(served: Served, names: dict[str, str], command: str) -> None:
    """Beyond the bound of a body nothing is read; a member beyond its own bound is told where."""
    client = served.client("gateway")
    huge = call(client, command, names, json={**COMMANDS[command], "reason": "x" * (1 << 20)})
    long = call(client, command, names, json={**COMMANDS[command], "actor": "x" * 2_000, "subject": {"type": "x"}})

    assert (huge.status_code, huge.json()["code"], huge.json()["retryable"]) == (413, "limit_exceeded", False)
    assert long.status_code in (400, 403), long.text


@pytest.mark.parametrize("command", COMMANDS)
def test_who_may_not_call_is_told_so(served: Served, names: dict[str, str], command: str) -> None:
    """401 without a credential, 403 with one of nobody."""
    replies = [call(served.client(key), command, names, json=COMMANDS[command]) for key in (None, "nobody")]

    assert [(each.status_code, each.json()["code"]) for each in replies] == [
        (401, "unauthenticated"),
        (403, "unauthenticated"),
    ]


@pytest.mark.parametrize("command", [each for each in COMMANDS if "{" not in each])
def test_nobody_speaks_for_whom_it_may_not(served: Served, names: dict[str, str], command: str) -> None:
    """An enforcement point for people and agents gives no command in the name of a control plane."""
    body = {**COMMANDS[command], "subject": OF_AN_OWNER, "actor": OWNER, "reporter": OWNER}
    reply = call(served.client("edge"), command, names, json=body)

    assert (reply.status_code, reply.json()["code"]) == (403, "identity_mismatch"), reply.text


@pytest.mark.parametrize("command", COMMANDS)
def test_a_locked_store_is_503_and_changes_nothing(
    served: Served, names: dict[str, str], lock: StoreLock, command: str
) -> None:
    """Whatever would be appended is not; what is refused anyway is refused as ever, and no fault is a permit."""
    client, before = served.client("gateway"), served.point.view.revision
    body = {**COMMANDS[command], "ttl_seconds": 60}
    if "lease_epoch" in body:
        body["lease_epoch"] = int(names["token"])
    with lock.held():
        reply = call(client, command, names, json=body)

    told = (reply.status_code, reply.json()["code"])
    assert told == ANYWAY.get(command, (503, "authority_stale")), reply.text
    assert served.point.view.revision == before


@pytest.mark.feature("S86", "S88")
def test_steps_twice_and_out_of_order(served: Served) -> None:
    """A version may be read again, and a second `complete` is answered as the first; any other step twice is 409."""
    client = served.client("gateway")
    begun = client.post("/v1/operations", json=ASKED).json()
    path, token = f"/v1/operations/{begun['coordination_id']}", {"lease_epoch": begun["lease_epoch"]}
    bodies = {
        "precondition": {"current_version": "rev_1"},
        "executed": {**token, "result": "applied"},
        "verified": {**token, "passed": True},
        "complete": {**token, "final_version": "rev_2"},
    }

    def sent(name: str) -> tuple[int, str | None]:
        reply = client.post(f"{path}/{name}", json=bodies[name])
        return reply.status_code, reply.json().get("code")

    walked = [sent(name) for name in ("executed", "verified", "complete", "precondition", "precondition", "verified")]
    walked += [sent(name) for name in ("executed", "precondition", "executed", "verified", "verified", "complete")]
    again, aborted = sent("complete"), client.post(f"{path}/abort", json={"reason": "late"})
    late = [sent(name) for name in ("precondition", "executed", "verified")]

    wrong = (409, "invalid_transition")
    assert walked == [
        wrong, wrong, (409, "not_verified"), (200, None), (200, None), wrong,
        (200, None), wrong, wrong, (200, None), wrong, (200, None),
    ]  # fmt: skip
    assert again == (200, None)
    assert (aborted.status_code, aborted.json()["status"]) == (200, "COMPLETED")
    assert [status for status, _ in late] == [409, 409, 409]


@pytest.mark.parametrize("kind", ["operations", "leases", "waiters", "work-sets", "transfers"])
def test_what_nobody_has_is_not_found(served: Served, kind: str) -> None:
    """To be looked at: 404. To be acted on: 403, as if it were somebody else's; which of both is not told."""
    client = served.client("edge")
    found = client.get(f"/v1/{kind}/nothing_1")
    given = {
        "operations": lambda: client.post("/v1/operations/nothing_1/abort", json={"reason": "x"}),
        "leases": lambda: client.delete("/v1/leases/nothing_1?lease_epoch=1"),
        "waiters": lambda: client.delete("/v1/waiters/nothing_1"),
        "work-sets": lambda: client.delete("/v1/work-sets/nothing_1"),
        "transfers": lambda: client.post("/v1/transfers/nothing_1/freeze", json={"actor": "human:editor-1"}),
    }[kind]()

    assert found.status_code == {"work-sets": 405, "transfers": 403}.get(kind, 404)
    assert given.status_code in (403, 404), given.text
