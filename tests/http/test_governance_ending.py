"""Revocations, epochs, principals, emergencies and world files over HTTP, on a graph of their own for each test."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.http.serving import serve

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from tests.http.serving import Served

WORLD = Path("fixtures/worlds/seo.yaml")
CHIEF = {"actor": "human:chief"}
AGENT = "instance:seo-agent-8"
POST = "wp:post:1024"


@pytest.fixture
def governed(tmp_path: Path) -> Iterator[Served]:
    """A service whose graph nobody else changes."""
    served = serve(tmp_path, WORLD, keys=("gateway", "root"))
    yield served
    served.stop()


@pytest.fixture
def gateway(governed: Served) -> httpx.Client:
    """A gateway that may speak for humans and agents, and sees the graph."""
    return governed.client("gateway")


def question(subject: str = AGENT, action: str = "UPDATE_CANONICAL") -> dict[str, Any]:
    """Return an evaluation of a write to the crowded post."""
    kind, _, name = subject.partition(":")
    return {
        "subject": {"type": kind, "id": name},
        "action": {"name": action},
        "resource": {"type": "wp:post", "id": "1024"},
        "context": {
            "environment": "production",
            "risk": "LOW",
            "expected_version": "rev_1",
            "resource_version": "rev_1",
        },
    }


def outcome(client: httpx.Client, **asked: Any) -> tuple[str, list[str]]:
    """Return outcome and codes of an evaluation."""
    context = client.post("/access/v1/evaluation", json=question(**asked)).json()["context"]
    return context["outcome"], [each["code"] for each in context["reasons"]]


def revoke(client: httpx.Client, target: dict[str, str], **more: Any) -> httpx.Response:
    """Revoke as the chief."""
    return client.post("/v1/revocations", json={"target": target, "reason": "test", **CHIEF, **more})


def make(client: httpx.Client, path: str, **body: Any) -> dict[str, Any]:
    """Make something as the chief, or as `actor`."""
    reply = client.post(path, json={**CHIEF, **body})
    assert reply.status_code in (200, 201), reply.text
    answer: dict[str, Any] = reply.json()
    return answer


@pytest.mark.feature("S33")
def test_a_plan_shows_what_would_end_and_which_decisions_rested_on_it(gateway: httpx.Client) -> None:
    """A dry run names the delegation, the lease and the decision, and afterwards everything is as before."""
    assert outcome(gateway) == ("execute", [])
    begun = gateway.post("/v1/operations", json=question() | {"purpose": "SEO_UPDATE", "ttl_seconds": 30})
    assert begun.status_code == 201, begun.text
    lease = begun.json()["lease"]["lease_id"]

    plan = revoke(gateway, {"delegation_id": "del_882"}, dry_run=True).json()

    assert plan["ended"]["delegations"] == ["del_882"]
    assert plan["ended"]["leases"] == [lease]
    assert plan["ended"]["operations"] == [begun.json()["coordination_id"]]
    assert plan["codes"] == {
        "delegations": "delegation_revoked",
        "leases": "lease_revoked",
        "operations": "lease_revoked",
    }
    assert plan["recent_decisions"][0]["rested_on"] == ["del_882@1"]
    assert outcome(gateway) == ("execute", [])


@pytest.mark.feature("S33", "S112")
def test_a_revocation_ends_what_rests_on_it_in_one_revision(governed: Served, gateway: httpx.Client) -> None:
    """The delegation and the lease end together; the next decision and the next renewal say so by name."""
    begun = gateway.post("/v1/operations", json=question() | {"purpose": "SEO_UPDATE", "ttl_seconds": 30}).json()
    before = governed.point.view.revision

    done = revoke(gateway, {"delegation_id": "del_882"}).json()

    assert done["ended"] == {
        "edges": [],
        "delegations": ["del_882"],
        "leases": [begun["lease"]["lease_id"]],
        "waiters": [],
        "capabilities": [],
        "operations": [begun["coordination_id"]],
    }
    assert governed.point.view.revision == before + 1
    assert outcome(gateway) == ("deny", ["delegation_revoked"])
    renewed = gateway.post(
        f"/v1/operations/{begun['coordination_id']}/renew",
        json={"lease_epoch": begun["lease"]["lease_epoch"], "ttl_seconds": 30, "actor": AGENT},
    )
    assert (renewed.status_code, renewed.json()["code"]) == (410, "lease_revoked")
    again = revoke(gateway, {"delegation_id": "del_882"})
    assert (again.status_code, again.json()["code"]) == (403, "delegation_revoked")


@pytest.mark.feature("S33")
def test_what_another_chain_carries_is_re_anchored(gateway: httpx.Client) -> None:
    """A delegation that a second right contains whole stays, under that one, and so does the lease on it."""
    second = {"edge_id": "d-second", "edge": "MAY_DELEGATE", "from": "controller:seo-control-plane", "max_depth": 5}
    make(gateway, "/v1/grants", **second, to="role:seo-agent")

    done = revoke(gateway, {"edge_id": "d-seo"}).json()

    assert done["ended"]["edges"] == ["d-seo"]
    assert done["ended"]["delegations"] == []
    assert done["re_anchored"] == [{"delegation_id": "del_882", "version": 2, "under": "d-second@1"}]
    assert outcome(gateway) == ("execute", [])


@pytest.mark.parametrize(
    "target", [{}, {"edge_id": "a", "principal": "b"}, {"colour": "blue"}, {"edge_id": 7}], ids=str
)
def test_a_revocation_has_exactly_one_target(gateway: httpx.Client, target: Any) -> None:
    """None, two, an unknown one and one that is no text are 400."""
    assert revoke(gateway, target).status_code == 400


@pytest.mark.feature("S20", "S33")
def test_who_may_end_something(gateway: httpx.Client) -> None:
    """Its maker and whoever is above it may, whoever holds MAY_REVOKE over it may, and nobody else."""
    body = {"delegator": "role:seo-agent", "delegate": AGENT, "scope": {"resources": [POST]}, "max_depth": 0}
    for name in ("del_x", "del_y"):
        make(gateway, "/v1/delegations", **body, delegation_id=name, actor="instance:seo-agent-7")

    stranger = revoke(gateway, {"delegation_id": "del_x"}, actor="human:editor-1")
    maker = revoke(gateway, {"delegation_id": "del_x"}, actor="instance:seo-agent-7")
    officer = revoke(gateway, {"delegation_id": "del_y"}, actor="human:security")

    assert (stranger.status_code, stranger.json()["code"]) == (403, "no_authority")
    assert maker.status_code == 200
    assert officer.status_code == 200, officer.text


@pytest.mark.feature("S33")
def test_a_removed_principal_leaves_nothing_to_a_later_one_of_its_name(gateway: httpx.Client) -> None:
    """Its edges, identities and leases end in one revision; who comes after has `no_authority` (F026)."""
    begun = gateway.post("/v1/operations", json=question() | {"ttl_seconds": 30}).json()

    done = revoke(gateway, {"principal": AGENT}).json()
    make(gateway, "/v1/principals", id=AGENT, trust=2)

    assert done["ended"]["principals"] == [AGENT]
    assert done["ended"]["leases"] == [begun["lease"]["lease_id"]]
    assert outcome(gateway)[1][0] == "no_authority"
    make(gateway, "/v1/memberships", **{"from": AGENT, "to": "role:seo-agent"})
    assert outcome(gateway) == ("execute", [])


@pytest.mark.feature("S34", "S35")
@pytest.mark.parametrize(
    ("floor", "reads", "writes"),
    [
        ("none", ("execute", []), ("execute", [])),
        ("writes", ("execute", []), ("deny", ["stale_authority_epoch"])),
        ("all", ("deny", ["stale_authority_epoch"]), ("deny", ["stale_authority_epoch"])),
    ],
)
def test_an_epoch_ends_what_its_floor_says(gateway: httpx.Client, floor: str, reads: Any, writes: Any) -> None:
    """A new epoch alone ends nothing, a floor for writes leaves reading, one for all leaves nothing older."""
    reply = gateway.post("/v1/epochs", json={"floor": floor, **CHIEF}, headers={"Idempotency-Key": "bump-1"})

    assert (reply.status_code, reply.json()["authority"]) == (200, 2)
    assert outcome(gateway) == writes
    assert outcome(gateway, subject="human:editor-1", action="READ_POST") == reads


@pytest.mark.feature("S34")
def test_a_renewal_issues_what_was_reviewed_again(governed: Served, gateway: httpx.Client) -> None:
    """A floor ends its maker's own standing too, and says who is left; renewed as reviewed, the chain carries again."""
    gateway.patch("/v1/principals/organization:acme", json={"identities": ["key:root"], **CHIEF})
    bumped = gateway.post("/v1/epochs", json={"floor": "writes", **CHIEF}, headers={"Idempotency-Key": "bump-1"})
    membership = "acts_as:instance:seo-agent-8>role:seo-agent"
    edges = ["own-seo@1", "del_882@1", membership]

    chief = gateway.post("/v1/epochs/renewals", json={"edges": edges, **CHIEF})
    root = governed.client("root")
    stale = root.post("/v1/epochs/renewals", json={"edges": ["del_882@7"]})
    done = root.post("/v1/epochs/renewals", json={"edges": edges})

    assert bumped.json()["can_govern"] == ["organization:acme"]
    assert chief.status_code == 403
    assert (stale.status_code, stale.json()["current_version"]) == (412, 1)
    assert done.json()["renewed"] == ["own-seo@2", "del_882@2", f"{membership}@2"]
    assert outcome(gateway) == ("execute", [])


def test_a_bump_needs_a_key(gateway: httpx.Client) -> None:
    """Raising an epoch twice hurts, so a repeat must be told from a second one."""
    unkeyed = gateway.post("/v1/epochs", json={"floor": "none", **CHIEF})
    keyed = [
        gateway.post("/v1/epochs", json={"floor": "none", **CHIEF}, headers={"Idempotency-Key": "k"}) for _ in range(2)
    ]

    assert unkeyed.status_code == 400
    assert [each.json()["authority"] for each in keyed] == [2, 2]


@pytest.mark.feature("S34")
def test_the_epoch_of_one_principal_is_raised_alone(gateway: httpx.Client) -> None:
    """Edges of that principal are dead, those of its neighbour are not."""
    gateway.post("/v1/epochs", json={"principal": AGENT, **CHIEF}, headers={"Idempotency-Key": "k"})

    assert outcome(gateway) == ("deny", ["stale_authority_epoch"])
    assert outcome(gateway, subject="instance:seo-agent-7") == ("execute", [])


@pytest.mark.feature("S33")
def test_a_disabled_principal_may_nothing_until_it_is_enabled(gateway: httpx.Client) -> None:
    """Its edges stay where they are, and count again with it."""
    off = gateway.patch(f"/v1/principals/{AGENT}", json={"disabled": True, **CHIEF})
    denied = outcome(gateway)
    on = gateway.patch(f"/v1/principals/{AGENT}", json={"disabled": False, **CHIEF})

    assert (off.json()["disabled"], on.json()["disabled"]) == (True, False)
    assert denied[1][0] == "subject_disabled"
    assert outcome(gateway) == ("execute", [])


def test_the_last_root_is_not_disabled_and_not_removed(gateway: httpx.Client) -> None:
    """Nobody could undo it: 409, whoever asks."""
    root = "organization:acme"
    disabled = gateway.patch(f"/v1/principals/{root}", json={"disabled": True, **CHIEF})
    removed = revoke(gateway, {"principal": root})

    assert [(each.status_code, each.json()["code"]) for each in (disabled, removed)] == [(409, "still_referenced")] * 2


def test_an_identity_belongs_to_one_principal(gateway: httpx.Client) -> None:
    """Binding one that is taken is refused and names whose it is."""
    identity = "spiffe://acme.test/agents/seo-agent-7"
    reply = gateway.patch(f"/v1/principals/{AGENT}", json={"identities": [identity], **CHIEF})

    assert (reply.status_code, reply.json()["code"]) == (409, "already_exists")
    assert reply.json()["detail"] == f"`{identity}` belongs to `instance:seo-agent-7`"


@pytest.mark.feature("S31")
def test_breaking_the_glass_is_short_seen_and_reviewed(gateway: httpx.Client) -> None:
    """It permits what it names with the duty to review, tells the root, and stays open until somebody else looked."""
    body = {"grant_id": "bg-1", "principal": "human:commander", "actions": ["UPDATE_CANONICAL"], "resource": POST}
    made = gateway.post(
        "/v1/break-glass",
        json={**body, "fields": ["canonical"], "minutes": 15, "reason": "SEV1", "actor": "human:security"},
    )

    assert made.status_code == 201, made.text
    assert (made.json()["max_depth"], made.json()["break_glass_id"]) == (0, "bg-1@1")
    asked = gateway.post("/access/v1/evaluation", json=question("human:commander")).json()
    assert asked["decision"] is True
    assert {"id": "review", "type": "review", "properties": {"edge_ids": ["bg-1"]}} in asked["context"]["obligations"]
    told = gateway.get("/v1/notices", params={"subject": "organization:acme"}).json()["notices"]
    assert [(each["code"], each["principal"]) for each in told] == [("break_glass", "human:commander")]
    report = gateway.get("/v1/break-glass/bg-1@1").json()
    assert [each["rested_on"] for each in report["decisions"]] == [["bg-1@1"]]
    looked = {"finding": "justified"}
    own = gateway.post("/v1/break-glass/bg-1@1/review", json={**looked, "actor": "human:security"})
    other = gateway.post("/v1/break-glass/bg-1@1/review", json={**looked, "actor": "human:chief"})
    assert (own.status_code, own.json()["code"]) == (403, "self_approval")
    assert (other.status_code, other.json()["state"]) == (200, "REVIEWED")
    assert gateway.get("/v1/break-glass").json() == {"open": []}


def test_breaking_the_glass_has_bounds(gateway: httpx.Client) -> None:
    """Not for a role, not for hours, not for actions of two classes, and not by whoever may not."""
    body = {"grant_id": "bg-2", "principal": "human:commander", "actions": ["UPDATE_CANONICAL"], "resource": POST}
    body |= {"reason": "SEV1", "actor": "human:security"}
    tries: list[dict[str, Any]] = [
        {"principal": "role:editor"},
        {"minutes": 241},
        {"actions": ["UPDATE_CANONICAL", "READ_POST"]},
        {"actor": "human:editor-1"},
        {"reason": None},
    ]

    assert [gateway.post("/v1/break-glass", json={**body, **each}).status_code for each in tries] == [
        400, 400, 400, 403, 400,
    ]  # fmt: skip


@pytest.mark.feature("S32")
def test_a_list_is_done_as_one_command_or_not_at_all(governed: Served, gateway: httpx.Client) -> None:
    """A thousand grants are one revision; one more is refused with the limit and the count; one bad one undoes all."""

    def grants(count: int, start: int = 0) -> list[dict[str, str]]:
        ids = range(start, start + count)
        return [{"edge_id": f"g-{each}", "edge": "MAY_READ", "from": "role:analyst", "to": POST} for each in ids]

    before = governed.point.view.revision
    done = gateway.post("/v1/grants", json={"grants": grants(1_000), **CHIEF})
    many = gateway.post("/v1/grants", json={"grants": grants(1_001, 5_000), **CHIEF})
    spoilt = gateway.post("/v1/grants", json={"grants": [*grants(2, 9_000), *grants(1)], **CHIEF})

    assert (done.status_code, len(done.json()["grants"])) == (201, 1_000)
    assert governed.point.view.revision == before + 1
    assert (many.status_code, many.json()["code"]) == (400, "limit_exceeded")
    assert (many.json()["maximum"], many.json()["count"]) == (1_000, 1_001)
    assert (spoilt.status_code, spoilt.json()["item"]) == (409, 2)
    assert governed.point.view.revision == before + 1


@pytest.mark.feature("S21", "S25")
def test_the_graph_is_exported_and_applied(governed: Served, gateway: httpx.Client) -> None:
    """Applying an export changes nothing; a plan shows the difference; a fault is told with its line."""
    exported = gateway.get("/v1/graph/export").text
    wider = exported.replace("principals:\n", 'principals:\n  - {id: "role:newcomer"}\n', 1)

    same = gateway.post("/v1/graph/apply", json={"world": exported, **CHIEF}).json()
    planned = gateway.post("/v1/graph/apply", json={"world": wider, "dry_run": True, **CHIEF}).json()
    stranger = gateway.post("/v1/graph/apply", json={"world": wider, "actor": "human:editor-1"})
    faulty = gateway.post("/v1/graph/apply", json={"world": "realm: acme\ncolour: blue\n", **CHIEF})

    assert (same["differences"], same["applied"]) == ([], True)
    assert [(each["noun"], each["kind"]) for each in planned["differences"]] == [("principal", "added")]
    assert planned["applied"] is False
    assert "role:newcomer" not in governed.point.view.principals
    assert (stranger.status_code, stranger.json()["code"]) == (403, "scope_not_covered")
    assert (faulty.status_code, faulty.json()["errors"][0]["line"]) == (400, 2)


@pytest.mark.feature("S30")
def test_the_graph_is_read_by_principal_resource_edge_and_path(gateway: httpx.Client) -> None:
    """Each document names what the others refer to, and what is not there is 404."""
    person = gateway.get(f"/v1/graph/principals/{AGENT}").json()
    thing = gateway.get(f"/v1/graph/resources/{POST}").json()
    edge = gateway.get("/v1/graph/edges/del_882")
    path = gateway.get(
        "/v1/graph/paths", params={"subject": AGENT, "action": "UPDATE_CANONICAL", "resource": POST}
    ).json()

    assert person["reaches"] == ["agent_type:language-model-agent", "organization:acme", "role:seo-agent", "team:seo"]
    assert [each["edge_id"] for each in thing["owners"]] == ["own-body", "own-seo"]
    assert "site:example.com" in thing["ancestors"]
    assert (edge.headers["ETag"], edge.json()["live"]["within_window"]) == ('"1"', True)
    assert [hop["edge"] for hop in path["chains"][0]["hops"]][:2] == ["own-seo@1", "del_882@1"]
    for missing in ("principals/human:nobody", "resources/no:such", "edges/none"):
        assert gateway.get(f"/v1/graph/{missing}").status_code == 404
