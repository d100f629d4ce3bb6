"""`remit key`: API keys by which enforcement points prove who they are; only their hashes are stored."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from remit_graph.model.change import Change
from remit_graph.model.instant import SECOND, Instant, format_instant
from remit_graph.view.state import View
from remit_service.bootstrap import running_point
from remit_service.cli.context import call_of, run
from remit_service.cli.exits import DONE, REFUSED
from remit_service.cli.output import table
from remit_service.cli.target import Unrecorded
from remit_service.identity.api_key import new_key
from remit_service.writer.command import Accepted, Refused, Submission, Verdict

app = typer.Typer(no_args_is_help=True)


@app.command()
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Its identity is key:<name>; an enforcement point must list it.")],
    days: Annotated[int | None, typer.Option(help="Let it expire after so many days.", min=1, max=3650)] = None,
) -> None:
    """Make a key and print it once."""
    call = call_of(context)

    async def work() -> int:
        async with running_point(call.settings(), Unrecorded(), activate=False) as point:
            at = point.now()
            until = None if days is None else at + days * 24 * 3600 * SECOND
            key, record = new_key(name, at=at, expires_at=until)
            verdict = Accepted(changes=(Change("api_key.put", record),), result={"id": record["id"]})
            submission = Submission(action="MANAGE_KEYS", actor="system", decide=lambda _view, _at: verdict)
            await point.submit(submission)
            bound = point.view.point_identities.get(f"key:{name}")
        document = {"id": record["id"], "identity": f"key:{name}", "key": key, "enforcement_point": bound}
        call.output.show(document, key)
        if bound is None:
            call.output.tell(f"no enforcement point lists `key:{name}` yet; until one does, the key opens nothing")
        return DONE

    run(call, work)


@app.command(name="list")
def list_(context: typer.Context) -> None:
    """List the keys, without their secrets."""
    call = call_of(context)

    async def work() -> int:
        async with running_point(call.settings(), Unrecorded(), activate=False) as point:
            records = [_shown(each) for each in point.view.records.get("api_key", {}).values()]
        records.sort(key=lambda each: (each["name"], each["id"]))
        rows = [(each["id"], each["name"], each["created_at"], each.get("expires_at", "never")) for each in records]
        call.output.show(
            {"keys": records}, lambda console: console.print(table(None, ("id", "name", "created", "expires"), rows))
        )
        return DONE

    run(call, work)


def _shown(record: Any) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": record["id"], "name": record["name"]}
    for name in ("created_at", "expires_at"):
        if record.get(name) is not None:
            shown[name] = format_instant(record[name])
    return shown


@app.command()
def revoke(context: typer.Context, identifier: Annotated[str, typer.Argument(help="The key's id.")]) -> None:
    """End a key at once."""
    call = call_of(context)

    def decide(view: View, _at: Instant) -> Verdict:
        if identifier not in view.records.get("api_key", {}):
            return Refused(code="malformed_request", message=f"there is no key `{identifier}`; see `remit key list`")
        return Accepted(changes=(Change("api_key.end", {"id": identifier}),), result={"id": identifier})

    async def work() -> int:
        async with running_point(call.settings(), Unrecorded(), activate=False) as point:
            done = await point.submit(Submission(action="MANAGE_KEYS", actor="system", decide=decide))
        refused = isinstance(done.verdict, Refused)
        text = done.verdict.message if isinstance(done.verdict, Refused) else f"revoked {identifier}"
        call.output.show({"id": identifier, "revoked": not refused}, text)
        return REFUSED if refused else DONE

    run(call, work)
