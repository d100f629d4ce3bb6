"""A desk to coordinate at: a decision point on a store, a manual clock, and short ways to ask for things.

async with desk_on(sqlite_in(tmp_path)) as desk:
    lease = (await desk.take("instance:a", "UPDATE_CANONICAL", "wp:post:1024")).body["lease"]
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit_graph.model.change import Change, Command
from remit_graph.model.instant import SECOND, Instant, parse_instant
from remit_graph.sqlite.ledger import SqliteLedger
from remit_graph.sqlite.options import SqliteOptions
from remit_graph.world.load import load_world
from remit_service.activating import put_policy_in_force
from remit_service.bundle.build import build_bundle
from remit_service.bundle.folder import read_folder, shipped_policy
from remit_service.clock import ManualClock
from remit_service.coordinator.coordinator import Coordinator
from remit_service.coordinator.leases import Leases
from remit_service.coordinator.operations import Operations
from remit_service.coordinator.signals import Signals
from remit_service.decision.caller import Caller
from remit_service.decision.request import Entity, Evaluation
from remit_service.governance.consequences import consequences_of
from remit_service.opening import bring_in
from remit_service.point import DecisionPoint
from remit_service.policy import policy_of
from remit_service.recording import RecordingFailed
from remit_service.writer.command import Accepted, Submission

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from remit_graph.ports import Ledger
    from remit_service.coordination.tables import Tables
    from remit_service.coordinator.reply import Reply
    from remit_service.decision.decision import Decision
    from remit_service.policy import Policy

MakeLedger = Callable[[str, ManualClock], Awaitable["Ledger"]]
WORLDS = Path(__file__).parents[2] / "fixtures" / "worlds"
T0 = parse_instant("2027-01-10T10:00:00Z")


async def sqlite_again(folder: Path, clock: ManualClock) -> Ledger:
    """Open the store of `sqlite_in` once more, as another process would."""
    return await SqliteLedger.open(folder / "remit.db", options=SqliteOptions(clock=clock.now))


class Recorder:
    """Keeps decisions, and fails on demand."""

    def __init__(self) -> None:
        """Start empty."""
        self.decisions: list[Decision] = []
        self.is_broken = False

    async def record(self, decision: Decision, *_: Any) -> None:
        """Keep a decision."""
        if self.is_broken:
            raise RecordingFailed("the disk is full")
        self.decisions.append(decision)


@lru_cache(maxsize=8)
def policy_with(files: tuple[tuple[str, str], ...] = ()) -> Policy:
    """Return the shipped policy with `files` laid over it, compiled once."""
    shipped = read_folder(shipped_policy())
    return policy_of(build_bundle({**shipped, **{path: text.encode() for path, text in files}}))


def sqlite_in(folder: Path) -> MakeLedger:
    """Return what makes a fresh embedded ledger in `folder`."""

    async def make(realm: str, clock: ManualClock) -> Ledger:
        return await SqliteLedger.init(folder / "remit.db", realm, options=SqliteOptions(clock=clock.now))

    return make


@dataclass
class Desk:
    """A started decision point with its coordinator, and the hands of a test on them."""

    point: DecisionPoint
    clock: ManualClock
    coordinator: Coordinator
    caller: Caller

    def __post_init__(self) -> None:
        """Put the faces beside it."""
        self.operations = Operations(self.coordinator)
        self.leases = Leases(self.coordinator)
        self.signals = Signals(self.coordinator)

    @property
    def at(self) -> float:
        """Seconds since the desk was opened."""
        return (self.point.now() - T0) / SECOND

    def instant(self, seconds: float) -> Instant:
        """Return the instant so many seconds after the desk was opened."""
        return T0 + round(seconds * SECOND)

    async def to(self, seconds: float) -> None:
        """Move the clock on to so many seconds after the desk was opened; the ledger answers meanwhile."""
        self.clock.advance(seconds - (self.clock.now() - T0) / SECOND)
        await self.point.replica.catch_up()

    async def take(
        self, subject: str, action: str, key: str, *, context: Mapping[str, Any] | None = None, **options: Any
    ) -> Reply:
        """Take a lease alone; `ttl`, `wait` and `keep_alive` are seconds."""
        return await self.leases.acquire([question(subject, action, key, context)], self.caller, **_units(options))

    async def begin(
        self, subject: str, action: str, *keys: str, context: Mapping[str, Any] | None = None, **options: Any
    ) -> Reply:
        """Begin an operation on one key or several."""
        asked = [question(subject, action, key, context) for key in keys]
        return await self.operations.begin(asked, self.caller, **_units(options))

    async def walk(self, begun: Reply, *, final: str | None, version: str = "v1") -> Reply:
        """Walk an operation from its begin to its receipt; stops before `complete` where `final` is None."""
        return await self.walk_on(
            begun.body["coordination_id"], begun.body["lease_epoch"], final=final, version=version
        )

    async def walk_on(self, name: str, token: int, *, final: str | None = "v2", version: str = "v1") -> Reply:
        """Walk a begun operation of this name, as `walk` does."""
        reply = await self.operations.precondition(name, self.caller, current_version=version)
        assert not reply.is_refused, reply
        reply = await self.operations.executed(name, self.caller, token=token, result="applied")
        assert not reply.is_refused, reply
        reply = await self.operations.verified(name, self.caller, token=token, passed=True)
        if final is None:
            return reply
        return await self.operations.complete(name, self.caller, token=token, final_version=final)

    async def ask(self, subject: str, action: str, key: str, context: Mapping[str, Any] | None = None) -> Decision:
        """Put a plain question."""
        return await self.point.evaluate(question(subject, action, key, context), self.caller)

    async def present(self, lease: Mapping[str, Any], action: str, key: str | None = None, **context: Any) -> Decision:
        """Ask to write under a lease."""
        shown = {"lease_id": lease["lease_id"], "fencing_token": lease["lease_epoch"]}
        return await self.ask(lease["holder"], action, key or lease["resource_key"], {"lease": shown, **context})

    async def sweep(self) -> Reply:
        """Sweep once, as a replica would soon."""
        return await self.coordinator.sweeper.once()

    async def append(self, *changes: tuple[str, Mapping[str, Any]]) -> None:
        """Append changes straight into the ledger."""
        await self.point.replica.catch_up()
        head = self.point.replica.head
        assert head is not None
        made = tuple(Change(kind, dict(body)) for kind, body in changes)
        command = Command(action="TEST", actor="system", at=self.point.now(), changes=made)
        await self.point.ledger.append(head, [command])
        await self.point.replica.catch_up()

    async def join(self, team: str, *principals: str) -> None:
        """Make principals members of a team, declaring those that are new."""
        for each in principals:
            known = each in self.point.view.principals
            edge = {"edge_id": f"{each}>{team}", "version": 1, "edge": "MEMBER_OF", "from": each, "to": team}
            joined = ("edge.begin", {**edge, "epoch": 1, "issuer": "organization:desk"})
            await self.append(*([] if known else [("principal.put", {"id": each, "trust": 2})]), joined)

    async def govern(self, *changes: tuple[str, Mapping[str, Any]]) -> dict[str, list[str]]:
        """Append changes with all that follows from them, as a governance command does; returns what ended."""
        made = tuple(Change(kind, dict(body)) for kind, body in changes)
        ended: dict[str, list[str]] = {}

        def decide(view: Any, at: Instant) -> Any:
            ended.clear()
            more = consequences_of(self.point.policy)(view, made, at)
            ended.update(more.ended)
            return Accepted(changes=(*made, *more.changes), result={})

        await self.point.submit(Submission(action="REVOKE", actor="human:root", decide=decide))
        return ended

    async def revoke(self, *edge_ids: str) -> dict[str, list[str]]:
        """Revoke edges, in one revision."""
        edges = [[each, self.point.view.edges[each].version] for each in edge_ids]
        return await self.govern(("edges.end", {"edges": edges, "cause": "revoked"}))

    def lease(self, lease_id: str) -> Mapping[str, Any]:
        """Return a lease, held or ended."""
        found = self.leases.show(lease_id)
        assert found is not None
        return found

    def holders(self, key: str) -> list[str]:
        """Return who holds live leases at or below a key, sorted."""
        return sorted(each["holder"] for each in self.leases.held(under=key))


def question(subject: str, action: str, key: str, context: Mapping[str, Any] | None = None) -> Evaluation:
    """Return an evaluation on a full key."""
    kind, _, name = subject.partition(":")
    return Evaluation(
        subject=Entity(type=kind, id=name),
        action=action,
        resource=Entity(type="key", id=key),
        context=dict(context or {}),
    )


def _units(options: Mapping[str, Any]) -> dict[str, Any]:
    names = {"ttl": "ttl_us", "wait": "wait_us", "keep_alive": "keep_alive_us"}
    return {
        names.get(name, name): round(value * SECOND) if name in names and value is not None else value
        for name, value in options.items()
    }


@asynccontextmanager
async def desk_on(
    make_ledger: MakeLedger,
    *,
    world: str = "coordination",
    tables: Mapping[str, Any] | None = None,
    policy: Mapping[str, str] | None = None,
    point: str = "service:gateway",
) -> AsyncIterator[Desk]:
    """Open a desk on a fresh store, with a manual clock; `tables` replaces members of the policy's tables."""
    clock = ManualClock(T0)
    async with AsyncExitStack() as stack:
        declared = load_world((WORLDS / f"{world}.yaml").read_text(), file="w.yaml", scales=policy_with().scales)
        ledger: Ledger = await make_ledger(declared.realm.name, clock)
        desk = await open_desk(ledger, clock, tables=tables, policy=policy, point=point)
        stack.push_async_callback(desk.point.aclose)
        await put_policy_in_force(desk.point)
        await bring_in(desk.point, declared)
        desk.caller = Caller(point=desk.point.view.points[point], identity=point)
        yield desk


async def open_desk(
    ledger: Ledger,
    clock: ManualClock,
    *,
    tables: Mapping[str, Any] | None = None,
    policy: Mapping[str, str] | None = None,
    point: str = "service:gateway",
) -> Desk:
    """Start another decision point on a store; it has the world that the store has."""
    shipped = policy_with(tuple(sorted((policy or {}).items())))
    made: Tables = replace(shipped.tables, **(tables or {}))
    decision_point = DecisionPoint(
        ledger=ledger, policy=replace(shipped, tables=made), clock=clock, recorder=Recorder()
    )
    await decision_point.start()
    known = decision_point.view.points.get(point)
    return Desk(decision_point, clock, Coordinator(decision_point, rates=False), Caller(point=known, identity=point))


def codes(reply: Reply | Decision) -> list[str]:
    """Return the reason codes of a refusal or a decision."""
    reasons: Sequence[Any] = reply.reasons if hasattr(reply, "reasons") else reply.body.get("reasons", ())
    return [each.code if hasattr(each, "code") else each["code"] for each in reasons]
