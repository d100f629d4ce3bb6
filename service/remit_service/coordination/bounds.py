"""Bounds of leases, waits and growth, each with its unit in its name and its reason beside it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from remit_graph.errors import ModelError
from remit_graph.model.instant import SECOND

MAX_QUESTIONS: Final = 64
"""Questions one command may put to the policy: at about 250 us each they fill a batch (rules.md 11)."""

MAX_EXAMPLES: Final = 32
"""Leases shown to the policy at once (rules.md 12)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasePolicy:
    """How long things are held. Measured by the instant of the command that starts them, never by a client's clock.

    What it does not promise: that only one process is acting. Only the check of the token at the resource does.

    Attributes:
        min_ttl_us, max_ttl_us: What a lease may ask for (coordination.md 2).
        ttl_us: Where it asks for nothing.
        renew_margin_us: How long before the end a holder renews.
        max_clock_skew_us: How far clocks may be apart.
        max_hold_us: What no renewal can go beyond.
        max_idle_us: A lease that shows no progress for longer is not renewed (S68).
        waiter_ttl_us: How long a waiter is believed to be alive after it last asked.
        max_wait_us: What a wait can ask for.
        freeze_us: How long operations from before a freeze may still write (rules.md 4).
        presence_us: Longest life of a presence.
        ordered: Whether keys must be taken in lock order; off, only cycles are refused.
    """

    min_ttl_us: int = 1 * SECOND
    max_ttl_us: int = 600 * SECOND
    ttl_us: int = 30 * SECOND
    renew_margin_us: int = 10 * SECOND
    max_clock_skew_us: int = 1 * SECOND
    max_hold_us: int = 1_800 * SECOND
    max_idle_us: int = 600 * SECOND
    waiter_ttl_us: int = 30 * SECOND
    max_wait_us: int = 600 * SECOND
    freeze_us: int = 60 * SECOND
    presence_us: int = 600 * SECOND
    ordered: bool = True

    def __post_init__(self) -> None:
        """Refuse bounds that leave no margin: `ttl > renew_margin > max_clock_skew`.

        Raises:
            ModelError: naming both numbers.
        """
        for name, more, less in (
            ("`ttl` is more than `renew_margin`", self.ttl_us, self.renew_margin_us),
            ("`renew_margin` is more than `max_clock_skew`", self.renew_margin_us, self.max_clock_skew_us),
        ):
            if more <= less:
                raise ModelError(f"{name}, and {more / SECOND:g} s is not more than {less / SECOND:g} s")
        if not self.min_ttl_us <= self.ttl_us <= self.max_ttl_us <= self.max_hold_us:
            raise ModelError(
                f"`ttl` lies within its bounds, and {self.ttl_us / SECOND:g} s is not within "
                f"{self.min_ttl_us / SECOND:g} s and {min(self.max_ttl_us, self.max_hold_us) / SECOND:g} s"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """How many of each one principal, or one enforcement point, may have at once (rules.md 14)."""

    lease: int
    waiter: int
    operation: int
    presence: int
    commands_per_second: int

    def record(self) -> dict[str, int]:
        """Return the form of `GET /v1/limits`."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Quotas; both count."""

    principal: Quota = Quota(lease=1_000, waiter=200, operation=1_000, presence=100, commands_per_second=500)
    point: Quota = Quota(lease=50_000, waiter=10_000, operation=50_000, presence=5_000, commands_per_second=10_000)
