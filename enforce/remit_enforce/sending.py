"""What may be sent again, and after which pause (S74, S82).

Sending is repeated where nobody answered, or where the decision point itself says when to come again (429, 503): never
because of what an answer decided. The pause doubles, follows the hint where there is one, and is spread by chance, so
that a crowd does not return at once. A late answer is not asked for again: its time is used up.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from remit_enforce.refusal import NO_ANSWER

if TYPE_CHECKING:
    from remit_enforce.refusal import Refusal
    from remit_enforce.settings import Settings

_COME_AGAIN: Final = frozenset({429, 503})
_SPREAD: Final = 0.25
"""Of a hint: earlier than it says is of no use, so that chance only adds."""


def pause_before(attempt: int, refusal: Refusal, settings: Settings) -> float | None:
    """Return how long to wait before a call is sent for the `attempt`th time, or None where it is not sent again."""
    if refusal.code == NO_ANSWER:
        mean = min(settings.pause_seconds * 2 ** (attempt - 2), settings.max_pause_seconds)
        return float(mean * random.uniform(0.5, 1.5))  # noqa: S311 - spreads a crowd, keeps no secret
    hint = refusal.retry_after_seconds
    if refusal.status not in _COME_AGAIN or hint is None or hint > settings.max_pause_seconds:
        return None
    return hint * random.uniform(1, 1 + _SPREAD)  # noqa: S311 - the same
