"""What a process does before it is ready: open or make the store, put the policy in force, bring the world in.

Everything that changes the store here is a command like any other, appended under the actor `system`.
"""

from __future__ import annotations

import asyncio
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Final

from remit_graph.errors import ForeignStore
from remit_graph.model.change import Change, canonical, digest_parts
from remit_graph.world.changes import iter_changes
from remit_graph.world.load import load_world_file
from remit_service.bundle.folder import shipped_policy
from remit_service.readiness import NO_REALM
from remit_service.replica.loading import without_collections
from remit_service.writer.command import Accepted, Refused, Submission
from remit_service.writer.patience import submit_patiently

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from remit_graph.model.condition import Scales
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_graph.world.value import World
    from remit_service.point import DecisionPoint
    from remit_service.writer.command import Verdict

SYSTEM: Final = "system"
"""Actor of what the process itself does."""

CHUNK: Final = 20_000
"""Changes of one command when a world enters an empty store (rules.md 5)."""

OCCUPIED: Final = "the store holds a part of another world"


def shipped_world(name: str) -> Path:
    """Return the path of a world that ships with the package.

    Raises:
        FileNotFoundError: there is none of this name.
    """
    policy = shipped_policy()
    for folder in (policy.parent / "_worlds", policy.parent / "fixtures" / "worlds"):
        if (folder / f"{name}.yaml").is_file():
            return folder / f"{name}.yaml"
    raise FileNotFoundError(f"no world `{name}` ships with this package")


def read_world(path: Path, scales: Scales) -> World:
    """Read and judge a world file.

    Raises:
        WorldRefused: with every fault and its line.
        OSError: it cannot be read.
    """
    return load_world_file(path, scales=scales)


async def bring_in(point: DecisionPoint, world: World, tell: Callable[[int], None] | None = None) -> bool:
    """Append a world to a store that holds none; returns False where there is one already.

    A large one takes several commands. Each has a request id made of the whole world and its number, so whoever comes
    second, or comes back after an end half-way, finds what is there and goes on. The realm comes last: until then it
    has no root, and nothing is permitted.

    Args:
        point: The started decision point.
        world: What to bring in.
        tell: Called with the number of changes appended so far, for a progress bar.

    Raises:
        LedgerError: it could not be appended, or the store holds a part of another world.
    """
    if point.view.realm != NO_REALM:
        return False
    done = 0
    with without_collections():
        name = await asyncio.to_thread(_digest_of, world)
        changes = iter_changes(world)
        realm = next(changes)
        for number, pending in enumerate(_chunks(changes, last=realm)):
            await _append(point, pending, request_id=digest_parts(["first world", name, str(number)]), number=number)
            done += len(pending)
            if tell is not None:
                tell(done)
    return True


def _digest_of(world: World) -> str:
    sha = sha256()
    for change in iter_changes(world):
        sha.update(canonical([change.kind, change.body]).encode())
    return sha.hexdigest()


def _chunks(changes: Iterator[Change], *, last: Change) -> Iterator[list[Change]]:
    """Cut changes into commands; `last` ends the last of them."""
    pending = list(islice(changes, CHUNK - 1))
    while following := list(islice(changes, CHUNK - 1)):
        yield pending
        pending = following
    yield [*pending, last]


async def _append(point: DecisionPoint, changes: list[Change], *, request_id: str, number: int) -> None:
    accepted = Accepted(changes=tuple(changes), result={"changes": len(changes)})

    def decide(view: View, _at: Instant) -> Verdict:
        return accepted if number or not view.principals else Refused(code="already_exists", message=OCCUPIED)

    submission = Submission(
        action="APPLY_WORLD", actor=SYSTEM, decide=decide, request_id=request_id, fingerprint=request_id,
        reason="first world",
    )  # fmt: skip
    done = await submit_patiently(point, submission)
    if isinstance(done.verdict, Refused):
        raise ForeignStore(done.verdict.message, advice="make a new store, or finish with the world that was begun")
