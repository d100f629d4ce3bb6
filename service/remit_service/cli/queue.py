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
        (each["position"], each["holder"], each["resource_key"], each["priority"], each["wait_until"],
         ", ".join(one.get("lease_id") or one["waiter_id"] for one in each["waits_for"]))
        for each in document["waiters"]
    ]  # fmt: skip
    console.print(table(None, ("", "who", "resource", "priority", "until", "waits for"), rows))
