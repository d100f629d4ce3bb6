"""The check at the resource itself: the highest fencing token seen for each key, and nothing lower passes.

A lease does not promise that only one process is acting; only this check does. It needs no decision point: a write that
was delayed, of a holder whose lease has ended, is refused by number alone, whatever the network, the clocks or the
decision point do. So it stands where the write takes effect, and the write is the body of the `with`:

    with guard.admit("wp:post:1024", turn.fencing_tokens):
        page.save(...)

Rules:
- a token is remembered before the body runs: one that fails half-way must not open the way for an older one;
- from the check to the end of the body nobody else passes, so it is short and without `await` (`asyncio.to_thread`);
- tokens are remembered by fence key, `<key>#<field>` or `<key>#*`; the whole of a resource meets each of its fields;
- an equal token passes: it is the same holder's, or one that it shares by the conflict matrix;
- the incarnation of the store is in the bits from 2^40 up: once one is seen on any key, a token of an earlier one, from
  before a restore of the store, passes on none. So a guard is for the resources of one store.

Not checked here: who writes what, which the decision point permitted; and the version, the body's own condition.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

from remit_enforce.errors import StaleToken

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

WHOLE: Final = "*"
MAX_TOKEN: Final = 1 << 53
"""Tokens stay below it, so that every JSON reader takes them as they are (rules.md 8)."""

INCARNATION_BITS: Final = 40
INCARNATION: Final = ""
"""Under this name, which is no fence key, a guard remembers the latest incarnation it has seen."""


class Guard(Protocol):
    """What stands at a resource."""

    def admit(self, key: str, tokens: Mapping[str, int]) -> AbstractContextManager[None]:
        """Let a write to the resource `key` through.

        Args:
            key: The resource that is written, as the resource itself knows it.
            tokens: What the writer shows: the token of each fence key; those of other resources are not looked at.

        Raises:
            StaleToken: A higher token was seen, or none is shown for this resource.
            ValueError: What is shown is no token.
        """
        ...


class MemoryGuard:
    """A guard for a resource that lives no longer than this process."""

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self._seen: dict[str, dict[str, int]] = {}
        self._latest = 1
        self._lock = threading.Lock()

    @contextmanager
    def admit(self, key: str, tokens: Mapping[str, int]) -> Iterator[None]:
        """Let a write through, see `Guard.admit`."""
        shown = tokens_for(key, tokens)
        with self._lock:
            # By resource: what was seen of others is not walked through.
            passed = dict(passing(key, shown, {**self._seen.get(key, {}), INCARNATION: self._latest}))
            self._latest = passed.pop(INCARNATION)
            self._seen.setdefault(key, {}).update(passed)
            yield


def incarnation_of(token: int) -> int:
    """Return the incarnation of the store that issued a token: it grows with every restore from a backup."""
    return (token >> INCARNATION_BITS) + 1


def tokens_for(key: str, tokens: Mapping[str, int]) -> dict[str, int]:
    """Return the tokens that are for this resource.

    Raises:
        StaleToken: There is none.
        ValueError: One is no token.
    """
    mine = {name: each for name, each in tokens.items() if name.startswith(f"{key}#")}
    for name, each in mine.items():
        if type(each) is not int or not 0 < each < MAX_TOKEN:
            raise ValueError(f"a fencing token is a whole number from 1 to 2^53, and `{each}` for `{name}` is not")
    if not mine:
        raise StaleToken(f"{key}#{WHOLE}", None, 0)
    return mine


def passing(key: str, shown: Mapping[str, int], seen: Mapping[str, int]) -> Mapping[str, int]:
    """Return what a guard remembers from now on of a write that shows these tokens.

    Args:
        key: The resource.
        shown: Its tokens, as the writer shows them.
        seen: The highest token of each of its fence keys, and the latest incarnation.

    Raises:
        StaleToken: One is lower than one seen on the same field, on the whole, or, for the whole, on any field; or it
            is of an earlier incarnation than one seen anywhere.
    """
    latest = max(seen.get(INCARNATION, 1), *(incarnation_of(each) for each in shown.values()))
    floor = (latest - 1) << INCARNATION_BITS
    for name, token in shown.items():
        whole = f"{key}#{WHOLE}"
        met = (each for other, each in seen.items() if other in (name, whole) or (name == whole and _of(key, other)))
        highest = max((floor, *met))
        if token < highest:
            raise StaleToken(name, token, highest)
    return {**shown, INCARNATION: latest}


def _of(key: str, fence_key: str) -> bool:
    return fence_key.startswith(f"{key}#")
