"""Who really acted: every level of principals, the running workload in log and receipt, replicas and people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.http.serving import finish, serve, stopped_later
from tests.support.process import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from tests.http.serving import Served

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"
CHIEF = {"actor": "human:chief"}
POST = "wp:post:1024"
SAID = {"risk": "LOW", "environment": "production", "expected_version": "v1", "resource_version": "v1"}
LEVELS = {
    "organization:newco": [],
    "team:night": ["organization:newco"],
    "role:night-editor": ["team:night"],
    "agent_type:writer": [],
    "controller:night": [],
    "instance:writer-1": ["role:night-editor", "agent_type:writer"],
    "human:night-owl": ["role:night-editor"],
    "service:night-cron": ["role:night-editor", "controller:night"],
}
"""Each of the eight kinds, and what it is linked upward to."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The content platform, with a gateway that speaks for everybody."""
    yield from stopped_later(serve(tmp_path_factory.mktemp("acted"), SEO, keys=("gateway",)))


@pytest.fixture
def gateway(served: Served) -> httpx.Client:
    """The client of the gateway."""
    return served.client("gateway")


def post(gateway: httpx.Client, path: str, **body: Any) -> dict[str, Any]:
    """Post as the chief, which must succeed."""
    reply = gateway.post(path, json={**body, **({} if "subject" in body or "lease_epoch" in body else CHIEF)})
    assert reply.is_success, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


def asked(who: str, action: str = "UPDATE_CANONICAL", resource: str = POST, **context: Any) -> dict[str, Any]:
    """Return an evaluation."""
    kind, _, name = who.partition(":")
    return {
        "subject": {"type": kind, "id": name},
        "action": {"name": action},
        "resource": {"type": "key", "id": resource},
        "context": {**SAID, **context},
    }


def decide(
    gateway: httpx.Client, who: str, action: str = "UPDATE_CANONICAL", **more: Any
) -> tuple[str, list[str], str]:
    """Return outcome, codes and id of a decision."""
    context = gateway.post("/access/v1/evaluation", json=asked(who, action, **more)).json()["context"]
    return context["outcome"], [each["code"] for each in context["reasons"]], context["decision_id"]


@pytest.mark.feature("S08")
def test_every_level_is_made_and_the_workload_is_what_is_recorded(served: Served, gateway: httpx.Client) -> None:
    """All eight kinds are made and linked upward; a write by the team's authority names the workload, not the team."""
    for principal, above in LEVELS.items():
        post(gateway, "/v1/principals", id=principal, trust=2)
        for each in above:
            post(gateway, "/v1/memberships", **{"from": principal, "to": each})
    post(
        gateway, "/v1/grants", edge_id="g-night", edge="MAY_WRITE", to=POST, issuer="organization:acme",
        scope={"actions": ["UPDATE_CANONICAL"], "fields": ["canonical"]}, **{"from": "team:night"},
    )  # fmt: skip

    reaches = gateway.get("/v1/graph/principals/instance:writer-1").json()["reaches"]
    assert set(reaches) == {"agent_type:writer", "role:night-editor", "team:night", "organization:newco"}
    for who in ("instance:writer-1", "human:night-owl", "service:night-cron"):
        outcome, codes, decision_id = decide(gateway, who)
        assert (outcome, codes) == ("execute", [])
        wait_until(lambda name=decision_id: served.run(lambda: served.log.find(name)) is not None)  # type: ignore[misc]
        record = gateway.get(f"/v1/decisions/{decision_id}").json()
        assert f"{record['subject']['type']}:{record['subject']['id']}" == who
        assert record["input"]["subject"]["principal"] == who
        assert record["determining"][0] == "g-night@1"
        assert len(record["determining"]) == 3

    begun = post(gateway, "/v1/operations", **asked("instance:writer-1"), ttl_seconds=60)
    receipt = finish(gateway, begun, "v1", "v2")
    assert receipt["principal"] == "instance:writer-1"
    assert receipt["authority_origin"][0] == "g-night@1"
    assert begun["lease"]["holder"] == "instance:writer-1"


@pytest.mark.feature("S09")
def test_a_replaced_replica_has_the_role_and_nothing_of_the_old_one(gateway: httpx.Client) -> None:
    """The role works for the new instance under an identity and a lease of its own; the old one is nobody."""
    old, new = "instance:seo-agent-7", "instance:seo-agent-77"
    held = post(gateway, "/v1/operations", **asked(old), ttl_seconds=300)
    lease = {"lease_id": held["lease"]["lease_id"], "fencing_token": held["lease_epoch"]}

    # The redeploy: another instance with another workload identity plays the same role; the old one is removed.
    post(gateway, "/v1/principals", id=new, trust=2, identities=["spiffe://acme.test/agents/seo-agent-77"])
    post(gateway, "/v1/memberships", **{"from": new, "to": "role:seo-agent"})
    ended = post(gateway, "/v1/revocations", target={"principal": old}, reason="redeployed")["ended"]
    assert ended["leases"] == [lease["lease_id"]]

    assert decide(gateway, new)[:2] == ("execute", [])
    mine = post(gateway, "/v1/operations", **asked(new), ttl_seconds=300)
    assert mine["lease_epoch"] > held["lease_epoch"]

    # Nothing of the old one is reused: neither its name, nor its identity, nor its lease in the hands of the new.
    assert decide(gateway, old)[1][0] == "unknown_subject"
    assert decide(gateway, "instance:spiffe://acme.test/agents/seo-agent-7")[1][0] == "unknown_subject"
    assert "stale_fencing_token" in decide(gateway, new, lease=lease)[1]
    post(gateway, "/v1/principals", id=old, trust=2, identities=["spiffe://acme.test/agents/seo-agent-7"])
    outcome, codes, _ = decide(gateway, old, lease=lease)
    assert (outcome, codes[0]) == ("deny", "no_authority")
    assert "stale_fencing_token" in codes


@pytest.mark.feature("S14")
def test_an_editor_does_not_override_the_security_policy(gateway: httpx.Client) -> None:
    """A person has what a person was given: an agent with the officer's edges is answered as she is, the editor not.

    Neither of the two may write without what any write of that risk needs; of authority nothing is missing.
    """
    policy = {"action": "UPDATE_SECURITY_POLICY", "resource": "site:example.com:security-policy"}
    post(gateway, "/v1/principals", id="instance:security-agent", trust=4)
    post(gateway, "/v1/memberships", **{"from": "instance:security-agent", "to": "role:security-officer"})
    found = {
        who: decide(gateway, who, **policy)
        for who in ("human:editor-1", "human:chief", "human:security", "instance:security-agent")
    }

    needed = ["capability_required", "lease_required"]
    assert {who: codes for who, (_, codes, _) in found.items() if "security" in who} == {
        "human:security": needed,
        "instance:security-agent": needed,
    }
    for other in ("human:editor-1", "human:chief"):
        assert found[other][0] == "deny"
        assert {"no_authority", "scope_not_covered"} & set(found[other][1])
