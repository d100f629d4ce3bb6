"""Search over HTTP: the interop scenario, what its answers look like, its pages, and what each leaves in the log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.model.change import Change
from remit_service.http.limits import InFlight, Readings
from remit_service.http.problems import ProblemError
from remit_service.writer.command import Accepted, Submission
from tests.http.questions import PERMITTED
from tests.http.serving import serve, stopped_later
from tests.support.process import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import httpx

    from tests.http.serving import Served

VECTORS = json.loads(Path("fixtures/vectors/authzen_search.json").read_text(encoding="utf-8"))
SEARCH = "/access/v1/search"
WORLD = """\
realm: pages
root: ["organization:root"]
dimensions: []
resource_types:
  doc: {key: "doc:{id}", concurrency: APPEND_ONLY}
  box: {key: "box:{id}", concurrency: WRITE_EXCLUSIVE, fields: {lid: {domain: CONTENT_BODY, merge: exclusive}}}
actions:
  READ:  {class: read}
  WRITE: {class: write, domain: CONTENT_BODY}
  OPEN:  {class: write, fields: [lid]}
principals:
  - {id: "organization:root"}
  - {id: "instance:a", trust: 3}
  - {id: "instance:b", trust: 3}
resources:
%RESOURCES%
grants:
  - {edge_id: all-docs, edge: MAY_READ, from: "instance:a", to: "doc:*", scope: {actions: [READ]}}
  - {edge_id: open-boxes, edge: MAY_WRITE, from: "instance:a", to: "box:*", scope: {actions: [OPEN]}}
  - {edge_id: one-doc, edge: MAY_READ, from: "instance:b", to: "doc:007", scope: {actions: [READ]}}
enforcement_points:
  - {id: "service:gateway", identities: ["key:gateway"], speaks_for: ["instance:*"], visibility: full}
  - {id: "service:narrow", identities: ["key:narrow"], speaks_for: ["instance:b"], response: decision}
"""
DOCS = {"subject": {"type": "instance", "id": "a"}, "action": {"name": "READ"}, "resource": {"type": "doc"}}
READERS = {
    "subject": {"type": "instance"}, "action": {"name": "READ"}, "resource": {"type": "doc", "id": "007"},
}  # fmt: skip


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A hundred documents that one instance may read, and a box that wants to be coordinated."""
    folder = tmp_path_factory.mktemp("pages")
    keys = [f"doc:{number:03}" for number in range(100)] + ["box:1"]
    world = folder / "pages.yaml"
    world.write_text(WORLD.replace("%RESOURCES%", "\n".join(f'  - {{key: "{each}"}}' for each in keys)))
    yield from stopped_later(serve(folder, world, keys=("gateway", "narrow"), decision_log=f"file:{folder / 'log'}"))


@pytest.fixture(scope="session")
def interop(start: Callable[..., Served]) -> Served:
    """The search scenario; its gateway takes bare entities."""
    return start("authzen_search", keys=("search-gateway",))


def find(client: httpx.Client, kind: str, body: dict[str, Any], **page: Any) -> Any:
    """Search, and return the body of the answer."""
    reply = client.post(f"{SEARCH}/{kind}", json=body | ({"page": page} if page else {}))
    assert reply.status_code == 200, reply.text
    return reply.json()


def all_pages(client: httpx.Client, body: dict[str, Any], limit: int) -> list[list[str]]:
    """Follow the tokens of a resource search to the end; return the ids page by page."""
    answer = find(client, "resource", body, limit=limit)
    found = [[each["id"] for each in answer["results"]]]
    while answer["page"]["next_token"]:
        answer = find(client, "resource", body, token=answer["page"]["next_token"])
        found.append([each["id"] for each in answer["results"]])
    return found


def test_every_search_of_the_interop_scenario(interop: Served) -> None:
    """All 213 searches list what they must, as text, as the published runners compare after sorting."""
    client = interop.client("search-gateway")

    replies = [client.post(f"{SEARCH}/{each['kind']}", json=each["request"]).text for each in VECTORS["search"]]

    assert [_sorted(each) for each in replies] == [_sorted(json.dumps(each["expected"])) for each in VECTORS["search"]]
    assert len(replies) == 213
    assert all(each.startswith('{"results":[') for each in replies)


def _sorted(text: str) -> list[str]:
    return sorted(json.dumps(each) for each in json.loads(text)["results"])


def test_every_decision_of_the_interop_scenario(interop: Served) -> None:
    """All 364 single questions and 6 batches of the same scenario get the promised booleans."""
    client = interop.client("search-gateway")
    singles = [
        client.post("/access/v1/evaluation", json=each["request"]).json()["decision"] for each in VECTORS["evaluation"]
    ]
    batches = [client.post("/access/v1/evaluations", json=each["request"]).json() for each in VECTORS["evaluations"]]

    assert singles == [each["expected"] for each in VECTORS["evaluation"]]
    assert [each.get("evaluations", each) for each in batches] == [each["expected"] for each in VECTORS["evaluations"]]
    assert (len(singles), len(batches)) == (364, 6)


def test_an_answer_has_its_members_in_order(pages: Served) -> None:
    """The page comes first, then the context, then the results; who takes bare entities gets no context."""
    full = pages.client("gateway").post(f"{SEARCH}/subject", json={**READERS, "page": {}})
    bare = pages.client("narrow").post(f"{SEARCH}/subject", json=READERS)

    revision = pages.point.revision_token()
    assert full.text == (
        '{"page":{"next_token":"","count":2},'
        f'"context":{{"complete":true,"revision":"{revision}"}},'
        '"results":[{"type":"instance","id":"a"},{"type":"instance","id":"b"}]}'
    )
    assert bare.text == '{"results":[{"type":"instance","id":"b"}]}'


def test_an_enforcement_point_finds_those_it_speaks_for(pages: Served) -> None:
    """A search lists nobody whom a single question of the same caller would deny."""
    answer = find(pages.client("narrow"), "subject", READERS)

    assert answer == {"results": [{"type": "instance", "id": "b"}]}


@pytest.mark.parametrize(
    ("kind", "body", "pointer"),
    [
        ("subject", {**READERS, "subject": {}}, "/subject/type"),
        ("subject", {**READERS, "subject": {"type": 7}}, "/subject/type"),
        ("subject", {**READERS, "resource": {"type": "doc"}}, "/resource/id"),
        ("resource", {**DOCS, "resource": []}, "/resource"),
        ("resource", {**DOCS, "action": {"name": 1}}, "/action/name"),
        ("resource", {**DOCS, "page": {"limit": -1}}, "/page/limit"),
        ("resource", {**DOCS, "page": {"limit": True}}, "/page/limit"),
        ("resource", {**DOCS, "page": {"token": 1}}, "/page/token"),
        ("resource", {**DOCS, "page": 1}, "/page"),
        ("resource", {**DOCS, "context": {"consistency": {"as_of": "2026-01-01T00:00:00Z"}}}, "/context/consistency"),
        ("action", {"subject": DOCS["subject"]}, "/resource"),
    ],
)
def test_a_malformed_search_is_refused_at_its_place(
    pages: Served, kind: str, body: dict[str, Any], pointer: str
) -> None:
    """What is missing or of another type is 400 with the pointer to it; no search looks at an earlier moment."""
    reply = pages.client("gateway").post(f"{SEARCH}/{kind}", json=body)

    assert (reply.status_code, [each["pointer"] for each in reply.json()["errors"]]) == (400, [f"#{pointer}"])


@pytest.mark.parametrize(("limit", "sizes"), [(99, [99, 1]), (100, [100]), (101, [100]), (40, [40, 40, 20])])
def test_pages_hold_each_key_once(pages: Served, limit: int, sizes: list[int]) -> None:
    """Whether the limit is one less, the same or one more, each key comes once and the end is an empty token (F045)."""
    found = all_pages(pages.client("gateway"), DOCS, limit)

    assert [len(each) for each in found] == sizes
    assert [each for page in found for each in page] == [f"{number:03}" for number in range(100)]


def test_a_page_that_was_cut_says_so(pages: Served) -> None:
    """A cut list says that it is one, why, and where to go on (F043)."""
    answer = find(pages.client("gateway"), "resource", DOCS, limit=10)

    assert (answer["context"]["complete"], answer["context"]["cause"], answer["page"]["count"]) == (False, "limit", 10)
    assert answer["page"]["next_token"]


def test_a_token_serves_its_own_search_alone(pages: Served) -> None:
    """A flipped byte, another action, another caller, another limit: each is 400 and none a failure (F045)."""
    client = pages.client("gateway")
    token = find(client, "resource", DOCS, limit=10)["page"]["next_token"]
    flipped = ("B" if token[0] == "A" else "A") + token[1:]
    bodies = [
        {**DOCS, "page": {"token": flipped}},
        {**DOCS, "page": {"token": "no token"}},
        {**DOCS, "action": {"name": "WRITE"}, "page": {"token": token}},
        {**DOCS, "context": {"a": 1}, "page": {"token": token}},
    ]

    replies = [client.post(f"{SEARCH}/resource", json=each) for each in bodies]
    replies.append(pages.client("narrow").post(f"{SEARCH}/resource", json={**DOCS, "page": {"token": token}}))

    assert [each.status_code for each in replies] == [400] * 5
    assert {each.json()["errors"][0]["pointer"] for each in replies} == {"#/page/token"}
    wider = client.post(f"{SEARCH}/resource", json={**DOCS, "page": {"token": token, "limit": 11}})
    assert (wider.status_code, wider.json()["errors"][0]["pointer"]) == (400, "#/page/limit")
    assert find(client, "resource", DOCS, token=token, limit=10)["page"]["count"] == 10


def test_later_pages_answer_for_the_first_ones_revision(pages: Served) -> None:
    """A revocation between two pages shows in no page of the search that began before it (F045)."""
    client = pages.client("gateway")
    first = find(client, "resource", DOCS, limit=10)
    record = pages.point.view.edges["all-docs"].record()

    append(pages, Change("edges.end", {"edges": [["all-docs", 1]], "cause": "revoked"}))
    second = find(client, "resource", DOCS, token=first["page"]["next_token"])
    anew = find(client, "resource", DOCS)
    append(pages, Change("edge.begin", {**record, "version": 2}))

    assert [each["id"] for each in second["results"]] == [f"{number:03}" for number in range(10, 20)]
    assert second["context"]["revision"] == first["context"]["revision"]
    assert anew["results"] == []
    assert anew["context"]["revision"] != first["context"]["revision"]


def test_a_search_can_ask_for_freshness(pages: Served) -> None:
    """A search catches up with the ledger where its context says so, and does not answer for a foreign revision."""
    client = pages.client("gateway")
    fresh = find(client, "subject", {**READERS, "context": {"consistency": "fully_consistent"}})
    foreign = {**READERS, "context": {"consistency": {"at_least_as_fresh": "bm8uMS41"}}}
    reply = client.post(f"{SEARCH}/subject", json=foreign)

    assert [each["id"] for each in fresh["results"]] == ["a", "b"]
    assert (reply.status_code, reply.json()["code"]) == (409, "revision_foreign")


def test_a_search_of_remits_own_says_what_decisions_come_to(pages: Served) -> None:
    """What can be begun is listed beside what can be done at once, and no result is enforceable."""
    boxes = {"kind": "resource", **DOCS, "action": {"name": "OPEN"}, "resource": {"type": "box"}}
    client = pages.client("gateway")

    found = client.post("/v1/search", json=boxes).json()
    denied = client.post("/v1/search", json={**boxes, "action": {"name": "WRITE"}, "outcomes": ["deny"]}).json()
    strict = find(client, "resource", boxes)

    assert found["results"] == [{"type": "box", "id": "1", "outcome": "acquire"}]
    assert [found["enforceable"], found["context"]["complete"]] == [False, True]
    assert [each["outcome"] for each in denied["results"]] == ["deny"]
    assert strict["results"] == []


def test_an_earlier_moment_is_searched_as_it_was(pages: Served) -> None:
    """A search names an earlier revision or instant, and pages of it stay there (S25)."""
    before = pages.point.view.revision
    append(pages, Change("resource.put", {"key": "doc:new"}))
    client = pages.client("gateway")
    body = {"kind": "resource", **DOCS, "page": {"limit": 60}}

    now = client.post("/v1/search", json=body).json()
    first = client.post("/v1/search", json={**body, "at_revision": before}).json()
    token = {"page": {"token": first["page"]["next_token"]}, "at_revision": before}
    second = client.post("/v1/search", json={**body, **token}).json()
    elsewhen = client.post("/v1/search", json={**body, **token, "at_revision": before - 1})
    both = client.post("/v1/search", json={**body, "at_revision": 1, "as_of": "2026-01-01T00:00:00Z"})

    assert now["context"]["revision"] == pages.point.revision_token()
    assert {first["context"]["revision"], second["context"]["revision"]} == {pages.point.revision_token(before)}
    assert len(first["results"]) + len(second["results"]) == 100
    assert (elsewhen.status_code, both.status_code) == (400, 400)


@pytest.mark.parametrize(
    ("more", "pointer"),
    [
        ({"kind": "everything"}, "/kind"),
        ({"outcomes": []}, "/outcomes"),
        ({"outcomes": ["execute", "maybe"]}, "/outcomes/1"),
        ({"at_revision": 10_000}, "/at_revision"),
    ],
)
def test_a_malformed_search_of_remits_own_is_refused(pages: Served, more: dict[str, Any], pointer: str) -> None:
    """Kind, outcomes and moment are read strictly."""
    reply = pages.client("gateway").post("/v1/search", json={"kind": "resource", **DOCS, **more})

    assert (reply.status_code, [each["pointer"] for each in reply.json()["errors"]]) == (400, [f"#{pointer}"])


def test_each_question_leaves_its_record(pages: Served) -> None:
    """Two searches, an explanation and a batch of three leave six records that say who asked what (F049)."""
    client = pages.client("gateway")
    marks = {"X-Request-ID": "f049"}
    secret = {**DOCS, "context": {"token": "s3cret"}, "page": {"limit": 10}}
    question = {**DOCS, "resource": {"type": "doc", "id": "001"}}
    client.post(f"{SEARCH}/resource", json=secret, headers=marks)
    client.post(f"{SEARCH}/subject", json=READERS, headers=marks)
    client.post("/v1/explain", json=question, headers=marks)
    client.post("/access/v1/evaluations", json={**question, "evaluations": [{}, {}, {}]}, headers=marks)

    records = recorded(pages, "f049", 6)

    assert [each["kind"] for each in records] == ["search", "search", "explain", "decision", "decision", "decision"]
    assert len({each["batch_id"] for each in records[3:]}) == 1
    assert records[0]["caller"]["point"] == "service:gateway"
    assert records[0]["question"] == {
        "subject": {"type": "instance", "id": "a"}, "action": {"name": "READ"}, "resource": {"type": "doc"},
        "context": {},
    }  # fmt: skip
    assert (records[0]["results"]["count"], records[0]["complete"], records[0]["cause"]) == (10, False, "limit")
    assert records[0]["results"]["digest"] != records[1]["results"]["digest"]
    assert {each["revision"] for each in records} == {pages.point.view.revision}


def test_searches_give_way_to_decisions(pages: Served) -> None:
    """With many requests in work, searches and explanations are turned away and decisions are not (rules.md 14)."""
    service = pages.app.service
    service.in_flight.count += service.in_flight.limit // 2 + 1
    try:
        search = pages.client("gateway").post(f"{SEARCH}/subject", json=READERS)
        explanation = pages.client("gateway").post("/v1/explain", json=PERMITTED)
        decision = pages.client("gateway").post("/access/v1/evaluation", json=PERMITTED)
    finally:
        service.in_flight.count -= service.in_flight.limit // 2 + 1

    assert [search.status_code, explanation.status_code, decision.status_code] == [503, 503, 200]
    assert search.json()["code"] == "overloaded"


def test_searches_are_few_at_once() -> None:
    """Beyond their own bound searches are turned away, however little else there is to do."""
    readings = Readings(2, InFlight(1_000))

    with readings, readings, pytest.raises(ProblemError), readings:
        pass
    with readings:
        pass


def append(served: Served, *changes: Change) -> None:
    """Append changes as a command of the process itself."""
    verdict = Accepted(changes=changes, result={})
    submission = Submission(action="TEST", actor="system", decide=lambda _view, _at: verdict)
    served.run(lambda: served.point.submit(submission))


def recorded(served: Served, request_id: str, count: int) -> list[dict[str, Any]]:
    """Return the records of a request id, in order, once there are `count`."""
    folder = Path(served.settings.decision_log.removeprefix("file:"))

    def found() -> list[dict[str, Any]]:
        # The line that is being written has no end yet.
        whole = [each.read_text().rpartition("\n")[0] for each in sorted(folder.rglob("*.jsonl"))]
        lines = [line for text in whole for line in text.splitlines()]
        # By the member: a short id also stands somewhere in the digests of other records, now and then.
        return [each for each in map(json.loads, lines) if each.get("request_id") == request_id]

    wait_until(lambda: len(found()) >= count)
    return found()
