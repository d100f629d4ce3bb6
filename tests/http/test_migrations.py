"""Migrations over HTTP: one line of numbers, each next one granted alone, under an approval of its own version."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.http.serving import finish, serve, stopped_later

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from tests.http.serving import Served

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"
SCHEMA = {"type": "key", "id": "db:schema:content"}
ONE, OTHER = "migration-runner-1", "migration-runner-2"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """The content platform with its database, on which nothing was migrated yet."""
    yield from stopped_later(serve(tmp_path, SEO, demo=True))


@pytest.fixture
def client(served: Served) -> httpx.Client:
    """A local caller: it speaks for anyone."""
    return served.client()


def approved(client: httpx.Client, runner: str, version: str) -> str:
    """Let the security officer approve a migration of a version by a runner."""
    shown = {"resources": [SCHEMA["id"]], "operation": "MIGRATE_SCHEMA", "target": "a migration",
             "expected_effect": "one more column", "conflicts": []}  # fmt: skip
    body = {"action": {"name": "MIGRATE_SCHEMA"}, "resource": SCHEMA, "for": f"instance:{runner}", "shown": shown,
            "expected_version": version, "expires_at": "2099-01-01T00:00:00Z", "under": "APPROVE_MIGRATION",
            "approver": "human:security"}  # fmt: skip
    reply = client.post("/v1/approvals", json=body)
    assert reply.status_code == 201, reply.text
    return str(reply.json()["approval_id"])


def migrate(client: httpx.Client, runner: str, version: str, sequence: Any, **more: Any) -> httpx.Response:
    """Begin a migration on a version, under an approval of just that."""
    context = {"risk": "LOW", "expected_version": version, "sequence": sequence}
    context["approval_id"] = approved(client, runner, version)
    subject, action = {"type": "instance", "id": runner}, {"name": "MIGRATE_SCHEMA"}
    body = {"subject": subject, "action": action, "resource": SCHEMA, "context": context}
    return client.post("/v1/operations", json={**body, **more})


@pytest.mark.feature("S58")
def test_only_the_next_migration_runs_and_alone(client: httpx.Client) -> None:
    """103 begins the line and holds the schema alone; 104 before it is done is refused, after it is granted."""
    early = migrate(client, OTHER, "v102", {"number": 104, "depends_on": [103]})
    first = migrate(client, ONE, "v102", {"number": 103})
    second = migrate(client, OTHER, "v102", {"number": 103})
    held = client.get("/v1/leases?under=db:schema:content").json()["leases"]
    receipt = finish(client, first.json(), "v102", "v103")
    skipped = migrate(client, OTHER, "v103", {"number": 105, "depends_on": [103]})
    unmet = migrate(client, OTHER, "v103", {"number": 104, "depends_on": [103, 107]})
    following = migrate(client, OTHER, "v103", {"number": 104, "depends_on": [103]})

    problem = early.json()
    assert (early.status_code, problem["code"], problem["outcome"]) == (409, "sequence_violated", "ordered")
    assert {name: problem["reasons"][0][name] for name in ("line", "number", "next")} == {
        "line": "schema-migrations",
        "number": 104,
        "next": 103,
    }
    assert (first.status_code, second.status_code) == (201, 409)
    assert [(each["holder"], each["mode"]) for each in held] == [(f"instance:{ONE}", "exclusive")]
    assert (receipt["status"], receipt["final_version"], len(receipt["approvals"])) == ("COMPLETED", "v103", 1)
    assert [each.json()["code"] for each in (skipped, unmet)] == ["sequence_violated"] * 2
    assert following.status_code == 201, following.text
    assert following.json()["lease_epoch"] > first.json()["lease_epoch"]


@pytest.mark.feature("S58")
def test_a_migration_that_is_given_up_does_not_move_the_line(client: httpx.Client) -> None:
    """What waits for its turn is granted when the one before is done, and stays in line where it was given up."""
    finish(client, migrate(client, ONE, "v102", {"number": 103}).json(), "v102", "v103")
    first = migrate(client, ONE, "v103", {"number": 104, "depends_on": [103]}).json()
    client.post(f"/v1/operations/{first['coordination_id']}/abort", json={"reason": "wrong"}).raise_for_status()
    early = migrate(client, OTHER, "v103", {"number": 105, "depends_on": [104]})
    again = migrate(client, ONE, "v103", {"number": 104, "depends_on": [103]})

    assert (early.status_code, early.json()["code"]) == (409, "sequence_violated")
    assert finish(client, again.json(), "v103", "v104")["status"] == "COMPLETED"


@pytest.mark.parametrize("sequence", [None, {}, {"number": "103"}, {"number": True}, "103", {"number": 103.0}])
def test_a_migration_without_its_number_is_nobodys_turn(client: httpx.Client, sequence: Any) -> None:
    """Left out, or none: it is refused as out of order, and never guessed."""
    reply = migrate(client, OTHER, "v102", sequence)

    assert (reply.status_code, reply.json()["code"]) == (409, "sequence_violated")


@pytest.mark.feature("S58", "S120")
def test_a_migration_needs_an_approval_of_its_own(client: httpx.Client) -> None:
    """One of another runner, or of another version, is stale; the sentence says that none counts."""
    context = {"risk": "LOW", "expected_version": "v102", "sequence": {"number": 103}}
    body = {"subject": {"type": "instance", "id": ONE}, "action": {"name": "MIGRATE_SCHEMA"}, "resource": SCHEMA}
    others = [approved(client, OTHER, "v102"), approved(client, ONE, "v101")]

    refused = [
        client.post("/v1/operations", json={**body, "context": {**context, "approval_id": each}}) for each in others
    ]

    assert [each.status_code for each in refused] == [403, 403]
    for each in refused:
        assert [reason["code"] for reason in each.json()["reasons"]] == ["approval_required", "approval_stale"]
        assert each.json()["detail"] == "rule `irreversible_in_production` asks for 1 approvals, and 0 count"
