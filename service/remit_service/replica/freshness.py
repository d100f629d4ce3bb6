"""How long ago it was known that the view is where the ledger stands; on the monotonic clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from remit_service.clock import Clock

HEAD_EVERY_SECONDS: Final = 0.5
"""The head is asked for so often also while changes come without a pause; otherwise that nothing came says it all."""


class Freshness:
    """The instant up to which the view is known to be the ledger's."""

    def __init__(self, clock: Clock) -> None:
        """Know nothing."""
        self._clock = clock
        self._confirmed: float | None = None
        self._aim: tuple[float, int] | None = None
        self._asked: float | None = None

    @property
    def is_known(self) -> bool:
        """Whether anything was confirmed at all."""
        return self._confirmed is not None

    @property
    def wants_head(self) -> bool:
        """Whether it is time to ask where the ledger stands."""
        return self._asked is None or self._clock.monotonic() - self._asked >= HEAD_EVERY_SECONDS

    def age_seconds(self) -> float:
        """How long ago the view was last known to be the ledger's; infinite where it never was."""
        return float("inf") if self._confirmed is None else self._clock.monotonic() - self._confirmed

    def begin(self, at: float) -> None:
        """The view was loaded up to the head as it was at `at` or later."""
        self._confirmed, self._aim, self._asked = at, None, at

    def forget(self) -> None:
        """The view is not the ledger's any more."""
        self._confirmed = self._aim = self._asked = None

    def confirm(self, at: float) -> None:
        """Nothing newer than the view was there at `at` or later."""
        if self._confirmed is not None:
            self._confirmed = max(self._confirmed, at)

    def idle(self) -> None:
        """Nothing newer than the view was there since the head was asked for."""
        if self._asked is not None:
            self.confirm(self._asked)

    def aim(self, at: float, revision: int) -> None:
        """The ledger stood at `revision` at `at` or later."""
        self._asked = at
        # An earlier one that was not reached yet stays: a view that lags is as old as its lag, not older and older.
        if self._aim is None:
            self._aim = (at, revision)

    def reached(self, revision: int) -> None:
        """The view is at `revision`."""
        if self._aim is not None and revision >= self._aim[1]:
            self.confirm(self._aim[0])
            self._aim = None
