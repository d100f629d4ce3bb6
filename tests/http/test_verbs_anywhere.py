"""Verbs of graph, store and keys give the same against a running service and on the store itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from typer.testing import CliRunner

from remit_service.cli.app import app
from tests.http.serving import serve, stopped_later

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from typer.testing import Result

    from tests.http.serving import Served

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service of this module's own, for callers of this machine: its graph changes."""
    yield from stopped_later(serve(tmp_path_factory.mktemp("anywhere"), SEO, demo=True))


@pytest.fixture(params=["service", "store"])
def remit(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Result]:
    """Run a command, against the service or on a store of its own."""
    if request.param == "service":
        place = ["--url", request.getfixturevalue("served").url]
    else:
        place = ["--store", f"sqlite:///{tmp_path / 'remit.db'}"]
        assert CliRunner().invoke(app, [*place, "store", "init", "--world", str(SEO)]).exit_code == 0
    return lambda *words: CliRunner().invoke(app, [*place, *words])


def document(result: Result) -> Any:
    """Return what a command with `--json` printed."""
    return json.loads(result.stdout)


def test_a_world_goes_out_and_comes_in(remit: Callable[..., Result], tmp_path: Path) -> None:
    """Export, plan, apply: an unchanged world differs in nothing, a changed one by what was changed."""
    world = tmp_path / "world.yaml"
    assert remit("graph", "export", "-o", str(world)).exit_code == 0
    assert remit("graph", "export").stdout == world.read_text()
    assert document(remit("--json", "graph", "plan", str(world)))["differences"] == []
    agent = 'id: "instance:seo-agent-8", trust: '
    world.write_text(world.read_text().replace(f"{agent}2", f"{agent}1"))

    planned = remit("graph", "plan", str(world))
    assert planned.exit_code == 0
    assert planned.stdout.splitlines() == [
        "~ principal instance:seo-agent-8: trust 2 -> 1", "none to add, 1 to change, none to remove",
    ]  # fmt: skip
    applied = remit("graph", "apply", str(world), "--reason", "less trust")
    assert (applied.exit_code, "applied at revision" in applied.stdout) == (0, True)
    assert document(remit("--json", "graph", "plan", str(world)))["differences"] == []


def test_faults_of_a_world_are_told_with_file_and_line(remit: Callable[..., Result], tmp_path: Path) -> None:
    """The file is named as it was given, every fault has its line, and nothing is applied."""
    world = tmp_path / "wrong.yaml"
    world.write_text("realm: acme\nroot: []\nactionz: {}\n")
    result = remit("graph", "apply", str(world))

    assert result.exit_code == 2
    assert f"{world}:3: a world has no section `actionz`" in result.stderr.replace("\n", "")


def test_a_world_that_breaks_a_law_is_refused(remit: Callable[..., Result], tmp_path: Path) -> None:
    """A world of another realm: exit 1, with the code and its sentence."""
    world = tmp_path / "other.yaml"
    world.write_text(SEO.read_text().replace("realm: acme", "realm: other"))
    result = remit("--json", "graph", "plan", str(world))

    assert result.exit_code == 1
    assert document(result)["problem"]["code"] == "revision_foreign"


@pytest.mark.parametrize(
    ("identifier", "shown"),
    [
        ("", ("realm", "acme")),
        ("instance:seo-agent-7", ("truncated", False)),
        ("wp:post:1024", ("truncated", False)),
        ("del_882", ("current", True)),
    ],
)
def test_anything_of_the_graph_is_shown(
    remit: Callable[..., Result], identifier: str, shown: tuple[str, object]
) -> None:
    """Everything, a principal, a resource, an edge: by what it is called alone."""
    words = [identifier] if identifier else []
    result = remit("--json", "graph", "show", *words)

    assert result.exit_code == 0
    assert document(result)[shown[0]] == shown[1]
    assert remit("graph", "show", *words).exit_code == 0
    assert remit("graph", "show", "nobody:knows").exit_code == 1


def test_graph_and_store_are_checked(remit: Callable[..., Result]) -> None:
    """Both checks of a sound store say so, and up to where."""
    checked = document(remit("--json", "store", "check"))

    assert document(remit("--json", "graph", "check"))["problems"] == []
    assert (checked["problems"], checked["revision"] > 0, len(checked["hash"]) > 0) == ([], True, True)


def test_a_key_lives_from_create_to_revoke(remit: Callable[..., Result]) -> None:
    """It is printed once, listed without what proves it, and ended; a second end finds nothing."""
    made = document(remit("--json", "key", "create", "gateway", "--days", "3"))
    listed = [each for each in document(remit("--json", "key", "list"))["keys"] if each["id"] == made["id"]]

    assert made["key"].startswith(f"rmk_{made['id']}_")
    assert (made["identity"], made["bound_to"]) == ("key:gateway", "service:gateway")
    assert [sorted(each) for each in listed] == [["bound_to", "created_at", "expires_at", "id", "name"]]
    assert remit("key", "revoke", made["id"]).exit_code == 0
    assert remit("key", "revoke", made["id"]).exit_code == 1
    assert "nobody lists `key:unheard` yet" in remit("key", "create", "unheard").stderr.replace("\n", " ")
    assert remit("key", "create", "no good").exit_code == 2


@pytest.fixture(scope="module")
def governed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service with a root that has a key, and an operator who manages keys."""
    folder = tmp_path_factory.mktemp("keys")
    world = folder / "world.yaml"
    world.write_text(
        """\
realm: keys
root: ["organization:root"]
resource_types:
  doc: {key: "doc:{id}", concurrency: WRITE_OPTIMISTIC}
principals:
  - {id: "organization:root", identities: ["key:root"]}
  - {id: "human:operator", identities: ["key:operator"]}
  - {id: "human:other", identities: ["key:other"]}
grants:
  - {edge_id: keys, edge: MAY_WRITE, from: "human:operator", to: "remit:graph", scope: {actions: [MANAGE_KEYS]}}
enforcement_points:
  - {id: "service:gateway", identities: ["key:gateway"], speaks_for: ["human:*"], visibility: codes}
"""
    )
    yield from stopped_later(serve(folder, world, keys=("root", "operator", "other", "gateway")))


def test_keys_are_made_by_who_may(governed: Served) -> None:
    """A chain for MANAGE_KEYS makes keys, and they open at once; without one they are refused, and made by nobody."""
    made = governed.client("operator").post("/v1/keys", json={"name": "gateway"})
    refused = governed.client("other").post("/v1/keys", json={"name": "gateway"})
    listed = governed.client("other").get("/v1/keys")
    headers = {"Authorization": f"Bearer {made.json()['key']}"}
    opened = httpx.get(f"{governed.url}/v1/limits", headers=headers)
    ended = governed.client("operator").delete(f"/v1/keys/{made.json()['id']}")
    closed = httpx.get(f"{governed.url}/v1/limits", headers=headers)

    assert made.status_code == 201
    assert (refused.status_code, refused.json()["code"]) == (403, "no_authority")
    assert (listed.status_code, listed.json()["code"]) == (403, "forbidden")
    assert [opened.status_code, ended.status_code, closed.status_code] == [200, 200, 401]


def test_who_manages_keys_does_not_become_a_root(governed: Served) -> None:
    """A key for a root's identity would be the root: it takes a root to make one, and to end one."""
    made = governed.client("root").post("/v1/keys", json={"name": "root"}).json()
    taken = governed.client("operator").post("/v1/keys", json={"name": "root"})
    ended = governed.client("operator").delete(f"/v1/keys/{made['id']}")

    assert (taken.status_code, taken.json()["code"]) == (403, "no_authority")
    assert "governs as a root, by `organization:root`" in taken.json()["detail"]
    assert ended.status_code == 403
    assert governed.client("root").delete(f"/v1/keys/{made['id']}").status_code == 200


def test_a_repeat_makes_no_second_key_and_shows_none(governed: Served) -> None:
    """The secret is in no stored answer: a repeat tells the same id without it, and another body is refused."""
    client, headers = governed.client("root"), {"Idempotency-Key": "k-1"}
    first = client.post("/v1/keys", json={"name": "gateway"}, headers=headers)
    again = client.post("/v1/keys", json={"name": "gateway"}, headers=headers)
    other = client.post("/v1/keys", json={"name": "other"}, headers=headers)
    tried = client.post("/v1/keys", json={"name": "gateway", "dry_run": True})
    listed = [each["id"] for each in client.get("/v1/keys").json()["keys"]]

    assert first.json()["id"] == again.json()["id"]
    assert ("key" in first.json(), "key" in again.json(), "key" in tried.json()) == (True, False, False)
    assert other.status_code == 422
    assert (listed.count(first.json()["id"]), tried.json()["id"] in listed) == (1, False)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "#/name"),
        ({"name": "a b"}, "#/name"),
        ({"name": 3}, "#/name"),
        ({"name": "a", "days": 0}, "#/days"),
        ({"name": "a", "days": True}, "#/days"),
        ({"name": "a", "dayz": 3}, "#/dayz"),
        ({"name": "a", "dry_run": "yes"}, "#/dry_run"),
    ],
)
def test_a_malformed_key_request_is_refused(governed: Served, body: dict[str, Any], pointer: str) -> None:
    """400, with the place."""
    reply = governed.client("root").post("/v1/keys", json=body)

    assert (reply.status_code, reply.json()["errors"][0]["pointer"]) == (400, pointer)
