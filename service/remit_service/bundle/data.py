"""The data tree of a bundle: every `data.json` and `data.yaml`, put where its folder says.

`remit/conflict/data.yaml` is `data.remit.conflict`, as in OPA. Two files may fill the same branch, but not the same
leaf. JSON is read as strictly as YAML: no duplicate members, no NaN, no integers beyond 64 bits, which the two engines
would round differently.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from remit_service.bundle.errors import BundleRefused, Problem
from remit_service.bundle.yaml_data import fraction, parse_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

DATA_NAMES: Final = frozenset({"data.json", "data.yaml"})
_INTEGER_LIMIT: Final = 2**63

Tree = dict[str, object]


def data_tree(files: Mapping[str, bytes]) -> Tree:
    """Return the data that `files` hold together.

    Raises:
        BundleRefused: a file cannot be read, holds no object, or gives a value that another file gives.
    """
    tree: Tree = {}
    for path, content in sorted(files.items()):
        folder, _, name = path.rpartition("/")
        if name in DATA_NAMES:
            branch = _branch(tree, folder.split("/") if folder else [], path)
            _merge(branch, parse_data(path, content), path)
    return tree


def parse_data(path: str, content: bytes) -> Tree:
    """Return the object in one data file.

    Raises:
        BundleRefused: it cannot be read, or is no object.
    """
    value = parse_yaml(path, content) if path.endswith(".yaml") else _parse_json(path, content)
    if not isinstance(value, dict):
        raise BundleRefused(Problem(path, 0, "holds no object"))
    return value


def _branch(tree: Tree, folders: list[str], path: str) -> Tree:
    for folder in folders:
        child = tree.setdefault(folder, {})
        if not isinstance(child, dict):
            raise BundleRefused(Problem(path, 0, f"`{folder}` is already a value of another data file"))
        tree = child
    return tree


def _merge(into: Tree, value: Tree, path: str) -> None:
    for key, item in value.items():
        known = into.get(key)
        if isinstance(known, dict) and isinstance(item, dict):
            _merge(known, item, path)
        elif key in into:
            raise BundleRefused(Problem(path, 0, f"`{key}` is already given by another data file"))
        else:
            into[key] = item


def _parse_json(path: str, content: bytes) -> object:
    try:
        return json.loads(
            content,
            object_pairs_hook=_members,
            parse_constant=_no_constant,
            parse_int=_integer,
            parse_float=fraction,
        )
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 0
        raise BundleRefused(Problem(path, line, f"is no JSON: {error}")) from error


def _members(pairs: list[tuple[str, object]]) -> Tree:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member is given twice")
    return members


def _no_constant(text: str) -> object:
    raise ValueError(f"`{text}` is no number")


def _integer(text: str) -> int:
    number = int(text)
    if not -_INTEGER_LIMIT <= number < _INTEGER_LIMIT:
        raise ValueError(f"{text} has more than 64 bits")
    return number
