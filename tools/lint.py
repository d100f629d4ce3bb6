"""`./run lint`: style, types, import contracts, and the checks of the policy bundle. All run, whatever fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.support import programs

# The tools are those of the lock, whatever else is on the PATH.
BIN: Final = Path(sys.executable).parent
CHECKS: Final[dict[str, list[str]]] = {
    "ruff check": ["ruff", "check", "--quiet"],
    "ruff format": ["ruff", "format", "--check", "--quiet"],
    "mypy": ["mypy"],
    "import contracts": ["lint-imports"],
}
POLICY_CHECKS: Final[dict[str, list[str]]] = {
    "opa check": [
        *("check", "--strict", "--bundle", "policy"),
        *("--schema", "policy/schemas", "--capabilities", "policy/capabilities.json"),
    ],
    "opa fmt": ["fmt", "--fail", "--list", "policy"],
    "opa test": ["test", "--bundle", "--coverage", "--threshold", "100", "policy"],
}


def services_required() -> bool:
    """Tell whether a check that cannot run counts as failed."""
    return os.environ.get("REMIT_REQUIRE_SERVICES", "") not in {"", "0"}


def passes(name: str, command: list[str]) -> bool:
    """Run one check; what it says is shown only if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(f"lint: {name}: {'ok' if done.returncode == 0 else 'FAILED'}", flush=True)
    if done.returncode != 0:
        print(done.stdout + done.stderr, flush=True)
    return done.returncode == 0


def main() -> int:
    """Run every check; 1 if any failed."""
    results = [passes(name, [str(BIN / command[0]), *command[1:]]) for name, command in CHECKS.items()]
    try:
        opa = str(programs.opa())
    except programs.Missing as missing:
        print(f"lint: SKIPPED the checks of the policy: {missing}")
        results.append(not services_required())
    else:
        results += [passes(name, [opa, *arguments]) for name, arguments in POLICY_CHECKS.items()]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
