"""The Cypher library answers the questions of an incident as a reading of the log does, after random histories."""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import pytest
from neo4j import GraphDatabase

from remit_graph.model.change import Change
from remit_graph.neo4j import Neo4jLedger
from remit_graph.neo4j.statements import STATEMENTS, library
from tests.contract.ledger_commands import a_command, append, everything, now
from tests.contract.ledgers import Neo4jStore, neo4j_store
from tests.contract.neo4j_histories import PRINCIPALS, RESOURCES, History

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from remit_graph.model.change import Entry

pytestmark = pytest.mark.neo4j

GRANTS: Final = frozenset({"OWNS", "MAY_READ", "MAY_WRITE", "MAY_APPROVE", "MAY_RECONCILE"})
AT: Final = 10**15 + 150
"""Within the windows of the histories: some edges are live then, some are not."""


class Log:
    """A reading of the log: every version of every edge, with when it began and ended."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.edges: dict[str, dict[str, Any]] = {}
        for entry in entries:
            for change in entry.changes:
                self._read(entry, change)

    def _read(self, entry: Entry, change: Change) -> None:
        if change.kind == "edge.begin":
            position = f"{change.body['edge_id']}@{change.body['version']}"
            self.edges[position] = {**change.body, "position": position, "begun": entry.revision, "ended": None}
        elif change.kind == "edges.end":
            for edge_id, version in change.body["edges"]:
                self.edges[f"{edge_id}@{version}"]["ended"] = entry.revision

    def current(self, *types: str) -> list[dict[str, Any]]:
        """Return the current edges of some types that are live."""
        return [
            each
            for each in self.edges.values()
            if each["ended"] is None and each["edge"] in types and each["valid_until"] > AT
        ]

    def upward(self, lower: str, *, joining: bool) -> list[str]:
        """Return whose authority `lower` can use: by a membership, or by what it was delegated or acts as."""
        if joining:
            return [each["to"] for each in self.current("ACTS_AS", "MEMBER_OF") if each["from"] == lower]
        delegated = [each["from"] for each in self.current("DELEGATES") if each["to"] == lower]
        return delegated + [each["to"] for each in self.current("ACTS_AS") if each["from"] == lower]

    def distances(self, subject: str) -> dict[str, int]:
        """Return everyone whose authority reaches `subject`, with the length of a shortest chain."""
        found: dict[tuple[str, bool], int] = {(subject, True): 0}
        queue = deque(found)
        while queue:
            name, joining = queue.popleft()
            steps = [(name, False, 0)] if joining else []
            steps += [(each, joining, 1) for each in self.upward(name, joining=joining)]
            for upper, still_joining, cost in steps:
                place = (upper, still_joining)
                if place not in found or found[name, joining] + cost < found[place]:
                    found[place] = found[name, joining] + cost
                    queue.append(place)
        return {name: length for (name, joining), length in found.items() if not joining}


@pytest.fixture
async def graph(request: pytest.FixtureRequest) -> AsyncIterator[Neo4jStore]:
    """A database with a realm that has a history."""
    made = await neo4j_store(request)
    ledger = await made.open()
    head = await ledger.head()
    for changes in History(11).commands(150):
        command = a_command(*changes, at=now(head)) if changes else a_command(at=now(head))
        await ledger.append(await ledger.head(), [command])
    yield made
    await made.aclose()


async def _log(graph: Neo4jStore) -> Log:
    return Log(await everything(await graph.open()))


def _ask(graph: Neo4jStore, name: str, **parameters: Any) -> list[dict[str, Any]]:
    return graph.server.query(STATEMENTS[name], **parameters)


@pytest.mark.feature("S25")
async def test_the_library_agrees_with_the_log(graph: Neo4jStore) -> None:
    """Grants on a resource, chains, reach, delegations, what was made under a right, and the graph as it was."""
    log = await _log(graph)

    for key in RESOURCES:
        assert [row["position"] for row in _ask(graph, "grants_on", key=key, at=AT)] == _grants_on(log, key)
    for principal in PRINCIPALS:
        chains = _ask(graph, "chains_to", principal_id=principal, at=AT)
        assert sorted((row["grant"], len(row["hops"])) for row in chains) == _chains_to(log, principal)
        assert all(set(row["hops"]) <= log.edges.keys() for row in chains)
        reached = [row["principal"] for row in _ask(graph, "reach_of", principal_id=principal, at=AT)]
        others = {each for each in PRINCIPALS if principal in log.distances(each)} - {principal}
        assert set(reached) - {principal} == others
        live = [row["position"] for row in _ask(graph, "live_delegations", principal_id=principal, at=AT)]
        assert live == _positions(each for each in log.current("DELEGATES") if principal in (each["from"], each["to"]))
    for position in log.edges:
        made = [row["position"] for row in _ask(graph, "made_under", position=position)]
        assert made == _positions(_made_under(log, position))
    for revision in (1, 40, 90, 150):
        then = [row["position"] for row in _ask(graph, "edges_at", revision=revision)]
        assert then == _positions(_at(log, revision))
        changed = [row["position"] for row in _ask(graph, "edges_changed", after=revision - 10, until=revision)]
        assert changed == _positions(_changed(log, revision - 10, revision))
    assert _history(graph, log) == _ended(log)


def _positions(edges: Iterable[dict[str, Any]]) -> list[str]:
    return sorted(each["position"] for each in edges)


def _grants_on(log: Log, key: str) -> list[str]:
    return _positions(each for each in log.current(*GRANTS) if _covers(each["to"].split(":"), key.split(":")))


def _covers(selector: Sequence[str], key: Sequence[str]) -> bool:
    return len(selector) <= len(key) and all(a in ("*", b) for a, b in zip(selector, key, strict=False))


def _chains_to(log: Log, principal: str) -> list[tuple[str, int]]:
    lengths = log.distances(principal)
    return sorted((each["position"], lengths[each["from"]]) for each in log.current(*GRANTS) if each["from"] in lengths)


def _made_under(log: Log, position: str) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    queue = [position]
    while queue:
        right = queue.pop()
        for each in log.edges.values():
            if each.get("under") == right and each["position"] not in found:
                found[each["position"]] = each
                queue.append(each["position"])
    return list(found.values())


def _at(log: Log, revision: int) -> list[dict[str, Any]]:
    return [
        each
        for each in log.edges.values()
        if each["begun"] <= revision and (each["ended"] is None or revision < each["ended"])
    ]


def _changed(log: Log, after: int, until: int) -> list[dict[str, Any]]:
    return [
        each
        for each in log.edges.values()
        if after < each["begun"] <= until or (each["ended"] is not None and after < each["ended"] <= until)
    ]


def _history(graph: Neo4jStore, log: Log) -> dict[str, Any]:
    rows = [
        row
        for edge_id in {each["edge_id"] for each in log.edges.values()}
        for row in _ask(graph, "history_of_edge", edge_id=edge_id)
    ]
    return {row["position"]: (row["revision_from"], row["revision_to"]) for row in rows}


def _ended(log: Log) -> dict[str, Any]:
    return {position: (each["begun"], each["ended"]) for position, each in log.edges.items()}


async def test_one_path_goes_from_a_receipt_to_the_root(request: pytest.FixtureRequest) -> None:
    """Also when the lease is released, the delegation revoked and its maker removed: names and versions of then."""
    graph = await neo4j_store(request)
    ledger = await graph.open()

    def edge(edge_id: str, kind: str, from_: str, to: str, **more: Any) -> Change:
        return Change("edge.begin", {"edge_id": edge_id, "version": 1, "edge": kind, "from": from_, "to": to, **more})

    await append(
        ledger,
        Change("principal.put", {"id": "controller:seo"}),
        edge("own", "OWNS", "controller:seo", "wp:post:*"),
        edge("right", "MAY_DELEGATE", "controller:seo", "role:seo"),
        edge("d-1", "DELEGATES", "controller:seo", "role:seo", under="right@1", scope={"fields": ["canonical"]}),
        edge("m-1", "ACTS_AS", "instance:old", "role:seo"),
    )
    proof = ["own@1", "d-1@1", "m-1@1"]
    lease = {"id": "l-1", "holder": "instance:old", "resource_key": "wp:post:1", "proof": proof}
    await append(ledger, Change("lease.put", lease))
    receipt = {"id": "r-1", "principal": "instance:old", "lease_id": "l-1", "proof": proof}
    ends = Change("edges.end", {"edges": [["d-1", 1], ["m-1", 1]], "cause": "removed"})
    gone = [Change("principal.end", {"id": "instance:old"}), Change("principal.put", {"id": "instance:old"})]
    await append(ledger, Change("lease.end", {"id": "l-1", "status": "RELEASED"}), Change("receipt.put", receipt))
    await append(ledger, ends, *gone)

    origin = _ask(graph, "origin_of", ref="receipt/r-1")
    rested = _ask(graph, "rests_on_edge", edge_id="right")
    leases = _ask(graph, "leases_on", key="wp:post:1")
    walked = graph.server.query(
        """
        MATCH (:Receipt {id: 'r-1'})-[:LEASE]->(lease:WasLease)
        MATCH (lease)-[:RESTS_ON]->(made:Delegation)-[:UNDER]->(right:Grant)-[:FROM]->(root:Principal)
        RETURN lease.id AS lease, made.position AS made, made.ended_by AS ended_by, right.position AS right,
               root.id AS root
        """
    )
    assert [(row["position"], row["from"], row["revision_to"]) for row in origin] == [
        ("own@1", "controller:seo", None),
        ("d-1@1", "controller:seo", 4),
        ("m-1@1", "instance:old", 4),
    ]
    assert rested == [
        {"evidence": "lease/l-1", "position": "d-1@1"},
        {"evidence": "receipt/r-1", "position": "d-1@1"},
    ]
    assert leases == [
        {"lease_id": "l-1", "holder": "instance:old", "revision_from": 2, "revision_to": 3, "status": "RELEASED"}
    ]
    assert walked == [
        {"lease": "l-1", "made": "d-1@1", "ended_by": "removed", "right": "right@1", "root": "controller:seo"}
    ]
    assert await ledger.check() == []
    await graph.aclose()


@pytest.mark.slow
async def test_a_chain_costs_what_the_graph_costs(request: pytest.FixtureRequest) -> None:
    """F077: where layers delegate all to all, a layer more costs a layer more, and no path costs next to nothing."""
    graph = await neo4j_store(request)
    ledger = await graph.open()
    assert isinstance(ledger, Neo4jLedger)
    width, depth = 8, 11
    names = [[f"instance:{layer}-{place}" for place in range(width)] for layer in range(depth)]
    pairs = [("controller:seo", name) for name in names[0]]
    pairs += [(one, two) for upper, lower in pairwise(names) for one in upper for two in lower]
    grant = {"edge_id": "own", "version": 1, "edge": "OWNS", "from": "controller:seo", "to": "wp:post:*"}
    made = [
        {"edge_id": f"d-{number}", "version": 1, "edge": "DELEGATES", "from": one, "to": two}
        for number, (one, two) in enumerate(pairs)
    ]
    lonely = Change("principal.put", {"id": "instance:lonely"})
    await append(ledger, lonely, *(Change("edge.begin", each) for each in (grant, *made)))
    await ledger.materialised()

    chain = _ask(graph, "chains_to", principal_id=names[9][3], at=AT)
    nothing = _ask(graph, "chains_to", principal_id="instance:lonely", at=AT)

    assert [(row["grant"], len(row["hops"])) for row in chain] == [("own@1", 10)]
    assert nothing == []
    costs = [_cost(graph, names[layer][3]) for layer in (8, 9, 10)]
    assert costs[1] <= 1.5 * costs[0]
    assert costs[2] <= 1.5 * costs[1]
    assert _cost(graph, "instance:lonely") < costs[0]
    await graph.aclose()


def _cost(graph: Neo4jStore, principal: str) -> int:
    """Return the database hits of a chain query."""
    with GraphDatabase.driver(graph.server.url, auth=graph.server.auth, notifications_min_severity="OFF") as driver:
        done = driver.execute_query("PROFILE " + STATEMENTS["chains_to"], {"principal_id": principal, "at": AT})
    return _hits(done.summary.profile)


def _hits(plan: Any) -> int:
    return int(plan.get("dbHits", 0)) + sum(_hits(child) for child in plan.get("children", []))


def test_each_query_for_people_has_a_sentence() -> None:
    """Name, sentence and named parameters: what a person needs to run it in a browser."""
    assert [each.name for each in library()] == [
        "chains_to",
        "live_delegations",
        "grants_on",
        "reach_of",
        "made_under",
        "rests_on_edge",
        "origin_of",
        "history_of_edge",
        "edges_at",
        "edges_changed",
        "leases_on",
    ]
    assert [each.name for each in library() if not each.sentence.rstrip().endswith(".")] == []
