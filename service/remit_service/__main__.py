"""`python -m remit_service`: the `remit` command."""

from __future__ import annotations

from remit_service.cli import main

if __name__ == "__main__":
    main()
