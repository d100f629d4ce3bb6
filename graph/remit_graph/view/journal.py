"""Undo: every change of the view is a few writes to plain dictionaries, each of which can be taken back.

The writer decides a batch of commands one after the other on the view itself, takes all of it back before anybody
can look, and applies it again when the ledger has it (rules.md 11). Page tokens use the same undo to look back for
a minute (rules.md 13).
"""

from __future__ import annotations

from typing import Any, Final

_MISSING: Final = object()


class Journal:
    """Writes to dictionaries and remembers how to take them back, newest first."""

    __slots__ = ("_undo",)

    def __init__(self, *, keep: bool = True) -> None:
        """Start empty; with `keep=False` nothing is remembered, which a bulk load wants."""
        self._undo: list[tuple[dict[Any, Any], Any, Any]] | None = [] if keep else None

    def put(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        """Set `table[key]`."""
        if self._undo is not None:
            self._undo.append((table, key, table.get(key, _MISSING)))
        table[key] = value

    def drop(self, table: dict[Any, Any], key: Any) -> None:
        """Remove `table[key]` if it is there."""
        if key in table:
            if self._undo is not None:
                self._undo.append((table, key, table[key]))
            del table[key]

    def bucket(self, table: dict[Any, Any], key: Any) -> dict[Any, Any]:
        """Return the dictionary at `table[key]`, made if missing."""
        found = table.get(key)
        if found is None:
            found = {}
            self.put(table, key, found)
        return found

    def leave(self, table: dict[Any, Any], key: Any, item: Any) -> None:
        """Remove `item` from the dictionary at `table[key]` if it is there, and that dictionary with its last item."""
        bucket = table.get(key)
        if bucket is None:
            return
        self.drop(bucket, item)
        if not bucket:
            self.drop(table, key)

    def take_over(self, later: Journal) -> None:
        """Take back from now on what `later` wrote after this one, too; there is nothing left in it."""
        if self._undo is not None:
            self._undo.extend(later._undo or ())
        later._undo = []

    def undo(self) -> None:
        """Take everything back; the journal is empty afterwards."""
        for table, key, value in reversed(self._undo or ()):
            if value is _MISSING:
                table.pop(key, None)
            else:
                table[key] = value
        if self._undo:
            self._undo.clear()

    def flip(self) -> None:
        """Take everything back, or put it back: flipping twice restores every table."""
        other: list[tuple[dict[Any, Any], Any, Any]] = []
        for table, key, value in reversed(self._undo or ()):
            if value is _MISSING:
                other.append((table, key, table.pop(key, _MISSING)))
            else:
                other.append((table, key, table.get(key, _MISSING)))
                table[key] = value
        if self._undo is not None:
            self._undo = other
