"""The command line: one module a group of verbs, text for people, `--json` for programs."""

from __future__ import annotations

from remit_service.keeping.garbage import collecting_nothing

with collecting_nothing():
    from remit_service.cli.app import main

__all__ = ["main"]
