"""What a grant rests on is the same whether a command makes it or a world file states it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit_graph.model.change import Change
from remit_graph.model.edge import parse_edge
from remit_graph.view.apply import apply_changes
from remit_graph.view.foundation import owners_over
from remit_graph.view.journal import Journal
from remit_graph.view.state import View
from remit_graph.world.graph import WorldGraph
from tests.support.graphs import OWNER, ROOT, edge

_NAMES = st.sampled_from(["a", "b", "c"])
_KEYS = st.lists(_NAMES, min_size=1, max_size=3).map(":".join)
_SELECTORS = st.lists(st.sampled_from(["a", "b", "c", "*"]), min_size=1, max_size=3).map(":".join)
_OWNED = st.lists(_SELECTORS, min_size=1, max_size=4)
_PARTS = st.lists(st.tuples(_KEYS, _KEYS), max_size=6)


@pytest.mark.feature("S36")
@given(owned=_OWNED, parts=_PARTS, selector=_SELECTORS)
@settings(max_examples=200)
def test_a_command_stamps_what_a_world_file_would(
    owned: list[str], parts: list[tuple[str, str]], selector: str
) -> None:
    """The view finds the owners that the loader finds, over segments and over PART_OF, in circles too."""
    records = [edge(f"own{index}", "OWNS", OWNER, each, ownership_epoch=1) for index, each in enumerate(owned)]
    records += [edge(f"part{index}", "PART_OF", part, whole) for index, (part, whole) in enumerate(parts)]
    view = View()
    changes = [Change("principal.put", {"id": each}) for each in (ROOT, OWNER)]
    changes += [Change("edge.begin", each) for each in records]
    apply_changes(view, changes, Journal(keep=False), revision=1, at=1)

    found = {each.edge_id for each in owners_over(view, selector)}

    graph = WorldGraph(parse_edge(each) for each in records)
    assert found == {each.edge_id for each in graph.owners_over(selector)}
