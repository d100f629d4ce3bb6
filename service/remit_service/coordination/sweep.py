"""The sweep: what is over ends, and what became free is granted, in one revision (rules.md 9).

Every replica sweeps; whoever comes second finds nothing to do and changes nothing, because what is due is read from the
state and not remembered. Nothing depends on a sweep for safety: what ends now has ended for every verdict already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from remit_graph.view.coordination.due import due
from remit_service.coordination.behind import keys_of, still_asks
from remit_service.coordination.expire import expire
from remit_service.coordination.presence import end_presence
from remit_service.coordination.receipt import EXPIRED, close_operation
from remit_service.coordination.settle import end_waiter, settle
from remit_service.coordination.values import Answer, Steps

if TYPE_CHECKING:
    from remit_service.coordination.values import Record
    from remit_service.coordination.work import Work

MAX_SWEPT: Final = 500
"""Things ended by one sweep; more are ended by the next, so that no batch is long."""


def sweep(work: Work) -> Steps:
    """Carry out `Sweep`."""
    keys: list[str] = []
    left: list[Record] = []
    swept = 0
    for noun, item in list(due(work.view.coordination, work.at)):
        record = work.record(noun, item)
        if record is None or not _is_over(work, noun, record):
            continue
        if swept == MAX_SWEPT:
            work.is_unfinished = True
            break
        swept += 1
        if noun == "backlog":
            work.change("backlog.end", {"id": item})
            left.append(record)
        else:
            keys.extend(_end(work, noun, record))
    keys.extend(_rested(work))
    yield from settle(work, keys)
    for each in left:
        yield from settle(work, each["keys"], each["looked_at"])
    return Answer(result={"ended": swept, "unfinished": work.is_unfinished})


def _is_over(work: Work, noun: str, record: Record) -> bool:
    if noun == "backlog":
        return True
    return not still_asks(work, record) if noun == "waiter" else not work.lives(record)


def _end(work: Work, noun: str, record: Record) -> list[str]:
    """End one thing, and return the keys that became free."""
    if noun == "lease":
        return expire(work, [record])
    if noun == "waiter":
        end_waiter(work, record, "TIMEOUT", code="coordination_timeout", outcome="wait")
        # Who was kept behind it may go now.
        return keys_of(record)
    if noun == "operation":
        close_operation(work, record, EXPIRED, {"code": "lease_expired"})
        return [each["resource_key"] for each in record["resources"]]
    if noun == "presence":
        end_presence(work, record, "expired")
        return [record["resource_key"]]
    work.change(f"{noun}.end", {"id": record["id"], "ended_at": work.at, "cause": "expired"})
    return []


def _rested(work: Work) -> list[str]:
    """Return the keys whose delay after an expiry or takeover is over and that somebody waits for."""
    tables = work.view.coordination
    return [key for key, free_at in tables.delays.items.items() if free_at <= work.at and key in tables.waiters.at]
