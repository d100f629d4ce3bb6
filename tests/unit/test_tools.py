"""The tools of this repository do what the developers rely on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from grimp import ImportGraph

from tools import features
from tools.import_contracts import ImportsOnly

if TYPE_CHECKING:
    from importlinter import ContractCheck

ROOT = Path(__file__).parents[2]
LEDGER = ROOT.parent / "shared" / "design" / "features.md"


def a_check(imported: str, *, allowed: tuple[str, ...] = ()) -> ContractCheck:
    """Return what the contract says of a package `core`, whose module `core.laws` imports `imported`."""
    graph = ImportGraph()
    for module in ("core", "core.laws", "core.values"):
        graph.add_module(module)
    graph.add_module(imported, is_squashed=not imported.startswith("core"))
    graph.add_import(importer="core.laws", imported=imported)
    options = {"packages": ["core"], "allowed": list(allowed), "refused": ["socket"]}
    contract = ImportsOnly(name="pure", session_options={}, contract_options=options)
    return contract.check(graph, verbose=False)


@pytest.mark.parametrize("imported", ["core.values", "dataclasses", "collections"])
def test_a_pure_package_imports_itself_and_the_standard_library(imported: str) -> None:
    """Both are allowed without being named."""
    assert a_check(imported).kept


@pytest.mark.parametrize("imported", ["msgspec", "socket", "other", "corex"])
def test_a_pure_package_imports_nothing_else(imported: str) -> None:
    """Neither libraries nor neighbours nor what reaches outside the process."""
    check = a_check(imported)

    assert check.metadata["found"] == [("core.laws", imported)]
    assert not check.kept


def test_a_pure_package_imports_what_is_named() -> None:
    """A named package is allowed."""
    assert a_check("msgspec", allowed=("msgspec",)).kept


def test_import_contracts_hold() -> None:
    """The arrows between the rooms point the way the architecture draws them."""
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout


def test_every_marked_row_is_in_the_ledger(request: pytest.FixtureRequest) -> None:
    """A test names rows that exist."""
    marks = {row for item in request.session.items for mark in item.iter_markers("feature") for row in mark.args}

    assert marks <= features.rows().keys()


def test_the_list_of_features_is_the_ledger() -> None:
    """The list in the repository has the rows of the design, where the design lies beside it."""
    if not LEDGER.exists():
        return
    headings = [line.partition("**")[2].partition("**")[0] for line in LEDGER.read_text().splitlines()]

    expected = [heading.rstrip(".") for heading in headings if heading[:1] == "S" and heading[1:4].strip().isdigit()]
    assert [f"{row} {title}" for row, title in features.rows().items()] == expected


def test_a_row_is_shown_by_its_passing_tests() -> None:
    """A failed test shows nothing."""
    outcomes = {
        "tests/a.py::one": {"outcome": "passed", "features": ["S01", "S02"]},
        "tests/a.py::two": {"outcome": "failed", "features": ["S01"]},
    }

    assert features.shown_by("S01", outcomes) == ["tests/a.py::one"]
    assert features.shown_by("S03", outcomes) == []


@pytest.mark.parametrize("lock", ["dev", "run"])
def test_every_locked_package_has_hashes_and_names_no_index(lock: str) -> None:
    """What is installed is what was locked, from whichever index is configured."""
    text = (ROOT / "locks" / f"{lock}.txt").read_text()
    packages = [block for block in text.replace(" \\\n", " ").splitlines() if block.strip()]

    assert [package for package in packages if "==" not in package or "--hash=sha256:" not in package] == []
    assert "://" not in text


def test_tests_of_one_group_share_a_worker(tmp_path: Path) -> None:
    """Tests of Neo4j stay together; pytest 9.2 with pytest-xdist 3.8 spread them, which started two servers."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_group.py").write_text(
        "import os, pathlib, pytest\n"
        "@pytest.mark.xdist_group('one')\n"
        "@pytest.mark.parametrize('turn', range(6))\n"
        "def test_where(turn):\n"
        "    pathlib.Path(os.environ['PYTEST_XDIST_WORKER']).touch()\n"
    )
    command = [sys.executable, "-m", "pytest", "--numprocesses=2", "--dist=loadgroup", "-q"]

    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)

    assert len(list(tmp_path.glob("gw*"))) == 1
