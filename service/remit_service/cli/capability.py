"""`remit capability`: mint, show, introspect, keys, verify, and the signing key of several decision points."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from remit_service.capability.offline import Wanted, verify
from remit_service.cli.asking import ActionName, ContextOption, ResourceKey, Subject, question
from remit_service.cli.context import call_of, run
from remit_service.cli.coordination import Key, keyed, perform
from remit_service.cli.exits import DONE, Failure
from remit_service.clock import SystemClock
from remit_service.signing import make_key

app = typer.Typer(no_args_is_help=True)

STANDARD_INPUT = "-"
Token = Annotated[
    str,
    typer.Argument(help="The token that somebody shows; - reads it from standard input, where nobody else sees it."),
]
CapabilityId = Annotated[str, typer.Argument(help="Id of the capability.")]


def _read(token: str) -> str:
    """Return a token as given, or of standard input: words of a command are seen by everybody on its host."""
    return sys.stdin.readline().strip() if token == STANDARD_INPUT else token


@app.command()
def mint(  # noqa: PLR0913, PLR0917 - each is an option
    context: typer.Context, subject: Subject, action: ActionName, resource: ResourceKey,
    attributes: ContextOption = None,
    ttl: Annotated[float | None, typer.Option("--ttl", help="How long it lives at most, in seconds.")] = None,
    actor: Annotated[str | None, typer.Option(help="Who asks, where it is not the subject.")] = None,
    bind_to: Annotated[str | None, typer.Option(help="Who may present it.")] = None,
    purpose: Annotated[str | None, typer.Option(help="What for, for the record.")] = None,
    key: Key = None,
) -> None:  # fmt: skip
    """Give out a capability for one request; the token is shown this once."""
    options = {"ttl_seconds": ttl, "actor": actor, "bind_to": bind_to, "purpose": purpose}
    body = {**question(subject, action, resource, attributes), **options}
    perform(context, "POST /v1/capabilities", body, headers=keyed(key))


@app.command()
def show(context: typer.Context, capability_id: CapabilityId) -> None:
    """A capability, and whether it counts now."""
    perform(context, f"GET /v1/capabilities/{capability_id}")


@app.command()
def introspect(context: typer.Context, token: Token) -> None:
    """Whether a token counts now, by the decision point's own word."""
    perform(context, "POST /v1/capabilities/introspect", {"token": _read(token)})


@app.command()
def keys(context: typer.Context) -> None:
    """The public keys that verify tokens, as a JWK set."""
    perform(context, "GET /.well-known/jwks.json")


@app.command("verify")
def verify_(
    context: typer.Context,
    token: Token,
    jwks: Annotated[Path, typer.Option(help="The public keys: a file of `remit --json capability keys`.", exists=True)],
    issuer: Annotated[str | None, typer.Option(help="Who must have issued it.")] = None,
) -> None:
    """Verify a token offline: signature and window; a revocation shows with `introspect` alone."""
    call = call_of(context)

    async def work() -> int:
        document = json.loads(jwks.read_text(encoding="utf-8"))
        claims = verify(_read(token), document, SystemClock().now(), Wanted(issuer=issuer))
        call.output.show(claims, json.dumps(claims, indent=2, sort_keys=True))
        return DONE

    run(call, work)


@app.command("key")
def key_(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="Where to: a new file, for its owner alone.")],
) -> None:
    """Make the key that decision points sign with, for `signing_key_file`: the same for all on a store."""
    call = call_of(context)

    async def work() -> int:
        if not make_key(file):
            raise Failure(f"`{file}` is there already, and is never overwritten", advice="name another file")
        call.output.show({"file": str(file)}, f"wrote {file}; name it with `signing_key_file`")
        return DONE

    run(call, work)
