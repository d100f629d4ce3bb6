"""Where the decision point is, and how long it is waited for: told by the caller, never read from the environment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import httpx

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

Credential: TypeAlias = "str | Callable[[], str] | None"
"""An API key or token; or what returns the current one, asked before each call, so that it can be rotated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One decision point, or the balancer before several.

    Attributes:
        url: Where it answers, with a path in front if there is one.
        key: Shown as `Authorization: Bearer`; None shows nothing, which a decision point takes on loopback only.
        tls: How the decision point is checked and who calls is shown; None trusts the public authorities.
        timeout_seconds: From sending to the last byte of the answer; later is a deny.
        attempts: How often a call that may be repeated is sent at most.
        pause_seconds: Mean of the first pause before it is sent again; it doubles, and chance spreads it.
        max_pause_seconds: A longer hint of the decision point is handed on and not waited for here.
        renew_timeout_seconds: What one renewal of a lease may take; with a pause it has to fit into the lease's margin.
        poll_seconds: How long one question in a queue stays open; the decision point allows up to 60.
        max_answer_bytes: A longer answer is not read to its end, and is a deny.
    """

    url: str
    key: Credential = field(default=None, repr=False)
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    timeout_seconds: float = 10
    attempts: int = 3
    pause_seconds: float = 0.2
    max_pause_seconds: float = 5
    renew_timeout_seconds: float = 2
    poll_seconds: int = 20
    max_answer_bytes: int = 1 << 20

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            ValueError: The address is no `http` or `https` one, or a bound is not positive.
        """
        parsed = httpx.URL(self.url)
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise ValueError(f"`{self.url}` is no http or https address")
        for name in (
            "timeout_seconds", "attempts", "pause_seconds", "max_pause_seconds", "renew_timeout_seconds",
            "poll_seconds", "max_answer_bytes",
        ):  # fmt: skip
            if getattr(self, name) <= 0:
                raise ValueError(f"`{name}` is more than 0, not {getattr(self, name)}")

    def headers(self) -> dict[str, str]:
        """Return what proves who calls, as it is now."""
        key = self.key() if callable(self.key) else self.key
        return {} if key is None else {"Authorization": f"Bearer {key}"}
