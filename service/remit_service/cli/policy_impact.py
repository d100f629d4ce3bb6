"""`remit policy impact`: which recorded decisions would come out otherwise under another policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from remit_service.activating import bundle_of_history
from remit_service.bootstrap import running_point
from remit_service.bundle.build import build_bundle
from remit_service.bundle.folder import read_folder, shipped_policy
from remit_service.cli.context import call_of, run
from remit_service.cli.exits import DONE, REFUSED, Failure
from remit_service.cli.governing import print_impact
from remit_service.cli.target import Unrecorded
from remit_service.evidence.decision_log.chain import read_line
from remit_service.evidence.decision_log.errors import StreamBroken
from remit_service.governance.impact import between
from remit_service.point import DecisionPoint
from remit_service.policy import Policy, policy_of


def impact(
    context: typer.Context,
    decisions: Annotated[
        list[Path], typer.Option("--decisions", help="A file of a decision log, or a folder of them.")
    ],
    folder: Annotated[
        Path | None, typer.Argument(help="Folder of the other policy; the shipped one if left out.", file_okay=False)
    ] = None,
) -> None:
    """Decide recorded decisions again under another policy: exit 1 if any verdict would change; nothing is changed."""
    call = call_of(context)

    async def work() -> int:
        other = policy_of(build_bundle(read_folder(folder or shipped_policy())))
        records = list(_records(decisions))
        async with running_point(call.settings_of_store(), Unrecorded(), activate=False) as point:
            current = await _in_force(point)
            found = between(point, records, current, other)
        document = {"policy_revision": current.revision, "other_policy_revision": other.revision, "impact": found}
        call.output.show(document, lambda console: print_impact(console, document))
        return REFUSED if found["changed"] else DONE

    run(call, work)


async def _in_force(point: DecisionPoint) -> Policy:
    """Return the policy that the store says is in force; where it says none, that of the settings."""
    revision = point.view.policy_revision
    bundle = None if revision is None else await bundle_of_history(point.ledger, revision)
    return point.policy if bundle is None else policy_of(bundle)


def _records(places: Sequence[Path]) -> Iterator[Mapping[str, Any]]:
    """Iterate the records of files, oldest first; a line that is no record is refused by name."""
    files = [each for place in places for each in (sorted(place.glob("*.jsonl")) if place.is_dir() else [place])]
    for file in files:
        for number, line in enumerate(file.read_bytes().splitlines(), 1):
            try:
                yield msgspec.json.decode(read_line(line)[2])
            except (StreamBroken, msgspec.MsgspecError) as error:
                raise Failure(f"{file}:{number}: {error}", advice="name the files that `remit serve` writes") from error
