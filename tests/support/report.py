"""What a run leaves behind: the tests of each feature row, and a loud word about every suite that was skipped.

The outcomes of tests marked `feature("S27")` are kept in `.cache/features.json` by test id, so that a run of some of
the tests renews only their part; `./run features` prints them.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

FEATURES: Final = ".cache/features.json"
_ROWS: Final = "feature"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--require-services`; the variable means the same, and is not handed on to the programs under test."""
    asked = os.environ.pop("REMIT_REQUIRE_SERVICES", "") not in {"", "0"}
    parser.addoption("--require-services", action="store_true", default=asked, help="a skipped test is a failed test")


def pytest_configure(config: pytest.Config) -> None:
    """Collect in the process that reports; workers of xdist hand their reports to it."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Report(config.rootpath), "remit-report")


def pytest_report_header(config: pytest.Config) -> str:
    """Say whether skips are allowed."""
    return f"services: {'required, a skip is a failure' if config.option.require_services else 'taken if here'}"


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let the rows of `feature` travel with the report of the test."""
    rows = [row for mark in item.iter_markers("feature") for row in mark.args]
    item.user_properties.extend((_ROWS, row) for row in rows)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure where services are required, whatever its reason."""
    report = yield
    _judge(report, item.config)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Do the same for a module that skips itself."""
    report = yield
    _judge(report, collector.config)
    return report


def _judge(report: pytest.TestReport | pytest.CollectReport, config: pytest.Config) -> None:
    if config.option.require_services and report.skipped and not hasattr(report, "wasxfail"):
        report.longrepr = f"skipped, but services are required: {_reason(report)}"
        report.outcome = "failed"


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Return why something was skipped; pytest keeps it as (file, line, "Skipped: why")."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")


def _suite(nodeid: str) -> str:
    """Return the folder under `tests/` that a test lies in."""
    return nodeid.removeprefix("tests/").partition("/")[0]


class _Report:
    """Gathers outcomes while the run goes on, in the reporting process only."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._outcomes: dict[str, dict[str, Any]] = {}
        self._skipped: Counter[tuple[str, str]] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the outcome of a test; a failure before or after the call itself counts too."""
        name = report.nodeid.partition("@")[0]
        rows = sorted(str(value) for key, value in report.user_properties if key == _ROWS)
        if rows and (report.when == "call" or not report.passed):
            self._outcomes[name] = {"outcome": report.outcome, "features": rows}
        if report.skipped and not hasattr(report, "wasxfail"):
            self._skipped[_suite(name), _reason(report)] += 1

    def pytest_sessionfinish(self) -> None:
        """Keep the outcomes, with those of earlier runs whose files still exist."""
        if not self._outcomes:
            return
        file = self._root / FEATURES
        before = json.loads(file.read_text()) if file.exists() else {}
        kept = {name: told for name, told in before.items() if (self._root / name.partition("::")[0]).exists()}
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(kept | self._outcomes, indent=1, sort_keys=True))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say which suites were skipped, how much of them, and how to get what they need."""
        if not self._skipped:
            return
        terminalreporter.section("SKIPPED, so not tested here", yellow=True)
        for (suite, reason), count in sorted(self._skipped.items()):
            terminalreporter.line(f"{suite}: {count} test{'s' * (count > 1)}: {reason}", yellow=True)
