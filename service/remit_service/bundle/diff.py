"""What differs between two bundles, in terms a reviewer reads: data by pointer, Rego by line."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from remit_service.bundle.data import data_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from remit_service.bundle.model import Bundle

_ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class DataChange:
    """One value of the data tree that differs; None stands for a value that is not there, or is null."""

    pointer: str
    before: object
    after: object
    kind: str
    """`added`, `removed` or `changed`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleDiff:
    """The difference between two bundles; empty lists where nothing differs."""

    before: str
    after: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    data: tuple[DataChange, ...]
    text: str
    """A unified diff of the Rego files."""

    @property
    def is_empty(self) -> bool:
        """Whether both are the same bundle."""
        return self.before == self.after


def diff_bundles(before: Bundle, after: Bundle) -> BundleDiff:
    """Compare two bundles."""
    old, new = before.files, after.files
    return BundleDiff(
        before=before.revision,
        after=after.revision,
        added=tuple(sorted(new.keys() - old.keys())),
        removed=tuple(sorted(old.keys() - new.keys())),
        changed=tuple(sorted(path for path in new.keys() & old.keys() if new[path] != old[path])),
        data=tuple(_data_changes("", data_tree(old), data_tree(new))),
        text="".join(_text_changes(old, new)),
    )


def _data_changes(pointer: str, old: object, new: object) -> Iterator[DataChange]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            below = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
            yield from _data_changes(below, old.get(key, _ABSENT), new.get(key, _ABSENT))
    elif old is _ABSENT:
        yield DataChange(pointer, None, new, "added")
    elif new is _ABSENT:
        yield DataChange(pointer, old, None, "removed")
    elif old != new:
        yield DataChange(pointer, old, new, "changed")


def _text_changes(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> Iterator[str]:
    for path in sorted(old.keys() | new.keys()):
        if path.endswith(".rego"):
            yield from difflib.unified_diff(_lines(old, path), _lines(new, path), f"a/{path}", f"b/{path}")


def _lines(files: Mapping[str, bytes], path: str) -> list[str]:
    return files.get(path, b"").decode().splitlines(keepends=True)
