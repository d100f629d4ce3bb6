"""Chance for generated inputs: a seed gives one input, for ever and on every machine."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


class Chance:
    """Draws from a seed. Most draws give the usual value, so that an input has a flaw or two and not fifty."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - examples, no secrets
        # Every fifth input is wild: many flaws at once, as no service would build them.
        self._flaws = 0.35 if seed % 5 == 0 else 0.02

    def mostly(self, usual: T, *unusual: T) -> T:
        """Return `usual`, rarely one of the others."""
        return self._random.choice(unusual) if self._random.random() < self._flaws else usual

    def of(self, pool: Sequence[T]) -> T:
        """Return one of `pool`, each as often."""
        return self._random.choice(pool)

    def some(self, pool: Sequence[T], at_most: int) -> list[T]:
        """Return up to `at_most` different ones of `pool`, in any order."""
        return self._random.sample(pool, self._random.randint(0, at_most))

    def yes(self, share: float = 0.5) -> bool:
        """Return True in `share` of the draws."""
        return self._random.random() < share

    def number(self, low: int, high: int) -> int:
        """Return an integer from `low` to `high`, both included."""
        return self._random.randint(low, high)


class Usual(Chance):
    """No chance at all: the usual value, the first of a pool, nothing that need not be there."""

    def __init__(self) -> None:
        super().__init__(1)

    def mostly(self, usual: T, *_: T) -> T:
        """Return `usual`."""
        return usual

    def of(self, pool: Sequence[T]) -> T:
        """Return the first of `pool`."""
        return pool[0]

    def some(self, pool: Sequence[T], at_most: int) -> list[T]:  # noqa: ARG002 - the signature of the draw
        """Return none of `pool`."""
        return []

    def yes(self, share: float = 0.5) -> bool:  # noqa: ARG002 - the signature of the draw
        """Return False."""
        return False

    def number(self, low: int, high: int) -> int:  # noqa: ARG002 - the signature of the draw
        """Return the lowest."""
        return low
