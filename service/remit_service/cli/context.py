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
from typer.core import TyperGroup

from remit_service.cli.exits import Failure, told
from remit_service.cli.output import Output
from remit_service.cli.routes import BOTH, LOCAL
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
        verb: What was called, `graph plan`.
    """

    output: Output
    options: dict[str, Any] = field(default_factory=dict)
    config: Path | None = None
    debug: bool = False
    verb: str = ""

    def settings(self, **more: Any) -> Settings:
        """Return the settings of this call, with a command's own options on top.

        Raises:
            SettingsError: one of them cannot be used.
        """
        given = {**self.options, **{name: value for name, value in more.items() if value is not None}}
        texts = {name: str(value) if isinstance(value, Path) else value for name, value in given.items()}
        return load_settings(texts, file=self.config)

    def settings_of_store(self, **more: Any) -> Settings:
        """Return the settings of a call that works on the store itself, with a command's own options on top.

        Raises:
            Failure: they name a service, by REMIT_URL or in the file; the option is refused already.
        """
        settings = self.settings(**more)
        if settings.url is not None:
            advice = "unset `url`, and name the store with --store, on its own host"
            raise Failure("this works on the store itself", advice=advice)
        return settings


def call_of(context: typer.Context) -> Call:
    """Return the call that the root command prepared."""
    found = context.find_object(Call)
    if found is None:
        raise RuntimeError("the root command did not run")
    found.verb = _verb_of(context)
    return found


def _verb_of(context: typer.Context) -> str:
    """Return the words after the program's own, whatever it was called by."""
    above = context.parent
    names: list[str] = [context.info_name or ""]
    while above is not None and above.parent is not None:
        names.append(above.info_name or "")
        above = above.parent
    return " ".join(reversed(names))


def _refuse_idle_options(call: Call) -> None:
    """Refuse options that this verb would pass over: whoever gives one believes that it counts.

    Raises:
        Failure: naming the first.
    """
    given = {name for name, value in call.options.items() if value is not None}
    local = LOCAL.get(call.verb)
    if local is None:
        for name in sorted(given & BOTH if "url" in given else ()):
            raise Failure(f"--url names a service, which has its own: leave {_option(name)} out")
        return
    if "url" in given:
        raise Failure(f"`{call.verb}` asks no service: {local.reason}", advice="leave --url out")
    for name in sorted(given - local.takes):
        raise Failure(
            f"`{call.verb}` has no use for {_option(name)}: {local.reason}", advice=f"leave {_option(name)} out"
        )


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


class Verbs(TyperGroup):
    """All verbs: whatever one of them raises becomes sentences and an exit code, before its work begins or within."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Call a verb, or end with the exit code of what it raised."""
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort, typer.TyperException):
            raise
        except Exception as error:
            call = ctx.find_object(Call)
            if call is None or call.debug:
                raise
            code, lines = told(error)
            call.output.fail(code, lines)
        raise typer.Exit(code)


def run(call: Call, work: Callable[[], Coroutine[Any, Any, int]], *, fast: bool = False) -> None:
    """Run a command's work and leave with its exit code; `Verbs` makes sentences of what it raises.

    With `fast` on uvloop, whose start costs more than a short command and pays off for a server.
    """
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    _refuse_idle_options(call)
    try:
        with asyncio.Runner(loop_factory=_fast_loop() if fast else None) as runner:
            code = runner.run(work())
    except KeyboardInterrupt:
        sys.exit(130)
    raise typer.Exit(code)


def _fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        from uvloop import new_event_loop
    except ImportError:  # pragma: no cover - uvloop is not made for every system
        return None
    return new_event_loop
