"""The root command: global options, and the groups of verbs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from remit_service.cli import (
    approval,
    asking,
    backup,
    capability,
    compact,
    conflicts,
    decisions,
    demo,
    doctor,
    drift,
    epochs,
    feed,
    glass,
    grants,
    graph,
    incident,
    keys,
    lease,
    observation,
    operation,
    policy,
    presence,
    principals,
    queue,
    rehearse,
    review,
    revoke,
    search,
    serving,
    store,
    transfer,
    waiter,
    work_set,
)
from remit_service.cli.context import Call, Verbs
from remit_service.cli.output import Output

app = typer.Typer(
    name="remit",
    cls=Verbs,
    help="Who may act, and who may act now: an authorization engine over an authority graph.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def root(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    url: Annotated[str | None, typer.Option(help="Work against this running service.")] = None,
    store_url: Annotated[str | None, typer.Option("--store", help="Work on this store: sqlite:///remit.db")] = None,
    policy_dir: Annotated[Path | None, typer.Option(help="Folder of the policy bundle.")] = None,
    config: Annotated[Path | None, typer.Option(help="Configuration file, instead of remit.toml here.")] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a fault.")] = False,
) -> None:
    """Options that every command has."""
    options = {"url": url, "store": store_url, "policy_dir": policy_dir}
    context.obj = Call(output=Output(as_json=as_json), options=options, config=config, debug=debug)


app.command("serve")(serving.serve)
app.command("demo")(demo.demo)
app.command("decide")(asking.decide)
app.command("explain")(asking.explain)
app.command("why-not")(asking.why_not)
app.command("doctor")(doctor.doctor)
app.command("limits")(decisions.limits)
app.add_typer(decisions.app, name="decision", help="What was decided lately: list, show, explain.")
app.add_typer(capability.app, name="capability", help="Capabilities: mint, show, introspect, keys, verify, key.")
app.add_typer(approval.app, name="approval", help="Approvals: give, ask, vote, withdraw, list, show.")
app.add_typer(search.app, name="search", help="Who may, on what, and what: subject, resource, action.")
drift.add_to(graph.app)
app.add_typer(
    graph.app,
    name="graph",
    help="The authority graph: plan, apply, export, show, path, diff, check, adopt, quarantine.",
)
app.add_typer(policy.app, name="policy", help="The policy bundle: check, test, build, activate.")
app.add_typer(store.app, name="store", help="The ledger: init, check, migrate, backup, restore, compact.")
store.app.command("compact")(compact.compact_store)
store.app.command("backup")(backup.backup)
store.app.command("restore")(backup.restore)
store.app.command("reopen")(backup.reopen)
app.command("queue")(queue.queue)
app.command("receipt")(operation.receipt)
app.command("rehearse")(rehearse.rehearse)
app.command("changes")(feed.changes)
app.command("notices")(feed.notices)
app.add_typer(waiter.app, name="waiter", help="Waits: show, leave.")
app.add_typer(observation.app, name="observation", help="Changes seen at resources: report, list.")
app.add_typer(work_set.app, name="work-set", help="Declared runs: declare, list, end.")
app.add_typer(lease.app, name="lease", help="Leases: list, acquire, renew, release, preempt.")
app.add_typer(operation.app, name="operation", help="The write protocol: begin to complete or abort.")
app.add_typer(conflicts.app, name="conflicts", help="Conflict records, and declared runs that would meet.")
app.add_typer(transfer.app, name="transfer", help="Ownership transfer, step by step.")
app.add_typer(incident.app, name="incident", help="Incidents: open, close, list.")
app.add_typer(presence.app, name="presence", help="Who edits: signal, leave, list.")
app.command("grant")(grants.grant)
app.command("delegate")(grants.delegate)
app.command("member")(grants.member)
app.command("amend")(grants.amend)
app.command("revoke")(revoke.revoke)
app.command("why-still")(revoke.why_still)
app.command("review")(review.review)
app.command("recover")(review.recover)
app.add_typer(epochs.app, name="epoch", help="The authority epoch: bump, renew.")
app.add_typer(principals.app, name="principal", help="Principals: declare, show, change, disable, enable.")
app.add_typer(glass.app, name="break-glass", help="Emergency grants: open, list, report, review.")
app.add_typer(keys.app, name="key", help="API keys of enforcement points and principals: create, list, revoke.")


def main() -> None:
    """Run the command line."""
    app()
