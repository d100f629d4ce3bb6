"""`remit policy impact`: which recorded decisions would come out otherwise under another policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from remit_service.activating import bundle_in
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
        files = [file for place in decisions for file in _files(place)]
        async with running_point(call.settings_of_store(), Unrecorded(), activate=False) as point:
            current = _in_force(point)
            found = between(point, _records(files), current, other)
        document = {"policy_revision": current.revision, "other_policy_revision": other.revision, "impact": found}
        call.output.show(document, lambda console: print_impact(console, document))
        return REFUSED if found["changed"] else DONE

    run(call, work)


def _in_force(point: DecisionPoint) -> Policy:
    """Return the policy that the store says is in force; where it says none, that of the settings.

    Raises:
        PolicyNotTaken: the store does not hold it.
    """
    revision = point.view.policy_revision
    if revision is None or revision == point.policy.revision:
        return policy_of(point.policy.bundle)
    return policy_of(bundle_in(point.view.policy_archive, revision))


def _files(place: Path) -> list[Path]:
    """Return the files of a place, oldest first.

    Raises:
        Failure: it is not there, or is a folder that holds none.
    """
    if not place.exists():
        raise Failure(f"`{place}` is not there", advice="name a file of a decision log, or a folder of them")
    if not place.is_dir():
        return [place]
    found = sorted(place.glob("*.jsonl"))
    if not found:
        advice = "name the folder that `decision_log` of the service names, or a file of it"
        raise Failure(f"`{place}` holds no decision log: no file of it ends in .jsonl", advice=advice)
    return found


def _records(files: Sequence[Path]) -> Iterator[Mapping[str, Any]]:
    """Iterate the records of files, as they are read; a line that is no record is refused by name."""
    for file in files:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield msgspec.json.decode(read_line(line)[2])
                except (StreamBroken, msgspec.MsgspecError) as error:
                    message = f"{file}:{number}: {error}"
                    raise Failure(message, advice="name the files that `remit serve` writes") from error
