"""Duties that nobody may join: what is refused, what is not, and that a rule which is none is no rule of a policy."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from remit_graph.errors import ModelError
from remit_graph.model.change import Change
from remit_service.bundle.folder import shipped_policy
from remit_service.cli.app import app
from remit_service.governance.governor import Governor, Order
from remit_service.governance.separation import joined, rules_of
from tests.support.desk import desk_on, policy_with, sqlite_in
from tests.support.graphs import NOW, OWNER, edge, graph

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.support.graphs import Record

A, B, ROLE, OTHER, TEAM = "instance:a", "instance:b", "role:r", "role:s", "team:t"
SIDES = {"rule": "maker-checker", "actions": [["WRITE"], ["PUBLISH"]]}
HATS = {"rule": "two-hats", "roles": [ROLE, OTHER]}


def may(edge_id: str, who: str, action: str, **more: Any) -> Record:
    """Return a grant of one action."""
    return edge(edge_id, "MAY_WRITE", who, "doc:1", scope={"actions": [action]}, **more)


def member(edge_id: str, who: str, of: str, **more: Any) -> Record:
    """Return a membership."""
    return edge(edge_id, "MEMBER_OF" if of == TEAM else "ACTS_AS", who, of, **more)


def broken(
    have: Sequence[Record], *new: Record | Change, rules: Sequence[dict[str, Any]] = (SIDES, HATS)
) -> list[tuple[str, str]]:
    """Return rule and principal of each breach that the new edges would bring."""
    changes = [each if isinstance(each, Change) else Change("edge.begin", each) for each in new]
    refused = joined(graph(have), changes, NOW, rules_of({"separation_of_duties": list(rules)}))
    if refused is None:
        return []
    assert (refused.code, refused.facts["rule"]) == ("policy_denied", refused.facts["breaches"][0]["rule"])
    return [(each["rule"], each["principal"]) for each in refused.facts["breaches"]]


WRITER = [may("w", A, "WRITE")]
ON = {"id": B, "trust": 3}
CASES: dict[str, tuple[Sequence[Record], Sequence[Record | Change], list[tuple[str, str]]]] = {
    "the other side by a grant": (WRITER, [may("p", A, "PUBLISH")], [("maker-checker", A)]),
    "the same side again": (WRITER, [may("w2", A, "WRITE")], []),
    "the other side for somebody else": (WRITER, [may("p", B, "PUBLISH")], []),
    "both sides for a role are nobody's": ([may("w", ROLE, "WRITE")], [may("p", ROLE, "PUBLISH")], []),
    "both sides for a role that somebody plays": (
        [may("w", ROLE, "WRITE"), member("m", A, ROLE), member("n", B, ROLE)],
        [may("p", ROLE, "PUBLISH")],
        [("maker-checker", A), ("maker-checker", B)],
    ),
    "the other side over a membership": (
        [*WRITER, may("p", TEAM, "PUBLISH")], [member("m", A, TEAM)], [("maker-checker", A)],
    ),
    "the other side by a delegation": (
        [*WRITER, edge("r", "MAY_DELEGATE", OWNER, A, max_depth=2)],
        [edge("d", "DELEGATES", OWNER, A, under="r@1", issuer=OWNER, scope={"actions": ["PUBLISH"]})],
        [("maker-checker", A)],
    ),
    "the other side among every action": (
        WRITER, [edge("all", "MAY_WRITE", A, "doc:1", scope={})], [("maker-checker", A)],
    ),
    "the other side on another resource is the other side": (
        WRITER, [edge("p", "MAY_WRITE", A, "doc:2", scope={"actions": ["PUBLISH"]})], [("maker-checker", A)],
    ),
    "the other side from an instant on that is still to come": (
        WRITER, [may("p", A, "PUBLISH", valid_from=NOW + 9)], [("maker-checker", A)],
    ),
    "the other side, which somebody will have got by then": (
        [may("w", A, "WRITE", valid_from=NOW + 9)], [may("p", A, "PUBLISH")], [("maker-checker", A)],
    ),
    "one side after the other has ended": (
        [may("w", A, "WRITE", valid_until=NOW + 9)], [may("p", A, "PUBLISH", valid_from=NOW + 9)], [],
    ),
    "one side an instant before the other has ended": (
        [may("w", A, "WRITE", valid_until=NOW + 9)], [may("p", A, "PUBLISH", valid_from=NOW + 8)],
        [("maker-checker", A)],
    ),
    "what has ended is no side": ([may("w", A, "WRITE", revoked=True)], [may("p", A, "PUBLISH")], []),
    "two roles that exclude each other": ([member("m", A, ROLE)], [member("n", A, OTHER)], [("two-hats", A)]),
    "one of them twice": ([member("m", A, ROLE)], [member("n", A, ROLE)], []),
    "whoever holds both already is nobody new": (
        [*WRITER, may("p", A, "PUBLISH")], [may("p2", A, "PUBLISH"), may("w", B, "WRITE")], [],
    ),
    "what is taken away joins nothing": (
        [*WRITER, may("p", A, "PUBLISH")], [Change("edges.end", {"edges": [["w", 1]], "cause": "revoked"})], [],
    ),
    "an action that becomes part of what somebody holds": (
        [may("p", A, "PUBLISH"), edge("reads", "MAY_READ", A, "doc:1", scope={})],
        [Change("action.put", {"name": "WRITE", "class": "read"})],
        [("maker-checker", A)],
    ),
}  # fmt: skip


@pytest.mark.feature("S31")
@pytest.mark.parametrize("name", CASES)
def test_what_joins_duties(name: str) -> None:
    """Each way in which somebody comes to a second side, and what only looks like one."""
    have, new, expected = CASES[name]

    assert broken(have, *new) == expected


def test_whoever_is_enabled_again_holds_what_was_given_meanwhile() -> None:
    """While disabled somebody holds nothing; enabling is refused where it would join, for those behind a role too."""
    off = Change("principal.put", {**ON, "disabled": True})
    both = [may("w", B, "WRITE"), may("p", B, "PUBLISH")]
    rules = rules_of({"separation_of_duties": [SIDES]})
    view = graph(both, [off])

    refused = joined(view, [Change("principal.put", ON)], NOW, rules)
    assert refused is not None
    assert refused.facts["breaches"] == [{"rule": "maker-checker", "principal": B, "holds": ["WRITE", "PUBLISH"]}]
    assert joined(view, [Change("principal.put", {**ON, "disabled": True, "trust": 2})], NOW, rules[:0]) is None

    hidden = [may("w", ROLE, "WRITE"), member("m", A, ROLE), may("p", A, "PUBLISH")]
    view = graph(hidden, [Change("principal.put", {"id": ROLE, "trust": 3, "disabled": True})])
    refused = joined(view, [Change("principal.put", {"id": ROLE, "trust": 3})], NOW, rules)
    assert refused is not None
    assert [each["principal"] for each in refused.facts["breaches"]] == [A]


def test_of_three_sides_two_are_too_many() -> None:
    """A rule keeps each side from each other."""
    three = {"rule": "three", "actions": [["WRITE"], ["PUBLISH"], ["READ"]]}

    assert broken(WRITER, may("p", A, "PUBLISH"), rules=[three]) == [("three", A)]
    assert broken([], *WRITER, rules=[three]) == []


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"rule": "x"}, "is a list of rules"),
        (["maker-checker"], r"separation_of_duties\[0\]` has no `rule`"),
        ([{"actions": [["A"], ["B"]]}], "has no `rule`"),
        ([{"rule": ""}], "has no `rule`"),
        ([{"rule": "x"}], "one of `actions` and `roles`"),
        ([{"rule": "x", "actions": [["A"], ["B"]], "roles": ["role:a", "role:b"]}], "one of `actions` and `roles`"),
        ([{"rule": "x", "action": [["A"], ["B"]]}], "one of `actions` and `roles`"),
        ([SIDES, {"rule": "x", "actions": [["A"]]}], r"\[1\].actions` is a list of at least two"),
        ([{"rule": "x", "actions": ["A", "B"]}], "is a list of names"),
        ([{"rule": "x", "actions": [["A"], []]}], "is a list of names, and not empty"),
        ([{"rule": "x", "roles": ["role:a", "role:a"]}], "names at least two roles"),
        ([{"rule": "x", "roles": "role:a"}], "is a list of names"),
    ],
)
def test_a_rule_that_is_none_is_refused(rules: Any, said: str) -> None:
    """Misspelt, it would hold nothing apart and nobody would notice: the policy is not taken, and its place named."""
    with pytest.raises(ModelError, match=said):
        rules_of({"separation_of_duties": rules})


def test_a_policy_with_such_a_rule_does_not_pass_its_check(tmp_path: Path) -> None:
    """`remit policy check` names what a start would stumble over, and the shipped policy passes."""
    folder = tmp_path / "policy"
    shutil.copytree(shipped_policy(), folder)
    assert CliRunner().invoke(app, ["--json", "policy", "check", str(folder)]).exit_code == 0
    config = folder / "remit" / "config" / "data.yaml"
    config.write_text(config.read_text().replace("separation_of_duties: []", "separation_of_duties: [{rule: x}]"))

    result = CliRunner().invoke(app, ["--json", "policy", "check", str(folder)])

    assert result.exit_code == 3
    assert "`separation_of_duties[0]` has `rule` and one of `actions` and `roles`" in result.stdout


@pytest.mark.feature("S31")
async def test_a_command_that_joins_duties_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    """Grant, list, later grant and emergency are refused alike, as dry run too; the grant for another is made."""
    shipped = policy_with().bundle.files["remit/config/data.yaml"].decode()
    rule = "separation_of_duties: [{rule: maker-checker, actions: [[UPDATE_CANONICAL], [UPDATE_BODY]]}]"
    config = shipped.replace("separation_of_duties: []", rule)
    async with desk_on(sqlite_in(tmp_path), policy={"remit/config/data.yaml": config}) as desk:
        governor, root = Governor(desk.point), Order(actor="organization:desk")
        makes = {"edge": "MAY_WRITE", "to": "wp:post:1024", "scope": {"actions": ["UPDATE_BODY"]}}
        await governor.carry_out("declare", {"id": "instance:new", "trust": 2}, root)
        grant = {**makes, "edge_id": "b", "from": "instance:a"}
        glass = {
            "grant_id": "bg", "principal": "instance:a", "actions": ["UPDATE_BODY"], "resource": "wp:post:1024",
            "reason": "SEV1",
        }  # fmt: skip
        commands: list[tuple[str, dict[str, Any]]] = [
            ("grant", grant),
            ("grant", {"grants": [{**grant, "edge_id": "c", "from": "instance:new"}, grant]}),
            ("grant", {**grant, "valid_from": "2098-01-01T00:00:00Z"}),
            ("break_glass", glass),
        ]
        before = desk.point.view.revision
        for verb, body in commands:
            for dry_run in (True, False):
                outcome = await governor.carry_out(verb, {**body, "dry_run": dry_run}, root)
                assert outcome.refused is not None
                assert (outcome.refused.code, outcome.refused.facts["rule"]) == ("policy_denied", "maker-checker")
                assert outcome.refused.message == (
                    "rule `maker-checker` keeps duties apart, and `instance:a` would hold UPDATE_CANONICAL, UPDATE_BODY"
                )
        assert desk.point.view.revision == before
        assert (await governor.carry_out("grant", {**grant, "from": "instance:new"}, root)).refused is None
