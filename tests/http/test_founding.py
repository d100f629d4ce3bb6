"""The first root: `store init` prints a key, and whoever holds it governs over HTTP at once."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from typer.testing import CliRunner

from remit_service.cli.app import app
from tests.http.serving import serve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typer.testing import Result

EXAMPLE = Path(__file__).parents[2] / "fixtures" / "worlds" / "example.yaml"
BARE_ROOT = '  - {id: "organization:acme"}'
BOUND_ROOT = '  - {id: "organization:acme", identities: ["key:root"]}'
GRANT = {
    "edge_id": "g-commander", "edge": "MAY_READ", "from": "role:incident-commander", "to": "wp:post:*",
}  # fmt: skip


def remit(folder: Path, *words: str) -> Result:
    """Run a command on the store in `folder`."""
    return CliRunner().invoke(app, ["--store", f"sqlite:///{folder / 'remit.db'}", *words])


def founded(folder: Path, *words: str) -> dict[str, Any]:
    """Make the store in `folder`, and return the document."""
    result = remit(folder, "--json", "store", "init", *words)
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


@contextmanager
def administrator(folder: Path, key: str) -> Iterator[httpx.Client]:
    """Serve the store in `folder`; yields a client that shows `key`."""
    served = serve(folder, EXAMPLE)
    try:
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=served.url, headers=headers, timeout=30, verify=False) as client:  # noqa: S501 - plain HTTP
            yield client
    finally:
        served.stop()


def test_the_key_of_a_new_store_governs_at_once(tmp_path: Path) -> None:
    """A store with a world: its key is printed once, grants over HTTP, and nobody else's does."""
    result = remit(tmp_path, "store", "init", "--world", str(EXAMPLE))
    key = result.stdout.strip()

    assert (result.exit_code, key.startswith("rmk_"), "\n" in key) == (0, True, False)
    assert "`key:root` of `organization:acme`: list it under `identities`" in result.stderr.replace("\n", " ")
    with administrator(tmp_path, key) as client:
        made = client.post("/v1/grants", json=GRANT)
        read = client.get("/v1/graph/edges/g-commander")
        other = client.post("/v1/grants", json=GRANT, headers={"Authorization": f"Bearer {key[:-4]}AAAA"})
    assert (made.status_code, made.json()["issuer"]) == (201, "organization:acme")
    assert read.json()["versions"][0]["from"] == "role:incident-commander"
    assert other.status_code == 401
    assert key not in (tmp_path / "remit.db").read_bytes().decode("latin-1")


def test_a_world_that_does_not_list_the_key_takes_it_away(tmp_path: Path) -> None:
    """What `store init` says about the world file is true: with `key:root` listed it goes on, without it ends."""
    key = founded(tmp_path, "--world", str(EXAMPLE))["root"]["key"]
    bare = EXAMPLE.read_text()
    with administrator(tmp_path, key) as client:
        kept = client.post("/v1/graph/apply", json={"world": bare.replace(BARE_ROOT, BOUND_ROOT)})
        lost = client.post("/v1/graph/apply", json={"world": bare})
        after = client.post("/v1/grants", json=GRANT)

    assert (kept.status_code, kept.json()["count"]) == (200, 0)
    assert (lost.status_code, lost.json()["count"]) == (200, 1)
    assert after.status_code == 403


def test_a_world_whose_root_has_an_identity_gets_no_key(tmp_path: Path) -> None:
    """Nothing is bound, no key is made, and the command says which identity governs."""
    world = tmp_path / "bound.yaml"
    world.write_text(EXAMPLE.read_text().replace(BARE_ROOT, BOUND_ROOT))
    result = remit(tmp_path, "store", "init", "--world", str(world))

    assert result.exit_code == 0
    assert "rmk_" not in result.output
    assert "no root key was made, since the world binds `key:root` of `organization:acme`" in result.stderr
    assert json.loads(remit(tmp_path, "--json", "key", "list").stdout)["keys"] == []


def test_a_store_without_a_world_gets_a_root_of_its_own(tmp_path: Path) -> None:
    """The organization named like the realm governs, and brings the world in."""
    made = founded(tmp_path, "--realm", "acme")
    with administrator(tmp_path, made["root"]["key"]) as client:
        applied = client.post("/v1/graph/apply", json={"world": EXAMPLE.read_text().replace(BARE_ROOT, BOUND_ROOT)})
        granted = client.post("/v1/grants", json=GRANT)

    assert (made["root"]["principal"], made["root"]["identity"]) == ("organization:acme", "key:root")
    assert (applied.status_code, granted.status_code) == (200, 201)
