"""What `remit review` finds: each finding on a drawn graph, with both sides of its bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.model.change import Change
from remit_graph.model.instant import SECOND
from remit_service.governance.review import Used, review
from remit_service.governance.separation import Rule
from tests.support.graphs import NOW, OWNER, ROOT, edge, graph

if TYPE_CHECKING:
    from collections.abc import Sequence

DAY = 86_400 * SECOND
A, B, ROLE = "instance:a", "instance:b", "role:r"
GONE = "instance:gone"


def found(edges: Sequence[dict[str, Any]], *extra: Change, at: int = NOW, **asked: Any) -> dict[str, Any]:
    """Return the report on these edges."""
    return review(graph(edges, extra), at, asked.pop("duties", ()), **asked)


def names(report: dict[str, Any], finding: str) -> list[str]:
    """Return the edges of a finding, whose count is theirs."""
    edges = [each["edge_id"] for each in report[finding]["edges"]]
    assert report[finding]["count"] == len(edges)
    return edges


def grant(edge_id: str, to: str = "doc:1", **more: Any) -> dict[str, Any]:
    """Return a grant of the root to an instance."""
    return edge(edge_id, "MAY_WRITE", A, to, **{"scope": {"actions": ["WRITE"]}, **more})


@pytest.mark.feature("S22")
def test_what_ends_soon_and_what_has_ended_are_told_apart() -> None:
    """At its end an edge is over; up to the last instant of the days asked for it is expiring; later it is neither."""
    edges = [
        grant("over", valid_until=NOW),
        grant("next", valid_until=NOW + 1),
        grant("last", valid_until=NOW + 3 * DAY),
        grant("later", valid_until=NOW + 3 * DAY + 1),
        grant("never"),
    ]
    report = found(edges, within_days=3)

    assert names(report, "expired") == ["over"]
    assert names(report, "expiring") == ["last", "next"]
    assert names(found(edges, within_days=0), "expiring") == []


def test_what_is_below_a_floor_is_stale() -> None:
    """The floor of writes, and that of either end; an edge of the floor's own epoch is not below it."""
    edges = [
        grant("old"),
        grant("new", epoch=2),
        edge("to-b", "DELEGATES", OWNER, B, epoch=2, scope={"actions": ["WRITE"]}),
        edge("to-b-now", "DELEGATES", OWNER, B, epoch=3, scope={"actions": ["WRITE"]}),
    ]
    floors = Change("epoch.set", {"authority": 3, "minimum_authority": {"read": 1, "write": 2}})
    stricter = Change("principal.put", {"id": B, "trust": 3, "minimum_epoch": 3})

    assert names(found(edges, floors, stricter), "stale") == ["old", "to-b"]


@pytest.mark.parametrize(
    ("is_wide", "wide"),
    [
        (True, grant("e", "doc:*", scope={})),
        (True, grant("e", "doc", scope={})),
        (True, grant("e", "remit:graph", scope={})),
        (True, edge("e", "MAY_DELEGATE", OWNER, A, max_depth=1)),
        (True, edge("e", "MAY_REVOKE", OWNER, A)),
        (False, grant("e", "doc:1", scope={})),
        (False, grant("e", "doc:*", scope={"actions": ["WRITE"]})),
        (False, grant("e", "remit:graph", scope={"actions": ["GRANT"]})),
        (False, grant("e", "doc:*", scope={"fields": ["body"]})),
        (False, grant("e", "doc:*", scope={"where": {"environment": ["staging"]}})),
        (False, grant("e", "doc:*", scope={}, valid_until=NOW + DAY)),
        (False, edge("e", "MAY_DELEGATE", OWNER, A, max_depth=1, scope={"resources": ["doc:1"]})),
        (False, edge("e", "OWNS", OWNER, "doc", ownership_epoch=1)),
    ],
)
def test_what_covers_everything_for_ever_is_too_wide(is_wide: bool, wide: dict[str, Any]) -> None:  # noqa: FBT001
    """Every action and field without end, on all of a kind, on the graph, or of all that its giver has."""
    assert names(found([wide]), "over_wide") == (["e"] if is_wide else [])


def test_what_nobody_stands_behind_is_orphaned() -> None:
    """Its holder or the other end is disabled, or its issuer is neither a root nor an owner any more."""
    edges = [
        edge("own", "OWNS", OWNER, "doc", ownership_epoch=1),
        grant("by-owner", issuer=OWNER),
        grant("by-root"),
        grant("by-nobody", issuer=GONE),
        edge("of-disabled", "MAY_WRITE", B, "doc:1", scope={"actions": ["WRITE"]}),
        edge("to-disabled", "MAY_DELEGATE", OWNER, B, max_depth=1, scope={"actions": ["WRITE"]}),
        edge("right", "MAY_DELEGATE", OWNER, A, max_depth=2, scope={"actions": ["WRITE"]}),
        edge("hung", "DELEGATES", OWNER, A, under="right@1", issuer=OWNER, scope={"actions": ["WRITE"]}),
        edge("loose", "DELEGATES", OWNER, A, under="no-right@1", issuer=OWNER, scope={"actions": ["WRITE"]}),
    ]
    disabled = Change("principal.put", {"id": B, "trust": 3, "disabled": True})

    assert names(found(edges, disabled), "orphaned") == ["by-nobody", "loose", "of-disabled", "to-disabled"]


def test_what_no_recent_decision_rested_on_is_unused() -> None:
    """A version that was used is not listed, an earlier one's use does not count; rights to delegate carry nothing."""
    edges = [
        grant("used"),
        grant("renewed", version=2),
        edge("right", "MAY_DELEGATE", OWNER, A, max_depth=2, scope={"actions": ["WRITE"]}),
    ]
    used = Used(positions=["used@1", "renewed@1"], decisions=7, since="2027-01-01T00:00:00.000000000Z")
    report = found(edges, used=used)

    assert names(report, "unused") == ["renewed"]
    assert (report["unused"]["decisions"], report["unused"]["since"]) == (7, "2027-01-01T00:00:00.000000000Z")
    assert names(found(edges, used=Used(positions=(), decisions=0, since=None)), "unused") == ["renewed", "used"]
    assert "unused" not in found(edges)


def test_who_reaches_a_root_and_could_prove_it() -> None:
    """Over ACTS_AS while it lives; never over MEMBER_OF, without an identity, or disabled."""

    def person(name: str, **more: Any) -> Change:
        identities = [f"key:{name.partition(':')[2]}"]
        return Change("principal.put", {"id": name, "trust": 3, "identities": identities, **more})

    edges = [
        edge("acts", "ACTS_AS", A, ROOT),
        edge("acted", "ACTS_AS", B, ROOT, valid_until=NOW),
        edge("member", "MEMBER_OF", "instance:c", ROOT),
        edge("off", "ACTS_AS", "instance:off", ROOT),
        edge("nameless", "ACTS_AS", "instance:nameless", ROOT),
    ]
    people = [
        person(A), person(B), person("instance:c"), person("instance:off", disabled=True),
        Change("principal.put", {"id": "instance:nameless", "trust": 3}),
    ]  # fmt: skip

    assert found(edges, *people)["who_governs"] == [A]
    assert found(edges, *people, at=NOW - 1)["who_governs"] == [A, B]


def test_an_emergency_is_open_until_it_is_reviewed_and_overdue_from_its_term_on() -> None:
    """The oldest first; at the very instant it is due it is overdue; what was reviewed is no finding."""

    def glass(name: str, due: int, **more: Any) -> Change:
        record = {
            "id": f"{name}@1", "edge_id": name, "principal": A, "actor": OWNER, "actions": ["WRITE"],
            "resource": "doc:1", "reason": "SEV1", "granted_at": due - 72 * 3_600 * SECOND, "valid_until": due,
            "review_due": due, "state": "OPEN", **more,
        }  # fmt: skip
        return Change("break_glass.put", record)

    extra = [glass("late", NOW), glass("soon", NOW + 1), glass("done", NOW, state="REVIEWED")]
    told = found([], *extra)["break_glass"]

    assert [(each["break_glass_id"], each["overdue"]) for each in told] == [("late@1", True), ("soon@1", False)]


def test_who_holds_two_sides_is_listed() -> None:
    """By rule and principal, with what is held; a role is nobody, and one side alone is no finding."""
    edges = [
        edge("w", "MAY_WRITE", ROLE, "doc:1", scope={"actions": ["WRITE"]}),
        edge("p", "MAY_WRITE", ROLE, "doc:2", scope={"actions": ["PUBLISH"]}),
        edge("acts", "ACTS_AS", A, ROLE),
        edge("b", "MAY_WRITE", B, "doc:1", scope={"actions": ["WRITE"]}),
    ]
    rule = Rule(rule="maker-checker", sides=(frozenset({"WRITE"}), frozenset({"PUBLISH"})))

    assert found(edges, duties=[rule])["separation_of_duties"] == [
        {"rule": "maker-checker", "principal": A, "holds": ["WRITE", "PUBLISH"]}
    ]
    assert found(edges)["separation_of_duties"] == []
