"""`./run features`: every row of the feature ledger with the tests that showed it when they last ran.

    S27   Attenuation                                                              1
          tests/unit/test_scope.py::test_narrow
    S28   Confused deputy                                                          NONE

The rows are those of `fixtures/features.txt`; what the tests said is in `.cache/features.json`, which `./run test`
renews. `--missing` lists only the rows that no test shows. The exit code is 1 while there are such rows.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.support.report import FEATURES

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT: Final = Path(__file__).parents[1]
LEDGER: Final = ROOT / "fixtures" / "features.txt"


def rows() -> dict[str, str]:
    """Return the ledger: the title of each row by its id."""
    return dict(line.split("\t", maxsplit=1) for line in LEDGER.read_text().splitlines())


def shown_by(row: str, outcomes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the tests that passed and say that they show `row`."""
    return sorted(test for test, told in outcomes.items() if row in told["features"] and told["outcome"] == "passed")


def main(arguments: list[str]) -> int:
    """Print the ledger."""
    if not (ROOT / FEATURES).exists():
        print("features: no test has run here yet; `./run test` runs them")
        return 1
    outcomes = json.loads((ROOT / FEATURES).read_text())
    tests = {row: shown_by(row, outcomes) for row in rows()}
    for row, title in rows().items():
        if tests[row] and "--missing" in arguments:
            continue
        print(f"{row:<5} {title[:72]:<72} {len(tests[row]) or 'NONE'}")
        for test in tests[row]:
            print(f"      {test}")
    missing = sum(not shown for shown in tests.values())
    print(f"features: {len(tests) - missing} of {len(tests)} rows are shown by a passing test, {missing} by none")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
