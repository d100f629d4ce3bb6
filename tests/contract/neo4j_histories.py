"""Random histories of a realm, as commands that a writer could have decided: seeded, so that each can be repeated."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.change import Change

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PRINCIPALS: Final = (
    "organization:acme", "team:web", "team:seo", "controller:seo", "controller:content", "role:seo-agent",
    "role:editor", "agent_type:crawler", "instance:seo-7", "instance:seo-8", "human:ada", "human:bob", "service:gate",
)  # fmt: skip
RESOURCES: Final = ("site:1", "site:1:blog", "site:2", "wp:post:1", "wp:post:2", "wp:template:9")
SELECTORS: Final = (*RESOURCES, "wp:post:*", "site:*", "wp:*:1")
SHAPES: Final = {
    "OWNS": (PRINCIPALS[:1] + PRINCIPALS[3:5], SELECTORS),
    "MAY_READ": (PRINCIPALS, SELECTORS),
    "MAY_WRITE": (PRINCIPALS, SELECTORS),
    "MAY_APPROVE": (PRINCIPALS, SELECTORS),
    "MAY_RECONCILE": (PRINCIPALS, SELECTORS),
    "MAY_DELEGATE": (PRINCIPALS, PRINCIPALS),
    "DELEGATES": (PRINCIPALS, PRINCIPALS),
    "MAY_PREEMPT": (PRINCIPALS, PRINCIPALS),
    "MAY_REVOKE": (PRINCIPALS, PRINCIPALS),
    "ACTS_AS": (PRINCIPALS[8:], PRINCIPALS[3:8]),
    "MEMBER_OF": (PRINCIPALS, PRINCIPALS[:3]),
    "REPORTS_TO": (PRINCIPALS, PRINCIPALS),
    "PART_OF": (RESOURCES, RESOURCES),
    "AFFECTS": (RESOURCES, RESOURCES),
    "MUST_COORDINATE_WITH": (RESOURCES, RESOURCES),
}
SCOPES: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"actions": ["UPDATE_CANONICAL"], "fields": ["canonical", "title"]},
    {"resources": ["site:1"], "where": {"environment": ["production"], "site": ["a", "b"]}},
    {"resources": [["site:*"], ["wp:post:*", "wp:post:1:x"]], "fields": []},
    {"conditions": [{"attribute": "risk", "at_most": "MEDIUM"}, {"attribute": "context.n", "in": [1, "two"]}]},
)


class History:
    """A realm that changes at random."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - the same history for the same seed is the point
        self._current: dict[str, tuple[int, str, str]] = {}
        self._versions: dict[str, int] = {}
        self._records: dict[str, str] = {}
        self._there: set[str] = set()
        self._made = 0

    def commands(self, count: int) -> Iterator[list[Change]]:
        """Yield the changes of `count` commands."""
        steps: list[Callable[[], list[Change]]] = [
            self._put_principal, self._put_resource, self._grant, self._grant, self._grant, self._amend, self._end,
            self._remove_principal, self._put_record, self._put_record, self._end_record, self._declare, self._nothing,
        ]  # fmt: skip
        for _ in range(count):
            yield self._random.choice(steps)()

    def _put_principal(self) -> list[Change]:
        name = self._random.choice(PRINCIPALS)
        self._there.add(name)
        number = self._random.randrange(9)
        body = {"id": name, "trust": number, "attributes": {"team": f"t{number}", "tags": ["a", "b"][: number % 3]}}
        return [Change("principal.put", body)]

    def _put_resource(self) -> list[Change]:
        attributes = {"environment": self._random.choice(["production", "staging"]), "size": self._random.randrange(3)}
        return [Change("resource.put", {"key": self._random.choice(RESOURCES), "attributes": attributes})]

    def _grant(self) -> list[Change]:
        self._made += 1
        return (
            [self._begin(f"e-{self._random.randrange(self._made)}")]
            if self._made % 3
            else [self._begin(f"x-{self._made}")]
        )

    def _begin(self, edge_id: str) -> Change:
        if edge_id in self._current:
            edge_id = f"y-{self._made}-{edge_id}"
        edge = self._random.choice(sorted(SHAPES))
        froms, tos = SHAPES[edge]
        from_ = self._random.choice(froms)
        to = self._random.choice([each for each in tos if each != from_])
        version = self._versions.get(edge_id, 0) + 1
        self._versions[edge_id] = version
        self._current[edge_id] = (version, from_, to)
        record = {"edge_id": edge_id, "version": version, "edge": edge, "from": from_, "to": to, "epoch": 1}
        record |= {"issuer": "organization:acme", "reason": f"because {self._made}", "valid_until": 10**15 + self._made}
        scope = self._random.choice(SCOPES)
        if scope:
            record["scope"] = scope
        if edge == "DELEGATES" and self._versions:
            under = self._random.choice(sorted(self._versions))
            record["under"] = f"{under}@{self._versions[under]}"
        if edge == "OWNS":
            record |= {"ownership_epoch": self._made, "except": ["wp:post:1"]}
        if edge == "MAY_WRITE":
            record["rests_on"] = [{"edge_id": "own-1", "ownership_epoch": 3}]
        return Change("edge.begin", record)

    def _amend(self) -> list[Change]:
        if not self._current:
            return self._grant()
        edge_id = self._random.choice(sorted(self._current))
        version = self._current.pop(edge_id)[0]
        ended = Change("edges.end", {"edges": [[edge_id, version]], "cause": "amended"})
        return [ended, self._begin(edge_id)]

    def _end(self) -> list[Change]:
        some = self._random.sample(sorted(self._current), min(len(self._current), self._random.randrange(1, 5)))
        return [self._ends(some, "revoked")]

    def _ends(self, edge_ids: list[str], cause: str) -> Change:
        edges = [[edge_id, self._current.pop(edge_id)[0]] for edge_id in edge_ids]
        return Change("edges.end", {"edges": edges, "cause": cause, "code": "delegation_revoked"})

    def _remove_principal(self) -> list[Change]:
        if not self._there:
            return []
        name = self._random.choice(sorted(self._there))
        self._there.discard(name)
        hanging = [edge_id for edge_id, (_, *ends) in sorted(self._current.items()) if name in ends]
        return [self._ends(hanging, "removed"), Change("principal.end", {"id": name})]

    def _put_record(self) -> list[Change]:
        self._made += 1
        noun = self._random.choice(["approval", "capability", "api_key", "sequence"])
        name = f"{noun}-{self._random.randrange(6)}" if self._made % 4 else f"{noun}-{self._made}"
        self._records[name] = noun
        proof = [f"{edge_id}@{self._versions[edge_id]}" for edge_id in sorted(self._versions)[:3]]
        body: dict[str, Any] = {"id": name, "holder": self._random.choice(PRINCIPALS), "number": self._made}
        body |= {"resource_key": self._random.choice(RESOURCES), "proof": proof, "tokens": {"wp:post:1#body": 7}}
        body |= {"point": "service:gate", "expires_at": 10**15 + self._made}
        if noun == "capability":
            body["approval_id"] = f"approval-{self._random.randrange(6)}"
        return [Change(f"{noun}.put", body)]

    def _end_record(self) -> list[Change]:
        if not self._records:
            return []
        name = self._random.choice(sorted(self._records))
        return [Change(f"{self._records.pop(name)}.end", {"id": name, "status": "RELEASED"})]

    def _declare(self) -> list[Change]:
        number = self._random.randrange(5)
        posts = Change("resource_type.put", {"name": "wp:post", "key": "wp:post:{id}", "lock_rank": number})
        return self._random.choice(
            [
                [Change("epoch.set", {"authority": self._made, "minimum_authority": {"write": number}})],
                [Change("policy.activate", {"policy_epoch": number, "policy_revision": f"sha256:{number}"})],
                [posts, Change("alias.put", {"alias": f"cms{number}:{{id}}", "key": "wp:post:{id}"})],
                [Change("action.put", {"name": f"UPDATE_{number}", "class": "write", "fields": ["body"]})],
                [Change("realm.set", {"name": "acme", "root": ["organization:acme"], "dimensions": ["environment"]})],
                [posts],
            ]
        )

    @staticmethod
    def _nothing() -> list[Change]:
        return []
