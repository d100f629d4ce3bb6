"""`./run services`: fetches Neo4j and OPA for the tests, and says what else is missing. Instant when all is there."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from tests.support import programs

if TYPE_CHECKING:
    from collections.abc import Callable

FETCHED: Final[dict[str, tuple[Callable[[], object], Callable[[], None]]]] = {
    "OPA": (programs.opa, programs.fetch_opa),
    "Neo4j": (programs.neo4j_jars, programs.fetch_neo4j),
}
INSTALLED: Final = ("nginx", "caddy", "haproxy", "chromium")


def have(look: Callable[[], object]) -> bool:
    """Tell whether `look` finds its program."""
    try:
        look()
    except programs.Missing:
        return False
    return True


def main() -> int:
    """Fetch what can be fetched; the exit code is 0 even if something is missing, since its tests are then skipped."""
    lacking: dict[str, str] = {}
    for name, (look, fetch) in FETCHED.items():
        if have(look):
            continue
        print(f"services: fetching {name}, once", flush=True)
        try:
            fetch()
        except programs.Missing as missing:
            lacking[name] = str(missing)
    for name in INSTALLED:
        try:
            programs.program(name)
        except programs.Missing as missing:
            lacking[name] = str(missing)
    for name, why in lacking.items():
        print(f"services: without {name}: {why}")
    if not lacking:
        print("services: all here")
    return 0


if __name__ == "__main__":
    sys.exit(main())
