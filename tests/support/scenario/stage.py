"""Where a scenario is played: a store, an engine and a wire, brought up for one scenario."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from remit_graph.model.change import Change, Command
from remit_graph.model.instant import parse_instant
from remit_graph.sqlite.ledger import SqliteLedger
from remit_graph.sqlite.options import SqliteOptions
from remit_graph.world.load import load_world
from remit_service.bundle.build import build_bundle
from remit_service.bundle.folder import read_folder, shipped_policy
from remit_service.clock import ManualClock
from remit_service.decision.caller import Caller
from remit_service.decision.request import parse_evaluation
from remit_service.opening import bring_in, put_policy_in_force
from remit_service.point import Bounds, DecisionPoint, RecordingFailed
from remit_service.policy import Policy, policy_of
from tests.support.scenario.faults import break_engine, break_ledger

if TYPE_CHECKING:
    from pathlib import Path

    from remit_graph.ports import Ledger
    from remit_service.decision.decision import Decision
    from remit_service.engines.ports import PolicyEngine
    from tests.support.scenario.document import Scenario

MakeLedger = Callable[[str, ManualClock], Awaitable["Ledger"]]
MakeEngine = Callable[[Policy], Awaitable["PolicyEngine"]]


class Recorder:
    """Keeps decisions, and fails on demand."""

    def __init__(self) -> None:
        """Start empty."""
        self.decisions: list[Decision] = []
        self.broken = False

    async def record(self, decision: Decision, *_: Any) -> None:
        """Keep a decision."""
        if self.broken:
            raise RecordingFailed("the disk is full")
        self.decisions.append(decision)


@lru_cache(maxsize=32)
def policy_with(files: tuple[tuple[str, str], ...]) -> Policy:
    """Return the shipped policy with `files` laid over it, compiled once."""
    shipped = read_folder(shipped_policy())
    return policy_of(build_bundle({**shipped, **{path: text.encode() for path, text in files}}))


@dataclass
class Stage:
    """A started decision point, and the hands of a scenario on it."""

    point: DecisionPoint
    clock: ManualClock
    recorder: Recorder
    whole: Policy

    async def ask(self, question: dict[str, Any]) -> Decision:
        """Put one question, `as` an enforcement point of the world."""
        return await self.point.evaluate(parse_evaluation(body_of(question)), self.caller(question.get("as")))

    def caller(self, name: str | None) -> Caller:
        """Return the caller an enforcement point makes; None is somebody unauthenticated."""
        return Caller(point=None if name is None else self.point.view.points[name], identity=name)

    async def append(self, changes: list[dict[str, Any]]) -> None:
        """Append changes straight into the ledger, as one revision."""
        command = Command(
            action="TEST",
            actor="system",
            at=self.point.now(),
            changes=tuple(Change(each["kind"], _instants(each["body"])) for each in changes),
        )
        await self.point.replica.catch_up()
        head = self.point.replica.head
        assert head is not None
        await self.point.ledger.append(head, [command])
        await self.point.replica.catch_up()

    def advance(self, seconds: float) -> None:
        """Move the clock on; the tail is taken to have confirmed the view meanwhile."""
        self.clock.advance(seconds)
        if not isinstance(self.point.ledger, _Broken):
            self.point.replica._confirmed = self.clock.monotonic()

    def break_(self, what: str) -> None:
        """Bring a fault about."""
        if what == "decision_log":
            self.recorder.broken = True
        elif what == "ledger":
            break_ledger(self.point)
            self.clock.advance(self.point.bounds.max_staleness.total_seconds() + 1)
        else:
            self.point.policy = replace(self.whole, engine=break_engine(what, self.whole))

    def mend(self, what: str) -> None:
        """End a fault."""
        if what == "engine":
            self.point.policy = self.whole
        else:
            self.recorder.broken = False


class _Broken:
    """Marks a ledger that was broken."""


def body_of(question: dict[str, Any]) -> dict[str, Any]:
    """Return the AuthZEN body of a question in a scenario's shorthand."""
    body: dict[str, Any] = {}
    for name in ("subject", "resource"):
        value = question[name]
        if isinstance(value, str):
            kind, _, identifier = value.partition(":")
            value = {"type": kind, "id": identifier} if name == "subject" else {"type": "key", "id": value}
        body[name] = value
    action = question["action"]
    body["action"] = {"name": action} if isinstance(action, str) else action
    body["context"] = question.get("context", {})
    return body


def _instants(body: Any) -> Any:
    """Turn `!at`-less RFC 3339 texts of window members into integers, as stored."""
    if isinstance(body, dict):
        windows = {"valid_from", "valid_until"}
        return {
            name: parse_instant(each) if name in windows and isinstance(each, str) else _instants(each)
            for name, each in body.items()
        }
    return [_instants(each) for each in body] if isinstance(body, list) else body


@asynccontextmanager
async def stage_for(
    scenario: Scenario, make_ledger: MakeLedger, make_engine: MakeEngine | None = None
) -> AsyncIterator[Stage]:
    """Bring a decision point up for one scenario, with a manual clock."""
    clock = ManualClock(parse_instant(scenario.at))
    policy = policy_with(tuple(sorted(scenario.policy.items())))
    async with AsyncExitStack() as stack:
        if make_engine is not None:
            engine = await make_engine(policy)
            stack.push_async_callback(engine.aclose)
            policy = replace(policy, engine=engine)
        world = load_world(scenario.world, file=f"{scenario.name}.yaml", scales=policy.scales)
        ledger = await make_ledger(world.realm.name, clock)
        recorder = Recorder()
        bounds = Bounds(**{name: timedelta(seconds=value) for name, value in scenario.settings.items()})
        point = DecisionPoint(ledger=ledger, policy=policy, clock=clock, recorder=recorder, bounds=bounds)
        stack.push_async_callback(point.aclose)
        await point.start()
        await put_policy_in_force(point)
        await bring_in(point, world)
        yield Stage(point, clock, recorder, policy)
        await asyncio.sleep(0)


def sqlite_in(folder: Path) -> MakeLedger:
    """Return what makes a fresh embedded ledger in `folder`."""

    async def make(realm: str, clock: ManualClock) -> Ledger:
        return await SqliteLedger.init(folder / "remit.db", realm, options=SqliteOptions(clock=clock.now))

    return make
