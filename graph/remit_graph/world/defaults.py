"""What a world file may leave out about an edge, filled in: issuer, epoch, ownership epoch, what a grant rests on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from remit_graph.laws.owns import rests_on
from remit_graph.model.edge import GRANT_CLASS, Edge, EdgeType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from remit_graph.model.realm import Realm
    from remit_graph.world.edges import Draft
    from remit_graph.world.graph import WorldGraph
    from remit_graph.world.source import Problems
    from remit_graph.world.value import Epochs


def unique(drafts: Iterable[Draft], problems: Problems) -> dict[str, Draft]:
    """Return drafts by edge id; an id that is taken is reported, and the first edge keeps it."""
    by_id: dict[str, Draft] = {}
    for draft in drafts:
        before = by_id.setdefault(draft.edge.edge_id, draft)
        if before is not draft:
            problems.add(
                draft.line,
                f"edge id `{draft.edge.edge_id}` is taken, first on line {before.line}",
                code="already_exists",
                advice="every edge has an id of its own",
            )
    return by_id


def with_defaults(draft: Draft, realm: Realm, epochs: Epochs, problems: Problems) -> Edge:
    """Return a draft's edge with issuer, epoch and ownership epoch.

    The issuer is the first root, and of a delegation the delegator: it is made in the delegator's name.
    """
    edge = draft.edge
    issuer = edge.issuer
    if not issuer:
        issuer = edge.from_ if edge.edge is EdgeType.DELEGATES else realm.root[0] if realm.root else ""
        if not issuer:
            problems.add(draft.line, f"`{edge.edge_id}` has no issuer and the realm no root", advice="declare `root`")
    epoch = edge.epoch if "epoch" in draft.stated else epochs.authority
    if epoch > epochs.authority:
        problems.add(
            draft.node.line_of("epoch"),
            f"`{edge.edge_id}` has epoch {epoch}, and the authority epoch is {epochs.authority}",
            code="stale_authority_epoch",
        )
    ownership_epoch = edge.ownership_epoch
    if edge.edge is EdgeType.OWNS and ownership_epoch is None:
        ownership_epoch = 1
    return replace(edge, issuer=issuer, epoch=epoch, ownership_epoch=ownership_epoch)


def with_foundation(draft: Draft, graph: WorldGraph) -> Edge:
    """Return a grant with what it rests on: every owner of what it covers, unless the file says so itself."""
    if draft.edge.edge not in GRANT_CLASS or "rests_on" in draft.stated:
        return draft.edge
    return replace(draft.edge, rests_on=rests_on(draft.edge, graph.owners_over(draft.edge.to)))
