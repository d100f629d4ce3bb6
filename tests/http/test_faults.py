"""Faults of other systems that must not happen here, over HTTP (shared/cases/faults.md, by number)."""

from __future__ import annotations

import asyncio
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from remit_graph.model.instant import format_instant
from remit_service.bundle.folder import shipped_policy
from remit_service.evidence.decision_log.chain import verify
from remit_service.evidence.decision_log.files import FileSink
from tests.http.questions import DENIED, EVALUATION, EVALUATIONS, PERMITTED
from tests.http.serving import serve, stopped_later
from tests.support.process import wait_until
from tests.support.scenario.faults import break_engine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.http.serving import Served

WORLD = """\
realm: faults
root: ["organization:root"]
resource_types:
  wp:post: {key: "wp:post:{id}", concurrency: APPEND_ONLY}
actions:
  DELETE_POST: {class: write, domain: CONTENT_BODY}
  READ_POST:   {class: read}
principals:
  - {id: "organization:root"}
  - {id: "instance:seo-7", trust: 3}
  - {id: "instance:plain-1", trust: 3}
grants:
  - {edge_id: delete, edge: MAY_WRITE, from: "instance:seo-7", to: "wp:post:*",
     scope: {actions: [DELETE_POST], conditions: [{attribute: mfa, equals: true}]}}
  - {edge_id: read-editors, edge: MAY_READ, from: "instance:seo-7", to: "wp:post:*",
     scope: {actions: [READ_POST], conditions: [{attribute: subject.roles, equals: editor}]}}
enforcement_points:
  - {id: "service:gateway", identities: ["key:gateway"], speaks_for: ["instance:*"],
     trusted: [mfa, subject.roles], visibility: full}
  - {id: "service:other", identities: ["key:other"], speaks_for: ["instance:*"], visibility: full}
"""


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A small world in which one may delete with a second factor."""
    folder = tmp_path_factory.mktemp("faults")
    world = folder / "faults.yaml"
    world.write_text(WORLD)
    yield from stopped_later(serve(folder, world, keys=("gateway", "other")))


def question(action: str = "DELETE_POST", /, **context: Any) -> dict[str, Any]:
    """Return the question of `instance:seo-7` about a post."""
    return {
        "subject": {"type": "instance", "id": "seo-7"},
        "action": {"name": action},
        "resource": {"type": "wp:post", "id": "1024"},
        "context": context,
    }


def ask(served: Served, key: str, body: dict[str, Any]) -> tuple[bool, list[str]]:
    """Return the boolean and the codes of an answer."""
    answer = served.client(key).post(EVALUATION, json=body).json()
    return answer["decision"], [each["code"] for each in answer["context"]["reasons"]]


def records(served: Served, request_id: str) -> list[dict[str, Any]]:
    """Return what the decision log holds on disk about a call."""
    lines = [line for path in sorted(log_folder(served).glob("*.jsonl")) for line in path.read_text().splitlines()]
    found = [json.loads(line) for line in lines]
    return [each for each in found if each.get("request_id") == request_id]


def log_folder(served: Served) -> Path:
    """Return the folder of the decision log."""
    return Path(served.settings.decision_log.removeprefix("file:"))


@pytest.mark.feature("S22")
def test_f007_every_part_of_the_question_counts(faults: Served) -> None:
    """With the second factor, with a false one and without: three questions, three answers, in one breath."""
    client = faults.client("gateway")
    bodies = [question(mfa=True), question(mfa=False), question()]

    answers = [client.post(EVALUATION, json=body).json() for body in bodies * 2]

    assert [each["decision"] for each in answers] == [True, False, False] * 2
    codes = [[reason["code"] for reason in each["context"]["reasons"]] for each in answers[:3]]
    assert codes == [[], ["condition_not_met"], ["condition_not_met"]]


@pytest.mark.feature("S13")
def test_f009_what_one_brings_along_reaches_no_other(faults: Served) -> None:
    """Roles that one caller sends change neither its own answer nor that of another at the same time."""
    claiming = {
        **question("READ_POST"),
        "subject": {"type": "instance", "id": "seo-7", "properties": {"roles": "editor"}},
    }

    async def both() -> list[httpx.Response]:
        async with httpx.AsyncClient(base_url=faults.url, verify=False) as client:  # noqa: S501 - plain HTTP
            calls = [
                client.post(EVALUATION, json=body, headers={"Authorization": f"Bearer {faults.keys[key]}"})
                for key, body in [("gateway", claiming), ("other", question("READ_POST"))] * 10
            ]
            return await asyncio.gather(*calls)

    answers = [reply.json() for reply in asyncio.run(both())]

    assert {each["decision"] for each in answers} == {False}
    assert {each["context"]["reasons"][0]["code"] for each in answers} == {"condition_not_met"}


def test_f014_equal_questions_with_other_options_stay_apart(faults: Served) -> None:
    """25 of 50 are explained, the others are not; one that is given up and one without time end alone."""

    async def all_of_them() -> list[httpx.Response | BaseException]:
        headers = {"Authorization": f"Bearer {faults.keys['gateway']}"}
        async with httpx.AsyncClient(base_url=faults.url, headers=headers, verify=False, timeout=30) as client:  # noqa: S501
            calls = [
                asyncio.create_task(client.post(EVALUATION, json=question(**context)))
                for context in [{"mfa": True, "explain": True}, {"mfa": True}] * 25
            ]
            calls.append(asyncio.create_task(client.post(EVALUATION, json=question(mfa=True))))
            calls.append(asyncio.create_task(client.post(EVALUATION, json=question(mfa=True), timeout=0.005)))
            await asyncio.sleep(0.001)
            calls[50].cancel()
            return await asyncio.gather(*calls, return_exceptions=True)

    replies = asyncio.run(all_of_them())

    explained = [
        "explanation" in reply.json()["context"] for reply in replies[:50] if isinstance(reply, httpx.Response)
    ]
    assert explained == [True, False] * 25
    assert isinstance(replies[50], asyncio.CancelledError)
    assert isinstance(replies[51], httpx.Response | httpx.TimeoutException)


def test_f018_the_instant_is_the_service_s_own(faults: Served) -> None:
    """A time in the context changes nothing; an earlier moment is refused, and marked where it is explained."""
    earlier = format_instant(faults.point.now() - 3_600_000_000)
    answers = [ask(faults, "gateway", question(mfa=False, **{name: earlier})) for name in ("now", "time", "at")]
    refused = faults.client("gateway").post(EVALUATION, json=question(mfa=True, consistency={"as_of": earlier}))
    started = format_instant(faults.point.view.at)
    explained = faults.client("gateway").post("/v1/explain", json={**question(mfa=True), "as_of": started}).json()

    assert answers == [(False, ["condition_not_met"])] * 3
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, "#/context/consistency")
    assert (explained["enforceable"], explained["decision"], explained["at"]) == (False, True, started)
    assert "lease" not in explained["context"]


def test_f047_no_permit_without_the_record_it_must_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where writes have to be recorded, a full disk denies them within the bound, and nothing else; then they go on."""
    policy, world = tmp_path / "policy", tmp_path / "faults.yaml"
    shutil.copytree(shipped_policy(), policy)
    data = policy / "remit" / "config" / "data.yaml"
    data.write_text(data.read_text().replace("record_required: []", "record_required: [write]"))
    world.write_text(WORLD)
    served = serve(tmp_path, world, keys=("gateway",), policy_dir=policy, decision_log_wait_seconds=0.2)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = ask(served, "gateway", question(mfa=True))
    monkeypatch.setattr(FileSink, "_write", full)
    during = [ask(served, "gateway", question(mfa=True)), ask(served, "gateway", question("READ_POST"))]
    warnings = served.client().get("/health/ready").json()["warnings"]
    monkeypatch.undo()
    wait_until(lambda: ask(served, "gateway", question(mfa=True)) == (True, []))
    served.stop()

    assert before == (True, [])
    assert during == [(False, ["decision_log_unavailable"]), (False, ["condition_not_met"])]
    assert warnings[0].startswith("the decision log cannot write: ")
    verify(line for path in sorted(log_folder(served).glob("*.jsonl")) for line in path.read_bytes().splitlines())


def test_f048_a_call_that_fails_leaves_a_record(faults: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A body cut off, an engine that fails, and a view that is too old: three calls, three records under their ids."""
    client = faults.client("gateway")
    headers = {"X-Request-ID": "f048-a", "Content-Type": "application/json"}
    cut = client.post(EVALUATION, content=b'{"subject":', headers=headers)
    policy = faults.point.policy
    faults.point.policy = replace(policy, engine=break_engine("engine_unavailable", policy))
    broken = client.post(EVALUATION, json=question(mfa=True), headers={"X-Request-ID": "f048-b"}).json()
    faults.point.policy = policy
    monkeypatch.setattr(faults.point.replica, "staleness_seconds", lambda: 60.0)
    stale = client.post(EVALUATION, json=question(mfa=True), headers={"X-Request-ID": "f048-c"}).json()
    monkeypatch.undo()

    assert (cut.status_code, cut.json()["code"]) == (400, "malformed_request")
    assert (broken["decision"], broken["context"]["reasons"][0]["code"]) == (False, "engine_unavailable")
    assert (stale["decision"], stale["context"]["reasons"][0]["code"]) == (False, "authority_stale")
    for request_id in ("f048-a", "f048-b", "f048-c"):
        wait_until(lambda request_id=request_id: len(records(faults, request_id)) == 1)  # type: ignore[misc]
    assert records(faults, "f048-a")[0]["error"]["code"] == "malformed_request"
    assert [records(faults, each)[0]["result"]["fault"] for each in ("f048-b", "f048-c")] == [True, True]


def test_f049_more_than_single_evaluations_is_recorded(faults: Served) -> None:
    """An explanation leaves one record, a batch of three leaves three that are joined by its id."""
    client = faults.client("gateway")
    client.post("/v1/explain", json=question(mfa=True), headers={"X-Request-ID": "f049-explain"})
    body = {**question(mfa=True), "evaluations": [{}, {"context": {}}, {"resource": 7}]}
    client.post(EVALUATIONS, json=body, headers={"X-Request-ID": "f049-batch"})

    wait_until(lambda: len(records(faults, "f049-batch")) == 3 and len(records(faults, "f049-explain")) == 1)
    batch = records(faults, "f049-batch")
    assert [each["kind"] for each in records(faults, "f049-explain")] == ["explain"]
    assert len({each["batch_id"] for each in batch}) == 1
    assert [each["batch_index"] for each in batch] == [0, 1, 2]
    assert [each["kind"] for each in batch] == ["decision", "decision", "refused_request"]


def test_f046_a_decision_is_found_by_its_id(seo: Served) -> None:
    """What was decided, on what, by whom and why can be fetched later, from memory or from disk."""
    answer = seo.client("gateway").post(EVALUATION, json=DENIED, headers={"X-Request-ID": "f046"}).json()
    decision_id = answer["context"]["decision_id"]
    wait_until(lambda: len(records(seo, "f046")) == 1)

    kept = seo.client("gateway").get(f"/v1/decisions/{decision_id}").json()
    seo.log.scribe._kept.clear()
    stored = seo.client("gateway").get(f"/v1/decisions/{decision_id}").json()

    chain = stored.pop("chain")
    assert stored == kept
    assert chain["stream"] == "remit"
    assert stored["subject"] == DENIED["subject"]
    assert [each["code"] for each in stored["result"]["reasons"]] == ["scope_not_covered", "not_owner"]
    assert stored["input"]["near_misses"][0]["hops"]
    assert stored["input_digest"].startswith("sha256:")


def test_records_are_for_those_who_see_the_graph(seo: Served) -> None:
    """An enforcement point with `codes` may not read what redaction keeps from it elsewhere."""
    answer = seo.client("gateway").post(EVALUATION, json=PERMITTED).json()
    paths = ["/v1/decisions", f"/v1/decisions/{answer['context']['decision_id']}", "/v1/graph/summary"]

    replies = [seo.client("edge").get(path) for path in paths]

    assert [(reply.status_code, reply.json()["code"]) for reply in replies] == [(403, "forbidden")] * 3
    assert seo.client("gateway").get("/v1/decisions/dec_0").status_code == 404
    assert seo.client("gateway").get("/v1/decisions?limit=0").status_code == 400
