"""A wanted world on top of the graph as it is: which versions and stamps its edges will really have.

A world file says what is wanted, and a fresh world of its own is judged by itself. Here it meets history:

- an edge that says what the current one says stays as it is, epoch included: applying a file never renews what a floor
  has killed (`remit epoch renew` does);
- an edge that says something else begins a new version, at the authority epoch of now;
- an owner keeps its ownership epoch, a new one gets 1 + the highest ever; who owns a field changes by transfer alone;
- a grant rests on the owners of now, unless the file states what it rests on;
- epochs only grow, the realm's and those of principals; a file that is silent about them leaves them alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from remit_graph.laws.owns import next_ownership_epoch, owns_overlap, rests_on
from remit_graph.laws.refusal import Refusal
from remit_graph.model.edge import GRANT_CLASS, Edge, EdgeType
from remit_graph.world.changes import in_order, parent_id
from remit_graph.world.graph import WorldGraph
from remit_graph.world.value import FIRST_EPOCH, Epochs, World

if TYPE_CHECKING:
    from collections.abc import Iterable

    from remit_graph.model.principal import Principal


class History(Protocol):
    """What is asked about edges that have ended; the view answers."""

    def last_version(self, edge_id: str) -> int:
        """Return the highest version an edge ever had, 0 for none."""
        ...

    def past_owns(self) -> Iterable[Edge]:
        """Return every ended OWNS version."""
        ...


class NoHistory:
    """The history of a store in which nothing has ended yet."""

    def last_version(self, edge_id: str) -> int:  # noqa: ARG002 - no edge ever ended here
        """Return 0."""
        return 0

    def past_owns(self) -> Iterable[Edge]:
        """Return nothing."""
        return ()


@dataclass(frozen=True, slots=True)
class Rebased:
    """The wanted world as it will be, and why it may not be."""

    world: World
    refusals: tuple[Refusal, ...]


def rebase(current: World, wanted: World, history: History) -> Rebased:
    """Return `wanted` with the versions and stamps that its edges get on top of `current`."""
    epochs, refusals = _epochs(current.epochs, wanted.epochs)
    principals, more = _principals(current, wanted)
    work = _Rebase(current, wanted, history, epochs)
    for edge in in_order(wanted.edges.values()):
        work.place(edge)
    edges = {edge_id: work.placed[edge_id] for edge_id in sorted(work.placed)}
    world = replace(wanted, edges=edges, epochs=epochs, principals=principals)
    return Rebased(world, (*refusals, *more, *_moved_owners(current, edges)))


def _epochs(current: Epochs, wanted: Epochs) -> tuple[Epochs, list[Refusal]]:
    usual = Epochs()
    refusals: list[Refusal] = []
    for name in ("authority", "minimum_read", "minimum_write"):
        now, then = getattr(current, name), getattr(wanted, name)
        if then < now and then != getattr(usual, name):
            message = f"`epochs`: {name} is {now} and cannot go back to {then}"
            advice = f"leave it out, or write {now}"
            refusals.append(Refusal(code="stale_authority_epoch", message=message, dimension=name, advice=advice))
    grown = Epochs(
        authority=max(current.authority, wanted.authority, FIRST_EPOCH),
        minimum_read=max(current.minimum_read, wanted.minimum_read),
        minimum_write=max(current.minimum_write, wanted.minimum_write),
    )
    return grown, refusals


def _principals(current: World, wanted: World) -> tuple[dict[str, Principal], list[Refusal]]:
    """Keep what edges of principals are dead by: raised by a bump, it is lowered by nothing."""
    placed, refusals = dict(wanted.principals), []
    for name, principal in wanted.principals.items():
        before = current.principals.get(name)
        if before is None or before.minimum_epoch <= principal.minimum_epoch:
            continue
        if principal.minimum_epoch:
            then, now = principal.minimum_epoch, before.minimum_epoch
            message = f"`{name}`: minimum_epoch is {now} and cannot go back to {then}"
            advice = f"leave it out, or write {now}"
            refusals.append(Refusal(code="stale_authority_epoch", message=message, dimension=name, advice=advice))
        placed[name] = replace(principal, minimum_epoch=before.minimum_epoch)
    return placed, refusals


def _moved_owners(current: World, edges: dict[str, Edge]) -> list[Refusal]:
    """Refuse an OWNS edge that takes what another principal owns now: ownership moves by transfer (model.md 6)."""
    before = WorldGraph(each for each in current.edges.values() if each.edge is EdgeType.OWNS)
    refusals: list[Refusal] = []
    for edge in edges.values():
        if edge.edge is not EdgeType.OWNS or current.edges.get(edge.edge_id) == edge:
            continue
        rivals = [each for each in before.owns.overlapping(edge.to) if each.from_ != edge.from_]
        refusals += [_taken(edge, each) for each in rivals if owns_overlap(each, edge)]
    return refusals


def _taken(edge: Edge, owner: Edge) -> Refusal:
    return Refusal(
        code="invalid_transition",
        message=f"`{edge.edge_id}` takes from `{owner.from_}` what it owns by `{owner.position}`",
        dimension="from",
        offending=(owner.from_,),
        advice="move ownership with `remit transfer`, then write the new owner into the file",
    )


class _Rebase:
    """Places edges one after the other; what an edge rests on is placed before it."""

    def __init__(self, current: World, wanted: World, history: History, epochs: Epochs) -> None:
        self.placed: dict[str, Edge] = {}
        self._current = current
        self._wanted = wanted
        self._history = history
        self._epochs = epochs
        self._past = [*history.past_owns(), *(each for each in current.edges.values() if each.edge is EdgeType.OWNS)]
        self._fresh = WorldGraph(wanted.edges.values())
        self._now: WorldGraph | None = None

    def place(self, edge: Edge) -> None:
        """Decide version and stamps of one wanted edge."""
        if edge.edge in GRANT_CLASS and self._now is None:
            # OWNS edges and structure come before grants, so all of them are placed by now.
            self._now = WorldGraph(self.placed.values())
        before = self._current.edges.get(edge.edge_id)
        edge = self._stamped(edge, before)
        if before is not None:
            # An amended right goes on carrying what was made under it, and `under` names the version of then.
            under = before.under if parent_id(before) == parent_id(edge) else edge.under
            same = replace(edge, epoch=before.epoch, version=before.version, under=under)
            if same == replace(before, revision_from=0):
                self.placed[edge.edge_id] = before
                return
        last = max(before.version if before is not None else 0, self._history.last_version(edge.edge_id))
        version = last + 1 if last else edge.version
        self.placed[edge.edge_id] = replace(edge, epoch=self._epoch(edge), version=version)

    def _epoch(self, edge: Edge) -> int:
        usual = edge.epoch == self._wanted.epochs.authority
        return self._epochs.authority if usual else min(edge.epoch, self._epochs.authority)

    def _stamped(self, edge: Edge, before: Edge | None) -> Edge:
        if edge.edge is EdgeType.OWNS:
            return replace(edge, ownership_epoch=self._ownership_epoch(edge, before))
        if edge.edge in GRANT_CLASS and edge.rests_on == rests_on(edge, self._fresh.owners_over(edge.to)):
            owners = self._now.owners_over(edge.to) if self._now is not None else ()
            return replace(edge, rests_on=rests_on(edge, owners))
        parent = self.placed.get(parent_id(edge) or "")
        return edge if parent is None else replace(edge, under=parent.position)

    def _ownership_epoch(self, edge: Edge, before: Edge | None) -> int:
        others = [each for each in self._past if each.edge_id != edge.edge_id or each.from_ != edge.from_]
        least = next_ownership_epoch(edge, others)
        if before is not None and before.edge is EdgeType.OWNS and before.from_ == edge.from_:
            return max(before.ownership_epoch or 1, least if self._grew(edge, before) else 1)
        return max(next_ownership_epoch(edge, self._past), edge.ownership_epoch or 1)

    @staticmethod
    def _grew(edge: Edge, before: Edge) -> bool:
        """Whether an owner claims more than before, and so may claim what others owned once."""
        return (edge.to, edge.scope.fields, edge.except_) != (before.to, before.scope.fields, before.except_)
