"""Instants: integers of microseconds UTC inside, RFC 3339 with an offset outside.

Finer input is refused rather than rounded, and so is an instant without an offset: two readers could take it
for two different moments (rules.md 1).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from remit_graph.errors import ModelError

Instant = int
"""Microseconds since 1970-01-01T00:00:00Z."""

SECOND: Final = 1_000_000
DAY: Final = 24 * 3600 * SECOND
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST: Final = -62_135_596_800_000_000
"""0001-01-01T00:00:00Z."""

LATEST: Final = 253_402_300_799_999_999
"""9999-12-31T23:59:59.999999Z."""

_RFC3339: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,6})0*)?(Z|z|[+-]\d\d:\d\d)\Z",
    re.ASCII,
)


def parse_instant(value: object) -> Instant:
    """Read an RFC 3339 date-time with seconds and an offset.

    Returns:
        Microseconds UTC.

    Raises:
        ModelError: it is not a string, has no offset, is finer than a microsecond, or names no real moment.
    """
    if isinstance(value, datetime):
        return from_datetime(value)
    match = _RFC3339.match(value) if isinstance(value, str) else None
    if match is None:
        raise ModelError(
            f"`{value}` is not a time: use RFC 3339 with seconds and an offset, such as 2027-01-01T00:00:00Z"
        )
    day, clock, fraction, offset = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{'+00:00' if offset in 'Zz' else offset}")
        whole = (moment - _EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError) as error:
        raise ModelError(f"`{value}` is no real moment: {error}") from error
    return whole + int((fraction or "").ljust(6, "0"))


def from_datetime(value: datetime) -> Instant:
    """Turn an aware datetime into microseconds UTC; a naive one is refused."""
    if value.tzinfo is None:
        raise ModelError(f"`{value.isoformat()}` has no offset: write it with Z or an offset such as +09:00")
    return (value - _EPOCH) // timedelta(microseconds=1)


def format_instant(instant: Instant) -> str:
    """Write an instant as RFC 3339 in UTC, with a fraction only where there is one.

    What lies beyond the years that RFC 3339 can write is written as the last or first moment it can: a stored edge with
    such a bound must still be readable.
    """
    instant = min(max(instant, EARLIEST), LATEST)
    text = _format_second(instant // SECOND)
    fraction = f"{instant % SECOND:06d}".rstrip("0")
    return f"{text}.{fraction}Z" if fraction else f"{text}Z"


@lru_cache(maxsize=256)
def _format_second(second: int) -> str:
    """Write a whole second; kept, since what happens now is written again and again."""
    return (_EPOCH + timedelta(seconds=second)).isoformat()[:19]
