"""Images of the view: what is in them, what is left out, and which bytes are refused."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.errors import ModelError
from remit_graph.model.change import GENESIS, Change, Entry
from remit_graph.model.instant import SECOND
from remit_graph.view.apply import apply
from remit_graph.view.image import lines_of, pack, unpack
from remit_graph.view.image_write import Snapshot
from remit_graph.view.state import HISTORY_KEPT, View
from tests.support.view_state import state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

START = 10**15
LONG_AFTER = START + HISTORY_KEPT + SECOND


def view_of(*revisions: Sequence[Change], at: Sequence[int] = ()) -> View:
    """Return the view after one revision for each list of changes."""
    view = View()
    for number, changes in enumerate(revisions, start=1):
        instant = at[number - 1] if at else START
        apply(
            view,
            Entry(revision=number, at=instant, action="T", actor="system", changes=tuple(changes), hash=GENESIS),
        )
    return view


def begin(edge_id: str, version: int = 1, **more: Any) -> Change:
    """Return the change that begins a version of an edge of `role:a`."""
    record = {"edge_id": edge_id, "version": version, "edge": "MAY_WRITE", "from": "role:a", "to": "doc:1", "epoch": 1}
    return Change("edge.begin", {**record, "issuer": "organization:o", **more})


def end(edge_id: str, version: int = 1) -> Change:
    """Return the change that ends a version of an edge."""
    return Change("edges.end", {"edges": [[edge_id, version]], "cause": "revoked"})


def test_an_empty_view_has_an_image() -> None:
    """Nothing at all comes back as nothing at all."""
    assert state_of(unpack(pack(View()))) == state_of(View())


def test_what_ended_lately_can_still_be_named() -> None:
    """An ended version is in the image to the end of the ninetieth day."""
    view = view_of([begin("g")], [end("g")], [begin("g", 2)], [end("g", 2)], at=[START, START, START, START])

    assert state_of(unpack(pack(view))) == state_of(view)
    assert [each.version for each in unpack(pack(view)).history["g"]] == [1, 2]


def test_of_what_ended_long_ago_the_last_version_stays() -> None:
    """Its number must not be given again, and nothing else about it is needed."""
    revisions = [[begin("g")], [end("g"), begin("g", 2)], [end("g", 2)], [begin("h")]]
    view = view_of(*revisions, at=[START, START, START, LONG_AFTER])

    assert [each.version for each in unpack(pack(view)).history["g"]] == [2]


def test_every_ended_owner_stays() -> None:
    """The next owner's epoch is above that of all before, however long ago (rules.md 4)."""
    owns: dict[str, Any] = {"edge": "OWNS", "from": "controller:c"}
    revisions = [
        [begin("o", **owns, ownership_epoch=1)],
        [end("o"), begin("o", 2, **owns, ownership_epoch=2)],
        [end("o", 2)],
        [begin("h")],
    ]
    view = view_of(*revisions, at=[START, START, START, LONG_AFTER])

    assert [each.ownership_epoch for each in unpack(pack(view)).history["o"]] == [1, 2]


def test_conditions_on_true_and_on_1_stay_apart() -> None:
    """They are equal in Python and different in JSON: `equals: true` must not come back as `equals: 1`."""
    scopes = [{"conditions": [{"attribute": "mfa", "equals": value}]} for value in (1, True)]
    view = view_of([begin("one", scope=scopes[0]), begin("yes", scope=scopes[1])])

    restored = unpack(pack(view))

    assert [restored.edges[each].scope.conditions[0].value for each in ("one", "yes")] == [1, True]
    assert restored.edges["yes"].scope.conditions[0].value is True


def test_a_dimension_that_is_not_understood_stays_one() -> None:
    """An edge that covers nothing because of it covers nothing afterwards either."""
    view = view_of([begin("g", scope={"actions": ["WRITE"], "weather": "fair"})])

    assert unpack(pack(view)).edges["g"].scope.unknown == ("weather",)


def test_what_ships_and_was_removed_stays_removed() -> None:
    """A program brings types and actions of its own; a realm without them goes on without them."""
    name = next(iter(View().actions))
    view = view_of([Change("action.end", {"name": name})])

    assert name not in unpack(pack(view)).actions


def test_an_identity_stays_with_the_one_who_had_it_last() -> None:
    """Of two principals that name one identity, the one that was put last has it, whatever they are called."""
    people = [Change("principal.put", {"id": each, "identities": ["key:k"]}) for each in ("human:z", "human:a")]
    view = view_of([people[0]], [people[1]], [people[0]])

    assert view.identities == {"key:k": "human:z"}
    assert unpack(pack(view)).identities == {"key:k": "human:z"}


def test_a_snapshot_stays_at_its_revision() -> None:
    """Whatever is appended while the lines are made is not in them."""
    view = view_of([begin("g")])
    before = pack(view)
    snapshot = Snapshot(view)
    apply(view, Entry(revision=2, at=START, action="T", actor="s", changes=(end("g"), begin("h")), hash="f" * 64))

    assert [line for line in snapshot.lines() if line] == [line + b"\n" for line in lines_of(before)]


def repacked(blob: bytes, change: Callable[[list[Any]], list[Any]]) -> bytes:
    """Return an image whose lines, as values, went through `change`."""
    lines = change([json.loads(line) for line in lines_of(blob)])
    return zlib.compress(b"".join(json.dumps(each).encode() + b"\n" for each in lines))


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda _: b"", "ends in the middle"),
    "no image": (lambda _: b"no image", "cannot be decompressed"),
    "cut off": (lambda blob: blob[:-9], "ends in the middle"),
    "no JSON": (lambda _: zlib.compress(b"no json\n"), "cannot be read"),
    "unknown section": (lambda _: zlib.compress(b'["moon",[]]\n'), "has a section"),
    "without end": (lambda blob: repacked(blob, lambda lines: lines[:-1]), "has no end"),
    "without edges": (
        lambda blob: repacked(blob, lambda lines: [each for each in lines if each[0] != "edges"]),
        "at its end",
    ),
    "another form": (
        lambda blob: repacked(blob, lambda lines: [["image", {**lines[0][1], "format": 2}]]),
        "has form 2",
    ),
    "half a row": (
        lambda blob: repacked(blob, lambda lines: [*lines[:1], ["edges", [["g", 1]]]]),
        "no row of an edge",
    ),
    "unknown change": (
        lambda blob: repacked(blob, lambda lines: [*lines[:1], ["changes", [["x.put", {}]]]]),
        "cannot be read",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_what_is_no_image_is_refused(name: str) -> None:
    """Bytes that are not a whole image of this form make no view."""
    damage, told = DAMAGES[name]
    with pytest.raises(ModelError, match=told):
        unpack(damage(pack(view_of([begin("g")]))))


def test_every_table_of_the_view_is_known_to_the_image() -> None:
    """A table that is added to the view either follows from what an image holds, or has to be added to it."""
    view, coordination = View(), View().coordination

    assert sorted(vars(view)) == [
        "actions", "aliases", "coordination", "edges", "grants", "grounds", "history", "identities", "into", "out",
        "owners", "point_identities", "points", "principals", "records", "resources", "scalars", "selectors", "types",
        "under", "was_grants", "was_into", "was_out",
    ]  # fmt: skip
    assert sorted(vars(coordination)) == [
        "asked_by", "closed", "cooldowns", "counters", "delays", "due", "due_at", "editing", "ended", "entangled",
        "fair", "fences", "frozen", "held", "incidents", "kept_records", "leases", "left", "members", "notices_for",
        "operating", "present", "raised", "raised_below", "resting", "shifting", "shown", "spent", "versions",
        "waiters", "waiting", "work_sets", "writers",
    ]  # fmt: skip
