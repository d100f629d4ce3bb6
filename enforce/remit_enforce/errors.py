"""What the kit raises, split by what the caller does next.

EnforceError
├── Denied                no permit was had, so nothing may be written; `refusal` says why
│   ├── NeedsPerson       somebody has to decide or settle it; no program asks again by itself
│   └── StalePlan         what it was planned on has moved or was lost: read, plan and ask anew, never resend
│       └── StaleToken    the guard at the resource has seen a higher fencing token
├── CallbackFailed        a callback of the caller raised; what it raised is the cause
├── NotVerified           the write was made, and the resource is not as it should be
├── NotRecorded           the write was made, and the decision point could not be told
└── MarginTooShort        the settings leave no time to renew a lease; whoever set them mends it

Of a write each carries the receipt it left, in `receipt`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from remit_enforce.refusal import Refusal

if TYPE_CHECKING:
    from remit_enforce.receipt import Receipt


class EnforceError(Exception):
    """Root of everything the kit raises.

    Attributes:
        receipt: How the write ended, where there was one.
    """

    receipt: Receipt | None = None


class Denied(EnforceError):
    """There is no permit: it was refused, or nobody could be asked.

    Attributes:
        refusal: Why, who can settle it, and when asking again can help.
    """

    def __init__(self, refusal: Refusal) -> None:
        """Keep the refusal."""
        super().__init__(str(refusal))
        self.refusal = refusal


class NeedsPerson(Denied):
    """Somebody has to decide or settle it (S82, S87); a callback raises it where the choice is not a program's."""

    @classmethod
    def because(cls, sentence: str, **facts: Any) -> Self:
        """Return one for a callback to raise, with what the person has to see."""
        told = Refusal(
            code="goal_unclear", message=sentence, outcome="escalate", resolver="human_reviewer", document=facts
        )
        return cls(told)


class StalePlan(Denied):
    """The plan does not hold any more; a retry is a new run, from a new read and a new decision (S82)."""

    @classmethod
    def moved(cls, expected: str, current: str) -> Self:
        """Return one for a callback to raise which found another version at the resource and wrote nothing."""
        message = f"the resource is at {current}, and this was planned on {expected}"
        facts = {"expected_version": expected, "current_version": current}
        told = Refusal(code="stale_resource_version", message=message, outcome="rebase", document=facts)
        return cls(told)


class StaleToken(StalePlan):
    """The guard refuses a write: a higher token was seen for its key, or none was shown.

    Attributes:
        fence_key: What the token is for.
        token: The token that was shown, or None.
        highest: The highest that was seen.
    """

    def __init__(self, fence_key: str, token: int | None, highest: int) -> None:
        """Say all three."""
        self.fence_key, self.token, self.highest = fence_key, token, highest
        code = "stale_fencing_token" if token is not None else "fencing_token_missing"
        message = f"fencing token {token} for `{fence_key}` is behind {highest}"
        if token is None:
            message = f"a write to `{fence_key}` shows a fencing token, and none was shown"
        facts = {"key": fence_key, "fencing_token": token, "current_token": highest}
        super().__init__(Refusal(code=code, message=message, document=facts))


class CallbackFailed(EnforceError):
    """A callback of the caller raised; whether `execute` wrote something, only the resource knows."""


class NotVerified(EnforceError):
    """The write was made, and what it should have come to is not there; it is not written again (S67)."""


class NotRecorded(EnforceError):
    """The write was made, and the decision point could not be told; the lease expires there, with a receipt.

    Attributes:
        refusal: What telling it came to.
    """

    def __init__(self, refusal: Refusal) -> None:
        """Keep the refusal."""
        super().__init__(str(refusal))
        self.refusal = refusal


class MarginTooShort(EnforceError):
    """One renewal may take longer than the lease leaves for it (faults.md F061)."""

    def __init__(self, margin_seconds: float, needed_seconds: float) -> None:
        """Name both numbers."""
        super().__init__(
            f"the lease leaves {margin_seconds:g} s to renew it, and one try and pause take {needed_seconds:g} s: "
            "ask for a longer one, or give a renewal less time"
        )
