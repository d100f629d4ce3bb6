"""Copies of the shipped policy with one rule of the site: bundles of another digest, whose verdicts tell them apart."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from remit_service.bundle.folder import shipped_policy

if TYPE_CHECKING:
    from pathlib import Path

_RULE = """package custom

requires[rule] := {"/request/action/name": "string"} if rule := "%(name)s"

deny contains {"rule": "%(name)s", "code": "%(name)s", "message": "the rule %(name)s refuses it"} if {
	input.request.action.name == "%(action)s"
}
"""


def policy_that_refuses(action: str, folder: Path, *, name: str = "freeze") -> Path:
    """Write the shipped policy into `folder`, with a rule `name` that refuses `action`, and return the folder."""
    _copy(folder)
    (folder / "custom" / f"{name}.rego").write_text(_RULE % {"name": name, "action": action})
    return folder


def policy_that_is_strict(class_: str, folder: Path) -> Path:
    """Write the shipped policy into `folder`, with a class of actions that is always decided on the newest state."""
    _copy(folder)
    configuration = folder / "remit" / "config" / "data.yaml"
    configuration.write_text(configuration.read_text().replace("\nstrict: []\n", f"\nstrict: [{class_}]\n"))
    return folder


def _copy(folder: Path) -> None:
    shutil.copytree(shipped_policy(), folder, ignore=shutil.ignore_patterns("*_test.rego"))
