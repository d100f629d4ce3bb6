"""Annotations of a site: whatever OPA would refuse a bundle for is refused when it is built, with file and line."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from remit_service.bundle.build import build_bundle
from remit_service.bundle.errors import BundleRefused
from tests.support.engines import policy_files
from tests.support.programs import opa
from tests.support.services import require_service

if TYPE_CHECKING:
    from pathlib import Path

ALONE = "package custom\n"


def head(*lines: str) -> str:
    """Return an annotated package with a rule."""
    return _annotated(lines) + ALONE + "\nx contains 1\n"


def rule(*lines: str, above: str = "x contains 1") -> str:
    """Return a package with an annotated rule."""
    return f"{ALONE}\n{_annotated(lines)}{above}\n"


def _annotated(lines: tuple[str, ...]) -> str:
    return "".join(f"# {each}\n" for each in ("METADATA", *lines))


DOCUMENT, ENTRY, PACKAGE = "scope: document", "entrypoint: true", "scope: package"
TAKEN = {
    "one of each": (head(PACKAGE), rule("title: x", DOCUMENT)),
    "package and subpackages": (head(PACKAGE), head("scope: subpackages")),
    "rules of one name": (rule("title: a"), rule("title: b")),
    "a comment between": (rule("title: a", above="\n# about it\nx contains 1"), ALONE),
    "a title that is a number": (rule("title: 3"), ALONE),
}
ONE = "OPA takes one annotation of the"
REFUSED = {
    "the package twice": (
        head(PACKAGE),
        head("title: b"),
        f"b.rego:1: {ONE} package `custom`, and it is at custom/a.rego:1",
    ),
    "twice in one file": ("# METADATA\n# title: a\n\n" + head(PACKAGE), ALONE, f"a.rego:4: {ONE} package `custom`"),
    "a document twice": (
        rule(DOCUMENT),
        rule(DOCUMENT),
        f"b.rego:3: {ONE} document `custom.x`, and it is at custom/a.rego:3",
    ),
    "an entry point twice": (rule(ENTRY), rule(ENTRY), f"b.rego:3: {ONE} document `custom.x`"),
    "of a package at a rule": (rule(PACKAGE), ALONE, "a.rego:3: `scope: package` does not fit here"),
    "a scope there is not": (rule("scope: file"), ALONE, "a.rego:3: `scope: file` does not fit here"),
    "an entry point that is a rule": (rule(ENTRY, "scope: rule"), ALONE, "a.rego:3: an entry point is a document"),
    "above an import": (rule("title: a", above="import input.y"), ALONE, "a.rego:3: an annotation stands right above"),
    "above nothing": (rule("title: a", above=""), ALONE, "a.rego:3: an annotation stands right above"),
    "no YAML": (rule("title: ["), ALONE, "a.rego:4: the annotation is no YAML"),
    "a list": (rule("- a"), ALONE, "a.rego:3: an annotation is a mapping"),
    "empty": (rule(), ALONE, "a.rego:3: an annotation is a mapping"),
    "a flag that is a number": (rule("entrypoint: 1"), ALONE, "a.rego:3: `entrypoint` of an annotation"),
    "authors that are a number": (rule("authors: 3"), ALONE, "a.rego:3: `authors` of an annotation"),
}


def files_of(first: str, second: str) -> dict[str, bytes]:
    """Return a policy whose site has two files."""
    return {**policy_files(), "custom/a.rego": first.encode(), "custom/b.rego": second.encode()}


def opa_takes(files: dict[str, bytes], folder: Path) -> bool:
    """Whether OPA builds a bundle of `files`."""
    for path, content in files.items():
        (folder / "bundle" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "bundle" / path).write_bytes(content)
    words = [require_service(opa), "build", "--bundle", folder / "bundle", "--output", folder / "out.tar.gz"]
    return subprocess.run(list(map(str, words)), capture_output=True, check=False).returncode == 0


@pytest.mark.opa
@pytest.mark.parametrize("name", TAKEN)
def test_what_opa_takes_is_taken(name: str, tmp_path: Path) -> None:
    """No annotation is refused that OPA reads."""
    files = files_of(*TAKEN[name])
    build_bundle(files)

    assert opa_takes(files, tmp_path)


@pytest.mark.opa
@pytest.mark.parametrize("name", REFUSED)
def test_what_opa_refuses_is_refused_at_the_build(name: str, tmp_path: Path) -> None:
    """The build names file and line, so that no decision point serves a bundle that OPA cannot load."""
    first, second, said = REFUSED[name]
    files = files_of(first, second)
    with pytest.raises(BundleRefused) as refused:
        build_bundle(files)

    assert [str(each) for each in refused.value.problems if str(each).startswith(f"custom/{said}")]
    assert not opa_takes(files, tmp_path)
