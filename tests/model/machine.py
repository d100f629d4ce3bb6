"""The pure machine on a bench: a view, a clock, and a policy of a few lines in place of Rego.

The bench's policy says who may act from a set of names, and who is in whose way by `compare`, which a differential test
holds equal to the shipped policy. So the laws are asked of the machine itself, thousands of times a second.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from remit_graph.model.change import GENESIS, Change, Entry
from remit_graph.model.instant import SECOND
from remit_graph.model.resource_type import concurrency_of
from remit_graph.view.apply import apply
from remit_graph.view.state import View
from remit_service.coordination import command as commands
from remit_service.coordination.bounds import LeasePolicy
from remit_service.coordination.compare import judge as compare
from remit_service.coordination.compare import meetings
from remit_service.coordination.holding import holding_of, wanted
from remit_service.coordination.machine import Walk
from remit_service.coordination.matrix import COMPATIBLE
from remit_service.coordination.overlap import leases_near
from remit_service.coordination.priority import priority_of
from remit_service.coordination.tables import Tables
from remit_service.coordination.values import Ask, Changed, Claim, Refusal, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from remit_service.coordination.holding import Holding
    from remit_service.coordination.values import Record

T0 = 1_800_000_000 * SECOND
PEOPLE = tuple(f"instance:{name}" for name in "abcdef")
GROUPS = {"no_authority": "authority", "resource_busy": "coordination", "priority_not_higher": "preemption"}
MATRIX = {
    "BODY": {"BODY": "serialize", "META": "compatible", "READ": "compatible"},
    "META": {"BODY": "compatible", "META": "serialize", "READ": "compatible"},
    "READ": {"BODY": "compatible", "META": "compatible", "READ": "compatible"},
}
TABLES = Tables(
    parents=dict.fromkeys(MATRIX),
    matrix=MATRIX,
    demands={"WRITE_EXCLUSIVE": frozenset({"lease"}), "WRITE_OPTIMISTIC": frozenset({"version"})},
    groups=GROUPS,
    role_priority={"role:high": 90, "role:middle": 50},
    default_priority=10,
    weights={"role:high": 3},
    leases=LeasePolicy(ordered=False),
)

FIELDS = {
    "body": {"domain": "BODY", "merge": "exclusive", "independent": True},
    "meta": {"domain": "META", "merge": "field_versioned", "independent": True},
    "tags": {"domain": "META", "merge": "set_merge", "independent": True},
    "slug": {"domain": "BODY", "merge": "exclusive"},
}
"""Of a document; a slug is not independent, so that it locks the whole."""


def _type(name: str, key: str, concurrency: str, **more: Any) -> Change:
    return Change("resource_type.put", {"name": name, "key": key, "concurrency": concurrency, **more})


QUEUES = {"fifo": "FIFO", "prio": "PRIORITY", "fair": "WEIGHTED_FAIR", "dead": "DEADLINE"}

WORLD = [
    Change("realm.set", {"name": "bench", "root": ["organization:root"], "dimensions": ["environment"]}),
    _type("doc", "doc:{id}", "WRITE_OPTIMISTIC", fields=FIELDS),
    _type("part", "doc:{id}:{part}", "WRITE_EXCLUSIVE", lock_rank=40),
    _type("index", "index:{id}", "NON_CONCURRENT"),
    *(_type(name, f"{name}:{{id}}", "WRITE_EXCLUSIVE", acquisition=order) for name, order in QUEUES.items()),
    *(Change("action.put", {"name": name.upper(), "class": "write", "fields": [name]}) for name in FIELDS),
    Change("action.put", {"name": "WHOLE", "class": "write", "domain": "BODY"}),
    Change("action.put", {"name": "READ_IT", "class": "read", "domain": "READ"}),
    *(Change("principal.put", {"id": each}) for each in ("organization:root", "role:high", "role:middle", *PEOPLE)),
]  # fmt: skip


class Bench:
    """A machine with its state and clock.

    Attributes:
        view: The state.
        at: The instant of the next command.
        allowed: Who has authority.
        log: Every revision's changes, with its instant.
    """

    def __init__(self, tables: Tables = TABLES, world: Sequence[Change] = WORLD) -> None:
        """Start with the world of the bench, and everybody allowed."""
        self.view = View()
        self.tables = tables
        self.at = T0
        self.allowed = set(PEOPLE)
        self.log: list[Entry] = []
        self._names = count(1)
        self.append(world)

    def append(self, changes: Iterable[Change]) -> int:
        """Append changes as one revision."""
        entry = Entry(
            revision=self.view.revision + 1,
            at=max(self.at, self.view.at),
            action="T",
            actor="system",
            changes=tuple(changes),
            hash=GENESIS,
        )
        apply(self.view, entry)
        self.log.append(entry)
        return entry.revision

    def tick(self, seconds: float) -> None:
        """Move the clock on, or back; a command never happens before the last one."""
        self.at += round(seconds * SECOND)

    def run(self, command: commands.Command, *, keep: bool = True) -> Changed | Refusal:
        """Decide a command and append what it changes; with `keep=False` the process dies in between."""
        at = max(self.at, self.view.at)
        with Walk(self.view, self.tables, at) as walk:
            outcome = walk.start(command)
            while isinstance(outcome, Ask):
                outcome = walk.send(self.judge(outcome, at))
        if isinstance(outcome, Changed) and outcome.changes and keep:
            self.append(outcome.changes)
        return outcome

    def judge(self, ask: Ask, at: int) -> Verdict:
        """Answer a question of the machine, on the state as it stands."""
        claim = self.claim(ask.request)
        proof = (f"right-of-{claim.subject}@1",)
        epochs = {"policy": 1, "authority": 1, "ownership": {}}
        if claim.subject not in self.allowed:
            return Verdict(effect="deny", outcome="deny", codes=("no_authority",), claim=claim, epochs=epochs)
        if ask.phase != "begin":
            return Verdict(effect="permit", outcome="execute", proof=proof, claim=claim, epochs=epochs)
        held = wanted(self.view, claim, ask.mode, at)
        met = [lease for lease in leases_near(self.view, held, at) if self.conflicts(held, lease, at)]
        if not met:
            return Verdict(effect="permit", outcome="execute", proof=proof, claim=claim, epochs=epochs)
        rows = tuple({"lease_id": each["id"], "holder": each["holder"], "key": each["resource_key"]} for each in met)
        outcome = "preempt" if self._outranks(claim.subject, met, at) else "wait"
        effect = "permit" if outcome == "preempt" else "deny"
        return Verdict(
            effect=effect,
            outcome=outcome,
            codes=("resource_busy",),
            proof=proof,
            conflicts=rows,
            claim=claim,
            epochs=epochs,
        )

    def conflicts(self, held: Holding, lease: Record, at: int) -> bool:
        """Whether a lease stands in the way."""
        return compare(self.view, self.tables, held, holding_of(lease), at) != COMPATIBLE

    def _outranks(self, subject: str, met: Sequence[Record], at: int) -> bool:
        if self.view.coordination.cooldowns.get(subject, 0) > at:
            return False
        mine = priority_of(self.view, self.tables, subject, met[0]["resource_key"], at)
        return all(mine > priority_of(self.view, self.tables, each["holder"], each["resource_key"], at) for each in met)

    def claim(self, request: Mapping[str, Any]) -> Claim:
        """Resolve a request of the bench: `{subject, action, key, set_operations?}`."""
        resolved = self.view.registry.resolve_key(request["key"])
        assert resolved is not None
        action = self.view.actions[request["action"]]
        return Claim(
            subject=request["subject"],
            action=action,
            key=resolved.key,
            type=resolved.type,
            fields=action.fields,
            concurrency=str(concurrency_of(resolved.type, action, action.fields)),
            request=request,
            set_operations=request.get("set_operations"),
        )

    def acquire(self, subject: str, action: str, *keys: str, **options: Any) -> commands.Acquire:
        """Return the command that asks for leases; `ttl`, `wait`, `keep_alive` are seconds."""
        name = next(self._names)
        units = {"ttl": "ttl_us", "wait": "wait_us", "keep_alive": "keep_alive_us"}
        made = {units.get(each, each): value * SECOND if each in units else value for each, value in options.items()}
        shown = made.pop("set_operations", None)
        request = {"subject": subject, "action": action, **({"set_operations": shown} if shown else {})}
        return commands.Acquire(
            requests=tuple({**request, "key": key} for key in keys),
            caller=None,
            point="service:gateway",
            coordination_id=f"coord_{name}",
            lease_ids=tuple(f"lease_{name}_{place}" for place in range(len(keys))),
            waiter_id=f"wait_{name}",
            protocol=made.pop("protocol", False),
            **made,
        )

    def take(self, subject: str, action: str, *keys: str, **options: Any) -> Changed | Refusal:
        """Ask for leases, and append what comes of it."""
        return self.run(self.acquire(subject, action, *keys, **options))

    def release(self, lease: Record) -> Changed | Refusal:
        """Give a lease back."""
        command = commands.Release(lease_id=lease["id"], holder=lease["holder"], token=lease["lease_epoch"])
        return self.run(command)

    def live(self) -> list[Record]:
        """Return the leases that are live now, by id."""
        at = max(self.at, self.view.at)
        leases = self.view.records.get("lease", {})
        return [leases[each] for each in sorted(leases) if leases[each]["expires_at"] > at]

    def waiters(self) -> dict[str, Record]:
        """Return the waiters, by id."""
        return dict(self.view.records.get("waiter", {}))

    def join(self, principal: str, role: str) -> None:
        """Let a principal act as a role."""
        edge = {"edge_id": f"{principal}>{role}", "version": 1, "edge": "ACTS_AS", "from": principal, "to": role}
        self.append([Change("edge.begin", {**edge, "epoch": 1, "issuer": "organization:root"})])


def exclusive_pairs(bench: Bench) -> list[tuple[str, str]]:
    """Return the pairs of live leases of two holders that stand in each other's way: none, ever."""
    live = bench.live()
    pairs: list[tuple[str, str]] = []
    for place, one in enumerate(live):
        for other in live[place + 1 :]:
            if one["holder"] != other["holder"]:
                mine, theirs = holding_of(one), holding_of(other)
                if any(meetings(bench.view, mine, theirs, bench.at)) and bench.conflicts(mine, other, bench.at):
                    pairs.append((one["id"], other["id"]))
    return pairs


def with_leases(**bounds: Any) -> Tables:
    """Return the bench's tables with other bounds of leases."""
    return replace(TABLES, leases=replace(TABLES.leases, **bounds))
