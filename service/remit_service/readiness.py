"""Whether a process should be asked, and if not, why: what `/health/ready` says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.instant import SECOND
from remit_graph.view.state import View

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import timedelta

    from remit_graph.errors import LedgerError
    from remit_service.engines.errors import EngineError
    from remit_service.keeping.drift import DriftWatch
    from remit_service.replica.replica import Replica

NO_REALM: Final = View().realm
"""The realm of a store that holds no world, or not all of it yet: it has no root, so nothing is permitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether this process should be asked.

    Attributes:
        ready: True where nothing is wrong.
        problems: One sentence each.
        warnings: What somebody should look at, and what makes no answer wrong; one sentence each.
        details: Revision, epochs, staleness and the like.
    """

    ready: bool
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)


def readiness_of(
    replica: Replica,
    *,
    max_staleness: timedelta,
    max_clock_skew: timedelta,
    engine_failure: EngineError | None,
    policy_fault: LedgerError | None,
    policy_revision: str,
    drift: DriftWatch,
) -> Readiness:
    """Judge the parts that every answer rests on: the view, the clock, the policy, the engine.

    Edits past the ledger change no answer, so they are told and make nothing unready.
    """
    problems = [*_of_the_view(replica, max_staleness), *_of_the_clock(replica, max_clock_skew)]
    if policy_fault is not None:
        problems.append(f"{policy_fault.message}; {policy_fault.advice}")
    if engine_failure is not None:
        problems.append(f"the policy engine cannot decide: {engine_failure.message}; {engine_failure.advice}")
    view, age = replica.view, replica.staleness_seconds()
    details = {
        "realm": view.realm.name,
        "revision": view.revision,
        "policy_revision": policy_revision,
        "policy_epoch": view.policy_epoch,
        "authority_epoch": view.authority_epoch,
        "load_failures": replica.load_failures,
        "staleness_seconds": None if age == float("inf") else round(age, 3),
        "clock_skew_seconds": round(replica.skew / SECOND, 3),
        "drift": len(drift.findings),
        "history_after": 0 if replica.head is None else replica.head.base,
    }
    return Readiness(ready=not problems, problems=tuple(problems), warnings=tuple(drift.sentences()), details=details)


def _of_the_view(replica: Replica, max_staleness: timedelta) -> Iterator[str]:
    age = replica.staleness_seconds()
    is_stale = age > max_staleness.total_seconds()
    if not replica.is_loaded:
        yield "the graph is not loaded"
    elif is_stale:
        yield f"the view was last confirmed {age:.1f} s ago"
    if is_stale and replica.trouble is not None:
        # What passes before the view is stale makes nothing unready.
        yield f"the ledger cannot be followed: {replica.trouble.message}; {replica.trouble.advice}"
    if replica.view.principals and replica.view.realm == NO_REALM:
        yield "the first world has not come in whole yet"
    if replica.stopped_by is not None:
        yield f"{replica.stopped_by.message}; {replica.stopped_by.advice}"


def _of_the_clock(replica: Replica, max_clock_skew: timedelta) -> Iterator[str]:
    skew = replica.skew / SECOND
    if abs(skew) > max_clock_skew.total_seconds():
        yield f"the clock is {skew:+.1f} s off the ledger's"
