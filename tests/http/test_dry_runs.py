"""A dry run for each command of governance, over HTTP, on the command line and from Python."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from remit_service.cli.app import app
from remit_service.library import connected
from tests.http.serving import serve, stopped_later

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from remit_service.library import Remit, Reply
    from tests.http.serving import Served

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"
POST = "wp:post:1024"
NOBODY = "human:analyst"
"""Somebody known who may govern nothing."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One command, in its three forms.

    Attributes:
        name: Its verb, and what it is about.
        route: Of HTTP, `{...}` filled in from what the fixture made.
        body: Of HTTP.
        words: Of the command line, after `remit`; `--dry-run` comes on top.
        python: The method of `Remit` and its arguments.
        headers: Of HTTP.
        plan: What the command line calls its dry run.
    """

    name: str
    route: str
    body: dict[str, Any]
    words: str
    python: Callable[..., Coroutine[Any, Any, Reply]]
    headers: dict[str, str] = field(default_factory=dict)
    plan: str = "--dry-run"


GRANT = {"edge_id": "dry-grant", "edge": "MAY_READ", "from": "role:analyst", "to": POST}
DELEGATION = {
    "delegation_id": "dry-del", "delegator": "controller:seo-control-plane", "delegate": "role:seo-agent",
    "scope": {"actions": ["UPDATE_CANONICAL"], "resources": [POST], "fields": ["canonical"],
              "where": {"environment": ["production"]}},
}  # fmt: skip
NARROW = {"scope": {"actions": ["READ_POST"]}, "valid_until": "2098-01-01T00:00:00Z"}
GLASS = {"grant_id": "dry-bg", "principal": "human:commander", "resource": POST, "actions": ["UPDATE_CANONICAL"]}

ROWS = [
    Row(
        name="grant", route="POST /v1/grants", body=GRANT,
        words=f"grant MAY_READ role:analyst {POST} --id dry-grant",
        python=lambda remit, _, **manner: remit.grant(GRANT, **manner),
    ),
    Row(
        name="delegate", route="POST /v1/delegations", body=DELEGATION,
        words=(
            "delegate controller:seo-control-plane role:seo-agent --id dry-del --action UPDATE_CANONICAL"
            f" --resource {POST} --field canonical --where environment=production"
        ),
        python=lambda remit, _, **manner: remit.delegate(DELEGATION, **manner),
    ),
    Row(
        name="member", route="POST /v1/memberships", body={"from": "human:chief", "to": "role:editor"},
        words="member human:chief role:editor",
        python=lambda remit, _, **manner: remit.member({"from": "human:chief", "to": "role:editor"}, **manner),
    ),
    Row(
        name="amend a grant", route="PATCH /v1/grants/g-read-posts", body=NARROW, headers={"If-Match": '"1"'},
        words="amend g-read-posts --version 1 --action READ_POST --until 2098-01-01T00:00:00Z",
        python=lambda remit, _, **manner: remit.amend("g-read-posts", 1, NARROW, **manner),
    ),
    Row(
        name="amend a delegation", route="PATCH /v1/delegations/del_882", headers={"If-Match": '"1"'},
        body={"valid_until": "2098-01-01T00:00:00Z"},
        words="amend del_882 --version 1 --until 2098-01-01T00:00:00Z",
        python=lambda remit, _, **manner: remit.amend("del_882", 1, {"valid_until": "2098-01-01T00:00:00Z"}, **manner),
    ),
    Row(
        name="revoke a lease", route="POST /v1/revocations", body={"target": {"lease_id": "{lease}"}},
        words="revoke --lease {lease}", plan="--plan",
        python=lambda remit, made, **manner: remit.revoke({"lease_id": made["lease"]}, **manner),
    ),
    Row(
        name="revoke a capability", route="POST /v1/revocations", body={"target": {"capability_id": "{capability}"}},
        words="revoke --capability {capability}", plan="--plan",
        python=lambda remit, made, **manner: remit.revoke({"capability_id": made["capability"]}, **manner),
    ),
    Row(
        name="revoke an edge", route="POST /v1/revocations", body={"target": {"edge_id": "g-host"}},
        words="revoke g-host", plan="--plan",
        python=lambda remit, _, **manner: remit.revoke({"edge_id": "g-host"}, **manner),
    ),
    Row(
        name="revoke a delegation and all below", route="POST /v1/revocations",
        body={"target": {"delegation_id": "del_882"}}, words="revoke del_882", plan="--plan",
        python=lambda remit, _, **manner: remit.revoke({"delegation_id": "del_882"}, **manner),
    ),
    Row(
        name="revoke a principal and all that hangs on it", route="POST /v1/revocations",
        body={"target": {"principal": "role:orchestrator"}}, words="revoke --principal role:orchestrator",
        plan="--plan", python=lambda remit, _, **manner: remit.revoke({"principal": "role:orchestrator"}, **manner),
    ),
    Row(
        name="revoke a resource and all that hangs on it", route="POST /v1/revocations",
        body={"target": {"resource": "account:tenant-12"}}, words="revoke --resource account:tenant-12", plan="--plan",
        python=lambda remit, _, **manner: remit.revoke({"resource": "account:tenant-12"}, **manner),
    ),
    Row(
        name="epoch bump of the realm", route="POST /v1/epochs", body={"floor": "none"},
        headers={"Idempotency-Key": "dry-bump-{actor}"}, words="epoch bump --floor none",
        python=lambda remit, _, **manner: remit.epoch_bump(floor="none", **manner),
    ),
    Row(
        name="epoch bump of a principal", route="POST /v1/epochs", body={"principal": "instance:runner-a"},
        headers={"Idempotency-Key": "dry-bump-one-{actor}"}, words="epoch bump --principal instance:runner-a",
        python=lambda remit, _, **manner: remit.epoch_bump(principal="instance:runner-a", **manner),
    ),
    Row(
        name="epoch renew", route="POST /v1/epochs/renewals", body={"edges": ["g-source@1"]},
        words="epoch renew g-source@1",
        python=lambda remit, _, **manner: remit.epoch_renew(["g-source@1"], **manner),
    ),
    Row(
        name="principal declare", route="POST /v1/principals", body={"id": "instance:dry-1", "trust": 1},
        words="principal declare instance:dry-1 --trust 1",
        python=lambda remit, _, **manner: remit.principal_declare({"id": "instance:dry-1", "trust": 1}, **manner),
    ),
    Row(
        name="principal change", route="PATCH /v1/principals/instance:runner-a",
        body={"trust": 1, "identities": ["spiffe://acme.test/runners/runner-aa"]},
        words="principal change instance:runner-a --trust 1 --identity spiffe://acme.test/runners/runner-aa",
        python=lambda remit, _, **manner: remit.principal_change(
            "instance:runner-a", {"trust": 1, "identities": ["spiffe://acme.test/runners/runner-aa"]}, **manner
        ),
    ),
    Row(
        name="principal disable", route="PATCH /v1/principals/instance:runner-b", body={"disabled": True},
        words="principal disable instance:runner-b",
        python=lambda remit, _, **manner: remit.principal_disable("instance:runner-b", **manner),
    ),
    Row(
        name="principal enable", route="PATCH /v1/principals/instance:runner-c", body={"disabled": False},
        words="principal enable instance:runner-c",
        python=lambda remit, _, **manner: remit.principal_enable("instance:runner-c", **manner),
    ),
    Row(
        name="break-glass open", route="POST /v1/break-glass", body={**GLASS, "reason": "SEV1", "minutes": 30},
        words=f"break-glass open human:commander {POST} --id dry-bg --action UPDATE_CANONICAL --reason SEV1",
        python=lambda remit, _, **manner: remit.break_glass_open({**GLASS, "reason": "SEV1"}, **manner),
    ),
    Row(
        name="break-glass review", route="POST /v1/break-glass/{glass}/review", body={"finding": "fine"},
        words="break-glass review {glass} --finding fine",
        python=lambda remit, made, **manner: remit.break_glass_review(made["glass"], "fine", **manner),
    ),
    Row(
        name="key revoke", route="DELETE /v1/keys/{key}", body={}, words="key revoke {key}",
        python=lambda remit, made, **manner: remit.key_revoke(made["key"], **manner),
    ),
    Row(
        name="key create", route="POST /v1/keys", body={"name": "gateway"}, words="key create gateway",
        python=lambda remit, _, **manner: remit.key_create("gateway", **manner),
    ),
]  # fmt: skip
NAMES = [each.name for each in ROWS]
OWNER = "controller:seo-control-plane"
ACTORS = {"amend a delegation": OWNER, "break-glass review": "human:chief", "delegate": OWNER}
"""Whose word each command takes; a root's by default."""

WITHOUT_IMPACT = {"break-glass review", "key create"}
"""Verbs whose command gives and takes nothing, so that no verdict changes."""

OF_THE_MOMENT = {"created_at", "dry_run", "id", "key", "recent_decisions", "review_due", "reviewed_at", "revision"}
OF_THE_MOMENT |= {"valid_until"}
"""Members that differ from one call to the next."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The content platform, for callers of this machine; its graph changes in the last test alone."""
    with asyncio.Runner() as loop:
        for started in stopped_later(serve(tmp_path_factory.mktemp("dry"), SEO, demo=True)):
            connection = connected(started.url)
            CALLERS[started.url] = (loop, loop.run(connection.__aenter__()))
            yield started
            loop.run(connection.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def made(served: Served) -> dict[str, str]:
    """A lease, a capability, a break-glass grant, a key and a disabled runner, for commands about such."""
    client = served.client()

    def post(path: str, **body: Any) -> dict[str, Any]:
        reply = client.post(path, json=body)
        assert reply.is_success, reply.text
        answer: dict[str, Any] = reply.json()
        return answer

    question = {"resource": {"type": "wp:post", "id": "1024"}, "action": {"name": "UPDATE_CANONICAL"}}
    said = {"risk": "LOW", "environment": "production", "expected_version": "v1", "resource_version": "v1"}
    subject = {"type": "instance", "id": "seo-agent-7"}
    lease = post("/v1/operations", subject=subject, **question, context=said, purpose="SEO_UPDATE", ttl_seconds=300)
    capability = post("/v1/capabilities", subject=subject, **question, context=said)
    glass = post("/v1/break-glass", **{**GLASS, "grant_id": "open-bg"}, reason="SEV1", actor="human:security")
    key = post("/v1/keys", name="gateway")
    off = client.patch("/v1/principals/instance:runner-c", json={"disabled": True})
    assert off.is_success
    return {
        "lease": lease["lease"]["lease_id"],
        "capability": capability["capability_id"],
        "glass": glass["break_glass_id"],
        "key": key["id"],
    }


@dataclass(frozen=True)
class Told:
    """What a face said: whether it is a success, and the document."""

    done: bool
    document: dict[str, Any]


def over_http(served: Served, row: Row, made: dict[str, str], *, actor: str, dry: bool) -> Told:
    """Give a command over HTTP."""
    filled = json.loads(_filled(json.dumps(row.body), made))
    body = {**filled, "actor": actor, **({"dry_run": True} if dry else {})}
    method, _, path = _filled(row.route, made).partition(" ")
    headers = {name: value.replace("{actor}", actor.replace(":", "-")) for name, value in row.headers.items()}
    if method == "DELETE":
        params = {"actor": actor, **({"dry_run": "true"} if dry else {})}
        reply = served.client().delete(path, params=params)
    else:
        reply = served.client().request(method, path, json=body, headers=headers)
    return Told(reply.is_success, reply.json())


def by_words(served: Served, row: Row, made: dict[str, str], *, actor: str, dry: bool) -> Told:
    """Give it on the command line."""
    words = [*_filled(row.words, made).split(), "--actor", actor, *([row.plan] if dry else [])]
    result = CliRunner().invoke(app, ["--url", served.url, "--json", *words])
    document = json.loads(result.stdout)
    assert result.exit_code in (0, 1), result.output
    return Told(result.exit_code == 0, document.get("problem", document))


def from_python(served: Served, row: Row, made: dict[str, str], *, actor: str, dry: bool) -> Told:
    """Give it from Python."""
    loop, remit = CALLERS[served.url]
    reply = loop.run(row.python(remit, made, actor=actor, **({"dry_run": True} if dry else {})))
    return Told(not reply.refused, dict(reply.document))


CALLERS: dict[str, tuple[asyncio.Runner, Remit]] = {}
"""Who calls each service from Python; a connection for each call would take most of the time."""


def _filled(text: str, made: dict[str, str]) -> str:
    for name, value in made.items():
        text = text.replace(f"{{{name}}}", value)
    return text


FACES = [over_http, by_words, from_python]
_OF_ONE_CALL = {"decision_id", "request_id", "revision"}


def lasting(told: Told) -> Any:
    """Return an answer without what differs from one call to the next."""
    return {name: each for name, each in told.document.items() if name not in OF_THE_MOMENT}


def comparable(told: Told) -> Any:
    """Return a refusal without what names the very call."""
    members = {name: each for name, each in told.document.items() if name not in _OF_ONE_CALL}
    members["reasons"] = [
        {name: each for name, each in reason.items() if name != "decision_id"} for reason in members["reasons"]
    ]
    return members


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_a_dry_run_says_the_same_on_every_face_and_changes_nothing(
    served: Served, made: dict[str, str], row: Row
) -> None:
    """The answer says that nothing was done, it is the same three times, and the revision is the one before."""
    actor = ACTORS.get(row.name, "organization:acme")
    before = served.point.view.revision
    answers = [face(served, row, made, actor=actor, dry=True) for face in FACES]

    assert [each.done for each in answers] == [True] * 3, answers
    assert all(each.document["dry_run"] is True for each in answers)
    assert lasting(answers[0]) == lasting(answers[1]) == lasting(answers[2])
    assert served.point.view.revision == before


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_its_impact_is_told_on_every_face_that_can_ask_for_it(served: Served, made: dict[str, str], row: Row) -> None:
    """An option or an argument that a face takes is never passed over in silence."""
    actor = ACTORS.get(row.name, "organization:acme")
    loop, remit = CALLERS[served.url]
    method, _, path = _filled(row.route, made).partition(" ")
    query = {"actor": actor, "dry_run": "true", "impact": "true"}
    words = [*_filled(row.words, made).split(), "--actor", actor, row.plan, "--impact"]

    python = loop.run(row.python(remit, made, actor=actor, dry_run=True, impact=True))
    told = [python.document]
    if method == "DELETE":
        told.append(served.client().delete(path, params=query).json())
    if row.name not in WITHOUT_IMPACT:
        result = CliRunner().invoke(app, ["--url", served.url, "--json", *words])
        told.append(json.loads(result.stdout))
        assert CliRunner().invoke(app, ["--url", served.url, *words[:-2], "--impact"]).exit_code == 2

    assert all(each["impact"]["changed"] >= 0 for each in told)


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_a_dry_run_is_refused_as_the_command_is(served: Served, made: dict[str, str], row: Row) -> None:
    """Whoever may not gets the command's own refusal from its dry run, on every face, and nothing changes."""
    before = served.point.view.revision
    real = over_http(served, row, made, actor=NOBODY, dry=False)
    refusals = [real, *(face(served, row, made, actor=NOBODY, dry=True) for face in FACES)]

    assert [each.done for each in refusals] == [False] * 4, refusals
    assert all(comparable(each) == comparable(real) for each in refusals)
    assert real.document["status"] == 403
    assert served.point.view.revision == before


WRONG: list[tuple[str, str, dict[str, Any], str]] = [
    ("a wider delegation", "POST /v1/delegations", {**DELEGATION, "scope": {"fields": ["body"]},
                                                    "actor": "controller:seo-control-plane"}, "attenuation_violated"),
    ("a grant that exists", "POST /v1/grants", {**GRANT, "edge_id": "g-host"}, "already_exists"),
    ("a grant to nobody", "POST /v1/grants", {**GRANT, "from": "role:nobody"}, "unknown_subject"),
    ("an edge that is not there", "POST /v1/revocations", {"target": {"edge_id": "none"}}, "not_found"),
    ("the last root", "PATCH /v1/principals/organization:acme", {"disabled": True}, "still_referenced"),
    ("one's own emergency", "POST /v1/break-glass/{glass}/review",
     {"finding": "fine", "actor": "human:security"}, "self_approval"),
]  # fmt: skip


@pytest.mark.parametrize(("route", "body", "code"), [each[1:] for each in WRONG], ids=[each[0] for each in WRONG])
def test_a_dry_run_finds_what_the_laws_refuse(
    served: Served, made: dict[str, str], route: str, body: dict[str, Any], code: str
) -> None:
    """Not only the right to command is tried: what the graph's laws refuse is refused in the same words."""
    before = served.point.view.revision
    method, _, path = _filled(route, made).partition(" ")
    said = {"actor": "organization:acme", **body}
    tried, real = (
        served.client().request(method, path, json={**said, **more}).json() for more in ({"dry_run": True}, {})
    )

    assert tried["code"] == real["code"] == code
    assert comparable(Told(done=False, document=tried)) == comparable(Told(done=False, document=real))
    assert served.point.view.revision == before


def test_every_command_of_governance_is_in_the_table(served: Served) -> None:
    """What the service describes under governance and what is tried here are the same commands, on all three faces."""
    paths = served.client().get("/openapi.json").json()["paths"]
    described = {
        (method.upper(), path)
        for path, methods in paths.items()
        for method, operation in methods.items()
        if "governance" in operation["tags"] and method != "get"
    }

    def names(row: Row) -> tuple[str, str]:
        method, _, path = row.route.partition(" ")
        return method, next(each for m, each in described if m == method and _is_of(path, each))

    assert {names(row) for row in ROWS} == described


def _is_of(path: str, template: str) -> bool:
    here, there = path.split("/"), template.split("/")
    return len(here) == len(there) and all(a == b or b.startswith("{") for a, b in zip(here, there, strict=True))


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_a_command_then_does_what_its_dry_run_said(served: Served, made: dict[str, str], row: Row) -> None:
    """Whatever the dry run names, the command answers too; and now the graph has moved on."""
    actor = ACTORS.get(row.name, "organization:acme")
    tried = over_http(served, row, made, actor=actor, dry=True)
    before = served.point.view.revision
    done = over_http(served, row, made, actor=actor, dry=False)

    assert done.done, done.document
    assert lasting(done) == lasting(tried)
    assert served.point.view.revision > before
