"""`remit queue`: who waits behind whom on a key, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer
from rich.console import Console

from remit_service.cli.asking import ResourceKey
from remit_service.cli.coordination import perform
from remit_service.cli.output import table


def queue(context: typer.Context, key: ResourceKey) -> None:
    """Who waits at, above and below a key, in order, each with what it waits for."""
    perform(context, f"GET /v1/queues/{key}", text=_print_queue)


def _print_queue(console: Console, document: Mapping[str, Any]) -> None:
    rows = [
        (each["position"], each["holder"], each["resource_key"], each.get("priority"), each["wait_until"],
         f"{each.get('reason_code', '')} ({each.get('outcome', '')})", "; ".join(map(_behind, each["waits_for"])))
        for each in document["waiters"]
    ]  # fmt: skip
    console.print(table(None, ("", "who", "resource", "priority", "until", "why", "waits for"), rows))


def _behind(one: Mapping[str, Any]) -> str:
    """One that is in the way: a lease with its end, or a waiter that comes before; no more than the caller may see."""
    if "lease_id" in one:
        return f"{one['holder']} holds {one['key']} until {one['held_until']} ({one['result']})"
    return f"{one['holder']} waits before it" if "holder" in one else str(one.get("result", "somebody"))
