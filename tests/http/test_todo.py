"""The interop scenario Todo over HTTP, on both engines, with answers compared as text (vectors/authzen_todo.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.http.serving import Served

VECTORS = json.loads(Path("fixtures/vectors/authzen_todo.json").read_text(encoding="utf-8"))


def compact(value: Any) -> str:
    """Write JSON as the published runners compare it."""
    return json.dumps(value, separators=(",", ":"))


def test_every_evaluation(todo: Served) -> None:
    """Each of the single questions gets the promised boolean, and nothing beside it."""
    client = todo.client("todo-gateway")

    replies = [client.post("/access/v1/evaluation", json=each["request"]).text for each in VECTORS["evaluation"]]

    assert replies == [compact({"decision": each["expected"]}) for each in VECTORS["evaluation"]]
    assert len(replies) == 123


@pytest.mark.parametrize("case", VECTORS["evaluations"], ids=range(35))
def test_batch(todo: Served, case: dict[str, Any]) -> None:
    """Each batch is answered item by item, in order, as far as its semantic goes."""
    reply = todo.client("todo-gateway").post("/access/v1/evaluations", json=case["request"])

    expected = case["expected"]
    assert reply.text == compact(expected if isinstance(expected, dict) else {"evaluations": expected})


def test_opa_gave_every_answer_itself(todo: Served) -> None:
    """On the OPA engine no answer came from the engine in process that stands by."""
    assert getattr(todo.point.policy.engine, "answered_by_standby", 0) == 0
