"""Settings: where they come from, what is refused, and that no secret shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from remit_service.secret import Secret
from remit_service.settings import Settings, SettingsError
from remit_service.settings_sources import load_settings

CASES = yaml.safe_load(Path("fixtures/malformed/settings.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_bad_configuration_is_refused_at_its_place(
    case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refusal names the line, variable or option, and says what is wrong with it."""
    monkeypatch.chdir(tmp_path)
    if "file" in case:
        (tmp_path / "remit.toml").write_text(case["file"])

    with pytest.raises(SettingsError) as refused:
        load_settings(case.get("options"), environment=case.get("environment", {}))

    assert refused.value.facts["places"] == [case["place"]]
    assert case["says"] in refused.value.message


def test_the_stronger_source_wins(tmp_path: Path) -> None:
    """Options win over the environment, it over the file, the file over the defaults."""
    file = tmp_path / "remit.toml"
    file.write_text('workers = 2\nlisten = "127.0.0.1:1"\nreplica = "file"\n')
    environment = {"REMIT_LISTEN": "127.0.0.1:2", "REMIT_REPLICA": "environment"}

    settings = load_settings({"replica": "option", "store": None}, environment=environment, file=file)

    assert (settings.store, settings.workers) == ("sqlite:///remit.db", 2)
    assert (settings.listen, settings.replica) == ("127.0.0.1:2", "option")
    assert settings.origins == {"workers": f"{file}:1", "listen": "REMIT_LISTEN", "replica": "--replica"}


def test_every_problem_is_reported_at_once() -> None:
    """Two bad variables are two sentences, so that both can be mended."""
    with pytest.raises(SettingsError) as refused:
        load_settings(environment={"REMIT_WORKERS": "0", "REMIT_DEMO": "maybe"})

    assert refused.value.facts["places"] == ["REMIT_DEMO", "REMIT_WORKERS"]


def test_a_secret_shows_nowhere(tmp_path: Path) -> None:
    """Neither `repr` nor `describe` shows a password; only `reveal` does."""
    password = tmp_path / "password"
    password.write_text("hunter2\n")

    settings = load_settings(environment={"REMIT_STORE_PASSWORD_FILE": str(password), "REMIT_ENGINE_TOKEN": "s3cret"})

    assert settings.store_password == Secret("hunter2")
    assert settings.store_password is not None
    assert settings.store_password.reveal() == "hunter2"
    assert "hunter2" not in repr(settings)
    assert settings.describe()["store_password"] == "********"
    assert "s3cret" not in str(settings.describe())


def test_the_environment_of_others_is_left_alone() -> None:
    """Variables of Kubernetes for a service named `remit`, and those of the tests, are no settings."""
    environment = {"REMIT_SERVICE_HOST": "10.0.0.1", "REMIT_PORT_8180_TCP": "tcp://10.0.0.1:8180", "PATH": "/bin"}

    assert load_settings(environment=environment) == Settings()


def test_lists_are_written_with_commas_or_as_json() -> None:
    """Both spellings of a list give the same settings."""
    commas = load_settings(environment={"REMIT_TRUSTED_PROXIES": "10.0.0.0/8, ::1/128"})
    json = load_settings(environment={"REMIT_TRUSTED_PROXIES": '["10.0.0.0/8", "::1/128"]'})

    assert commas == json
    assert commas.trusted_proxies == ("10.0.0.0/8", "::1/128")


@pytest.mark.parametrize(
    ("listen", "address", "is_loopback"),
    [
        ("127.0.0.1:8180", ("127.0.0.1", 8180), True),
        ("[::1]:80", ("::1", 80), True),
        ("localhost:80", ("localhost", 80), True),
        ("0.0.0.0:80", ("0.0.0.0", 80), False),  # noqa: S104 - that it is told apart is the point
        ("remit.example:80", ("remit.example", 80), False),
    ],
)
def test_loopback_is_told_apart(listen: str, address: tuple[str, int], is_loopback: bool) -> None:  # noqa: FBT001
    """Only addresses that other machines cannot reach count as loopback."""
    settings = Settings(listen=listen)

    assert settings.address == address
    assert settings.is_loopback is is_loopback
    assert settings.public_url == f"http://{listen}"


def test_the_public_address_is_the_configured_one() -> None:
    """`base_url` wins, and loses its slash at the end."""
    assert Settings(base_url="https://remit.example.com/pdp/").public_url == "https://remit.example.com/pdp"
