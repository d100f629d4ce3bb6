"""What a call from Python comes to: a `Reply`, refused or not; or `CallFailed`, where nobody knows what was done.

A refusal is a value, since it says what to mend; a fault is an exception, since it says nothing about the command.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

BAD_REQUEST: Final = 400
FAULT: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer to one call.

    Attributes:
        status: HTTP's number for it.
        document: What HTTP answers: of a command what it made or ended, of a refusal its problem document.
        replayed: Whether this is the stored answer of an earlier call with the same idempotency key.
    """

    status: int
    document: Mapping[str, Any]
    replayed: bool = False

    @property
    def refused(self) -> bool:
        """Whether nothing was done, or nothing would be."""
        return self.status >= BAD_REQUEST

    @property
    def code(self) -> str | None:
        """The reason code of a refusal, or None."""
        return str(self.document.get("code")) if self.refused else None

    def __bool__(self) -> NoReturn:
        """Refuse: an object is always true, and a refusal is no success."""
        raise TypeError("a reply is neither true nor false: look at `refused`")


class CallFailed(Exception):
    """The call did not come to an answer; `status` and `document` are those of a fault that was told, or empty.

    Whether a command was done is not known: send it again with the same idempotency key.
    """

    def __init__(self, message: str, *, status: int | None = None, document: Mapping[str, Any] | None = None) -> None:
        """Keep the sentence, and what was told."""
        super().__init__(message)
        self.status = status
        self.document = document or {}


def reply_of(response: httpx.Response) -> Reply:
    """Return the reply that an answer is.

    Raises:
        CallFailed: it is a fault, or no answer of Remit.
    """
    try:
        document = response.json() if response.content else {}
    except ValueError as error:
        told = f"the service answered {response.status_code} with no JSON: is this the address of Remit?"
        raise CallFailed(told, status=response.status_code) from error
    if not isinstance(document, dict):
        raise CallFailed("the service answered with no JSON object", status=response.status_code)
    if response.status_code >= FAULT:
        told = str(document.get("detail") or f"the service answered {response.status_code}")
        raise CallFailed(told, status=response.status_code, document=document)
    replayed = response.headers.get("Idempotent-Replayed") == "true"
    return Reply(status=response.status_code, document=document, replayed=replayed)
