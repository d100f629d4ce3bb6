"""What clients, clocks and operators of the town do next, by chance; the same seed gives the same play."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.edge import EdgeType
from remit_service.coordination import command as commands
from tests.model.machine import PEOPLE
from tests.model.rules import RESPONDER, SECOND
from tests.model.town import OWNERS

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from tests.model.town import Town

KEYS: Final = (
    "doc:1", "doc:1", "doc:1", "doc:1:x", "doc:2", "index:1", "index:1", "fifo:1", "fifo:1", "fifo:2", "prio:1",
    "prio:1", "fair:1", "dead:1", "db:1",
)  # fmt: skip
PLAIN_KEYS: Final = ("fifo:1", "fifo:2", "prio:1", "fair:1", "dead:1", "doc:1:x")
VERBS: Final = {"doc": ("BODY", "META", "TAGS", "TAGS", "SLUG", "WHOLE"), "index": ("WHOLE", "READ_IT", "READ_IT")}
STEPS: Final = ("validate", "freeze", "transfer", "register", "verify", "retire")
PROGRESS: Final = ("BEGUN", "READ", "EXECUTED", "UNVERIFIED", "VERIFIED")
FURTHEST: Final = 0.7
"""How often an operation that has come some way is let go on, rather than another that has just begun."""

PASSING: Final = 0.3
TICKS: Final = (0.2, 0.5, 1, 1, 2, 3, 7, 20, 65, -5)


class Chance:
    """Chooses plays for one game: commands, or `("tick", seconds)`, `("revoke", who)`, `("allow", who)`."""

    def __init__(self, random: Random) -> None:
        """Begin; every name it makes up is counted."""
        self.random = random
        self.made = 0
        self.ended: list[tuple[str, str, int]] = []
        self.transfers: list[str] = []
        self._planned: list[Any] = []
        self._plays: list[Callable[[Town], Any]] = []
        for play, weight in (
            (self._take, 26), (self._several, 6), (self._release, 18), (self._again, 3), (self._renew, 8),
            (self._tick, 12), (self._sweep, 8), (self._keep, 4), (self._leave, 3), (self._operate, 10),
            (self._revoke, 2), (self._allow, 4), (self._preempt, 3), (self._presence, 3), (self._incident, 2),
            (self._transfer, 4), (self._end_other, 1), (self._migrate, 4), (self._stranger, 1),
            (self._tangle, 1),
        ):  # fmt: skip
            self._plays.extend([play] * weight)

    def next(self, town: Town) -> Any:
        """Choose what happens next in a town."""
        while True:
            if self._planned and self.random.random() < FURTHEST:
                return self._planned.pop(0)
            play = self.random.choice(self._plays)(town)
            if play is not None:
                return play

    def _acquire(self, who: str, *requests: dict[str, Any], **options: Any) -> commands.Acquire:
        self.made += 1
        name, pick = self.made, self.random.choice
        settings: dict[str, Any] = {
            "wait_us": pick([0, 5, 30, 120, 120, 300]) * SECOND,
            "keep_alive_us": pick([4, 30, 200]) * SECOND,
            "ttl_us": pick([1, 3, 10, 40, 200]) * SECOND,
            "protocol": pick([True, False]),
        }
        return commands.Acquire(
            requests=tuple({"subject": who, **each} for each in requests),
            caller=None,
            point="service:gateway",
            coordination_id=f"coord_{name}",
            lease_ids=tuple(f"lease_{name}_{place}" for place in range(len(requests))),
            waiter_id=f"wait_{name}",
            **{**settings, **options},
        )

    def _request(self, key: str) -> dict[str, Any]:
        verb = self.random.choice(VERBS.get(key.partition(":")[0] if key.count(":") == 1 else "", ("WHOLE",)))
        tags = {"set_operations": {self.random.choice(["add", "remove"]): ["t"]}} if verb == "TAGS" else {}
        return {"action": verb, "key": key, **tags}

    def _take(self, _town: Town) -> Any:
        key = self.random.choice(KEYS)
        if key == "db:1":
            return None
        request = self._request(key)
        mode = "shared" if request["action"] == "READ_IT" else "exclusive"
        return self._acquire(self.random.choice(PEOPLE), request, mode=mode)

    def _several(self, _town: Town) -> Any:
        keys = self.random.sample(PLAIN_KEYS, self.random.choice([2, 2, 3]))
        return self._acquire(self.random.choice(PEOPLE), *({"action": "WHOLE", "key": key} for key in keys))

    def _preempt(self, _town: Town) -> Any:
        key = self.random.choice(["fifo:1", "prio:1", "doc:1"])
        return self._acquire(
            self.random.choice(["instance:a", "instance:b", "instance:f"]), self._request(key), preempt=True
        )

    def _migrate(self, town: Town) -> Any:
        last = town.view.records.get("sequence", {}).get("main", {"last": 0})["last"]
        number = last + self.random.choice([1, 1, 1, 2, 0])
        request = {"action": "MIGRATE", "key": "db:1", "sequence": {"line": "main", "number": number}}
        return self._acquire(self.random.choice(PEOPLE), request, protocol=True)

    def _tangle(self, town: Town) -> Any:
        """Plan what would close a cycle of waits, by ageing, by an incident or by a grant; it begins with the next."""
        first, later = self.random.choice(["instance:a", "instance:b"]), self.random.choice(PEOPLE[2:])
        one, other = self.random.sample(["fifo:1", "fifo:2", "doc:1:x"], 2)
        anybody = self.random.choice(PEOPLE)
        if self.random.random() < PASSING:
            # Whoever waits for both keys is passed by a grant of one, to somebody who waits for it.
            self._planned = [self._long(later, one), self._long(anybody, other), self._long(first, one)]
            self._planned += [self._long(later, "prio:1", other), self._long(first, "prio:1")]
            return None
        # Who is behind another on one key comes to be before it.
        self._planned = [self._long(first, one), self._long(later, one), self._long(anybody, "prio:1")]
        self._planned += [self._long(later, "prio:1"), self._long(first, "prio:1"), self._long(anybody, other)]
        self._planned += (
            [("tick", 20), ("tick", 20), ("tick", 19)] if later != RESPONDER else [self._incident(town, "OPEN")]
        )
        self._planned += [self._long(self.random.choice(PEOPLE), other), commands.Sweep()]
        return None

    def _long(self, who: str, *keys: str) -> commands.Acquire:
        """Return a request that outlasts ageing, for a lease that does too."""
        long = {"ttl_us": 200 * SECOND, "wait_us": 120 * SECOND, "keep_alive_us": 200 * SECOND, "protocol": False}
        return self._acquire(who, *({"action": "WHOLE", "key": key} for key in keys), **long)

    def _lease(self, town: Town) -> Any:
        leases = town.view.records.get("lease")
        return leases[self.random.choice(sorted(leases))] if leases else None

    def _release(self, town: Town) -> Any:
        lease = self._lease(town)
        if lease is None:
            return None
        operation = town.view.records.get("operation", {}).get(lease["coordination_id"])
        if operation is not None and operation["state"] != "BEGUN" and self.random.random() < FURTHEST:
            return None
        if operation is not None and self.random.random() < 0.9:
            return commands.Abort(coordination_id=lease["coordination_id"], principal=lease["holder"], reason="play")
        self.ended = [*self.ended[-20:], (lease["id"], lease["holder"], lease["lease_epoch"])]
        return commands.Release(lease_id=lease["id"], holder=lease["holder"], token=lease["lease_epoch"])

    def _again(self, _town: Town) -> Any:
        if not self.ended:
            return None
        lease_id, holder, token = self.random.choice(self.ended)
        return commands.Release(lease_id=lease_id, holder=holder, token=token)

    def _stranger(self, town: Town) -> Any:
        lease = self._lease(town)
        if lease is None:
            return None
        who = self.random.choice([each for each in PEOPLE if each != lease["holder"]])
        return self.random.choice(
            [
                commands.Release(lease_id=lease["id"], holder=who, token=lease["lease_epoch"]),
                commands.Renew(lease_id=lease["id"], holder=who, token=lease["lease_epoch"]),
                commands.Release(lease_id=lease["id"], holder=lease["holder"], token=lease["lease_epoch"] - 1),
            ]
        )

    def _renew(self, town: Town) -> Any:
        lease = self._lease(town)
        if lease is None:
            return None
        self.made += 1
        return commands.Renew(
            lease_id=lease["id"], holder=lease["holder"], token=lease["lease_epoch"], progress=str(self.made)
        )

    def _end_other(self, town: Town) -> Any:
        lease = self._lease(town)
        return lease and commands.EndLease(lease_id=lease["id"], actor="organization:root", reason="play")

    def _tick(self, _town: Town) -> Any:
        return ("tick", self.random.choice(TICKS))

    def _sweep(self, _town: Town) -> Any:
        return commands.Sweep()

    def _waiter(self, town: Town) -> Any:
        waiters = town.view.records.get("waiter")
        return waiters[self.random.choice(sorted(waiters))] if waiters else None

    def _keep(self, town: Town) -> Any:
        waiter = self._waiter(town)
        return waiter and commands.KeepWaiting(waiter_ids=(waiter["id"],))

    def _leave(self, town: Town) -> Any:
        waiter = self._waiter(town)
        return waiter and commands.LeaveQueue(waiter_id=waiter["id"], holder=waiter["holder"])

    def _operate(self, town: Town) -> Any:
        """Take an operation one step on, mostly the one that follows."""
        operations = town.view.records.get("operation")
        if not operations:
            return None
        # Chosen evenly, hardly one would ever come to its receipt before its lease is over.
        furthest = max(sorted(operations), key=lambda each: PROGRESS.index(operations[each]["state"]))
        operation = operations[furthest if self.random.random() < FURTHEST else self.random.choice(sorted(operations))]
        named = {"coordination_id": operation["id"], "principal": operation["principal"]}
        unread = [each for each in operation["resources"] if each.get("current_version") is None]
        token = operation["lease_epoch"]
        if unread:
            return commands.Precondition(**named, current_version="v1", resource_key=unread[0]["resource_key"])
        if operation["state"] == "READ":
            result = self.random.choice(["applied", "applied", "applied", "failed", "unknown"])
            return commands.Executed(**named, token=token, result=result)
        if operation["state"] in ("EXECUTED", "UNVERIFIED"):
            return commands.Verified(**named, token=token, passed=self.random.random() < 0.8)
        return commands.Complete(**named, token=token, final_version="v2")

    def _revoke(self, _town: Town) -> Any:
        return ("revoke", self.random.choice(PEOPLE))

    def _allow(self, _town: Town) -> Any:
        return ("allow", self.random.choice(PEOPLE))

    def _presence(self, town: Town) -> Any:
        presences = town.view.records.get("presence")
        if presences and self.random.random() < 0.5:
            return commands.EndPresence(presence_id=self.random.choice(sorted(presences)))
        return commands.SignalPresence(
            resource={"type": "doc", "id": self.random.choice("12")},
            actor=self.random.choice(PEOPLE),
            interactive_editor=True,
            fields=self.random.choice([(), ("body",), ("meta",)]),
            last_activity=town.at,
            ttl_us=self.random.choice([3, 30]) * SECOND,
            point="service:gateway",
            from_actor=False,
        )

    def _incident(self, _town: Town, status: str | None = None) -> Any:
        key = self.random.choice(["fifo:1", "prio:1"]) if status is None else "prio:1"
        return commands.DeclareIncident(
            incident_id=f"inc-{key}",
            actor="instance:f",
            caller=None,
            resource={"subject": "instance:f", "action": "WHOLE", "key": key},
            severity="SEV1",
            status=status or self.random.choice(["OPEN", "CLOSED"]),
        )

    def _transfer(self, town: Town) -> Any:
        known = town.view.records.get("transfer", {})
        going = [each for each in known.values() if each["state"] not in ("RETIRED", "ABORTED")]
        if not going:
            self.made += 1
            owner = next((each for each in OWNERS if any(town.view.out[EdgeType.OWNS].get(each, ()))), OWNERS[0])
            heir = OWNERS[1] if owner == OWNERS[0] else OWNERS[0]
            return commands.ProposeTransfer(
                transfer_id=f"move-{self.made}", actor="organization:root", from_owner=owner, to_owner=heir,
                resource="doc:2", fields=("body", "meta", "slug", "tags"), reason="play", freeze_us=5 * SECOND,
            )  # fmt: skip
        states = ("PROPOSED", "VALIDATED", "FROZEN", "TRANSFERRED", "REGISTERED", "VERIFIED")
        follows = STEPS[states.index(going[0]["state"])]
        step = self.random.choice([follows, follows, follows, "abort", self.random.choice(STEPS)])
        return commands.StepTransfer(transfer_id=going[0]["id"], actor="organization:root", step=step)
