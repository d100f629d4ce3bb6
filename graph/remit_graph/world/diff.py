"""What differs between two worlds, for people and for programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from remit_graph.world.value import World

Record = dict[str, Any]
Kind = Literal["added", "removed", "changed"]
NOUNS: Final = (
    "realm",
    "epochs",
    "resource_type",
    "action",
    "principal",
    "resource",
    "alias",
    "enforcement_point",
    "edge",
)
"""What a difference may be about, in the order differences are listed."""

_MARKS: Final[Mapping[Kind, str]] = {"added": "+", "removed": "-", "changed": "~"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that is in one world and not, or not so, in the other.

    Attributes:
        noun: One of `NOUNS`.
        id: Its name, id, key or template.
        kind: `added`, `removed` or `changed`.
        before: Its record in the first world.
        after: Its record in the second.
    """

    noun: str
    id: str
    kind: Kind
    before: Record | None
    after: Record | None

    def record(self) -> Record:
        """Return the form of `--json` and of `POST /v1/graph/apply`."""
        record: Record = {"kind": self.kind, "noun": self.noun, "id": self.id}
        for name, value in (("before", self.before), ("after", self.after)):
            if value is not None:
                record[name] = value
        return record

    def __str__(self) -> str:
        """One line for people; of what changed, the members that did."""
        return f"{_MARKS[self.kind]} {self.noun} {self.id}{self._detail()}"

    def _detail(self) -> str:
        if self.kind == "changed":
            return ": " + "; ".join(_changed(self.before or {}, self.after or {}))
        record = self.after or self.before or {}
        return f": {record['edge']} {record['from']} -> {record['to']}" if self.noun == "edge" else ""


def _changed(before: Mapping[str, Any], after: Mapping[str, Any], path: str = "") -> Iterator[str]:
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        where = f"{path}{name}"
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _changed(old, new, f"{where}.")
        else:
            yield f"{where} {_shown(old)} -> {_shown(new)}"


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    return f"[{', '.join(_shown(each) for each in value)}]" if isinstance(value, list) else str(value)


def diff_worlds(before: World, after: World) -> tuple[Difference, ...]:
    """Return all differences, sorted by noun and id; nothing for equal worlds."""
    old, new = _tables(before), _tables(after)
    return tuple(each for noun in NOUNS for each in _differences(noun, old[noun], new[noun]))


def _differences(noun: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Difference]:
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old is new or old == new:
            continue
        was, will = _record(noun, name, old), _record(noun, name, new)
        if was != will:  # Equal records differ in bookkeeping alone: the revision an edge began at.
            kind: Kind = "added" if was is None else "removed" if will is None else "changed"
            yield Difference(noun=noun, id=name, kind=kind, before=was, after=will)


def _tables(world: World) -> dict[str, Mapping[str, Any]]:
    return {
        "realm": {"settings": world.realm},
        "epochs": {"authority": world.epochs},
        "resource_type": world.resource_types,
        "action": world.actions,
        "principal": world.principals,
        "resource": world.resources,
        "alias": world.aliases,
        "enforcement_point": world.enforcement_points,
        "edge": world.edges,
    }


def _record(noun: str, name: str, value: Any) -> Record | None:
    if value is None:
        return None
    if noun == "resource":
        return {"key": name, "attributes": dict(value)} if value else {"key": name}
    if noun == "alias":
        return {"alias": name, "key": value}
    record: Record = value.record()
    return record


def summary(differences: Iterable[Difference]) -> str:
    """Count differences in one line: `2 to add, 1 to change, none to remove`."""
    kinds = [each.kind for each in differences]
    verbs: tuple[tuple[Kind, str], ...] = (("added", "add"), ("changed", "change"), ("removed", "remove"))
    return ", ".join(f"{kinds.count(kind) or 'none'} to {verb}" for kind, verb in verbs)
