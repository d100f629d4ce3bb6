"""Where settings come from: defaults, then `remit.toml`, then the environment, then options.

Each problem names its place, `remit.toml:3`, `REMIT_LISTEN` or `--listen`, and all of them are reported at once. A
name that is not a setting is refused with the nearest one that is: a misspelt bound would otherwise be no bound.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_type_hints

import msgspec

from remit_graph.errors import ModelError
from remit_service.secret import Secret
from remit_service.settings import Settings, SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILE: Final = "remit.toml"
PREFIX: Final = "REMIT_"
_NOT_SETTINGS: Final = re.compile(
    # Where the file is; what the tests of this project read; what Kubernetes sets for a service named `remit`.
    r"REMIT_(CONFIG|REQUIRE_SERVICES|SERVICE_(HOST|PORT\w*)|PORT(_\d+_(TCP|UDP)\w*)?)\Z"
)
_TYPES: Final = get_type_hints(Settings, include_extras=True)
_NAMES: Final = tuple(each.name for each in fields(Settings) if each.name != "origins")
_SECRETS: Final = frozenset(name for name in _NAMES if _TYPES[name] == Secret | None)


@dataclass(frozen=True, slots=True)
class _Given:
    """One value as given, before its type is known."""

    name: str
    value: Any
    place: str
    is_text: bool
    """Whether it is text that stands for another type, as in the environment."""


def load_settings(
    options: Mapping[str, Any] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> Settings:
    """Put the settings together.

    Args:
        options: Options of the command line by setting; None is an option that was not given.
        environment: Instead of the process's own.
        file: Instead of the one `REMIT_CONFIG` names, or `remit.toml` here if there is one.

    Raises:
        SettingsError: a name is unknown, a value of the wrong kind, or two settings contradict each other.
    """
    variables = os.environ if environment is None else environment
    problems: list[tuple[str, str]] = []
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for given in (*_from_file(file, variables), *_from_environment(variables), *_from_options(options or {})):
        try:
            values[given.name] = _convert(given)
            origins[given.name] = given.place
        except ModelError as error:
            problems.append((given.place, error.message))
    if problems:
        raise _error(problems)
    try:
        return Settings(**values, origins=origins)
    except SettingsError as error:
        name = error.facts["places"][0]  # type: ignore[index]
        raise _error([(origins.get(name, name), error.message)]) from error


def _error(problems: list[tuple[str, str]]) -> SettingsError:
    text = "; ".join(f"{place}: {message}" for place, message in problems)
    return SettingsError(text, places=[place for place, _ in problems])


def _from_file(file: Path | None, variables: Mapping[str, str]) -> Iterator[_Given]:
    named = file or (Path(variables["REMIT_CONFIG"]) if variables.get("REMIT_CONFIG") else None)
    path = named or Path(FILE)
    if named is None and not path.exists():
        return
    try:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _error([(str(path), f"cannot be read: {error}")]) from error
    lines = text.splitlines()
    for name, value in document.items():
        line = next((i for i, each in enumerate(lines, 1) if re.match(rf"\s*[\[\s\"']*{re.escape(name)}\b", each)), 1)
        yield _Given(name, value, f"{path}:{line}", is_text=False)


def _from_environment(variables: Mapping[str, str]) -> Iterator[_Given]:
    for variable in sorted(variables):
        if not variable.startswith(PREFIX) or _NOT_SETTINGS.match(variable):
            continue
        name = variable.removeprefix(PREFIX).lower()
        if name.endswith("_file") and name.removesuffix("_file") in _SECRETS:
            yield _secret_file(name.removesuffix("_file"), variables[variable], variable)
        else:
            yield _Given(name, variables[variable], variable, is_text=True)


def _secret_file(name: str, path: str, place: str) -> _Given:
    try:
        return _Given(name, Path(path).read_text(encoding="utf-8"), place, is_text=True)
    except (OSError, UnicodeDecodeError) as error:
        raise _error([(place, f"`{path}` cannot be read: {error}")]) from error


def _from_options(options: Mapping[str, Any]) -> Iterator[_Given]:
    for name, value in options.items():
        if value is not None:
            yield _Given(name, value, f"--{name.replace('_', '-')}", is_text=isinstance(value, str))


def _convert(given: _Given) -> Any:
    if given.name not in _NAMES:
        near = difflib.get_close_matches(given.name, _NAMES, n=1)
        raise ModelError(f"there is no setting `{given.name}`" + (f"; did you mean `{near[0]}`?" if near else ""))
    if given.name in _SECRETS:
        return _secret(given)
    value = _parse_text(given) if given.is_text else given.value
    try:
        return msgspec.convert(value, _TYPES[given.name], strict=not given.is_text, dec_hook=_decode)
    except msgspec.ValidationError as error:
        text = str(error).removesuffix(" - at `$`")
        raise ModelError(f"`{given.name}`: {text[0].lower()}{text[1:]}") from error


def _secret(given: _Given) -> Secret:
    if not given.place.startswith(PREFIX) or not isinstance(given.value, str):
        variable = PREFIX + given.name.upper()
        raise ModelError(f"`{given.name}` is a secret: set {variable}, or {variable}_FILE to a file that holds it")
    return Secret(given.value)


def _parse_text(given: _Given) -> Any:
    """Lists are written `a, b` in the environment, or as JSON."""
    if not str(_TYPES[given.name]).startswith("tuple"):
        return given.value
    if given.value.lstrip().startswith("["):
        try:
            return msgspec.json.decode(given.value)
        except msgspec.DecodeError as error:
            raise ModelError(f"`{given.name}`: {error}") from error
    return [each.strip() for each in given.value.split(",") if each.strip()]


def _decode(wanted: type, value: Any) -> Any:
    if wanted is Path and isinstance(value, str):
        return Path(value)
    raise NotImplementedError
