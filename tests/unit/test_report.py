"""The report of a run: skips are told loudly or are failures, and the rows of the ledger are kept by test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUITE = """
import pytest

@pytest.mark.feature("S01", "S02")
def test_shown():
    pass

@pytest.mark.feature("S01")
def test_broken():
    raise AssertionError

@pytest.mark.feature("S03")
def test_skipped():
    pytest.skip("no such server")

@pytest.mark.xfail(strict=True)
def test_known():
    raise AssertionError
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A repository with one test of each outcome, reported as ours are."""
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p tests.support.report\nmarkers = feature\n")
    (tmp_path / "tests" / "unit").mkdir(parents=True)
    (tmp_path / "tests" / "unit" / "test_it.py").write_text(SUITE)
    return tmp_path


def run(suite: Path, *arguments: str, **environment: str) -> str:
    """Run pytest there and return what it printed."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(command, cwd=suite, env=variables, capture_output=True, text=True, check=False).stdout


def test_a_skipped_suite_is_named_with_its_reason(suite: Path) -> None:
    """The end of the run says what was not tested, and why."""
    said = run(suite)

    assert "SKIPPED, so not tested here" in said
    assert "unit: 1 test: no such server" in said
    assert "1 failed, 1 passed, 1 skipped, 1 xfailed" in said


@pytest.mark.parametrize("asked", ["option", "variable"])
def test_a_skip_fails_where_services_are_required(suite: Path, asked: str) -> None:
    """Both ways of asking; a failure that is expected stays expected."""
    said = run(suite, "--require-services") if asked == "option" else run(suite, REMIT_REQUIRE_SERVICES="1")

    assert "skipped, but services are required: no such server" in said
    assert "2 failed, 1 passed, 1 xfailed" in said


@pytest.mark.parametrize("workers", ["0", "2"])
def test_outcomes_of_features_are_kept_by_test(suite: Path, workers: str) -> None:
    """Whether in one process or in several, and without tests of files that are gone."""
    file = suite / ".cache" / "features.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"tests/unit/test_gone.py::test": {"outcome": "passed", "features": ["S09"]}}))

    run(suite, f"--numprocesses={workers}")

    assert json.loads(file.read_text()) == {
        "tests/unit/test_it.py::test_broken": {"outcome": "failed", "features": ["S01"]},
        "tests/unit/test_it.py::test_shown": {"outcome": "passed", "features": ["S01", "S02"]},
        "tests/unit/test_it.py::test_skipped": {"outcome": "skipped", "features": ["S03"]},
    }
