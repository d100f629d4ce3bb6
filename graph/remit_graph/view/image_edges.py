"""Edges as rows of an image: a list of members in a fixed order, without the empty ones at its end.

A row names its scope by number. Scopes are numbered in the order in which rows first use them, by their canonical text:
`1` and `true` are equal in Python and are different conditions.
"""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING, Any, Final

from remit_graph.errors import ModelError
from remit_graph.model.change import canonical
from remit_graph.model.edge import Edge, EdgeType
from remit_graph.model.scope import OPEN, Scope, parse_scope
from remit_graph.view.state import HISTORY_KEPT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from remit_graph.model.instant import Instant

Row = list[Any]

_MEMBERS: Final = 21
_TYPES: Final = {str(each): each for each in EdgeType}


class ScopesOut:
    """Numbers scopes while rows are written; 0 is the open one."""

    def __init__(self) -> None:
        """Know the open scope only."""
        self._numbers: dict[str, int] = {}
        self._seen: dict[int, tuple[Scope, int]] = {}
        self.new: list[Any] = []
        """Records of scopes that no line has told yet."""

    def number(self, scope: Scope) -> int:
        """Return the number of a scope; one that is new is added to `new`."""
        known = self._seen.get(id(scope))
        if known is not None:
            return known[1]
        record = scope.record()
        number = 0
        if record:
            text = canonical(record)
            if text not in self._numbers:
                self.new.append(record)
            number = self._numbers.setdefault(text, len(self._numbers) + 1)
        # The scope is kept beside its number, so that no other object can take its id meanwhile.
        self._seen[id(scope)] = (scope, number)
        return number


class ScopesIn:
    """Finds scopes by number while rows are read."""

    def __init__(self) -> None:
        """Know the open scope only."""
        self.known: list[Scope] = [OPEN]

    def learn(self, records: Iterable[Any]) -> None:
        """Take the next scopes.

        Raises:
            ModelError: one of them is none.
        """
        self.known.extend(parse_scope(each) for each in records)


def row_of(edge: Edge, scopes: ScopesOut) -> Row:
    """Return the row of a version of an edge."""
    row: Row = [
        edge.edge_id, edge.version, edge.edge, edge.from_, edge.to, scopes.number(edge.scope), edge.epoch, edge.issuer,
        edge.revision_from, edge.valid_from, edge.valid_until, edge.max_depth, edge.under, edge.ownership_epoch,
        edge.rests_on, edge.except_, edge.count, edge.domains, edge.revision_to, edge.ended_at, edge.ended_by,
    ]  # fmt: skip
    while row[-1] is None or row[-1] == ():
        row.pop()
    return row


def edge_of(row: Row, scopes: ScopesIn) -> Edge:
    """Return the version of an edge that a row says.

    Raises:
        ModelError: it is no row of an edge.
    """
    try:
        (
            edge_id, version, edge, from_, to, scope, epoch, issuer, revision_from, valid_from, valid_until, max_depth,
            under, ownership_epoch, rests_on, except_, count, domains, revision_to, ended_at, ended_by,
        ) = row + _NOTHING[len(row) :]  # fmt: skip
        return Edge(
            edge_id=edge_id,
            version=version,
            edge=_TYPES[edge],
            from_=intern(from_),
            to=intern(to),
            scope=scopes.known[scope],
            valid_from=valid_from,
            valid_until=valid_until,
            epoch=epoch,
            issuer=intern(issuer),
            max_depth=max_depth,
            ownership_epoch=ownership_epoch,
            rests_on=tuple((each, number) for each, number in rests_on) if rests_on else (),
            under=under,
            except_=tuple(except_) if except_ else (),
            count=count,
            domains=None if domains is None else tuple(domains),
            revision_from=revision_from,
            revision_to=revision_to,
            ended_at=ended_at,
            ended_by=ended_by,
        )
    except (TypeError, ValueError, LookupError) as error:
        raise ModelError(f"`{row}` is no row of an edge: {error}") from error


_NOTHING: Final[Row] = [None] * _MEMBERS


def worth_keeping(versions: Sequence[Edge], at: Instant) -> list[Edge]:
    """Return of the ended versions of one edge those that an image at instant `at` needs."""
    bound = at - HISTORY_KEPT
    return [
        each
        for each in versions
        if each is versions[-1] or each.edge is EdgeType.OWNS or each.ended_at is None or each.ended_at > bound
    ]
