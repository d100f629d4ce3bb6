"""`remit store`: make, check, migrate and keep the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from remit_graph.errors import ModelError
from remit_graph.view.state import View
from remit_service.backup.move import move_store
from remit_service.backup.state import READABLE
from remit_service.bootstrap import load_bundle, running_point
from remit_service.cli.client import answer_of
from remit_service.cli.context import Call, call_of, run
from remit_service.cli.exits import DONE, FAULT, REFUSED, Failure
from remit_service.cli.output import Output
from remit_service.cli.target import Unrecorded
from remit_service.clock import SystemClock
from remit_service.governance.founding import found_root
from remit_service.keeping.checkpoints import keep_checkpoint
from remit_service.keeping.schema import enable_schema
from remit_service.library.reach import service
from remit_service.opening import read_world
from remit_service.policy import policy_of
from remit_service.secret import Secret
from remit_service.settings import Settings
from remit_service.stores import make_store, migrate_store, open_store

app = typer.Typer(no_args_is_help=True)

FromPasswordFile = Annotated[
    Path | None, typer.Option("--from-password-file", help="File with the password of the store to move.")
]
ToPasswordFile = Annotated[
    Path | None, typer.Option("--to-password-file", help="File with the password of the store it moves into.")
]


@app.command()
def init(
    context: typer.Context,
    world: Annotated[Path | None, typer.Option(help="Begin with this world.", exists=True, dir_okay=False)] = None,
    realm: Annotated[str | None, typer.Option(help="Name of the realm, where no world names it.")] = None,
) -> None:
    """Make a new store, empty or with a first world, and print the key of its root once."""
    call = call_of(context)

    async def work() -> int:
        settings = call.settings(world=world)
        name = realm
        if world is not None:
            scales = policy_of(load_bundle(settings)).scales
            name = read_world(world, scales).realm.name
            if realm not in (None, name):
                raise Failure(f"the world is of realm `{name}`, not of `{realm}`", advice="leave --realm out")
        if name is None:
            raise Failure("a new store needs a realm", advice="name it with --realm, or begin with --world FILE")
        ledger = await make_store(settings, SystemClock(), realm=name)
        await ledger.aclose()
        async with running_point(settings, Unrecorded()) as point:
            root = await found_root(point, realm=name)
            document = {"store": settings.store, "realm": name, "revision": point.view.revision, "root": root}
            known = _known_identities(point.view)
        call.output.show(document, f"made {settings.store} for realm {name}" if root is None else root["key"])
        _tell_of_root(call.output, root, known, document)
        return DONE

    run(call, work)


def _known_identities(view: View) -> str:
    found = [f"`{each}` of `{root}`" for root in view.realm.root for each in view.principals[root].identities]
    return ", ".join(found)


def _tell_of_root(output: Output, root: Mapping[str, Any] | None, known: str, made: Mapping[str, Any]) -> None:
    if root is None:
        output.tell(f"no root key was made, since the world binds {known}: govern with that identity")
        return
    identity, principal = root["identity"], root["principal"]
    output.tell(f"made {made['store']} for realm {made['realm']}; above is the key of its root, shown this once")
    output.tell(
        f"its identity is `{identity}` of `{principal}`: list it under `identities` there in the world file, "
        "or applying the file takes the key away"
    )


@app.command()
def check(context: typer.Context) -> None:
    """Verify the store: its tables, and the hash chain over every row. Exit 3 where something is wrong."""
    call = call_of(context)

    async def work() -> int:
        document = await _checked(call)
        problems = document["problems"]
        begins = f"; {removed:,} older links: removed" if (removed := document["history_after"]) else ""
        text = "\n".join(problems) or f"sound: the chain verifies up to revision {document['revision']}{begins}"
        call.output.show(document, text)
        return FAULT if problems else DONE

    run(call, work)


async def _checked(call: Call) -> Mapping[str, Any]:
    settings = call.settings()
    if settings.url is not None:
        async with service(settings) as client:
            return answer_of(await client.get("/v1/store/check", timeout=None))
    # Not by way of the service in this process: a store that is broken cannot be loaded, and is to be checked.
    ledger = await open_store(settings, SystemClock(), accepts=READABLE)
    try:
        problems = list(await ledger.check())
        head = await ledger.head()
    finally:
        await ledger.aclose()
    return {"problems": problems, "revision": head.revision, "hash": head.hash, "history_after": head.base}


@app.command()
def migrate(
    context: typer.Context,
    to: Annotated[str | None, typer.Option(help="Move the ledger into this store, and close the present one.")] = None,
    source: Annotated[
        str | None, typer.Option("--from", help="The store to move, instead of the one in force.")
    ] = None,
    to_password: ToPasswordFile = None,
    from_password: FromPasswordFile = None,
    enable: Annotated[bool, typer.Option("--enable", help="Let rows be written as this version spells them.")] = False,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="With --enable: although decision points would stop at such a row.")
    ] = False,
) -> None:
    """Bring a store to this version's layout, switch its rows to this version's schema, or move it to another store."""
    call = call_of(context)

    async def work() -> int:
        if from_password is not None and source is None:
            raise Failure("--from-password-file needs --from", advice="name the store that it is the password of")
        settings = _with_password(call.settings_of_store(store=source), from_password)
        if to is not None:
            target = call.settings(store=to)
            target = replace(target, store_password=target.target_password or target.store_password)
            return await _move(call, settings, _with_password(target, to_password))
        if source is not None or to_password is not None:
            option = "--from" if source is not None else "--to-password-file"
            raise Failure(f"{option} needs --to", advice="name the store that the ledger moves to")
        if enable:
            return await _enable(call, settings, anyway=anyway)
        done = list(await migrate_store(settings))
        call.output.show({"done": done}, "\n".join(done) or "nothing to do")
        return DONE

    run(call, work)


def _with_password(settings: Settings, file: Path | None) -> Settings:
    if file is None:
        return settings
    try:
        return replace(settings, store_password=Secret(file.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, ModelError) as error:
        raise Failure(
            f"`{file}` holds no password: {error}", advice="name a file with the password in one line"
        ) from error


async def _move(call: Call, source: Settings, target: Settings) -> int:
    with call.output.progress("moving", None) as tell:
        moved = await move_store(source, target, clock=SystemClock(), tell=tell)
    head = moved.head
    document = {
        "from": source.store,
        "to": target.store,
        "realm": head.realm,
        "revision": head.revision,
        "hash": head.hash,
        "incarnation": head.incarnation,
        "rows": moved.rows,
        "answers": moved.answers,
        "state": moved.state,
    }
    text = (
        f"moved {source.store} to {target.store}: realm {head.realm}, {head.revision:,} revisions verified by chain, "
        f"state and count\n{source.store} is closed; start every decision point on {target.store}"
    )
    call.output.show(document, text)
    return DONE


async def _enable(call: Call, settings: Settings, *, anyway: bool) -> int:
    enabled = await enable_schema(settings, SystemClock(), anyway=anyway)
    lines = [f"seen in the last minute: {each}" for each in map(str, enabled.seen)] or ["no decision point was seen"]
    document = {**asdict(enabled), "seen": [asdict(each) for each in enabled.seen]}
    call.output.show(document, "\n".join([*lines, enabled.sentence]))
    return DONE if enabled.done else REFUSED


@app.command()
def checkpoint(context: typer.Context) -> None:
    """Keep an image of the present state, anchored in the chain, so that the next start is quick."""
    call = call_of(context)

    async def work() -> int:
        async with running_point(call.settings_of_store(), Unrecorded(), activate=False) as point:
            kept = await keep_checkpoint(point.replica, point.submit)
        text = (
            f"checkpoint of revision {kept.revision}: {kept.edges:,} edges in {kept.size:,} bytes, "
            f"anchored at revision {kept.anchored_at}, {kept.seconds:.1f} s"
        )
        call.output.show(asdict(kept), text)
        return DONE

    run(call, work)
