"""Capabilities and approvals over HTTP: who gets them, what they are good for, and who may see them."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from remit_service.capability.offline import Wanted, verify
from tests.http.serving import serve, stopped_later

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from tests.http.serving import Served

WORLD = """\
realm: passes
root: ["organization:root"]
dimensions: [environment]
resource_types:
  page: {key: "page:{id}", concurrency: WRITE_OPTIMISTIC}
actions:
  PUBLISH: {class: write, domain: CONTENT_BODY, risk: HIGH, reversible: true}
  DELETE:  {class: write, domain: CONTENT_BODY, risk: CRITICAL, reversible: false}
principals:
  - {id: "organization:root"}
  - {id: "instance:a", trust: 3}
  - {id: "instance:b"}
  - {id: "human:editor"}
  - {id: "human:chief"}
  - {id: "human:far", trust: 3}
resources:
  - {key: "page:p", attributes: {environment: production}}
grants:
  - {edge_id: write, edge: MAY_WRITE, from: "instance:a", to: "page:*", scope: {actions: [PUBLISH, DELETE]}}
  - {edge_id: editor, edge: MAY_APPROVE, from: "human:editor", to: "page:*"}
  - {edge_id: chief, edge: MAY_APPROVE, from: "human:chief", to: "page:*",
     scope: {conditions: [{attribute: operation, in: [DELETE]}]}}
  - {edge_id: far, edge: MAY_APPROVE, from: "human:far", to: "page:elsewhere"}
  - {edge_id: self, edge: MAY_APPROVE, from: "instance:a", to: "page:*"}
enforcement_points:
  - {id: "service:gateway", identities: ["key:gateway"], speaks_for: ["instance:*", "human:*"],
     trusted: [resource_version, content_hash], visibility: full}
  - {id: "service:narrow", identities: ["key:narrow"], speaks_for: ["instance:b"]}
"""
REQUEST = {"subject": {"type": "instance", "id": "a"}, "resource": {"type": "page", "id": "p"}}
SHOWN = {"resources": ["page:p"], "operation": "DELETE", "target": "page p", "expected_effect": "gone", "conflicts": []}


@pytest.fixture(scope="module")
def passes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A page that an agent may publish and delete, with people who approve."""
    folder = tmp_path_factory.mktemp("passes")
    world = folder / "passes.yaml"
    world.write_text(WORLD)
    yield from stopped_later(serve(folder, world, keys=("gateway", "narrow"), base_url="https://remit.example.com"))


def post(client: httpx.Client, path: str, body: dict[str, Any], status: int) -> Any:
    """Post, and return the body of the answer."""
    reply = client.post(path, json=body)
    assert reply.status_code == status, reply.text
    return reply.json()


def decide(passes: Served, action: str, **context: Any) -> tuple[str, list[str]]:
    """Ask to act on version v1, and return outcome and codes."""
    said = {"expected_version": "v1", "resource_version": "v1", **context}
    body = {**REQUEST, "action": {"name": action}, "context": said}
    answer = post(passes.client("gateway"), "/access/v1/evaluation", body, 200)["context"]
    return answer["outcome"], [each["code"] for each in answer["reasons"]]


def mint(passes: Served, action: str = "PUBLISH", **more: Any) -> Any:
    """Get a capability."""
    return post(passes.client("gateway"), "/v1/capabilities", {**REQUEST, "action": {"name": action}, **more}, 201)


def terms(**changes: Any) -> dict[str, Any]:
    """Return the approval of a deletion on version v1."""
    return {
        "action": {"name": "DELETE"}, "resource": REQUEST["resource"], "for": "instance:a", "expected_version": "v1",
        "expires_at": "2099-01-01T00:00:00Z", "shown": SHOWN, "approver": "human:editor", **changes,
    }  # fmt: skip


@pytest.mark.feature("S23", "S17")
def test_a_capability_is_given_shown_verified_and_revoked(passes: Served) -> None:
    """From the request to the revocation: each step says what the one before led to."""
    client = passes.client("gateway")
    given = mint(passes, ttl_seconds=60)
    keys = client.get("/.well-known/jwks.json").json()
    shown = {"capability": {"token": given["token"]}}

    assert decide(passes, "PUBLISH") == ("deny", ["capability_required"])
    assert decide(passes, "PUBLISH", **shown) == ("execute", [])
    claims = verify(given["token"], keys, passes.point.now(), Wanted(issuer="https://remit.example.com"))
    assert (claims["sub"], claims["jti"], claims["remit"]["resource"]) == (
        "instance:a", given["capability_id"], "page:p",
    )  # fmt: skip
    assert client.get(f"/v1/capabilities/{given['capability_id']}").json()["active"] is True
    assert post(client, "/v1/capabilities/introspect", {"token": given["token"]}, 200)["active"] is True

    revocation = {"target": {"capability_id": given["capability_id"]}, "reason": "lost", "actor": "instance:a"}
    post(client, "/v1/revocations", revocation, 200)

    assert decide(passes, "PUBLISH", **shown) == ("deny", ["capability_revoked"])
    state = post(client, "/v1/capabilities/introspect", {"capability_id": given["capability_id"]}, 200)
    assert (state["active"], state["code"]) == (False, "capability_revoked")


def test_the_key_is_its_owners_alone(passes: Served) -> None:
    """The key beside the store is made when it is needed, for its owner alone, and published without its secret."""
    mint(passes)
    store = Path(passes.settings.store.removeprefix("sqlite:///"))
    mode = store.with_name("remit.signing-key.json").stat().st_mode

    (key,) = passes.client().get("/.well-known/jwks.json").json()["keys"]
    assert (stat.S_IMODE(mode), sorted(key), key["alg"]) == (0o600, ["alg", "crv", "kid", "kty", "use", "x"], "Ed25519")
    metadata = passes.client().get("/.well-known/authzen-configuration").json()
    assert metadata["jwks_uri"] == "https://remit.example.com/.well-known/jwks.json"


@pytest.mark.feature("S23")
def test_a_repeat_gives_the_same_capability(passes: Served) -> None:
    """The same Idempotency-Key is answered with the same capability and the same token."""
    client = passes.client("gateway")
    body = {**REQUEST, "action": {"name": "PUBLISH"}, "ttl_seconds": 60}

    first, second = (client.post("/v1/capabilities", json=body, headers={"Idempotency-Key": "once"}) for _ in range(2))

    assert (first.json()["token"], second.headers["idempotent-replayed"]) == (second.json()["token"], "true")


@pytest.mark.feature("S24")
def test_a_capability_cites_its_decision(passes: Served) -> None:
    """Derived from an earlier decision it names that one; one that denies, or permits something else, gives none."""
    client = passes.client("gateway")
    said = {"capability": {"token": mint(passes)["token"]}, "expected_version": "v1", "resource_version": "v1"}
    asked = {**REQUEST, "action": {"name": "PUBLISH"}}
    permit = post(client, "/access/v1/evaluation", {**asked, "context": said}, 200)["context"]["decision_id"]
    denied = post(client, "/access/v1/evaluation", asked, 200)["context"]["decision_id"]

    assert mint(passes, decision_id=permit)["decision_id"] == permit
    assert post(client, "/v1/capabilities", {**asked, "decision_id": denied}, 403)["code"] == "capability_mismatch"
    other = {**asked, "action": {"name": "DELETE"}, "decision_id": permit}
    assert post(client, "/v1/capabilities", other, 403)["code"] == "capability_mismatch"
    assert post(client, "/v1/capabilities", {**asked, "decision_id": "dec_unknown"}, 404)["code"] == "not_found"


def test_who_has_no_part_in_it_sees_no_capability(passes: Served) -> None:
    """Another enforcement point gets neither one for the subject, nor a look at one, nor use of a stolen token."""
    given, narrow = mint(passes), passes.client("narrow")

    asked = {**REQUEST, "action": {"name": "PUBLISH"}}
    assert post(narrow, "/v1/capabilities", asked, 403)["code"] == "identity_mismatch"
    assert narrow.get(f"/v1/capabilities/{given['capability_id']}").status_code == 404
    assert post(narrow, "/v1/capabilities/introspect", {"token": given["token"]}, 200) == {"active": False}


@pytest.mark.feature("S120", "S117")
def test_an_approval_is_of_one_version(passes: Served) -> None:
    """What was approved on v1 is done on v1 alone: v2 is stale, whoever presents it."""
    capability = {"capability": {"token": mint(passes, "DELETE")["token"]}}
    missing = decide(passes, "DELETE", **capability)
    given = post(passes.client("gateway"), "/v1/approvals", terms(), 201)
    approved = {**capability, "approval_id": given["approval_id"]}

    assert missing == ("review_required", ["approval_required"])
    assert (given["approvers"], given["complete"]) == (["human:editor"], True)
    assert decide(passes, "DELETE", **approved) == ("execute", [])
    newer = {"expected_version": "v2", "resource_version": "v2"}
    assert decide(passes, "DELETE", **approved, **newer) == ("review_required", ["approval_required", "approval_stale"])
    changed = decide(passes, "DELETE", **approved, resource_version="v2")
    assert changed == ("rebase", ["stale_resource_version"])


@pytest.mark.feature("S120")
def test_an_approval_is_of_one_content(passes: Served) -> None:
    """The same version with other content is not what was looked at."""
    capability = {"capability": {"token": mint(passes, "DELETE")["token"]}}
    given = post(passes.client("gateway"), "/v1/approvals", terms(content_hash="sha256:1"), 201)
    approved = {**capability, "approval_id": given["approval_id"]}

    assert decide(passes, "DELETE", **approved, content_hash="sha256:1") == ("execute", [])
    for other in ({"content_hash": "sha256:2"}, {}):
        assert decide(passes, "DELETE", **approved, **other)[1] == ["approval_required", "approval_stale"]


@pytest.mark.feature("S121")
def test_self_approval_and_approval_out_of_scope_are_refused_apart(passes: Served) -> None:
    """Nobody approves its own request, nor beyond its own edge; each has a code of its own."""
    client = passes.client("gateway")

    own = post(client, "/v1/approvals", terms(approver="instance:a"), 403)
    beyond = post(client, "/v1/approvals", terms(approver="human:far"), 403)
    narrowed = post(client, "/v1/approvals", terms(approver="human:chief", action={"name": "PUBLISH"}), 403)

    assert [own["code"], beyond["code"], narrowed["code"]] == ["self_approval", "no_authority", "condition_not_met"]


@pytest.mark.feature("S119", "S121")
def test_a_quorum_is_met_by_others_one_by_one(passes: Served) -> None:
    """Asked for by who will act, it is complete with the second vote; one revoked right takes its vote along."""
    client = passes.client("gateway")
    asked = post(client, "/v1/approvals", terms(quorum=2, request_only=True, approver=None, actor=None), 201)
    votes = f"/v1/approvals/{asked['approval_id']}/votes"

    first = post(client, votes, {"approver": "human:editor"}, 200)
    again = post(client, votes, {"approver": "human:editor"}, 200)
    second = post(client, votes, {"approver": "human:chief"}, 200)

    assert [asked["approvers"], first["complete"], again["approvers"]] == [[], False, ["human:editor"]]
    assert (second["approvers"], second["complete"]) == (["human:chief", "human:editor"], True)
    listed = client.get("/v1/approvals", params={"requester": "instance:a"}).json()["approvals"]
    assert asked["approval_id"] in [each["approval_id"] for each in listed]
    shown = client.get(f"/v1/approvals/{asked['approval_id']}").json()
    assert (shown["shown"], [each["approver"] for each in shown["votes"]]) == (SHOWN, ["human:editor", "human:chief"])
    post(client, f"/v1/approvals/{asked['approval_id']}/withdrawals", {"actor": "human:chief"}, 200)
    assert post(client, votes, {"approver": "human:editor"}, 404)["code"] == "not_found"


@pytest.mark.feature("S119")
def test_an_approval_of_a_run_covers_no_call(passes: Served) -> None:
    """What policy wants approved call by call is not covered by an approval of the whole run."""
    capability = {"capability": {"token": mint(passes, "DELETE")["token"]}}
    run = terms(mode="per_run", run_id="run-1", resource=None, resources=[REQUEST["resource"]])
    given = post(passes.client("gateway"), "/v1/approvals", run, 201)

    said = {**capability, "approval_id": given["approval_id"], "run_id": "run-1"}
    assert decide(passes, "DELETE", **said) == ("review_required", ["approval_required"])


@pytest.mark.feature("S117")
@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        *(({"shown": {**SHOWN, name: None}}, f"/shown/{name}") for name in SHOWN),
        ({"shown": None}, "/shown"),
        ({"expected_version": None}, "/expected_version"),
        ({"for": None}, "/for"),
        ({"quorum": 0}, "/quorum"),
        ({"mode": "per_run"}, "/run_id"),
        ({"under": "DELETE"}, "/under"),
        ({"action": {"name": "NOTHING"}}, "/action/name"),
        ({"resource": {"type": "nothing", "id": "1"}}, "/resource/type"),
    ],
)
def test_an_incomplete_approval_is_refused_at_its_place(passes: Served, changes: dict[str, Any], pointer: str) -> None:
    """Without one of the five things an approver sees, or without what it is bound to, there is no approval."""
    reply = passes.client("gateway").post("/v1/approvals", json=terms(**changes))

    assert (reply.status_code, [each["pointer"] for each in reply.json()["errors"]]) == (400, [f"#{pointer}"])
