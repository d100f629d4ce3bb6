"""`python -m tests.model.again STORE SEED [COUNT]`: plays one game again and prints it, to look at what broke a law."""

from __future__ import annotations

import sys

from tests.model import sqlite
from tests.model.game import play


def main(store: str, seed: str, count: str = "400") -> None:
    """Play a game again, a line for each command."""
    if store == "sqlite":
        sqlite.play(int(seed), int(count))
    else:
        play(int(seed), int(count) + 1, _print)


def _print(number: int, what: object, outcome: object) -> None:
    sys.stdout.write(f"{number}  {what}  ->  {outcome}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
