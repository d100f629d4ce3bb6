"""The `remit` command of a later version: the same program, whose rows are of the next schema.

python -m tests.chaos.later_version --store sqlite:///remit.db store migrate --enable
"""

from __future__ import annotations

from importlib import metadata
from typing import Final

from remit_graph.model import change

VERSION: Final = "9.1.0"
SCHEMA: Final = change.SCHEMA + 1

if __name__ == "__main__":
    known = metadata.version
    # Before anything else is imported: modules take the number over when they are.
    change.SCHEMA = SCHEMA  # type: ignore[misc] # the later version's
    metadata.version = lambda name: VERSION if name == "remit" else known(name)  # type: ignore[assignment] # the same

    from remit_service.cli import main

    main()
