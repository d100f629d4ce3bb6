"""Keys that are written to files: whole or not at all, for their owner alone, and never over anything."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from typer.testing import CliRunner

from remit_service.cli.app import app
from remit_service.private_file import private_file
from remit_service.settings_sources import load_settings
from tests.http.serving import serve, stopped_later

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typer.testing import Result

    from tests.http.serving import Served

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The content platform, for callers of this machine."""
    yield from stopped_later(serve(tmp_path_factory.mktemp("files"), SEO, demo=True))


def create(served: Served, file: Path, *more: str) -> Result:
    """Make a key for the gateway and keep it in `file`."""
    return CliRunner().invoke(
        app, ["--url", served.url, "--json", "key", "create", "gateway", "--file", str(file), *more]
    )


def listed(served: Served) -> list[str]:
    """Return the ids of the keys there are."""
    return [each["id"] for each in served.client().get("/v1/keys").json()["keys"]]


def test_a_key_goes_to_a_file_and_opens(served: Served, tmp_path: Path) -> None:
    """The file is its owner's alone and holds the key; the answer does not, and `REMIT_KEY_FILE` reads it."""
    file = tmp_path / "gateway.key"
    result = create(served, file)
    told = json.loads(result.stdout)

    assert (result.exit_code, "key" in told, told["file"]) == (0, False, str(file))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text().startswith(f"rmk_{told['id']}_")
    assert [each.name for each in tmp_path.iterdir()] == ["gateway.key"]
    key = load_settings(environment={"REMIT_KEY_FILE": str(file)}).key
    assert key is not None
    reply = httpx.get(f"{served.url}/v1/limits", headers={"Authorization": f"Bearer {key.reveal()}"})
    assert reply.status_code == 200


def test_a_dry_run_writes_nothing(served: Served, tmp_path: Path) -> None:
    """Neither a key nor a file is made."""
    before = listed(served)
    result = create(served, tmp_path / "gateway.key", "--dry-run")

    assert result.exit_code == 0
    assert (listed(served), list(tmp_path.iterdir())) == (before, [])


@pytest.mark.parametrize("what", ["a file", "a link that leads nowhere", "a folder", "no folder to be in"])
def test_what_is_in_the_way_is_told_before_a_key_is_made(served: Served, tmp_path: Path, what: str) -> None:
    """Exit 2, it is named with what to do, it stays as it was, and there is no key that nobody has."""
    file, before = tmp_path / "there", listed(served)
    if what == "a file":
        file.write_text("mine")
    elif what == "a folder":
        file.mkdir()
    elif what == "a link that leads nowhere":
        file.symlink_to(tmp_path / "nowhere")
    else:
        file = tmp_path / "missing" / "key"
    held = sorted(each.name for each in tmp_path.iterdir())
    result = create(served, file)

    (message, advice) = json.loads(result.stdout)["error"]["messages"]
    assert (result.exit_code, str(file) in message) == (2, True)
    assert advice.startswith("→ name ")
    assert sorted(each.name for each in tmp_path.iterdir()) == held
    assert listed(served) == before


def test_a_refused_key_leaves_no_file(served: Served, tmp_path: Path) -> None:
    """Whoever may not make keys gets exit 1, and nothing is left on disk."""
    result = create(served, tmp_path / "gateway.key", "--actor", "human:analyst")

    assert (result.exit_code, list(tmp_path.iterdir())) == (1, [])


def test_a_key_that_cannot_be_kept_is_ended_again(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full when the key is there: nobody has it, so it is revoked, and no part of it is left."""

    def full(_: Any) -> None:
        raise OSError(28, "No space left on device")

    before = listed(served)
    monkeypatch.setattr("remit_service.private_file.os.fsync", full)
    result = create(served, tmp_path / "gateway.key")

    assert result.exit_code == 2
    assert "No space left on device" in result.stdout
    assert (listed(served), list(tmp_path.iterdir())) == (before, [])


def test_whoever_is_second_does_not_take_the_place(tmp_path: Path) -> None:
    """Two that write the same file at once, of one process: one is told that it is there, and the first text stays."""
    file = tmp_path / "key"
    with private_file(file) as write:
        with private_file(file) as write_first:
            write_first("first")
        with pytest.raises(FileExistsError):
            write("second")

    assert (file.read_text(), [each.name for each in tmp_path.iterdir()]) == ("first", ["key"])


def test_a_signing_key_is_made_once(tmp_path: Path) -> None:
    """`capability key` makes an Ed25519 JWK for its owner alone, and leaves one that is there as it is."""
    file = tmp_path / "signing.json"
    made = CliRunner().invoke(app, ["capability", "key", str(file)])
    text = file.read_text()
    again = CliRunner().invoke(app, ["capability", "key", str(file)])
    nowhere = CliRunner().invoke(app, ["capability", "key", str(tmp_path / "missing" / "signing.json")])

    assert (made.exit_code, again.exit_code, nowhere.exit_code) == (0, 2, 3)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (json.loads(text)["crv"], file.read_text()) == ("Ed25519", text)
