"""`remit review` and `remit recover`: what somebody should look at, and the way back when nobody can govern."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Console

from remit_service.bootstrap import running_point
from remit_service.cli.context import call_of, run
from remit_service.cli.coordination import perform
from remit_service.cli.exits import DONE, REFUSED, Failure
from remit_service.cli.output import Output, table
from remit_service.cli.target import Unrecorded
from remit_service.governance.founding import recover as recover_root
from remit_service.governance.founding import recover_policy
from remit_service.writer.command import Refused


def review(
    context: typer.Context,
    within_days: Annotated[int, typer.Option(min=0, max=3650, help="How soon an end counts as near.")] = 14,
) -> None:
    """List grants that are unused, expiring, stale, too wide or orphaned; who governs and who acts for others."""
    perform(context, f"GET /v1/graph/review?within_days={within_days}", text=_print)


def _print(console: Console, document: Mapping[str, Any]) -> None:
    for name in ("expiring", "expired", "stale", "over_wide", "orphaned", "unused"):
        found = document.get(name)
        if found and found["count"]:
            rows = [(f"{e['edge_id']}@{e['version']}", e["edge"], e["from"], e["to"]) for e in found["edges"]]
            console.print(table(f"{name} ({found['count']}){_seen(found)}", ("edge", "type", "from", "to"), rows))
    console.print(f"who governs: {', '.join(document['who_governs']) or 'nobody who could prove it'}", markup=False)
    for each in document["acting_for_others"]:
        console.print(f"acts for others: {each['principal']} (trust {each['trust']})", markup=False)
    for each in document["break_glass"]:
        late = ", overdue" if each["overdue"] else ""
        console.print(f"to be reviewed: {each['break_glass_id']} of {each['principal']}{late}", markup=False)
    for each in document["separation_of_duties"]:
        console.print(f"{each['rule']}: {each['principal']} holds {', '.join(each['holds'])}", markup=False)


def _seen(found: Mapping[str, Any]) -> str:
    """Say what was looked at, where that bounds what a finding means."""
    if "decisions" not in found:
        return ""
    return f" by {found['decisions']} decisions since {found['since'] or 'the start'}"


def recover(
    context: typer.Context,
    reason: Annotated[str, typer.Option(help="Why; it stays in the chain.")],
    principal: Annotated[str | None, typer.Argument(help="Who is to be a root, with a new key.")] = None,
    policy: Annotated[str | None, typer.Option(help="Instead: a policy that was in force before, sha256:…")] = None,
) -> None:
    """Make a principal a root with a new key, or an earlier policy the one in force; on the store itself only."""
    call = call_of(context)

    async def work() -> int:
        settings = call.settings_of_store()
        if (principal is None) == (policy is None):
            raise Failure("name a principal or a --policy", advice="a root and a policy are recovered one by one")
        async with running_point(settings, Unrecorded(), activate=False) as point:
            if principal is not None:
                done = await recover_root(point, principal=principal, reason=reason)
            else:
                done = await recover_policy(point, revision=str(policy), reason=reason)
        if isinstance(done, Refused):
            raise Failure(done.message, code=REFUSED)
        _tell(call.output, done)
        return DONE

    run(call, work)


def _tell(output: Output, done: Mapping[str, Any]) -> None:
    if "key" in done:
        output.show(done, done["key"])
        output.tell(f"`{done['principal']}` is a root, with the identity `{done['identity']}`; keep the key")
    else:
        output.show(done, f"policy {done['policy_revision']} is in force again, epoch {done['policy_epoch']}")
