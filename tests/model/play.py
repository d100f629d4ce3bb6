"""Random plays on the bench: what clients, clocks and operators do, as data that can be repeated and shrunk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from remit_graph.model.change import Change
from remit_service.coordination import command as commands
from remit_service.coordination.resting import end_what_rests_on
from tests.model.machine import PEOPLE, Bench

if TYPE_CHECKING:
    from remit_service.coordination.values import Changed, Refusal

Step = tuple[Any, ...]

KEYS = ("doc:1", "fifo:1", "prio:1", "fair:1", "dead:1", "index:1")
ACTIONS = {"doc": ("BODY", "META", "TAGS", "SLUG", "WHOLE"), "index": ("WHOLE", "READ_IT")}


def takes() -> st.SearchStrategy[Step]:
    """Somebody asks for a lease, and may wait; mostly on one of two busy keys."""
    return st.sampled_from([*KEYS, "doc:1", "fifo:1", "doc:1", "fifo:1"]).flatmap(
        lambda key: st.tuples(
            st.just("take"),
            st.sampled_from(PEOPLE),
            st.sampled_from(ACTIONS.get(key.partition(":")[0], ("WHOLE",))),
            st.just(key),
            st.integers(1, 40),
            st.sampled_from([0, 5, 30, 120, 120, 120]),
        )
    )


def pairs() -> st.SearchStrategy[Step]:
    """Somebody asks for two keys at once: both or none."""
    return st.tuples(
        st.just("both"), st.sampled_from(PEOPLE), st.just("fifo:1"), st.sampled_from(["prio:1", "fair:1"]), st.just(120)
    )


def steps(*, least: int = 12, most: int = 40) -> st.SearchStrategy[list[Step]]:
    """Whole plays."""
    pick = st.integers(0, 7)
    return st.lists(
        st.one_of(
            takes(),
            takes(),
            takes(),
            takes(),
            takes(),
            pairs(),
            st.tuples(st.just("release"), pick),
            st.tuples(st.just("release"), pick),
            st.tuples(st.just("renew"), pick),
            st.tuples(st.just("tick"), st.sampled_from([0.5, 1, 3, 7, 20, 65, -5])),
            st.just(("sweep",)),
            st.tuples(st.just("keep"), pick),
            st.tuples(st.just("leave"), pick),
            st.tuples(st.just("revoke"), st.sampled_from(PEOPLE)),
            st.tuples(st.just("allow"), st.sampled_from(PEOPLE)),
        ),
        min_size=least,
        max_size=most,
    )


def do(bench: Bench, step: Step, *, protocol: bool = False) -> Changed | Refusal | None:
    """Carry one step out on a bench; a step that finds nothing to act on does nothing."""
    verb, *rest = step
    if verb in ("take", "both"):
        return _take(bench, verb, rest, protocol=protocol)
    if verb == "tick":
        bench.tick(rest[0])
    elif verb == "allow":
        bench.allowed.add(rest[0])
    elif verb == "revoke":
        revoke(bench, rest[0])
    elif verb == "sweep":
        return bench.run(commands.Sweep())
    else:
        return _on_one(bench, verb, rest[0], protocol=protocol)
    return None


def _take(bench: Bench, verb: str, rest: list[Any], *, protocol: bool) -> Changed | Refusal:
    if verb == "both":
        who, first, second, wait = rest
        return bench.take(who, "WHOLE", first, second, wait=wait, protocol=protocol)
    who, action, key, ttl, wait = rest
    mode = "shared" if action == "READ_IT" else "exclusive"
    options = {"set_operations": {"add": [who]}} if action == "TAGS" else {}
    return bench.take(who, action, key, ttl=ttl, wait=wait, mode=mode, protocol=protocol, **options)


def _on_one(bench: Bench, verb: str, pick: int, *, protocol: bool) -> Changed | Refusal | None:
    records = bench.waiters() if verb in ("keep", "leave") else {each["id"]: each for each in bench.live()}
    if not records:
        return None
    record = records[sorted(records)[pick % len(records)]]
    if verb == "release" and protocol:
        command: commands.Command = commands.Abort(
            coordination_id=record["coordination_id"], principal=record["holder"], reason="play"
        )
    elif verb == "release":
        command = commands.Release(lease_id=record["id"], holder=record["holder"], token=record["lease_epoch"])
    elif verb == "renew":
        command = commands.Renew(lease_id=record["id"], holder=record["holder"], token=record["lease_epoch"])
    elif verb == "keep":
        command = commands.KeepWaiting(waiter_ids=(record["id"],))
    else:
        command = commands.LeaveQueue(waiter_id=record["id"], holder=record["holder"])
    return bench.run(command)


def revoke(bench: Bench, who: str) -> None:
    """Take somebody's authority away, with all that rests on it, in one revision."""
    if who not in bench.allowed:
        return
    bench.allowed.discard(who)
    at = max(bench.at, bench.view.at)
    known = bench.view.principals[who]
    own = [Change("principal.put", known.record())]
    more = end_what_rests_on(bench.view, own, at, tables=bench.tables, ask=lambda _view, ask: bench.judge(ask, at))
    bench.append([*own, *more.changes])
