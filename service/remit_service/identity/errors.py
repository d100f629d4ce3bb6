"""Errors of identification.

```
IdentityError
├── BadCredentials   what was presented does not prove what it claims; the caller is told 401
├── UnknownCaller    the identity is proven, and belongs to no enforcement point; the caller is told 403
└── KeysUnavailable  the keys to check a token with cannot be had; the caller is told 401 all the same
```

`message` is for the caller and never says how close a guess was.
"""

from __future__ import annotations

from typing import ClassVar


class IdentityError(Exception):
    """The root of what identification may raise."""

    status: ClassVar[int] = 401

    def __init__(self, message: str) -> None:
        """Keep the sentence."""
        super().__init__(message)
        self.message = message


class BadCredentials(IdentityError):
    """The credential is malformed, expired, unknown, or not for this service."""


class KeysUnavailable(BadCredentials):
    """The issuer's keys cannot be fetched or read; what is signed with them proves nothing now."""


class UnknownCaller(IdentityError):
    """The identity is proven but not registered for an enforcement point of this realm."""

    status = 403
