"""What a revocation ends besides edges: `coordinator`'s answer in the form that `governance.ending` asks for.

    revoke(policy, view, at, actor, target, consequences=consequences_of(coordinator))

Leases, waiters and capabilities that rest on what ends are decided again in the same revision (rules.md 9). Neither
room knows the other: this is the seam, and whoever puts them together uses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.model.change import Change
from remit_service.governance.ending import Also
from remit_service.governance.making import ends_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_graph.model.edge import Edge
    from remit_graph.model.instant import Instant
    from remit_graph.view.fall import Fall
    from remit_graph.view.state import View
    from remit_service.coordinator.coordinator import Coordinator
    from remit_service.governance.ending import Consequences

NOUNS = {"lease": "leases", "waiter": "waiters", "capability": "capabilities"}
"""How answers of governance call what ended."""


def consequences_of(coordinator: Coordinator) -> Consequences:
    """Return what ends with the edges of a revocation, as the coordinator decides it."""

    def consequences(view: View, named: Sequence[Edge], fallen: Fall, at: Instant) -> Also:
        changes = [*ends_of(named, "revoked"), *ends_of(fallen.fallen(named), "revoked")]
        for edge_id in sorted(fallen.moved):
            changes += ends_of([view.edges[edge_id]], "amended")
            changes.append(Change("edge.begin", fallen.moved[edge_id].record()))
        found = coordinator.end_what_rests_on(view, changes, at)
        ended = {NOUNS.get(noun, noun): ids for noun, ids in found.ended.items()}
        return Also(changes=found.changes, ended=ended)

    return consequences
