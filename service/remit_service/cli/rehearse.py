"""`remit rehearse`: the deliberately boring first test (S115), against any decision point.

Two runs plan on one version of one shared resource and begin at the same moment. Exactly one may be accepted; if both
are, that is to be mended before an agent gets wider authority. Nothing is written at the resource, and what was begun
is given up again: its receipt says that it was a rehearsal.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Final

import httpx
import typer
from rich.console import Console

from remit_service.cli.asking import ActionName, ContextOption, ResourceKey, question
from remit_service.cli.client import client_for, document_of, refused
from remit_service.cli.context import call_of, run
from remit_service.cli.exits import DONE, REFUSED, Failure
from remit_service.cli.output import table

FIT_TO_WAIT: Final = frozenset({"wait", "serialize", "rebase", "merge_required", "ordered", "hold"})
"""How a proposal is refused that could have been accepted alone; any other refusal says nothing about the two."""

TTL_SECONDS: Final = 30

First = Annotated[str, typer.Argument(help="One run: <kind>:<name>, such as instance:seo-agent-7.")]
Second = Annotated[str, typer.Argument(help="The other run, another principal.")]
Version = Annotated[str, typer.Option("--expected-version", help="The version that both plan on.")]


def rehearse(
    context: typer.Context, first: First, second: Second, action: ActionName, resource: ResourceKey,
    version: Version = "rehearsed", attributes: ContextOption = None,
) -> None:  # fmt: skip
    """Let two runs propose to change one resource from one version: exit 0 if exactly one is accepted."""
    call = call_of(context)

    async def work() -> int:
        if first == second:
            raise Failure("a run cannot meet itself", advice="name two principals that may both write the resource")
        runs = {
            who: question(who, action, resource, [f"expected_version={version}", *(attributes or ())])
            for who in (first, second)
        }
        async with client_for(call) as client:
            asked = await asyncio.gather(*(_begin(client, body) for body in runs.values()))
            answers = dict(zip(runs, asked, strict=True))
            given_up = [await _give_up(client, each) for each in asked if each.is_success]
        # What refuses a run by itself, such as missing authority, proves nothing, and is told as it came.
        for each in (*given_up, *asked):
            if not each.is_success and document_of(each).get("outcome") not in FIT_TO_WAIT:
                return refused(call, each)
        accepted = [who for who, each in answers.items() if each.is_success]
        document = {"accepted": accepted, "exactly_one": len(accepted) == 1, "proposals": _proposals(answers)}
        call.output.show(document, lambda console: _print(console, document))
        return DONE if document["exactly_one"] else REFUSED

    run(call, work)


async def _begin(client: httpx.AsyncClient, body: dict[str, Any]) -> httpx.Response:
    return await client.post("/v1/operations", json={**body, "ttl_seconds": TTL_SECONDS, "purpose": "REHEARSAL"})


async def _give_up(client: httpx.AsyncClient, begun: httpx.Response) -> httpx.Response:
    operation = document_of(begun)["coordination_id"]
    return await client.post(f"/v1/operations/{operation}/abort", json={"reason": "a rehearsal of two runs"})


def _proposals(answers: dict[str, httpx.Response]) -> list[dict[str, Any]]:
    found = []
    for who, each in answers.items():
        document = document_of(each)
        proposal: dict[str, Any] = {"subject": who, "accepted": each.is_success}
        proposal |= {name: document[name] for name in ("outcome", "code", "coordination_id") if name in document}
        found.append(proposal)
    return found


def _print(console: Console, document: dict[str, Any]) -> None:
    rows = [
        (each["subject"], "yes" if each["accepted"] else "no", each.get("outcome", ""), each.get("code", ""))
        for each in document["proposals"]
    ]
    console.print(table(None, ("run", "accepted", "outcome", "reason"), rows))
    if document["exactly_one"]:
        console.print(f"exactly one of two proposals was accepted: {document['accepted'][0]}", markup=False)
    elif document["accepted"]:
        console.print("both were accepted: let the type or its fields lock before any run gets more authority")
    else:
        console.print("neither was accepted: somebody else holds the resource; ask again when it is free")
