"""`remit key`: API keys by which enforcement points and principals prove who they are; only their hashes are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer
from rich.console import Console

from remit_service.cli.client import client_for, document_of, refused
from remit_service.cli.context import call_of, run
from remit_service.cli.coordination import perform
from remit_service.cli.exits import DONE, Failure
from remit_service.cli.governing import ActorName, DryRun, Impact, Reason, path_of, print_made, refuse_idle_impact
from remit_service.cli.output import Output, table
from remit_service.private_file import private_file

app = typer.Typer(no_args_is_help=True)


@app.command()
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Its identity is key:<name>; somebody must list it to be opened by it.")],
    days: Annotated[int | None, typer.Option(help="Let it expire after so many days.", min=1, max=3650)] = None,
    file: Annotated[Path | None, typer.Option(help="Write it to this new file, for its owner alone.")] = None,
    reason: Reason = None, actor: ActorName = None, dry_run: DryRun = False,
) -> None:  # fmt: skip
    """Make a key and print it once, or write it to a file, as `REMIT_KEY_FILE` names one."""
    call = call_of(context)
    body = {"name": name, "days": days, "reason": reason, "actor": actor, "dry_run": dry_run or None}

    async def work() -> int:
        async with client_for(call) as client:
            with ExitStack() as stack:
                write = None if file is None else stack.enter_context(_new_file(file))
                sent = {name: each for name, each in body.items() if each is not None}
                response = await client.post("/v1/keys", json=sent)
                if not response.is_success:
                    return refused(call, response)
                document = document_of(response)
                if write is not None and not dry_run:
                    document = await _kept(client, document, write, str(file), actor)
        _tell(call.output, document)
        return DONE

    run(call, work)


@contextmanager
def _new_file(file: Path) -> Iterator[Callable[[str], None]]:
    """Yield what writes the key; whatever hinders it is told before a key is made."""
    try:
        with private_file(file) as write:
            yield write
    except FileExistsError as error:
        raise Failure(f"{file}: {error.strerror}", advice="name another file, or remove this one") from error
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}", advice="name a file in a folder that you can write to") from error


async def _kept(
    client: httpx.AsyncClient, document: dict[str, Any], write: Callable[[str], None], file: str, actor: str | None
) -> dict[str, Any]:
    """Write a key that was made; where that fails nobody has it, so it is ended again."""
    try:
        write(document["key"])
    except OSError:
        said = {"reason": "it could not be kept", **({} if actor is None else {"actor": actor})}
        await client.delete(path_of("v1", "keys", document["id"]), params=said)
        raise
    shown = {name: each for name, each in document.items() if name != "key"}
    return {**shown, "file": file}


def _tell(output: Output, document: Mapping[str, Any]) -> None:
    if "key" in document:
        output.show(document, document["key"])
    elif "file" in document:
        output.show(document, f"wrote {document['file']}")
    else:
        output.show(document, f"nothing was made: `{document['identity']}` would have one more key")
    if document["bound_to"] is None:
        name = document["identity"]
        output.tell(f"nobody lists `{name}` yet; until an enforcement point or a principal does, the key opens nothing")


@app.command(name="list")
def list_(context: typer.Context) -> None:
    """List the keys, without their secrets."""
    perform(context, "GET /v1/keys", text=_print)


def _print(console: Console, document: Mapping[str, Any]) -> None:
    rows = [
        (each["id"], each["name"], each["bound_to"], each["created_at"], each.get("expires_at", "never"))
        for each in document["keys"]
    ]
    console.print(table(None, ("id", "name", "opens for", "created", "expires"), rows))


@app.command()
def revoke(
    context: typer.Context,
    identifier: Annotated[str, typer.Argument(help="The key's id.")],
    reason: Reason = None, actor: ActorName = None, dry_run: DryRun = False, impact: Impact = False,
) -> None:  # fmt: skip
    """End a key at once."""
    refuse_idle_impact(dry_run=dry_run, impact=impact)
    said = {"dry_run": dry_run, "impact": impact}
    query = {"reason": reason, "actor": actor, **{name: "true" for name, each in said.items() if each}}
    perform(context, f"DELETE {path_of('v1', 'keys', identifier)}", query=query, text=print_made)
