"""Quotas over HTTP: what one principal and one enforcement point may have at once, and where it is published."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from remit_service.clock import ManualClock
from remit_service.coordination.bounds import Limits, Quota
from remit_service.coordinator.rates import Rates
from remit_service.keeping.compaction import retention_of
from tests.http.serving import serve, stopped_later

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from tests.http.serving import Served

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"
MANY = Quota(lease=99, waiter=99, operation=99, presence=99, commands_per_second=99)
LIMITED = ("lease", "operation", "waiter", "presence")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The content platform."""
    yield from stopped_later(serve(tmp_path_factory.mktemp("limits"), SEO, keys=("gateway", "edge")))


@pytest.fixture
def gateway(served: Served) -> Iterator[httpx.Client]:
    """An enforcement point; what was changed of policy and rates is put back."""
    policy, rates = served.point.policy, served.coordinator.rates
    yield served.client("gateway")
    served.point.policy, served.coordinator.rates = policy, rates


def limit(served: Served, *, whose: str, **quota: int) -> None:
    """Put a lower quota in force, for principals or for enforcement points."""
    policy = served.point.policy
    limits = Limits(**{"principal": MANY, "point": MANY, whose: replace(MANY, **quota)})
    served.point.policy = replace(policy, tables=replace(policy.tables, limits=limits))


def asking(agent: str, post: int, **more: Any) -> dict[str, Any]:
    """Return the body that asks for the canonical of a post."""
    return {
        "subject": {"type": "instance", "id": agent},
        "action": {"name": "UPDATE_CANONICAL"},
        "resource": {"type": "wp:post", "id": str(post)},
        "context": {"risk": "LOW", "expected_version": "rev_1"},
        **more,
    }


def call(client: httpx.Client, noun: str, post: int, agent: str) -> httpx.Response:
    """Ask for one more of something."""
    if noun == "presence":
        body: dict[str, Any] = {"actor": "human:editor-1", "resource": {"type": "wp:post", "id": str(post)}}
        return client.post("/v1/presence", json={**body, "fields_touched": ["featured_image"]})
    path = "/v1/operations" if noun == "operation" else "/v1/leases"
    more = {"wait_seconds": 30} if noun == "waiter" else {}
    return client.post(path, json=asking(agent, post, **more))


def clear(served: Served) -> None:
    """End everything that is held, waited for or edited."""
    client, tables = served.client("gateway"), served.coordinator.view
    for waiter in list(tables.records.get("waiter", {})):
        client.delete(f"/v1/waiters/{waiter}").raise_for_status()
    for operation in list(tables.records.get("operation", {})):
        client.post(f"/v1/operations/{operation}/abort", json={"reason": "clear"}).raise_for_status()
    for lease in list(tables.records.get("lease", {}).values()):
        query = {"lease_epoch": lease["lease_epoch"]}
        client.delete(f"/v1/leases/{lease['lease_id']}", params=query).raise_for_status()
    for presence in list(tables.records.get("presence", {})):
        client.delete(f"/v1/presence/{presence}").raise_for_status()


@pytest.mark.parametrize("whose", ["principal", "point"])
@pytest.mark.parametrize("noun", LIMITED)
def test_one_more_than_is_allowed_is_429(served: Served, gateway: httpx.Client, noun: str, whose: str) -> None:
    """With what is limited, how many are there, and when the first is over; a higher limit lets it through."""
    clear(served)
    agents = ["seo-agent-7"] * 3 if whose == "principal" else ["seo-agent-7", "seo-agent-8", "seo-publisher-1"]
    if noun == "waiter":
        for post in (1024, 1025, 1026):
            gateway.post("/v1/leases", json=asking("seo-agent-8", post)).raise_for_status()
        agents = ["seo-agent-7", "seo-agent-7", "seo-agent-7" if whose == "principal" else "seo-publisher-1"]
    limit(served, whose=whose, **{noun: 2})

    within = [call(gateway, noun, post, agent) for post, agent in zip((1024, 1025), agents, strict=False)]
    over = call(gateway, noun, 1026, agents[2])
    limit(served, whose=whose, **{noun: 3})
    again = call(gateway, noun, 1026, agents[2])

    assert {each.status_code for each in within} == {{"waiter": 202, "presence": 200}.get(noun, 201)}
    problem = over.json()
    principal = "human:editor-1" if noun == "presence" else "instance:seo-agent-7"
    named = principal if whose == "principal" else "service:gateway"
    assert (over.status_code, problem["code"], problem["limit"]) == (429, "limit_exceeded", f"{noun}s of `{named}`")
    assert (problem["maximum"], problem["count"], problem["retryable"]) == (2, 2, True)
    assert 0 < problem["retry_after_seconds"] == int(over.headers["retry-after"]) <= 60
    assert again.status_code == within[0].status_code
    clear(served)


@pytest.mark.parametrize("whose", ["principal", "point"])
def test_commands_a_second_are_counted(served: Served, gateway: httpx.Client, whose: str) -> None:
    """The third command of one second is 429, whatever it asks for; a second later there is room again."""
    clock = ManualClock(served.point.now())
    served.coordinator.rates = Rates(clock)
    limit(served, whose=whose, commands_per_second=2)
    known = asking("seo-agent-7", 1027)
    lease = gateway.post("/v1/leases", json=known).json()["lease"]
    path, token = f"/v1/leases/{lease['lease_id']}", {"lease_epoch": lease["lease_epoch"]}
    renewed = gateway.put(path, json=token, headers={"If-Match": "*"})

    over = [
        gateway.post("/v1/leases", json=known),
        gateway.put(path, json=token, headers={"If-Match": "*"}),
        gateway.delete(path, params=token),
    ]
    clock.advance(1)
    released = gateway.delete(path, params=token)

    assert renewed.status_code == 200
    named = "instance:seo-agent-7" if whose == "principal" else "point service:gateway"
    assert [(each.status_code, each.json()["limit"]) for each in over] == [(429, f"commands a second of `{named}`")] * 3
    assert [(each.json()["maximum"], each.headers["retry-after"]) for each in over] == [(2, "1")] * 3
    assert released.status_code == 204


def test_every_quota_is_published(served: Served, gateway: httpx.Client) -> None:
    """`GET /v1/limits` names quotas of principals and points, how long leases live, and how long evidence is kept."""
    limits = gateway.get("/v1/limits").json()
    tables = served.coordinator.tables

    assert limits["per_principal"] == tables.limits.principal.record()
    assert limits["per_enforcement_point"]["commands_per_second"] == 10_000
    assert (limits["leases"]["min_ttl_seconds"], limits["leases"]["max_hold_seconds"]) == (1, 1_800)
    assert limits["retention"] == {
        "history_seconds": None,
        "history_after": 0,
        "receipts_seconds": None,
        "idempotency_keys_seconds": retention_of(tables).kept_for.total_seconds(),
        "governance_keys_seconds": None,
        "records_at_hand": 20_000,
    }
