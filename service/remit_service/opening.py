"""What a process does before it is ready: open or make the store, put the policy in force, bring the world in.

Everything that changes the store here is a command like any other, appended under the actor `system`.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from remit_graph.model.change import Change
from remit_graph.world.changes import iter_changes
from remit_graph.world.load import load_world
from remit_service.bundle.folder import shipped_policy
from remit_service.replica.loading import without_collections
from remit_service.writer.command import Accepted, Submission

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from remit_graph.model.condition import Scales
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_graph.world.value import World
    from remit_service.point import DecisionPoint

SYSTEM: Final = "system"
"""Actor of what the process itself does."""

CHUNK: Final = 20_000
"""Changes of one command when a world enters an empty store (rules.md 5)."""


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
    return load_world(path.read_text(encoding="utf-8"), file=path.name, scales=scales)


async def put_policy_in_force(point: DecisionPoint) -> None:
    """Make the point's bundle the active one, if it is not; an equal digest changes nothing (F002)."""
    revision = point.policy_revision

    def decide(view: View, _at: Instant) -> Accepted:
        if view.policy_revision == revision:
            return Accepted(changes=(), result={"policy_epoch": view.policy_epoch})
        epoch = view.policy_epoch + 1
        change = Change("policy.activate", {"policy_epoch": epoch, "policy_revision": revision})
        return Accepted(changes=(change,), result={"policy_epoch": epoch})

    await point.submit(Submission(action="ACTIVATE_POLICY", actor=SYSTEM, decide=decide, reason="start"))


async def bring_in(point: DecisionPoint, world: World, tell: Callable[[int], None] | None = None) -> bool:
    """Append a world to a store that holds none; returns False where there is one already.

    Args:
        point: The started decision point.
        world: What to bring in.
        tell: Called with the number of changes appended so far, for a progress bar.
    """
    if point.view.principals or point.view.types.keys() - {"remit:graph"}:
        return False
    done = 0
    changes = iter_changes(world)
    with without_collections():
        while pending := list(islice(changes, CHUNK)):
            done += await _append(point, pending)
            if tell is not None:
                tell(done)
    return True


async def _append(point: DecisionPoint, changes: list[Change]) -> int:
    verdict = Accepted(changes=tuple(changes), result={"changes": len(changes)})
    submission = Submission(action="APPLY_WORLD", actor=SYSTEM, decide=lambda _view, _at: verdict, reason="first world")
    await point.submit(submission)
    return len(changes)
