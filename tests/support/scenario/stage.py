"""Where a scenario is played: a store, an engine and a wire, brought up for one scenario."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from remit_graph.model.instant import parse_instant
from remit_graph.world.check import check_world
from remit_graph.world.load import load_world
from remit_graph.world.of_view import world_of
from remit_service.activating import put_policy_in_force
from remit_service.bundle.build import build_bundle
from remit_service.bundle.folder import read_folder, shipped_policy
from remit_service.clock import ManualClock
from remit_service.coordinator.coordinator import Coordinator
from remit_service.coordinator.leases import Leases
from remit_service.decision.caller import Caller
from remit_service.decision.request import parse_evaluation
from remit_service.opening import bring_in
from remit_service.point import Bounds, DecisionPoint
from remit_service.policy import Policy, policy_of
from remit_service.recording import RecordingFailed
from tests.support.scenario.body import body_of, changes_of
from tests.support.scenario.commands import submission_of
from tests.support.scenario.faults import break_engine, break_ledger
from tests.support.scenario.wire import Wire, in_process

if TYPE_CHECKING:
    from remit_graph.model.change import Command
    from remit_graph.ports import Ledger
    from remit_graph.world.value import World
    from remit_service.coordinator.reply import Reply
    from remit_service.decision.decision import Decision
    from remit_service.engines.ports import PolicyEngine
    from remit_service.writer.command import Verdict
    from tests.support.scenario.document import Scenario
    from tests.support.scenario.wire import Answer

MakeLedger = Callable[[str, ManualClock], Awaitable["Ledger"]]
MakeEngine = Callable[[Policy], Awaitable["PolicyEngine"]]
MakeWire = Callable[[DecisionPoint], AbstractAsyncContextManager[Wire]]


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


@lru_cache(maxsize=64)
def world_from(text: str, name: str) -> World:
    """Return a world, read once for all the ways in which its scenario is played."""
    return load_world(text, file=f"{name}.yaml", scales=policy_with(()).scales)


@dataclass
class Stage:
    """A started decision point, and the hands of a scenario on it.

    Attributes:
        told: Whatever was answered, whole and in order; what two stages are compared by.
    """

    point: DecisionPoint
    clock: ManualClock
    recorder: Recorder
    whole: Policy
    wire: Wire
    is_cut_off: bool = False
    held: dict[str, dict[str, Any]] = field(default_factory=dict)
    told: list[Any] = field(default_factory=list)

    async def ask(self, question: dict[str, Any]) -> Answer:
        """Put one question, `as` an enforcement point of the world."""
        return self._noted(await self.wire.evaluate(body_of(question, self.point, self.held), question.get("as")))

    async def explain(self, question: dict[str, Any]) -> Answer:
        """Ask for a verdict with its proof, now or at an earlier moment."""
        return self._noted(await self.wire.explain(body_of(question, self.point, self.held), question.get("as")))

    def _noted(self, answer: Answer) -> Answer:
        self.told.append((answer.status, answer.document))
        return answer

    async def crowd(self, question: dict[str, Any]) -> Answer | None:
        """Put one question too many."""
        return await self.wire.crowd(body_of(question, self.point, self.held), question.get("as"))

    async def append(self, changes: list[dict[str, Any]]) -> None:
        """Append changes straight into the ledger, as one revision."""
        await self.point.replica.catch_up()
        head = self.point.replica.head
        assert head is not None
        command: Command = changes_of(changes, at=self.point.now())
        await self.point.ledger.append(head, [command])
        await self.point.replica.catch_up()

    async def command(self, document: dict[str, Any]) -> Verdict:
        """Give a governance command."""
        verdict = (await self.point.submit(submission_of(document, self.point))).verdict
        self.told.append(verdict)
        return verdict

    async def hold(self, question: dict[str, Any]) -> Reply:
        """Take a lease; `name` is what later questions present it by, as `lease NAME`."""
        body = body_of(question, self.point, self.held)
        caller = Caller(point=self.point.view.points[question["as"]], identity=question["as"])
        reply = await Leases(self._coordinator).acquire([parse_evaluation(body)], caller)
        if not reply.is_refused:
            lease = reply.body["lease"]
            self.held[question["name"]] = {"lease_id": lease["lease_id"], "fencing_token": lease["lease_epoch"]}
        self.told.append((reply.code, reply.body))
        return reply

    async def give_back(self, name: str) -> None:
        """Release a lease."""
        lease = self.held[name]
        caller = Caller(point=None, trusts_all=True)
        await Leases(self._coordinator).release(lease["lease_id"], caller, token=lease["fencing_token"])

    @property
    def _coordinator(self) -> Coordinator:
        return Coordinator(self.point, rates=False)

    async def problems(self) -> list[str]:
        """Return what `remit graph check` would report."""
        findings = check_world(world_of(self.point.view), scales=self.whole.scales)
        return [*await self.point.ledger.check(), *(each.message for each in findings)]

    async def advance(self, seconds: float) -> None:
        """Move the clock on; while the ledger answers, the view is confirmed meanwhile."""
        self.clock.advance(seconds)
        if not self.is_cut_off:
            await self.point.replica.catch_up()

    def break_(self, what: str) -> None:
        """Bring a fault about."""
        if what == "decision_log":
            self.recorder.broken = True
        elif what == "ledger":
            break_ledger(self.point)
            self.is_cut_off = True
            self.clock.advance(self.point.bounds.max_staleness.total_seconds() + 1)
        else:
            self.point.policy = replace(self.whole, engine=break_engine(what, self.whole))

    def mend(self, what: str) -> None:
        """End a fault."""
        if what == "engine":
            self.point.policy = self.whole
        else:
            self.recorder.broken = False


@asynccontextmanager
async def stage_for(
    scenario: Scenario,
    make_ledger: MakeLedger,
    make_engine: MakeEngine | None = None,
    make_wire: MakeWire = in_process,
) -> AsyncIterator[Stage]:
    """Bring a decision point up for one scenario, with a manual clock."""
    clock = ManualClock(parse_instant(scenario.at))
    policy = policy_with(tuple(sorted(scenario.policy.items())))
    async with AsyncExitStack() as stack:
        if make_engine is not None:
            engine = await make_engine(policy)
            stack.push_async_callback(engine.aclose)
            policy = replace(policy, engine=engine)
        world = world_from(scenario.world, scenario.name)
        ledger = await make_ledger(world.realm.name, clock)
        recorder = Recorder()
        bounds = Bounds(**{name: timedelta(seconds=value) for name, value in scenario.settings.items()})
        point = DecisionPoint(ledger=ledger, policy=policy, clock=clock, recorder=recorder, bounds=bounds)
        stack.push_async_callback(point.aclose)
        await point.start()
        await put_policy_in_force(point)
        await bring_in(point, world)
        wire = await stack.enter_async_context(make_wire(point))
        yield Stage(point, clock, recorder, policy, wire)
        await asyncio.sleep(0)
