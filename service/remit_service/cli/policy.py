"""`remit policy`: check, test, build and activate the bundle; nothing needs OPA, and with it more is checked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from remit_graph.errors import ModelError
from remit_service.activating import bundle_of_history, put_policy_in_force
from remit_service.bootstrap import running_point
from remit_service.bundle.archive import pack
from remit_service.bundle.build import build_bundle
from remit_service.bundle.check import CheckReport, check_policy
from remit_service.bundle.errors import Problem
from remit_service.bundle.folder import read_folder, shipped_policy
from remit_service.bundle.opa_cli import OpaProgram
from remit_service.bundle.suite import find_tests, run_suite
from remit_service.cli import policy_impact
from remit_service.cli.context import call_of, run
from remit_service.cli.exits import DONE, FAULT, REFUSED, Failure
from remit_service.cli.output import table
from remit_service.cli.target import Unrecorded
from remit_service.engines.errors import EngineError
from remit_service.engines.policy_tests import PolicyTestOutcome
from remit_service.policy import policy_of

app = typer.Typer(no_args_is_help=True)
app.command()(policy_impact.impact)

Folder = Annotated[
    Path | None,
    typer.Argument(help="Folder of the policy; the configured or shipped one if left out.", file_okay=False),
]


@app.command()
def check(context: typer.Context, folder: Folder = None) -> None:
    """Check a policy as the service would before it takes it; with OPA installed also `opa check --strict` and fmt."""
    call = call_of(context)

    async def work() -> int:
        place = folder or call.settings().policy_dir or shipped_policy()
        schemas = place / "schemas"
        report = check_policy(read_folder(place), opa=OpaProgram.find(), schemas=schemas if schemas.is_dir() else None)
        report = replace(report, problems=(*report.problems, *_table_problems(report)))
        document = {
            "problems": [str(each) for each in report.problems],
            "strict": report.was_strict,
            "policy_revision": report.bundle.revision if report.bundle else None,
        }
        call.output.show(document, lambda console: _print_report(console, report))
        return FAULT if report.problems else DONE

    run(call, work)


def _table_problems(report: CheckReport) -> list[Problem]:
    """Return what a start would stumble over: tables that Python reads, and that are none."""
    if report.bundle is None or report.problems:
        return []
    try:
        policy_of(report.bundle)
    except (EngineError, ModelError) as error:
        return [Problem("remit", 0, str(error))]
    return []


def _print_report(console: Console, report: CheckReport) -> None:
    for problem in report.problems:
        console.print(str(problem), markup=False)
    if report.bundle is not None and not report.problems:
        console.print(f"policy {report.bundle.revision} is sound", markup=False)
    if not report.was_strict:
        console.print("checked without OPA: install `opa` for the strict check and the formatting")


@app.command()
def test(
    context: typer.Context,
    folder: Folder = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Name every test.")] = False,
) -> None:
    """Run the policy's tests in process: exit 1 where one fails or there is none."""
    call = call_of(context)

    async def work() -> int:
        files = read_folder(folder or call.settings().policy_dir or shipped_policy())
        outcomes: list[PolicyTestOutcome] = []
        with call.output.progress("policy tests", len(find_tests(files))) as tell:
            for outcome in run_suite(files):
                outcomes.append(outcome)
                tell(len(outcomes))
        failed = [each for each in outcomes if not each.passed]
        document = {
            "passed": len(outcomes) - len(failed),
            "failed": [{"test": each.test.rule, "file": each.test.file, "detail": each.detail} for each in failed],
        }
        call.output.show(document, lambda console: _print_outcomes(console, outcomes, verbose=verbose))
        return DONE if outcomes and not failed else REFUSED

    run(call, work)


def _print_outcomes(console: Console, outcomes: list[PolicyTestOutcome], *, verbose: bool) -> None:
    rows = [
        ("pass" if each.passed else "FAIL", f"{each.duration_seconds * 1000:.1f} ms", each.test.rule, each.detail)
        for each in outcomes
        if verbose or not each.passed
    ]
    if rows:
        console.print(table(None, ("", "time", "test", "why"), rows))
    failed = sum(not each.passed for each in outcomes)
    console.print(f"{len(outcomes) - failed} passed, {failed} failed")


@app.command()
def build(
    context: typer.Context,
    folder: Folder = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the archive goes.")] = Path("remit.tar.gz"),
) -> None:
    """Build the bundle that OPA and the service load; equal policies give equal bytes."""
    call = call_of(context)

    async def work() -> int:
        bundle = build_bundle(read_folder(folder or call.settings().policy_dir or shipped_policy()))
        output.write_bytes(pack(bundle))
        document = {"policy_revision": bundle.revision, "file": str(output), "time_dependent": bundle.is_time_dependent}
        call.output.show(document, f"wrote {output}, policy {bundle.revision}")
        return DONE

    run(call, work)


@app.command()
def activate(
    context: typer.Context,
    folder: Folder = None,
    revision: Annotated[
        str | None, typer.Option(help="Instead of a folder: a policy that was in force before, sha256:…")
    ] = None,
    reason: Annotated[str, typer.Option(help="Why; it stays in the chain.")] = "",
) -> None:
    """Put a policy in force for every decision point on the store; works on the store itself."""
    call = call_of(context)

    async def work() -> int:
        settings = call.settings_of_store()
        if folder is not None and revision is not None:
            raise Failure("a folder and --revision name two policies", advice="leave one of them out")
        settings = replace(settings, policy_dir=folder or settings.policy_dir)
        async with running_point(settings, Unrecorded(), activate=False) as point:
            if revision is not None:
                bundle = await bundle_of_history(point.ledger, revision)
                if bundle is None:
                    raise Failure(
                        f"the policy `{revision}` was never in force in this store, as far back as its history goes",
                        advice="activate it from its folder: `remit policy activate FOLDER`",
                    )
                point.policy = policy_of(bundle)
            epoch = await put_policy_in_force(point, reason=reason or "remit policy activate")
            document = {"policy_revision": point.policy_revision, "policy_epoch": epoch}
        call.output.show(document, f"policy {document['policy_revision']} is in force, epoch {epoch}")
        return DONE

    run(call, work)
