"""A batch is done whole or not at all, and what follows from a command is never counted against it (F040)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.model.change import Change
from remit_graph.model.instant import SECOND, format_instant
from remit_service.writer.command import Accepted, Submission
from tests.http.serving import serve, stopped_later
from tests.support.process import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from tests.http.serving import Served

CHIEF = {"actor": "human:chief"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service of this module's own."""
    folder = tmp_path_factory.mktemp("limits")
    yield from stopped_later(serve(folder, Path("fixtures/worlds/seo.yaml"), keys=("gateway",)))


def revision(client: httpx.Client) -> int:
    """Return the number of the newest revision."""
    return int(client.get("/v1/graph/summary").json()["revision_number"])


def grants(name: str, count: int) -> dict[str, Any]:
    """Return a command that makes so many grants."""
    made = [
        {"edge_id": f"{name}-{number}", "edge": "MAY_READ", "from": "role:analyst", "to": f"wp:post:{number}"}
        for number in range(count)
    ]
    return {"grants": made, **CHIEF}


@pytest.mark.feature("S27")
def test_a_thousand_grants_are_one_revision_and_one_more_is_refused(served: Served) -> None:
    """At the limit it is one append; above it the limit and the count are named, and nothing is stored."""
    client = served.client("gateway")
    before = revision(client)

    made = client.post("/v1/grants", json=grants("many", 1_000))
    after = revision(client)
    refused = client.post("/v1/grants", json=grants("more", 1_001))

    assert (made.status_code, after) == (201, before + 1)
    assert len(made.json()["grants"]) == 1_000
    assert (refused.status_code, refused.json()["code"]) == (400, "limit_exceeded")
    assert (refused.json()["maximum"], refused.json()["count"]) == (1_000, 1_001)
    assert revision(client) == after
    assert client.get("/v1/graph/edges/more-0").status_code == 404


@pytest.mark.feature("S33")
def test_the_feed_tells_an_end_by_time_from_a_revocation(served: Served) -> None:
    """F019: one revocation is in it, once, with actor and reason, also after a reconnect; what expired never is."""
    client = served.client("gateway")
    start = revision(client)
    soon = served.point.now() + SECOND
    for name, until in (("feed-1", soon), ("feed-2", None)):
        body = {"edge_id": name, "edge": "MAY_READ", "from": "role:analyst", "to": "wp:post:1", **CHIEF}
        window = {"valid_until": format_instant(until)} if until is not None else {}
        assert client.post("/v1/grants", json={**body, **window}).status_code == 201
    wait_until(lambda: served.point.now() > soon)
    revoked = client.post("/v1/revocations", json={"target": {"edge_id": "feed-2"}, "reason": "ticket 7", **CHIEF})
    assert revoked.status_code == 200

    feed = lines(client, start)
    again = lines(client, feed[-1]["token"])

    ends = [
        (entry, change)
        for entry in feed
        for change in entry["changes"]
        if change["kind"] == "edges.end"
    ]  # fmt: skip
    assert [change["body"]["edges"] for _, change in ends] == [[["feed-2", 1]]]
    ((entry, change),) = ends
    assert (change["body"]["cause"], entry["actor"], entry["reason"]) == ("revoked", "human:chief", "ticket 7")
    assert [each for each in again if any(change["kind"] == "edges.end" for change in each["changes"])] == []


@pytest.mark.feature("S33")
def test_a_revocation_of_more_than_a_command_takes_ends_all_of_it(served: Served) -> None:
    """1,001 delegations below one, in one revision; success with a rest left over would be a fault."""
    client = served.client("gateway")
    agents = [f"instance:many-{number}" for number in range(1_001)]
    declared = tuple(Change("principal.put", {"id": each, "trust": 2}) for each in agents)
    fleet = Submission(action="TEST", actor="system", decide=lambda *_: Accepted(changes=declared, result={}))
    served.run(lambda: served.point.submit(fleet))
    scope = {"actions": ["UPDATE_CANONICAL"], "resources": ["wp:post:1024"]}
    below = [
        {"delegation_id": f"below-{number}", "delegator": "role:seo-agent", "delegate": each, "scope": scope,
         "max_depth": 0, "under": "del_882"}
        for number, each in enumerate(agents)
    ]  # fmt: skip
    for part in (below[:1_000], below[1_000:]):
        reply = client.post("/v1/delegations", json={"delegations": part, "actor": "instance:seo-agent-7"})
        assert reply.status_code == 201, reply.text
    before = revision(client)

    done = client.post("/v1/revocations", json={"target": {"delegation_id": "del_882"}, "reason": "all", **CHIEF})

    assert done.status_code == 200, done.text
    assert revision(client) == before + 1
    ended = set(done.json()["ended"]["delegations"])
    assert {"del_882", *(each["delegation_id"] for each in below)} <= ended
    assert done.json()["counts"]["delegations"] == len(ended)
    assert not [each for each in served.point.view.edges if each.startswith("below-")]


def lines(client: httpx.Client, after: object) -> list[dict[str, Any]]:
    """Return the revisions after one, as the feed tells them."""
    reply = client.get("/v1/changes", params={"after": str(after), "kinds": "edge,edges"})
    assert reply.status_code == 200, reply.text
    return [json.loads(each) for each in reply.text.splitlines()]
