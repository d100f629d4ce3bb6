"""The composition root: from settings to a running decision point. The only place that names adapters."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from remit_graph.errors import LedgerUnavailable
from remit_graph.model.instant import SECOND
from remit_service.activating import Following, put_policy_in_force
from remit_service.bundle.load import load_bundle as load_policy
from remit_service.clock import Clock, SystemClock
from remit_service.coordination.bounds import LeasePolicy
from remit_service.coordinator.coordinator import Coordinator
from remit_service.engines.opa import OpaEngine
from remit_service.engines.standby import StandbyEngine
from remit_service.keeping.attendance import Attendance, process_name
from remit_service.keeping.compactor import Compactor
from remit_service.keeping.keeper import Keeper
from remit_service.opening import bring_in, read_world, shipped_world
from remit_service.point import Bounds, DecisionPoint
from remit_service.policy import policy_of
from remit_service.stores import make_store, open_or_make_store, open_store, remove_store, store_exists

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from remit_graph.ports import Ledger
    from remit_graph.world.value import World
    from remit_service.bundle.model import Bundle
    from remit_service.policy import Policy
    from remit_service.recording import Recorder
    from remit_service.settings import Settings

DEMO_WORLD = "seo"
_log = structlog.get_logger("remit.start")


def load_bundle(settings: Settings) -> Bundle:
    """Build the policy that the settings name.

    Raises:
        BundleRefused: with every problem.
    """
    return load_policy(settings.policy_dir)


@asynccontextmanager
async def running_point(
    settings: Settings, recorder: Recorder, *, clock: Clock | None = None, activate: bool = True
) -> AsyncIterator[DecisionPoint]:
    """Open everything the settings name, yield the started point, and give it all back.

    With `activate=False` the policy is only tried: the store goes on naming the one it has in force.

    Raises:
        LedgerError, BundleRefused, WorldRefused, SettingsError: what is wrong, with what to do.
    """
    clock = clock or SystemClock()
    async with AsyncExitStack() as stack:
        bundle = load_bundle(settings)
        make = _maker(settings, bundle)
        policy = make(bundle)
        stack.push_async_callback(policy.engine.aclose)
        settings = _demo(settings, stack)
        world = None if settings.world is None else read_world(settings.world, policy.scales)
        ledger = await _ledger(settings, world, clock, stack)
        point = DecisionPoint(ledger=ledger, policy=policy, clock=clock, recorder=recorder, bounds=_bounds(settings))
        stack.push_async_callback(point.aclose)
        await point.start()
        if activate:
            await put_policy_in_force(point, offered_by=settings.replica)
            await point.replica.accompany(Following(point, make))
            attendance = Attendance(ledger, process_name(settings.replica))
            attendance.start()
            stack.push_async_callback(attendance.aclose)
            keeper = Keeper(point.replica, point.submit)
            keeper.start()
            stack.push_async_callback(keeper.aclose)
            if settings.history_days:
                compactor = Compactor(point, timedelta(days=settings.history_days))
                compactor.start()
                stack.push_async_callback(compactor.aclose)
            point.drift.start()
        if world is not None and not await bring_in(point, world):
            _log.info("the store holds a graph already", store=settings.store, passed_over=str(settings.world))
        yield point


@asynccontextmanager
async def coordinating(point: DecisionPoint) -> AsyncIterator[Coordinator]:
    """Start a coordinator beside a started point, and stop it at the end; what only reads needs none.

    Raises:
        LedgerError: what was held before a restore could not be ended.
    """
    coordinator = Coordinator(point)
    await coordinator.start()
    try:
        yield coordinator
    finally:
        await coordinator.aclose()


def _demo(settings: Settings, stack: AsyncExitStack) -> Settings:
    """The demo lives in a folder of its own that goes with the process, unless an option names another store."""
    if not settings.demo:
        return settings
    world = settings.world or shipped_world(DEMO_WORLD)
    if settings.origins.get("store") == "--store":
        return replace(settings, world=world)
    folder = tempfile.mkdtemp(prefix="remit-demo-")
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    return replace(settings, store=f"sqlite:///{Path(folder) / 'remit.db'}", world=world)


def _maker(settings: Settings, bundle: Bundle) -> Callable[[Bundle], Policy]:
    """Return what compiles a bundle; where the settings name an OPA server, all of them are asked of this one.

    `bundle` is the first of them. The engine in process stands by for the server.
    """
    leases = _leases(settings)
    if settings.engine == "embedded":
        return partial(policy_of, leases=leases)
    opa = OpaEngine(
        settings.engine,
        policy_revision=bundle.revision,
        timeout_seconds=settings.engine_timeout_seconds,
        token=settings.engine_token.reveal() if settings.engine_token is not None else None,
    )

    def make(bundle: Bundle) -> Policy:
        policy = policy_of(bundle, leases=leases)
        return replace(policy, engine=StandbyEngine(opa.expecting(bundle.revision), policy.embedded))

    return make


async def _ledger(settings: Settings, world: World | None, clock: Clock, stack: AsyncExitStack) -> Ledger:
    """Open the store, or make it where a world says what it is for; a demo's is made, and goes at the end."""
    if world is None:
        if not store_exists(settings):
            raise LedgerUnavailable(
                f"there is no store at `{settings.store}`",
                advice="run `remit store init`, or start with `--world FILE`",
            )
        return await open_store(settings, clock)
    if not settings.demo:
        return await open_or_make_store(settings, clock, realm=world.realm.name)
    ledger = await make_store(settings, clock, realm=world.realm.name)
    stack.push_async_callback(remove_store, settings)
    return ledger


def _leases(settings: Settings) -> LeasePolicy:
    return LeasePolicy(
        ttl_us=round(settings.lease_ttl_seconds * SECOND),
        renew_margin_us=round(settings.lease_renew_margin_seconds * SECOND),
        max_clock_skew_us=round(settings.max_clock_skew_seconds * SECOND),
        max_hold_us=round(settings.lease_max_hold_seconds * SECOND),
    )


def _bounds(settings: Settings) -> Bounds:
    return Bounds(
        max_staleness=timedelta(seconds=settings.max_staleness_seconds),
        revision_wait=timedelta(seconds=settings.revision_wait_seconds),
        max_clock_skew=timedelta(seconds=settings.max_clock_skew_seconds),
        decision_within=timedelta(seconds=settings.decision_within_seconds),
    )
