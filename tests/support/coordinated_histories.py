"""Random histories of leases, queues, operations and signals over random graphs: seeded, so that each can be repeated.

The changes have the shape that the machine gives them and need not make sense together: an image has to keep whatever
a ledger holds.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.change import Change
from remit_graph.model.instant import SECOND
from tests.contract.neo4j_histories import PRINCIPALS, RESOURCES, History

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DAY: Final = 24 * 3600 * SECOND
HOLDERS: Final = [each for each in PRINCIPALS if each.startswith(("instance", "human"))]
FIELDS: Final = ("canonical", "title", "*")
POINT: Final = "service:gate"


class CoordinatedHistory:
    """A realm in which everything changes at random."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - the same history for the same seed is the point
        self._graph = History(seed)
        self._live: dict[str, dict[str, dict[str, Any]]] = {}
        self._made = 0
        self.at = 10**15

    def commands(self, count: int) -> Iterator[list[Change]]:
        """Yield the changes of `count` commands; `at` is the instant of the last one."""
        steps: list[Callable[[], list[Change]]] = [
            self._lease, self._lease, self._waiter, self._operation, self._presence, self._incident, self._transfer,
            self._work_set, self._backlog, self._receipt, self._observation, self._notice, self._conflict, self._end,
            self._end, self._again,
        ]  # fmt: skip
        for changes in self._graph.commands(count):
            # Now and then a season passes, so that some of what ended is no longer told.
            self.at += self._random.choice([0, 1, SECOND, 60 * SECOND, DAY, 40 * DAY])
            yield [*changes, *(self._random.choice(steps)() if self._random.random() < 0.7 else [])]

    def _put(self, noun: str, **members: Any) -> list[Change]:
        self._made += 1
        body = {"id": f"{noun}-{self._made}", "point": POINT, **members}
        self._live.setdefault(noun, {})[body["id"]] = body
        return [Change(f"{noun}.put", body)]

    def _key(self) -> str:
        return self._random.choice(RESOURCES)

    def _holder(self) -> str:
        return self._random.choice(HOLDERS)

    def _soon(self) -> int:
        return self.at + self._random.randrange(60) * SECOND

    def _proof(self) -> list[str]:
        return [f"e-{self._random.randrange(9)}@1", "x-3@1"][: self._random.randrange(3)]

    def _lease(self) -> list[Change]:
        key, field = self._key(), self._random.choice(FIELDS)
        token = self._random.choice([self._made, self._made + 1])
        part = {"fence": field, "fields": [field], "domains": ["SEO", "BODY"][: self._random.randrange(1, 3)]}
        return self._put(
            "lease",
            holder=self._holder(), resource_key=key, keys=[{"key": key, "relation": "same", "parts": [part]}],
            fencing_tokens={f"{key}#{field}": token}, lease_epoch=token, expires_at=self._soon(), proof=self._proof(),
        )  # fmt: skip

    def _waiter(self) -> list[Change]:
        claims = [{"keys": [{"key": self._key()}, {"key": self._key()}]}]
        until: dict[str, Any] = {"alive_until": self._soon(), "wait_until": self._soon()}
        until["acquisition"] = self._random.choice(["FIFO", "PRIORITY", "WEIGHTED_FAIR"])
        return self._put("waiter", holder=self._holder(), claims=claims, proof=self._proof(), **until)

    def _operation(self) -> list[Change]:
        leases = sorted(self._live.get("lease", {}))[:1] if self._random.random() < 0.5 else []
        return self._put("operation", principal=self._holder(), lease_ids=leases, expires_at=self._soon())

    def _presence(self) -> list[Change]:
        return self._put("presence", resource_key=self._key(), actor=self._holder(), expires_at=self._soon())

    def _incident(self) -> list[Change]:
        return self._put("incident", resource_key=self._key(), status=self._random.choice(["OPEN", "CLOSED"]))

    def _transfer(self) -> list[Change]:
        return self._put("transfer", state=self._random.choice(["PROPOSED", "FROZEN", "REGISTERED", "RETIRED"]))

    def _work_set(self) -> list[Change]:
        named = {"reads": [self._key()], "writes": [self._key()], "deletes": []}
        return self._put("work_set", **named, expires_at=self._soon())

    def _backlog(self) -> list[Change]:
        return self._put("backlog", keys=[self._key()], looked_at=[], at=self.at)

    def _receipt(self) -> list[Change]:
        step = {"key": self._key(), "expected_version": f"v{self._made}", "final_version": f"v{self._made + 1}"}
        status = self._random.choice(["COMPLETED", "ABORTED"])
        wrote = [f"{self._key()}#title"]
        return self._put("receipt", principal=self._holder(), status=status, versions=[step], wrote=wrote)

    def _observation(self) -> list[Change]:
        seen = {"resource_key": self._key(), "observed_version": f"v{self._made}", "wrote": [f"{self._key()}#title"]}
        return self._put("observation", actor=self._random.choice([None, self._holder()]), **seen)

    def _notice(self) -> list[Change]:
        return self._put("notice", subject=self._holder(), text="look")

    def _conflict(self) -> list[Change]:
        return self._put("conflict", outcome="wait")

    def _some(self, nouns: tuple[str, ...]) -> tuple[str, dict[str, Any]] | None:
        known = [(noun, body) for noun in nouns for _, body in sorted(self._live.get(noun, {}).items())]
        return self._random.choice(known) if known else None

    def _again(self) -> list[Change]:
        found = self._some(("lease", "waiter", "presence", "incident", "transfer", "work_set", "receipt"))
        if found is None:
            return []
        noun, body = found
        later: dict[str, Any] = {name: self._soon() for name in ("expires_at", "alive_until") if name in body}
        body = {**body, **later, **({"proof": self._proof()} if "proof" in body else {})}
        self._live[noun][body["id"]] = body
        return [Change(f"{noun}.put", body)]

    def _end(self) -> list[Change]:
        found = self._some(("lease", "lease", "waiter", "operation", "presence", "work_set", "backlog", "notice"))
        if found is None:
            return []
        noun, body = found
        del self._live[noun][body["id"]]
        return [Change(f"{noun}.end", {"id": body["id"], "at": self.at, **self._told(noun, body)})]

    def _told(self, noun: str, body: dict[str, Any]) -> dict[str, Any]:
        if noun == "waiter":
            return {"state": "GRANTED", "fair": {self._key(): {"1": self._made}}}
        if noun != "lease":
            return {}
        raised = {key: self._made + 5 for key in body["fencing_tokens"] if self._random.random() < 0.5}
        rest = {"free_at": self._soon(), "cooldown_until": self._soon()} if self._random.random() < 0.5 else {}
        return {"state": self._random.choice(["RELEASED", "EXPIRED", "REVOKED"]), "raised": raised, **rest}
