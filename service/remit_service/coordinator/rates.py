"""Commands a second, by principal and by enforcement point (rules.md 14); counted in this process alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from remit_graph.model.instant import SECOND
from remit_service.coordination.values import Refusal

if TYPE_CHECKING:
    from remit_service.clock import Clock
    from remit_service.coordination.bounds import Limits

CALLERS_KEPT: Final = 10_000
"""Buckets kept at once; they are full again soon, so that forgetting one is harmless."""


class Rates:
    """Token buckets that hold one second's commands; on the monotonic clock, which nobody sets back."""

    def __init__(self, clock: Clock) -> None:
        """Start with every bucket full."""
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def over(self, principal: str, point: str, limits: Limits) -> Refusal | None:
        """Take one command from both buckets, or say that one is empty."""
        now = self._clock.monotonic()
        taken: dict[str, tuple[float, float]] = {}
        for name, rate in (
            (principal, limits.principal.commands_per_second),
            (f"point {point}", limits.point.commands_per_second),
        ):
            left, since = self._buckets.get(name, (float(rate), now))
            left = min(left + (now - since) * rate, float(rate))
            if left < 1:
                return self._refusal(name, rate, (1 - left) / rate)
            taken[name] = (left - 1, now)
        if len(self._buckets) + len(taken) > CALLERS_KEPT:
            self._buckets.clear()
        # Both or none: a point that is over its rate uses up nothing of those it speaks for.
        self._buckets.update(taken)
        return None

    def _refusal(self, name: str, rate: int, seconds: float) -> Refusal:
        facts = {"limit": f"commands a second of `{name}`", "maximum": rate, "count": rate}
        return Refusal(code="limit_exceeded", facts=facts, retry_at=self._clock.now() + round(seconds * SECOND))
