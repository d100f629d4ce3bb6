"""Re-issue a reviewed selection of edges under the authority epoch of now, after a floor has killed them (rules.md 5).

What is renewed is what was reviewed: a selection names versions, and one that was amended since is refused. Nothing of
an edge changes but its epoch; what a grant rests on stays what it was, so that no stale grant comes to life.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from remit_graph.model.builtin import Governance
from remit_graph.model.change import Change
from remit_service.decision.request import RequestError
from remit_service.governance.batch import MAX_ITEMS, too_many
from remit_service.governance.law import Actor, permitted, refused_by_policy
from remit_service.governance.names import unknown_edge
from remit_service.governance.versions import ends_of
from remit_service.writer.command import Accepted, Refused, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_graph.model.edge import Edge
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.policy import Policy


def selection(value: Any) -> tuple[str, ...]:
    """Read a selection: edge ids, each with the version that was reviewed or without one.

    Raises:
        RequestError: it is no list of texts.
    """
    if not isinstance(value, list) or not value or not all(isinstance(each, str) and each for each in value):
        raise RequestError("`edges` is a list of `edge_id@version` or edge ids", pointer="/edges")
    return tuple(dict.fromkeys(value))


def renew(edges: Sequence[str], policy: Policy, view: View, at: Instant, actor: Actor) -> Verdict:
    """Decide the renewal of a selection; those that are of the current epoch already stay as they are."""
    if len(edges) > MAX_ITEMS:
        return too_many("edges", len(edges))
    found = [_found(view, each) for each in edges]
    if refused := next((each for each in found if isinstance(each, Refused)), None):
        return refused
    if refused := refused_by_policy(permitted(policy, view, at, actor, Governance.RENEW_EPOCH)):
        return refused
    old = [each for each in found if not isinstance(each, Refused) and each.epoch < view.authority_epoch]
    new = [replace(each, version=each.version + 1, epoch=view.authority_epoch) for each in old]
    changes = (*ends_of(old, "amended"), *(Change("edge.begin", each.record()) for each in new))
    result = {
        "renewed": [each.position for each in new],
        "unchanged": len(found) - len(new),
        "authority": view.authority_epoch,
    }
    return Accepted(changes=changes, result=result)


def _found(view: View, position: str) -> Edge | Refused:
    current = view.edges.get(position)
    if current is not None:
        return current
    edge_id, at, version = position.rpartition("@")
    current = view.edges.get(edge_id)
    if not at or current is None:
        return unknown_edge(view, edge_id or position)
    if str(current.version) != version:
        message = f"`{position}` was reviewed, and `{current.position}` is current"
        return Refused(
            code="stale_expected_revision", message=message, facts={"current_version": current.version, "id": edge_id}
        )
    return current
