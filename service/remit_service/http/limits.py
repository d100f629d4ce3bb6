"""Bounds on how much is asked: per enforcement point and second, of everybody at once, and of long questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_service.http.problems import ProblemError, wait

if TYPE_CHECKING:
    from collections.abc import Callable


class RateLimit:
    """A token bucket for each enforcement point: `rate` a second, and as many at once."""

    def __init__(self, rate: int, monotonic: Callable[[], float]) -> None:
        """Allow `rate` questions a second; 0 sets no limit."""
        self.rate = rate
        self._monotonic = monotonic
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, name: str, count: int = 1) -> None:
        """Take `count` questions from the bucket of `name`.

        Raises:
            ProblemError: 429 with `Retry-After` and the RateLimit headers.
        """
        if not self.rate:
            return
        now = self._monotonic()
        left, since = self._buckets.get(name, (float(self.rate), now))
        left = min(self.rate, left + (now - since) * self.rate)
        # A batch larger than a whole bucket is let through a full one, and leaves it in debt.
        if left >= min(count, self.rate):
            self._buckets[name] = (left - count, now)
            return
        self._buckets[name] = (left, now)
        raise _exceeded(self.rate, (min(count, self.rate) - left) / self.rate)


def _exceeded(rate: int, seconds: float) -> ProblemError:
    problem = wait(
        "limit_exceeded",
        f"more than {rate} questions in a second",
        seconds,
        limit=rate,
        **{"violated-policies": ["rate"]},
    )
    reset = problem.headers[0][1]
    headers = (
        *problem.headers,
        (b"ratelimit-policy", b'"rate";q=%d;w=1' % rate),
        (b"ratelimit", b'"rate";r=0;t=' + reset),
    )
    return ProblemError(
        type(problem)(code=problem.code, status=429, detail=problem.detail, members=problem.members, headers=headers)
    )


class InFlight:
    """How many requests are worked on."""

    def __init__(self, limit: int) -> None:
        """Allow `limit` at once."""
        self.limit = limit
        self.count = 0
        self.begun = 0

    def __enter__(self) -> None:
        """Begin one.

        Raises:
            ProblemError: 503; there are enough.
        """
        if self.count >= self.limit:
            raise ProblemError(wait("overloaded", f"{self.limit} requests are being worked on", 1))
        self.count += 1
        self.begun += 1

    def __exit__(self, *_: object) -> None:
        """End one."""
        self.count -= 1


class Readings:
    """How many searches, explanations and reports are worked on: they shed load before decisions do (rules.md 14)."""

    def __init__(self, limit: int, all_requests: InFlight) -> None:
        """Allow `limit` at once, and none while every second place for a request is taken."""
        self._own = InFlight(limit)
        self._all = all_requests

    def __enter__(self) -> None:
        """Begin one.

        Raises:
            ProblemError: 503; decisions come first.
        """
        if self._all.count > max(1, self._all.limit // 2):
            raise ProblemError(wait("overloaded", "decisions come first, and there are many", 1))
        self._own.__enter__()

    def __exit__(self, *_: object) -> None:
        """End one."""
        self._own.__exit__()
