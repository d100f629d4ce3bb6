"""Policies of a few lines, and engines over them, for tests of the engines and of bundles."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from remit_service.bundle.build import build_bundle

if TYPE_CHECKING:
    from remit_service.bundle.model import Bundle

DENY = """\
package remit.decision

# METADATA
# entrypoint: true
default decision := {
	"effect": "deny",
	"outcome": "deny",
	"reasons": ["result_undefined"],
	"determining": [],
	"conflicts": [],
	"obligations": [],
	"policy_revision": "",
}

decision := {
	"effect": "deny",
	"outcome": "deny",
	"reasons": ["no_authority"],
	"determining": [],
	"conflicts": [],
	"obligations": [],
	"policy_revision": data.remit.revision.policy_revision,
}
"""


def rego(text: str) -> bytes:
    """Return Rego written inside a test, without the test's indentation."""
    return textwrap.dedent(text).lstrip("\n").encode()


def stored(name: str) -> str:
    """Return one of the modules in `policies`."""
    return (Path(__file__).parent / "policies" / f"{name}.rego").read_text()


def policy_files(**modules: str) -> dict[str, bytes]:
    """Return the files of a policy that denies, with `modules` by package: `remit_case="package remit.case ..."`."""
    files = {"remit/decision/decision.rego": DENY.encode()}
    for name, source in modules.items():
        folder = name.replace("_", "/")
        files[f"{folder}/{folder.rpartition('/')[2]}.rego"] = rego(source)
    return files


def a_bundle(**modules: str) -> Bundle:
    """Return the bundle of `policy_files`."""
    return build_bundle(policy_files(**modules))


def write_bundle(bundle: Bundle, folder: Path) -> Path:
    """Lay `bundle` out in `folder`, as OPA loads it, and return the folder."""
    for path, content in bundle.all_files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return folder
