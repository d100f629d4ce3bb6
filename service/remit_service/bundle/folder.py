"""Read a policy folder: all of its Rego and data files, tests included, by path from the folder.

Names that begin with a dot are passed over, and so is what no engine reads, such as a README. A link is followed only
inside the folder: a bundle that is published must not carry a file from somewhere else on the machine.
"""

from __future__ import annotations

import importlib.resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from remit_service.bundle.data import DATA_NAMES
from remit_service.bundle.errors import BundleRefused, Problem
from remit_service.bundle.limits import STANDARD, Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

_INSTALLED: Final = "_policy"
_REGO: Final = ".rego"


def shipped_policy() -> Path:
    """Return the folder of the policy that comes with Remit: the installed one, or that of a source tree.

    Raises:
        BundleRefused: there is neither.
    """
    package = Path(str(importlib.resources.files("remit_service")))
    for folder in (package / _INSTALLED, package.parents[1] / "policy"):
        if folder.is_dir():
            return folder
    raise BundleRefused(Problem(_INSTALLED, 0, "no policy is installed with `remit_service`: install Remit again"))


def read_folder(folder: Path, limits: Limits = STANDARD) -> dict[str, bytes]:
    """Return path and content of every policy file under `folder`.

    Raises:
        BundleRefused: it cannot be read, is too large, or a link leads out of it.
    """
    root = folder.resolve()
    if not root.is_dir():
        raise BundleRefused(Problem(str(folder), 0, "is no folder"))
    files: dict[str, bytes] = {}
    total = 0
    for path in _policy_files(root):
        name = path.relative_to(root).as_posix()
        if not path.resolve().is_relative_to(root):
            raise BundleRefused(Problem(name, 0, "is a link that leads out of the policy folder"))
        limits.refuse_more_files(name, len(files) + 1)
        files[name] = _read(path, name, limits.unpacked_bytes - total + 1)
        total += len(files[name])
        limits.refuse_more_bytes(name, total)
    return files


def _policy_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _policy_files(path)
        elif path.name in DATA_NAMES or path.suffix == _REGO:
            yield path


def _read(path: Path, name: str, at_most: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(at_most)
    except OSError as error:
        raise BundleRefused(Problem(name, 0, f"cannot be read: {error.strerror}")) from error
