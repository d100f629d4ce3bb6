"""The sixteen questions before a mutation (S03), answered as data by one explanation of a recorded decision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from remit_service.cli.app import app
from tests.http.serving import finish, serve, stopped_later
from tests.support.process import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.http.serving import Served

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"
POST = "wp:post:1024"
AGENT = {"type": "instance", "id": "seo-agent-7"}
QUESTION = {"action": {"name": "UPDATE_CANONICAL"}, "resource": {"type": "wp:post", "id": "1024"}}
SAID = {"risk": "LOW", "environment": "production", "expected_version": "v1", "resource_version": "v1"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The content platform, with a gateway that sees the graph and one that does not."""
    folder = tmp_path_factory.mktemp("sixteen")
    yield from stopped_later(serve(folder, SEO, keys=("gateway", "edge")))


def post(served: Served, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Post as the gateway, which must succeed."""
    reply = served.client("gateway").post(path, json=body)
    assert reply.is_success, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


def decide(served: Served, subject: dict[str, str], **context: Any) -> dict[str, Any]:
    """Ask for a write of the canonical link; returns the context of the answer."""
    answer = post(served, "/access/v1/evaluation", {"subject": subject, **QUESTION, "context": {**SAID, **context}})
    found: dict[str, Any] = answer["context"]
    return found


def explained(served: Served, decision_id: str) -> tuple[dict[str, Any], dict[int, Any]]:
    """Explain a recorded decision; returns the document, and the sixteen answers by their number."""
    reply = served.client("gateway").get(f"/v1/decisions/{decision_id}/explanation")
    assert reply.status_code == 200, reply.text
    document = reply.json()
    questions = document["context"]["explanation"]["questions"]
    assert [each["number"] for each in questions] == list(range(1, 17))
    assert all(each["answered"] == (each["answer"] is not None) for each in questions)
    return document, {each["number"]: each["answer"] for each in questions}


@pytest.mark.feature("S03")
def test_all_sixteen_are_answered_for_a_recorded_write(served: Served) -> None:
    """A delegated agent writes under its lease: every question has its exact answer, the last one once it is over."""
    begun = post(served, "/v1/operations", {"subject": AGENT, **QUESTION, "context": SAID, "ttl_seconds": 300})
    lease = {"lease_id": begun["lease"]["lease_id"], "fencing_token": begun["lease_epoch"]}
    decided = decide(served, AGENT, lease=lease)
    document, answers = explained(served, decided["decision_id"])

    assert decided["outcome"] == "execute"
    assert (document["enforceable"], document["decision"]) == (False, True)
    assert document["recorded"]["decision_id"] == decided["decision_id"]
    assert (document["recorded"]["outcome"], document["recorded"]["codes"]) == ("execute", [])
    presented = answers.pop(9)
    assert answers == {
        1: {"principal": "instance:seo-agent-7", "enforcement_point": "service:gateway", "identity": "key:gateway"},
        2: {"chains": 1, "near_misses": 0},
        3: {"owners": ["controller:seo-control-plane"]},
        4: {"canonical": ["controller:seo-control-plane"]},
        5: {"delegated": True, "delegations": 1},
        6: {"root": "controller:seo-control-plane", "edge": "own-seo@1"},
        7: {"valid": True, "not_after": decided["not_after"]},
        8: {"coordinating": []},
        10: {"current_version": "v1", "expected_version": "v1"},
        11: {"conflicts": []},
        12: {"needed": False},
        13: {"must_wait": False},
        14: {"needed": False},
        15: {"fenced_by": "version", "fence_key": [f"{POST}#canonical"]},
        16: {"given_back": False, "state": "HELD", "expires_at": begun["lease"]["expires_at"]},
    }
    assert (presented["presented"]["lease_id"], presented["presented"]["fencing_token"], presented["current"]) == (
        lease["lease_id"], lease["fencing_token"], lease["fencing_token"],
    )  # fmt: skip

    # Another one meanwhile: who is in the way, whether it could be merged, has to wait, may take over.
    blocked = decide(served, {"type": "human", "id": "senior-editor"})
    other, meanwhile = explained(served, blocked["decision_id"])
    assert other["recorded"]["codes"] == [each["code"] for each in blocked["reasons"]]
    assert meanwhile[8] == {"coordinating": ["instance:seo-agent-7"]}
    assert [each["lease_id"] for each in meanwhile[11]["conflicts"]] == [lease["lease_id"]]
    assert (meanwhile[12], meanwhile[13], meanwhile[14]) == (
        {"needed": True, "mergeable": False}, {"must_wait": True}, {"needed": True, "may_preempt": False},
    )  # fmt: skip
    assert meanwhile[5] == {"delegated": False, "delegations": 0}
    assert meanwhile[16] is None

    # After the write the same decision says that the right was given back, and the state is still that of then.
    finish(served.client("gateway"), begun, "v1", "v2")
    post(served, "/v1/revocations", {"target": {"delegation_id": "del_882"}, "actor": "human:chief"})
    after, later = explained(served, decided["decision_id"])

    given_back = later.pop(16)
    receipt = served.client("gateway").get(f"/v1/receipts/{begun['coordination_id']}").json()
    assert given_back == {
        "given_back": True, "state": "RELEASED", "ended_at": receipt["released_at"],
        "receipt_id": begun["coordination_id"], "status": "COMPLETED",
    }  # fmt: skip
    assert {**later, 9: None} == {**{number: answers[number] for number in answers if number != 16}, 9: None}
    assert after["decision"] is True


@pytest.mark.feature("S03")
@pytest.mark.parametrize(
    ("end", "given_back", "state", "status"),
    [
        ("release", True, "RELEASED", None),
        ("expiry", False, "EXPIRED", "EXPIRED"),
        ("revocation", False, "REVOKED", "REVOKED"),
    ],
)
def test_what_became_of_a_lease_alone(
    served: Served, end: str, state: str, status: str | None, *, given_back: bool
) -> None:
    """Only its holder gives it back, then without a receipt; one that was lost leaves one, and was not given back."""
    gateway = served.client("gateway")
    asked = {
        "subject": {"type": "human", "id": "editor-2"},
        "action": {"name": "UPDATE_TITLE"},
        "resource": {"type": "wp:post", "id": {"release": "9101", "expiry": "9102", "revocation": "9103"}[end]},
        "context": {"risk": "LOW", "expected_version": "v1"},
    }
    taken = post(served, "/v1/leases", {**asked, "ttl_seconds": 1 if end == "expiry" else 300})["lease"]
    path, token = f"/v1/leases/{taken['lease_id']}", taken["lease_epoch"]
    shown = {"lease": {"lease_id": taken["lease_id"], "fencing_token": token}}
    decided = post(served, "/access/v1/evaluation", {**asked, "context": {**asked["context"], **shown}})["context"]
    before = explained(served, decided["decision_id"])[1][16]
    if end == "release":
        assert gateway.delete(path, params={"lease_epoch": token}).status_code == 204
    elif end == "revocation":
        post(served, "/v1/revocations", {"actor": "human:chief", "target": {"lease_id": taken["lease_id"]}})
    wait_until(lambda: gateway.get(path).json()["state"] == state)
    after = explained(served, decided["decision_id"])[1][16]

    assert before["given_back"] is False
    assert after.pop("ended_at") is not None
    receipt = {} if status is None else {"receipt_id": taken["coordination_id"], "status": status}
    assert after == {"given_back": given_back, "state": state, **receipt}


@pytest.mark.feature("S03")
def test_a_question_that_nothing_answers_says_so(served: Served) -> None:
    """Somebody unknown on an unknown resource: what is not known is reported as not answered, and not guessed."""
    asked = {
        "subject": {"type": "human", "id": "nobody"},
        "action": {"name": "NONE"},
        "resource": {"type": "x", "id": "y"},
    }
    decided = post(served, "/access/v1/evaluation", asked)
    _, answers = explained(served, decided["context"]["decision_id"])

    unanswered = {number for number, answer in answers.items() if answer is None}
    assert {1, 3, 4, 5, 6, 9, 10, 15, 16} <= unanswered


def test_a_recorded_decision_is_explained_on_the_command_line(served: Served) -> None:
    """With the questions as a table, as a document, or drawn; and who may not see the graph gets none of it."""
    decided = decide(served, {"type": "human", "id": "editor-1"})
    place = ["--url", served.url, "decision", "explain", decided["decision_id"]]
    environment = {"REMIT_KEY": served.keys["gateway"]}

    text = CliRunner().invoke(app, place, env=environment)
    drawn = CliRunner().invoke(app, [*place, "--format", "mermaid"], env=environment)
    document = CliRunner().invoke(app, [*place, "--format", "json"], env=environment)
    blind = CliRunner().invoke(app, place, env={"REMIT_KEY": served.keys["edge"]})
    unknown = CliRunner().invoke(app, [*place[:-1], "dec_0"], env=environment)

    assert [each.exit_code for each in (text, drawn, document, blind, unknown)] == [0, 0, 0, 1, 1]
    assert text.stdout.startswith("decided then: deny scope_not_covered")
    assert "Sixteen questions" in text.stdout
    assert "Was the coordination right safely" in text.stdout
    assert drawn.stdout.startswith(("flowchart", "graph", "---", "%%"))
    assert json.loads(document.stdout)["recorded"]["decision_id"] == decided["decision_id"]


def test_what_is_masked_is_not_guessed(served: Served) -> None:
    """A record that does not show all of its question is not explained, and says which place it hides."""
    decided = decide(served, AGENT, password="hunter2")
    reply = served.client("gateway").get(f"/v1/decisions/{decided['decision_id']}/explanation")

    assert (reply.status_code, reply.json()["code"]) == (404, "not_found")
    assert "does not show /context/password" in reply.json()["detail"]
