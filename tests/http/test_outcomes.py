"""What a conflict can come to (S54), each reached over HTTP, and all of them answers of one published form (S88)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from remit_graph.model.change import Change, Command
from tests.http.serving import serve, stopped_later

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from tests.http.serving import Served

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"
READ = {"risk": "LOW", "expected_version": "rev_1", "resource_version": "rev_1"}
WORKER = "cf:worker:seo-publisher:production"
SECTION = "site:example.com:about-pages"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The content platform, for callers of this machine."""
    yield from stopped_later(serve(tmp_path_factory.mktemp("outcomes"), SEO, demo=True))


@pytest.fixture(scope="module")
def client(served: Served) -> httpx.Client:
    """A local caller, which sees the graph and speaks for anyone."""
    return served.client()


@pytest.fixture(scope="module")
def form(client: httpx.Client) -> jsonschema_rs.Draft202012Validator:
    """The form of a conflict, as `/openapi.json` publishes it."""
    document = client.get("/openapi.json").json()
    schema = {"$ref": "#/components/schemas/ConflictProblem", "components": document["components"]}
    return jsonschema_rs.Draft202012Validator(schema)


def begin(client: httpx.Client, who: str, action: str, key: str, **more: Any) -> httpx.Response:
    """Begin an operation."""
    kind, _, name = who.partition(":")
    body = {"subject": {"type": kind, "id": name}, "action": {"name": action}, "resource": {"type": "key", "id": key}}
    return client.post("/v1/operations", json={**body, "context": READ, **more})


def approved(client: httpx.Client, runner: str) -> dict[str, Any]:
    """Let a migration be approved, and return the context it is begun with."""
    key = "db:schema:content"
    shown = {"resources": [key], "operation": "MIGRATE_SCHEMA", "target": "x", "expected_effect": "x", "conflicts": []}
    body = {"action": {"name": "MIGRATE_SCHEMA"}, "resource": {"type": "key", "id": key}, "for": runner,
            "expected_version": "rev_1", "expires_at": "2099-01-01T00:00:00Z", "under": "APPROVE_MIGRATION",
            "approver": "human:security", "shown": shown}  # fmt: skip
    approval = client.post("/v1/approvals", json=body).json()["approval_id"]
    return {**READ, "approval_id": approval, "sequence": {"number": 103}}


def unmapped(served: Served) -> None:
    """Let an action be there whose kind of state nobody has put into the matrix."""
    grant = {
        "edge_id": "g-mystery", "version": 1, "edge": "MAY_WRITE", "from": "role:seo-publisher", "to": "site:*:*",
        "epoch": 1, "issuer": "organization:acme", "scope": {"actions": ["MYSTERY"]},
    }  # fmt: skip
    changes = (Change("action.put", {"name": "MYSTERY", "class": "write"}), Change("edge.begin", grant))

    async def append() -> None:
        head = await served.point.replica.catch_up()
        command = Command(action="TEST", actor="system", at=served.point.now(), changes=changes)
        await served.point.ledger.append(head, [command])
        await served.point.replica.catch_up()

    served.run(append)


@pytest.mark.feature("S54", "S88")
def test_each_outcome_is_reached_and_has_one_form(
    served: Served, client: httpx.Client, form: jsonschema_rs.Draft202012Validator
) -> None:
    """Two beside each other, and eleven ways not to be; each says what to do next, in the form that is published."""
    unmapped(served)
    held = [
        begin(client, "instance:seo-agent-7", "UPDATE_CANONICAL", "wp:post:2001"),
        begin(client, "instance:runner-a", "RUN_JOB", "job:daily-seo-publish"),
        begin(client, "instance:seo-publisher-1", "UPDATE_TAGS", "wp:post:1027",
              context={**READ, "set_operations": {"add": ["GEO"]}}),
        begin(client, "instance:release-controller-a", "DEPLOY_WORKER", WORKER),
        begin(client, "instance:migration-runner-1", "MIGRATE_SCHEMA", "db:schema:content",
              context=approved(client, "instance:migration-runner-1")),
    ]  # fmt: skip
    assert [each.status_code for each in held] == [201] * 5, [each.text for each in held]
    beside = begin(client, "instance:content-agent-1", "UPDATE_POST_BODY", "wp:post:2001")
    presence = {
        "resource": {"type": "key", "id": "wp:post:1024"},
        "actor": "human:editor-1",
        "fields_touched": ["body"],
    }
    client.post("/v1/presence", json=presence).raise_for_status()
    incident = {"incident_id": "inc_1", "severity": "SEV1", "resource": {"type": "key", "id": WORKER}}
    client.post("/v1/incidents", json={**incident, "actor": "human:commander"}).raise_for_status()
    second, early = approved(client, "instance:migration-runner-2"), {"sequence": {"number": 105, "depends_on": [104]}}
    found = {
        "serialize": begin(client, "instance:seo-agent-8", "UPDATE_CANONICAL", "wp:post:2001"),
        "wait": begin(client, "instance:runner-b", "RUN_JOB", "job:daily-seo-publish"),
        "rebase": begin(client, "instance:seo-agent-8", "UPDATE_CANONICAL", "wp:post:1025",
                        context={**READ, "resource_version": "rev_2"}),
        "merge_required": begin(client, "instance:seo-publisher-2", "UPDATE_TAGS", "wp:post:1027",
                                context={**READ, "set_operations": {"remove": ["GEO"]}}),
        "preempt": begin(client, "human:commander", "ROLLBACK_WORKER", WORKER),
        "reject": begin(client, "instance:migration-runner-2", "MIGRATE_SCHEMA", "db:schema:content",
                        context={**second, "sequence": {"number": 104, "depends_on": [103]}}),
        "ordered": begin(client, "instance:migration-runner-2", "MIGRATE_SCHEMA", "db:schema:other",
                         context={**READ, **early}),
        "escalate": begin(client, "instance:seo-publisher-2", "MYSTERY", SECTION),
        "hold": begin(client, "instance:content-agent-2", "UPDATE_POST_BODY", "wp:post:1024"),
        "deny": begin(client, "instance:new-agent-1", "UPDATE_CANONICAL", "wp:post:1025"),
    }  # fmt: skip

    path = f"/v1/operations/{held[-1].json()['coordination_id']}/abort"
    client.post(path, json={"reason": "done"}).raise_for_status()
    found["review_required"] = begin(client, "instance:migration-runner-2", "MIGRATE_SCHEMA", "db:schema:content")

    assert (beside.status_code, beside.json()["outcome"]) == (201, "execute")
    assert {name: each.json()["outcome"] for name, each in found.items()} == {name: name for name in found}
    assert found["preempt"].json()["preemptible_by_you"] is True
    for name, each in found.items():
        assert each.headers["content-type"] == "application/problem+json"
        form.validate(each.json())
        assert ("retry-after" in each.headers) == ("retry_after_seconds" in each.json()), name
