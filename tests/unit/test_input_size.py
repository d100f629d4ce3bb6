"""The policy input stays small, and says when chains were left out for it."""

from __future__ import annotations

from typing import Any

import pytest

from bench.world import NOW, base, edge, view_of
from remit_graph.model.change import Change
from remit_graph.model.realm import EnforcementPoint
from remit_service.decision.caller import Caller
from remit_service.decision.decide import MAX_INPUT_BYTES, Prepared, prepare
from remit_service.decision.request import RequestError, parse_evaluation
from remit_service.point import NO_COORDINATION
from tests.support.scenario.stage import policy_with

CALLER = Caller(point=EnforcementPoint(id="service:g", speaks_for=("instance:*",), trusted=("note", "risk")))


def prepared(context: dict[str, Any], *, parallel: int = 0) -> Prepared:
    """Prepare a question in a graph with `parallel` long chains beside each other."""
    changes = [Change("principal.put", {"id": "instance:agent", "trust": 2})]
    names = [f"site:{'x' * 200}{index}" for index in range(12)]
    for index in range(parallel):
        scope = {"resources": [*names, "wp:post:*"]}
        changes.append(edge(f"d{index}", "DELEGATES", "controller:seo", f"role:r{index}", scope=scope))
        changes.append(Change("principal.put", {"id": f"role:r{index}", "trust": 2}))
        changes.append(edge(f"e{index}", "DELEGATES", f"role:r{index}", "instance:agent", scope=scope))
    body = {
        "subject": {"type": "instance", "id": "agent"},
        "action": {"name": "UPDATE_CANONICAL"},
        "resource": {"type": "wp:post", "id": "1024"},
        "context": {"expected_version": "rev_1", **context},
    }
    rules = policy_with(())
    return prepare(
        parse_evaluation(body), CALLER, view_of(base(), changes), NOW, rules=rules, coordination=NO_COORDINATION
    )


def test_the_longest_chains_are_left_out_and_it_is_said() -> None:
    """Sixteen chains that would make 90 KiB are cut to what fits, and the search counts as truncated."""
    found = prepared({}, parallel=16)

    assert len(found.encoded) <= MAX_INPUT_BYTES
    assert found.facts.document["search"]["truncated"] is True
    assert 1 <= len(found.facts.document["chains"]) < 16


def test_a_request_that_is_too_large_itself_is_refused_with_the_place() -> None:
    """A trusted text of 70,000 characters cannot be cut, so the request is at fault."""
    with pytest.raises(RequestError) as refused:
        prepared({"note": "x" * 70_000})

    assert refused.value.facts["pointer"] == "/context"


@pytest.mark.parametrize("number", [1 << 63, -(1 << 63) - 1])
def test_a_number_beyond_64_bits_is_refused_with_the_place(number: int) -> None:
    """The two engines would read it differently."""
    with pytest.raises(RequestError) as refused:
        prepared({"nested": {"list": [1, number]}})

    assert refused.value.facts["pointer"] == "/context/nested/list/1"
