"""What every command shares: the settings of this call, where its output goes, and how it is run."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog
import typer

from remit_service.cli.exits import told
from remit_service.cli.output import Output
from remit_service.settings import Settings
from remit_service.settings_sources import load_settings


@dataclass
class Call:
    """One call of the command line.

    Attributes:
        output: Where it prints.
        options: Global options by setting; None is one that was not given.
        config: The configuration file that `--config` names.
        debug: Whether an unexpected error shows its traceback.
    """

    output: Output
    options: dict[str, Any] = field(default_factory=dict)
    config: Path | None = None
    debug: bool = False

    def settings(self, **more: Any) -> Settings:
        """Return the settings of this call, with a command's own options on top.

        Raises:
            SettingsError: one of them cannot be used.
        """
        given = {**self.options, **{name: value for name, value in more.items() if value is not None}}
        texts = {name: str(value) if isinstance(value, Path) else value for name, value in given.items()}
        return load_settings(texts, file=self.config)


def call_of(context: typer.Context) -> Call:
    """Return the call that the root command prepared."""
    found = context.find_object(Call)
    if found is None:
        raise RuntimeError("the root command did not run")
    return found


def run(call: Call, work: Callable[[], Coroutine[Any, Any, int]], *, fast: bool = False) -> None:
    """Run a command's work and leave with its exit code; every error becomes sentences.

    With `fast` on uvloop, whose start costs more than a short command and pays off for a server.
    """
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    try:
        with asyncio.Runner(loop_factory=_fast_loop() if fast else None) as runner:
            code = runner.run(work())
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if call.debug:
            raise
        code, lines = told(error)
        call.output.fail(code, lines)
    raise typer.Exit(code)


def _fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        from uvloop import new_event_loop
    except ImportError:  # pragma: no cover - uvloop is not made for every system
        return None
    return new_event_loop
