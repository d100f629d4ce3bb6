"""What somebody did to a store's graph past the ledger: how it is told, and what can be done about it.

A ledger may keep the graph beside its log for people to read. What is edited there gives no authority, since decisions
are made on the view, which is built from the log alone. It is found, named, and adopted through commands or set aside.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from remit_graph.model.instant import Instant


class Slip(StrEnum):
    """What happened to an element past the ledger."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """An element of the graph that is not what the ledger made.

    Attributes:
        slip: What happened to it.
        kind: The type of the relationship, or the label of the node.
        name: Position or id of an edge, `ref` of a node; empty where it bears none.
        sentence: What is wrong, for a person.
        joins: The two ends of a relationship; None for a node.
        record: For an edge that was added or changed, the `edge.begin` record that would say the same.
        properties: As they were found; empty for what is gone.
        handle: The database's own id of the element, to take it out by; it means nothing after that, so it is shown
            and stored nowhere (faults.md F078).
    """

    slip: Slip
    kind: str
    name: str
    sentence: str
    joins: tuple[str | None, str | None] | None = None
    record: Mapping[str, Any] | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)
    handle: str = field(default="", repr=False, compare=False)

    @property
    def edit_id(self) -> str:
        """The id to choose this edit by, made of all that was found: whoever edits it again makes another edit."""
        # What somebody wrote by hand may hold floats, dates and points.
        said = json.dumps(
            [self.slip, self.kind, self.name, self.joins, dict(self.properties)], sort_keys=True, default=str
        )
        return f"edit-{hashlib.sha256(said.encode()).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """An edit that was taken out of the graph.

    Attributes:
        finding: What it was, without its ends.
        edit_id: The id it had; None of one that was set aside by a version without them.
        by: The principal in whose name; empty where that is not known.
        reason: Why, as was said then.
        at: When, microseconds UTC by the store's clock.
    """

    finding: Finding
    edit_id: str | None
    by: str
    reason: str | None
    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class PartDrift:
    """A kind of element of which the graph has others than the ledger made.

    Attributes:
        name: Type of the relationships, or label of the nodes.
        expected: How many there must be.
        found: How many there are; equal to `expected` where only the sums of the digests differ.
    """

    name: str
    expected: int
    found: int

    @property
    def sentence(self) -> str:
        """Say what differs."""
        if self.expected == self.found:
            return f"the {self.found} {self.name} of the graph are others than the ledger made"
        return f"the graph has {self.found} {self.name}, the ledger made {self.expected}"


@runtime_checkable
class Materialised(Protocol):
    """A ledger that keeps the graph beside its log; the embedded one keeps the log alone.

    Each raises `LedgerError` where the store cannot be asked.
    """

    async def drift(self) -> Sequence[PartDrift]:
        """Return the kinds of elements that differ, by counts and sums of digests: quick, for a timer."""
        ...

    def parts(self) -> Sequence[str]:
        """Return the names of the parts that `findings` can look at one by one."""
        ...

    async def findings(self, *, everything: bool = True, part: str | None = None) -> Sequence[Finding]:
        """Return by name what is not what the ledger made.

        Args:
            everything: Compute every digest anew; otherwise look only into the kinds that `drift` names.
            part: Look at this part alone, whole.
        """
        ...

    async def set_aside(self, findings: Sequence[Finding], *, by: str = "", reason: str | None = None) -> None:
        """Bring what `findings` name to what the ledger says, and keep what it was, by whom it was done and why."""
        ...

    async def was_set_aside(self) -> Sequence[SetAside]:
        """Return what was ever set aside, oldest first."""
        ...
