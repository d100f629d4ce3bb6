"""`./run test`: everything a change must pass. With arguments it is pytest with those arguments, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.support.quick_folder import quick_folder
from tests.support.report import FEATURES
from tools import lint, services

# Two workers; a group keeps the tests of Neo4j on one of them, see tests/conftest.py. Groups stay in place:
# that of Neo4j comes first, and services that last for a whole run are started late.
IN_GROUPS: Final = ("--numprocesses=2", "--dist=loadgroup", "--no-loadscope-reorder")
WHOLE_SUITE: Final = (*IN_GROUPS, "--durations=15", "--durations-min=1")


def pytest(*arguments: str) -> int:
    """Run pytest of the locked environment and return its exit code."""
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


def main(arguments: list[str]) -> int:
    """Run what was asked for; the exit code is 0 only if all of it passed."""
    if arguments:
        return pytest(*arguments)
    services.main()
    linted = lint.main()
    # The whole suite says anew which rows of the ledger it shows.
    Path(FEATURES).unlink(missing_ok=True)
    with quick_folder() as folder:
        tested = pytest(*WHOLE_SUITE, f"--basetemp={folder / 'run'}")
    if linted != 0:
        print("test: the checks above failed; `./run lint` repeats them")
    return tested or linted


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
