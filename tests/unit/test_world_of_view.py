"""The graph as a world: what is exported loads back, and planning knows what has ended."""

from __future__ import annotations

import pytest

from remit_graph.model.change import Entry
from remit_graph.view.apply import apply
from remit_graph.view.state import View
from remit_graph.world import World, changes_of, dump_world, load_world, load_world_file, plan_world
from remit_graph.world.of_view import ViewHistory, world_of
from tests.support.worlds import WORLDS, world

OWNED = 'owns:\n  - {edge_id: own, from: "%s", to: "post:*", fields: [canonical]}\n'


def view_of(*worlds: World) -> View:
    """Return a view that was brought to each world in turn, by its plan, one revision each."""
    view = View()
    for revision, wanted in enumerate(worlds, start=1):
        plan = plan_world(world_of(view), wanted, history=ViewHistory(view))
        assert plan.refusals == ()
        changes = tuple(changes_of(wanted)) if revision == 1 else plan.changes
        apply(
            view,
            Entry(revision=revision, at=revision, action="APPLY_WORLD", actor="system", changes=changes, hash="0" * 64),
        )
    return view


@pytest.mark.parametrize("name", ["authzen_search", "example", "seo"])
def test_an_export_is_the_world_that_went_in(name: str) -> None:
    """What went in as a file comes out as the same world."""
    loaded = load_world_file(WORLDS / f"{name}.yaml")

    assert load_world(dump_world(world_of(view_of(loaded)))) == loaded


def test_planning_an_export_changes_nothing() -> None:
    """A graph with a past, exported and applied again, stays as it is."""
    view = view_of(world(OWNED % "controller:seo"), world(), world(OWNED % "controller:content"))
    exported = load_world(dump_world(world_of(view)))

    assert exported.edges["own"].version == 2
    assert exported.edges["own"].ownership_epoch == 2
    assert plan_world(world_of(view), exported, history=ViewHistory(view)).differences == ()


def test_what_has_ended_counts_for_what_comes_after() -> None:
    """Versions and ownership epochs are never used twice, though the file knows nothing of the past."""
    view = view_of(world(OWNED % "controller:seo"), world())
    history = ViewHistory(view)

    assert history.last_version("own") == 1
    assert history.last_version("never") == 0
    assert [each.edge_id for each in history.past_owns()] == ["own"]
    edge = plan_world(world_of(view), world(OWNED % "controller:seo"), history=history).result.edges["own"]
    assert (edge.version, edge.ownership_epoch) == (2, 2)
