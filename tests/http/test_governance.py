"""Governance over HTTP: what a command answers, what it is refused with, and in whose name it is given."""

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
POST = "wp:post:1024"


@pytest.fixture(scope="module")
def governed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service of this module's own: its graph changes."""
    served = serve(tmp_path_factory.mktemp("governed"), WORLD, keys=("gateway", "edge"))
    yield served
    served.stop()


@pytest.fixture
def gateway(governed: Served) -> httpx.Client:
    """A gateway that may speak for humans and agents, and sees the graph."""
    return governed.client("gateway")


def delegation(identifier: str, **more: Any) -> dict[str, Any]:
    """Return a delegation of the SEO agents' role to one of them, within `del_882`."""
    return {
        "delegation_id": identifier,
        "delegator": "role:seo-agent",
        "delegate": "instance:seo-agent-8",
        "scope": {"actions": ["UPDATE_CANONICAL"], "resources": [POST]},
        "actor": "instance:seo-agent-7",
        **more,
    }


@pytest.mark.feature("S26", "S27", "S28", "S29")
def test_a_delegation_is_filled_in_from_what_it_rests_on(gateway: httpx.Client) -> None:
    """The answer names the right it was made under, its whole scope, its window, its depth and the epoch."""
    reply = gateway.post("/v1/delegations", json=delegation("del_900", max_depth=0, reason="ticket 4711"))

    told = reply.json()
    assert reply.status_code == 201
    assert reply.headers["ETag"] == '"1"'
    assert told.pop("revision") == gateway.get("/v1/graph/edges/del_900").json()["revision"]
    assert told == {
        "edge_id": "del_900",
        "delegation_id": "del_900",
        "version": 1,
        "edge": "DELEGATES",
        "from": "role:seo-agent",
        "delegator": "role:seo-agent",
        "to": "instance:seo-agent-8",
        "delegate": "instance:seo-agent-8",
        "issuer": "role:seo-agent",
        "under": "del_882@1",
        "scope": {
            "actions": ["UPDATE_CANONICAL"],
            "resources": [POST],
            "fields": ["canonical", "meta_description"],
            "where": {"environment": ["production"], "site": ["example.com"]},
        },
        "valid_until": "2099-01-01T00:00:00Z",
        "max_depth": 0,
        "epoch": 1,
    }


@pytest.mark.feature("S27", "S28")
def test_a_refusal_names_the_dimension_that_would_be_widened(gateway: httpx.Client) -> None:
    """Whoever hands on more than it has is told which word of the scope is too much, and who can settle it."""
    wide = delegation("del_wide", scope={"actions": ["UPDATE_CANONICAL"], "fields": ["body"]})

    reply = gateway.post("/v1/delegations", json=wide)

    problem = reply.json()
    assert reply.status_code == 409
    assert reply.headers["content-type"] == "application/problem+json"
    assert problem["code"] == "attenuation_violated"
    assert problem["title"] == "The delegation is wider than what it rests on."
    assert problem["detail"] == "`del_wide` names fields `body`, not covered by `del_882@1`"
    assert problem["reasons"] == [
        {
            "code": "attenuation_violated",
            "message": "`del_wide` names fields `body`, not covered by `del_882@1`",
            "dimension": "fields",
            "offending": ["body"],
        }
    ]
    assert (problem["retryable"], problem["resolver"]) == (False, "delegator")
    assert problem["decision_id"].startswith("dec_")
    assert gateway.get("/v1/graph/edges/del_wide").status_code == 404


def test_a_dry_run_answers_the_same_and_changes_nothing(gateway: httpx.Client) -> None:
    """It is 200 and says so, a refused one is the same problem, and neither needs nor keeps an Idempotency-Key."""
    tried = gateway.post("/v1/delegations", json=delegation("del_tried", dry_run=True))
    refused = gateway.post("/v1/delegations", json=delegation("del_tried", dry_run=True, max_depth=7))

    assert (tried.status_code, tried.json()["dry_run"], tried.json()["under"]) == (200, True, "del_882@1")
    assert (refused.status_code, refused.json()["code"]) == (409, "depth_exceeded")
    assert gateway.get("/v1/graph/edges/del_tried").status_code == 404


@pytest.mark.feature("S85")
def test_a_repeat_is_answered_with_the_first_answer(gateway: httpx.Client) -> None:
    """The same key and body is done once; quoted or bare is the same key, another body is refused."""
    body = delegation("del_once")
    first = gateway.post("/v1/delegations", json=body, headers={"Idempotency-Key": '"once-1"'})
    again = gateway.post("/v1/delegations", json=body, headers={"Idempotency-Key": "once-1"})
    other = gateway.post("/v1/delegations", json=delegation("del_other"), headers={"Idempotency-Key": "once-1"})

    assert first.status_code == again.status_code == 201
    assert again.json() == first.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")


@pytest.mark.parametrize("value", [1767225600, 1767225600000, "1767225600", "2027-01-01T00:00:00", 1.5, True], ids=repr)
def test_a_time_that_is_no_time_with_offset_is_refused(gateway: httpx.Client, value: Any) -> None:
    """Seconds, milliseconds and naive times are 400 with the place, and leave nothing behind (F020, F022)."""
    reply = gateway.post("/v1/delegations", json=delegation("del_time", valid_until=value))

    assert reply.status_code == 400
    assert reply.json()["errors"][0]["pointer"] == "#/valid_until"
    assert gateway.get("/v1/graph/edges/del_time").status_code == 404


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"valid_untl": "2027-01-01T00:00:00Z"}, "#/valid_untl"),
        ({"delegate": None}, "#/delegate"),
        ({"max_depth": -1}, "#/max_depth"),
        ({"scope": {"resources": [""]}}, "#"),
        ({"scope": {"resources": [":"]}}, "#"),
        ({"scope": {"resources": None}}, "#"),
        ({"scope": {"colour": ["blue"]}}, "#"),
        ({"valid_from": "2027-01-02T00:00:00Z", "valid_until": "2027-01-01T00:00:00Z"}, "#/valid_until"),
        ({"dry_run": "yes"}, "#/dry_run"),
    ],
)
def test_a_command_is_read_strictly(gateway: httpx.Client, body: dict[str, Any], pointer: str) -> None:
    """A misspelt bound would be authority without one: unknown members and wrong types are 400 (F031)."""
    reply = gateway.post("/v1/delegations", json=delegation("del_strict", **body))

    assert (reply.status_code, reply.json()["errors"][0]["pointer"]) == (400, pointer)


@pytest.mark.feature("S13")
def test_a_command_is_given_in_a_proven_name_alone(governed: Served, gateway: httpx.Client) -> None:
    """A gateway that names nobody is nobody; one that names whom it may not speak for is refused, and so is a role."""
    nameless = delegation("del_name") | {"actor": None}
    role = delegation("del_name", actor="role:seo-agent")

    for body in (nameless, role):
        reply = gateway.post("/v1/delegations", json=body)
        assert (reply.status_code, reply.json()["code"]) == (403, "identity_mismatch")
    assert "del_name" not in governed.point.view.edges


def test_a_caller_that_does_not_see_the_graph_gets_codes_and_no_names(governed: Served) -> None:
    """The refusal has the code's fixed sentence and the caller's own words that were too much, nothing of others."""
    wide = delegation("del_edge", scope={"actions": ["UPDATE_CANONICAL"], "fields": ["body"]})

    reply = governed.client("edge").post("/v1/delegations", json=wide)

    assert reply.json()["detail"] == "The delegation is wider than what it rests on."
    assert reply.json()["reasons"] == [
        {
            "code": "attenuation_violated",
            "message": "The delegation is wider than what it rests on.",
            "dimension": "fields",
            "offending": ["body"],
        }
    ]
    assert governed.client("edge").get("/v1/graph/edges/del_882").status_code == 403


@pytest.mark.feature("S14", "S20")
def test_a_grant_is_issued_by_a_root_or_the_owner(gateway: httpx.Client) -> None:
    """The chief speaks for the root; an editor is told that nobody let it grant, and whom to ask."""
    grant = {"edge_id": "g-new", "edge": "MAY_WRITE", "from": "role:analyst", "to": POST, "scope": {"fields": ["body"]}}
    refused = gateway.post("/v1/grants", json={**grant, "actor": "human:editor-1"})
    made = gateway.post("/v1/grants", json={**grant, **CHIEF})

    assert (refused.status_code, refused.json()["code"]) == (403, "not_owner")
    assert [each["code"] for each in refused.json()["reasons"]] == ["not_owner", "scope_not_covered"]
    assert made.status_code == 201
    assert made.json()["issuer"] == "organization:acme"
    assert made.json()["rests_on"] == [{"edge_id": "own-body", "ownership_epoch": 1}]


@pytest.mark.feature("S36")
def test_a_grant_on_a_site_rests_on_the_owners_of_its_pages(gateway: httpx.Client) -> None:
    """Pages are part of the site, so whoever owns their fields is stamped too, and a transfer makes the grant stale."""
    body = {"edge_id": "g-site", "edge": "MAY_WRITE", "from": "role:analyst", "to": "site:example.com"}

    reply = gateway.post("/v1/grants", json={**body, **CHIEF, "fields": ["canonical"], "dry_run": True})

    assert [each["edge_id"] for each in reply.json()["rests_on"]] == [
        "own-page-canonical",
        "own-seo",
        "own-template-canonical",
    ]


def test_what_exists_is_amended_and_not_made_again(gateway: httpx.Client) -> None:
    """A second grant of one id is 409, and so is a second principal of one name."""
    grant = {"edge_id": "own-seo", "edge": "MAY_READ", "from": "role:analyst", "to": POST}
    again = gateway.post("/v1/grants", json={**grant, **CHIEF})
    person = gateway.post("/v1/principals", json={"id": "role:analyst", **CHIEF})

    assert [(each.status_code, each.json()["code"]) for each in (again, person)] == [(409, "already_exists")] * 2


@pytest.mark.feature("S27", "S28")
def test_an_amendment_names_the_version_it_amends(gateway: httpx.Client) -> None:
    """Without If-Match it is 428, with an old one 412; with the right one the next version begins."""
    may_amend = {"edge_id": "g-amend", "edge": "MAY_WRITE", "from": "role:seo-agent", "to": "remit:graph"}
    gateway.post("/v1/grants", json={**may_amend, "scope": {"actions": ["AMEND"]}, **CHIEF})
    middle, last = "instance:schema-agent-1", "instance:linking-agent-1"
    gateway.post("/v1/delegations", json=delegation("del_amend", delegate=middle, max_depth=1))
    child = delegation("del_child", delegator=middle, delegate=last, max_depth=0)
    made = gateway.post("/v1/delegations", json={**child, "actor": middle})
    assert made.status_code == 201, made.text
    narrow = {"scope": {"actions": ["UPDATE_CANONICAL"], "resources": [POST], "fields": ["canonical"]}}
    body = {**narrow, "actor": "instance:seo-agent-7"}

    unnamed = gateway.patch("/v1/delegations/del_amend", json=body)
    stale = gateway.patch("/v1/delegations/del_amend", json=body, headers={"If-Match": '"7"'})
    amended = gateway.patch("/v1/delegations/del_amend", json=body, headers={"If-Match": '"1"'})

    assert (unnamed.status_code, unnamed.json()["code"]) == (428, "version_required")
    assert (stale.status_code, stale.json()["code"]) == (412, "stale_expected_revision")
    assert stale.json()["current_version"] == 1
    assert (amended.status_code, amended.json()["version"], amended.headers["ETag"]) == (200, 2, '"2"')
    versions = gateway.get("/v1/graph/edges/del_amend").json()["versions"]
    assert [(each["version"], each.get("ended_by")) for each in versions] == [(1, "amended"), (2, None)]
    assert amended.json()["narrowed"] == [{"delegation_id": "del_child", "version": 2, "under": "del_amend@2"}]
    child_now = gateway.get("/v1/graph/edges/del_child").json()["versions"][-1]
    assert child_now["scope"]["fields"] == ["canonical"]
