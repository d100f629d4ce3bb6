"""How fresh a question wants the view, and the reason code where that cannot be had (decision.md 7).

Three demands, each a bound on waiting as much as on age: the newest state as of the question, a revision that the
caller has seen elsewhere, and for every question a view that was confirmed within `max_staleness`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from remit_graph.errors import LedgerError
from remit_service.decision.consistency import read_token

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    from remit_service.decision.consistency import Consistency
    from remit_service.replica.replica import Replica

MILLISECONDS: Final = 1_000


class Shortfall(NamedTuple):
    """The code of a deny, and the facts of its sentence."""

    code: str
    facts: Mapping[str, Any]


def serves_as_it_is(replica: Replica, consistency: Consistency, *, max_staleness: timedelta) -> bool:
    """Whether a question asks for nothing but the bound on age, and the view keeps it: `shortfall` finds none."""
    if consistency.fully or consistency.token is not None:
        return False
    return replica.staleness_seconds() <= max_staleness.total_seconds()


async def shortfall(
    replica: Replica, consistency: Consistency, *, newest: bool, max_staleness: timedelta, wait: timedelta
) -> Shortfall | None:
    """Bring the view to the freshness that is asked for; what is missing where it cannot be had.

    Args:
        replica: Whose view.
        consistency: What the question asks for.
        newest: Whether the action's class asks for the newest state, whatever the question says.
        max_staleness: A view that was not confirmed for longer answers nothing.
        wait: How long a question waits for the ledger, or for the revision it names.
    """
    if consistency.fully or newest:
        try:
            await asyncio.wait_for(replica.catch_up(), wait.total_seconds())
        except (LedgerError, TimeoutError):
            return _stale(replica, "the newest state was asked for and the ledger did not give it")
    if consistency.token is not None:
        missing = await _behind(replica, consistency.token, wait)
        if missing is not None:
            return missing
    if replica.staleness_seconds() > max_staleness.total_seconds():
        return _stale(replica, f"{_milliseconds(max_staleness.total_seconds())} ms are allowed")
    return None


async def _behind(replica: Replica, token: str, wait: timedelta) -> Shortfall | None:
    wanted = read_token(token, replica.head) if replica.head is not None else None
    if wanted is None:
        return Shortfall("revision_foreign", {})
    if not await replica.reached(wanted, wait):
        return Shortfall("revision_not_reached", {"wanted": wanted, "revision": replica.view.revision})
    return None


def _stale(replica: Replica, demand: str) -> Shortfall:
    """A view that was never confirmed, or is of another ledger, has no age: its sentence is the fixed one."""
    age = replica.staleness_seconds()
    facts: dict[str, Any] = {"demand": demand}
    if age != float("inf"):
        facts["age_ms"] = _milliseconds(age)
    return Shortfall("authority_stale", facts)


def _milliseconds(seconds: float) -> int:
    return round(seconds * MILLISECONDS)
