"""The names a command uses: an edge with one that means nothing would cover nothing, and somebody meant something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from remit_graph.laws.refusal import Refusal
from remit_graph.laws.vocabulary import Vocabulary
from remit_graph.model.builtin import BUILTIN_TYPES
from remit_graph.model.edge import RESOURCE_EDGES, TO_SELECTOR, Edge, EdgeType
from remit_service.writer.command import Refused

if TYPE_CHECKING:
    from remit_graph.view.state import View
    from remit_service.policy import Policy

ACYCLIC: Final = frozenset({EdgeType.PART_OF, EdgeType.MEMBER_OF})
"""Structure that may not lead back to where it began, by the law of world files."""


def unknown_principal(principal: str) -> Refused:
    """Refuse a command about a principal that is none."""
    message = f"`{principal}` is no principal of this realm"
    return Refused(code="unknown_subject", message=message, facts={"id": principal})


def unknown_edge(view: View, edge_id: str) -> Refused:
    """Refuse a command about an edge that is not current, and say what became of it."""
    ended = view.history.get(edge_id, ())
    if not ended:
        return Refused(code="not_found", message=f"there is no edge `{edge_id}`", facts={"id": edge_id})
    last = ended[-1]
    how = "ended by its time" if last.ended_by == "expired" else f"was {last.ended_by}"
    message = f"`{last.position}` {how} at revision {last.revision_to}, and nothing of that id is current"
    return Refused(code="delegation_revoked", message=message, facts={"id": edge_id, "edge": last.position})


def unknown_ends(view: View, edge: Edge) -> Refused | None:
    """Refuse principals that nobody declared, before the policy is told about them."""
    if edge.edge in RESOURCE_EDGES:
        return None
    ends = [edge.from_] if edge.edge in TO_SELECTOR else [edge.from_, edge.to]
    return next((unknown_principal(each) for each in ends if each not in view.principals), None)


def vocabulary_of(view: View, policy: Policy) -> Vocabulary:
    """Return the names that the realm knows."""
    return Vocabulary(
        view.realm,
        {name: each for name, each in view.types.items() if name not in BUILTIN_TYPES},
        view.actions,
        view.aliases,
        view.principals,
        view.resources,
        scales=policy.scales,
    )


def misnamed(view: View, policy: Policy, edge: Edge) -> list[Refusal]:
    """Refuse names that the realm does not know, forbidden shapes, and structure that runs in a circle."""
    return [*vocabulary_of(view, policy).edge(edge), *_circle(view, edge)]


def _circle(view: View, edge: Edge) -> list[Refusal]:
    if edge.edge not in ACYCLIC:
        return []
    seen, frontier = {edge.to}, [edge.to]
    while frontier:
        for above in view.outgoing(edge.edge, frontier.pop()):
            if above.edge_id != edge.edge_id and above.to not in seen:
                seen.add(above.to)
                frontier.append(above.to)
    if edge.from_ not in seen:
        return []
    message = f"`{edge.edge_id}` closes a circle of {edge.edge} over `{edge.from_}`"
    return [Refusal(code="malformed_request", message=message, dimension="to", offending=(edge.to,))]
