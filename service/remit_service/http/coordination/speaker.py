"""In whose name a command is given: the principal it names, if the caller may speak for it, or the caller itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remit_service.decision.caller import Caller
    from remit_service.http.coordination.read import Body


def actor_of(document: Body, caller: Caller) -> str:
    """Return the actor of a command; whether the caller may speak for it, the coordinator checks."""
    return document.text("actor") or caller.name
