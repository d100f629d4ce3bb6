"""Rego and Python agree on who may stand beside whom: on every pair of domains, and on random pairs of operations."""

from __future__ import annotations

import json
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit_graph.model.change import GENESIS, Change, Entry
from remit_graph.model.resource_type import concurrency_of
from remit_graph.view.apply import apply, apply_changes
from remit_graph.view.journal import Journal
from remit_graph.view.state import View
from remit_graph.world.changes import iter_changes
from remit_graph.world.load import load_world
from remit_service.asking import ask_now
from remit_service.coordination.compare import commute, judge
from remit_service.coordination.facts import Manner, coordination_facts
from remit_service.coordination.holding import Holding, domains_of, wanted
from remit_service.coordination.matrix import STRICTNESS, cell, strictest
from remit_service.coordination.values import Claim
from remit_service.decision.caller import Caller
from remit_service.decision.decide import decide_now, prepare
from remit_service.engines.regorus import Interpreter
from tests.support.desk import T0, WORLDS, policy_with, question

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_service.decision.request import Evaluation

POLICY = policy_with()
EVERYTHING = Caller(point=None, identity="test", trusts_all=True)

PROBE = """\
package probe

cells[mine] := row if {
	some mine, _ in data.remit.conflict.domains
	row := {theirs: data.remit.matrix.cell(mine, theirs) | some theirs in domains}
}

domains := {domain | some domain, _ in data.remit.conflict.domains} | {"*", "UNHEARD_OF"}
"""


@pytest.mark.feature("S51", "S53")
def test_the_matrix_reads_the_same_in_rego_and_python() -> None:
    """Every pair of domains, with `*` and one that nobody declared, gives the same result, from both sides."""
    modules = [*POLICY.bundle.modules, ("probe.rego", PROBE)]
    cells = json.loads(Interpreter(modules, POLICY.bundle.data_json).run("data.probe.cells", "{}"))

    assert len(cells) >= 11
    for mine, row in cells.items():
        for theirs, result in row.items():
            assert cell(POLICY.tables, mine, theirs) == result, (mine, theirs)
            assert cell(POLICY.tables, theirs, mine) == result, (theirs, mine)


@pytest.mark.feature("S53")
@pytest.mark.parametrize(
    ("one", "other", "result"),
    [
        ("CONTENT_BODY", "CONTENT_BODY", "serialize"),
        ("CONTENT_BODY", "ANALYTICS_READ", "compatible"),
        ("CANONICAL", "URL_REDIRECT", "review_required"),
        ("DATABASE_SCHEMA", "APPLICATION_DEPLOY", "ordered"),
        ("CANONICAL", "CONTENT_BODY", "compatible"),
    ],
)
def test_the_five_cells(one: str, other: str, result: str) -> None:
    """The cells that features.md names."""
    assert (cell(POLICY.tables, one, other), cell(POLICY.tables, other, one)) == (result, result)


@lru_cache(maxsize=1)
def world() -> View:
    """Return the view of the world of the desk."""
    declared = load_world((WORLDS / "coordination.yaml").read_text(), file="w.yaml", scales=POLICY.scales)
    view = View()
    changes = tuple(iter_changes(declared))
    apply(view, Entry(revision=1, at=T0, action="T", actor="system", changes=changes, hash=GENESIS))
    return view


KEYS = {
    "wp:post:1024": [
        "UPDATE_BODY", "UPDATE_CANONICAL", "UPDATE_IMAGE", "UPDATE_META", "UPDATE_POST", "UPDATE_SLUG", "UPDATE_TAGS",
    ],
    "wp:post:1025": ["UPDATE_CANONICAL", "UPDATE_TAGS", "UPDATE_POST"],
    "wp:template:product": ["UPDATE_TEMPLATE"],
    "wp:template:small": ["UPDATE_TEMPLATE"],
    "site:102": ["UPDATE_SITE", "BULK_CANONICAL"],
    "site:102:product-pages": ["UPDATE_SITE", "BULK_CANONICAL"],
    "site:102:robots": ["UPDATE_SITE"],
    "cf:worker:middleware:production": ["DEPLOY"],
    "db:schema:main": ["MIGRATE"],
    "job:daily": ["RUN_JOB"],
    "index:1": ["REBUILD_INDEX", "READ_INDEX"],
    "log:1": ["APPEND_LOG"],
    "ticket:1": ["LABEL_TICKET", "NOTE_TICKET"],
}  # fmt: skip


@st.composite
def operations(draw: st.DrawFn) -> tuple[str, str, dict[str, Any] | None]:
    """Draw an operation: action, key, set operations."""
    key = draw(st.sampled_from(sorted(KEYS)))
    action = draw(st.sampled_from(KEYS[key]))
    members = st.lists(st.sampled_from(["geo", "seo"]), max_size=2, unique=True)
    merges = st.fixed_dictionaries({"add": members, "remove": members})
    return action, key, draw(st.none() | merges) if action in ("UPDATE_TAGS", "LABEL_TICKET") else None


def held(who: str, operation: tuple[str, str, Mapping[str, Any] | None]) -> Holding:
    """Return what somebody's operation holds."""
    view = world()
    name, key, merges = operation
    action, resolved = view.actions[name], view.registry.resolve_key(key)
    assert resolved is not None
    claim = Claim(
        subject=who,
        action=action,
        key=key,
        type=resolved.type,
        fields=action.fields,
        concurrency=str(concurrency_of(resolved.type, action, action.fields)),
        request={},
        set_operations=merges,
    )
    return wanted(view, claim, "shared" if action.class_ == "read" else "exclusive", T0)


@pytest.mark.feature("S116")
@given(one=operations(), other=operations())
@settings(max_examples=400)
def test_conflict_is_symmetric(one: Any, other: Any) -> None:
    """Whoever asks second, the result is the same."""
    mine, theirs = held("instance:a", one), held("instance:b", other)
    view = world()

    assert judge(view, POLICY.tables, mine, theirs, T0) == judge(view, POLICY.tables, theirs, mine, T0)


@pytest.mark.feature("S52", "S53", "S90", "S91")
@given(one=operations(), other=operations())
@settings(max_examples=300)
def test_rego_and_python_agree_on_operations(one: Any, other: Any) -> None:
    """What the policy finds between a request and a held lease is what Python finds, to the very result."""
    view = world()
    mine, theirs = held("instance:a", one), held("instance:b", other)
    found = asked(view, one, theirs)
    result = judge(view, POLICY.tables, mine, theirs, T0)

    assert (strictest(found) if found else "compatible") == result


def asked(view: View, operation: tuple[str, str, Mapping[str, Any] | None], theirs: Holding) -> list[str]:
    """Return the results the policy finds for an operation beside a lease on what `theirs` holds."""
    name, key, merges = operation
    context = {} if merges is None else {"set_operations": merges}
    evaluation: Evaluation = question("instance:a", name, key, context)
    journal = Journal()
    apply_changes(view, [Change("lease.put", lease_on(theirs))], journal, revision=2, at=T0)
    try:
        collect = partial(coordination_facts, tables=POLICY.tables, manner=Manner(phase="begin"))
        prepared = prepare(evaluation, EVERYTHING, view, T0, rules=POLICY, coordination=collect)
        decision = decide_now(prepared, partial(ask_now, POLICY), rules=POLICY)
    finally:
        journal.undo()
    return [str(each["result"]) for each in decision.conflicts]


def lease_on(holding: Holding) -> dict[str, Any]:
    """Return a lease record on a holding."""
    fences = [f"{entry['key']}#{part['fence']}" for entry in holding.keys for part in entry["parts"]]
    return {
        "id": "lease_1",
        "lease_id": "lease_1",
        "holder": holding.holder,
        "point": "service:gateway",
        "resource_key": holding.key,
        "resource_type": "any",
        "keys": list(holding.keys),
        "mode": holding.mode,
        "concurrency": holding.concurrency,
        "set_operations": holding.set_operations,
        "fields": [],
        "domains": domains_of(holding),
        "fencing_tokens": dict.fromkeys(fences, 2),
        "lease_epoch": 2,
        "proof": [],
        "priority": 10,
        "expires_at": T0 + 30_000_000,
    }


@pytest.mark.feature("S90")
@given(
    mine=st.fixed_dictionaries({"add": st.sets(st.integers(0, 3)), "remove": st.sets(st.integers(0, 3))}),
    theirs=st.fixed_dictionaries({"add": st.sets(st.integers(0, 3)), "remove": st.sets(st.integers(0, 3))}),
    start=st.sets(st.integers(0, 3)),
)
@settings(max_examples=200)
def test_what_commutes_gives_the_same_set_in_either_order(mine: Any, theirs: Any, start: set[int]) -> None:
    """Operations that commute leave the same set whichever comes first; adding is idempotent."""

    def applied(operation: Any, members: set[int]) -> set[int]:
        return members.union(operation["add"]).difference(operation["remove"])

    if commute(mine, theirs):
        assert applied(mine, applied(theirs, start)) == applied(theirs, applied(mine, start))
    adds = {"add": mine["add"]}
    assert commute(adds, {"add": theirs["add"]})
    assert not commute(mine, None)


def test_results_are_ordered_from_the_strictest() -> None:
    """Of several results the strictest speaks; of none, or of one nobody knows, `escalate`."""
    assert strictest(["compatible", "serialize", "reject"]) == "reject"
    assert strictest([]) == "escalate"
    assert strictest(["compatible", "unheard"]) == "escalate"
    assert STRICTNESS[-1] == "compatible"
