"""What the routes of coordination share: the coordinator with its faces, and a bound on open long polls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from remit_service.coordinator.leases import Leases
from remit_service.coordinator.operations import Operations
from remit_service.coordinator.signals import Signals
from remit_service.http.coordination.read import Body
from remit_service.http.polls import Polls
from remit_service.http.problems import Problem, ProblemError
from remit_service.http.replies import exchange_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import Request

    from remit_service.coordinator.coordinator import Coordinator
    from remit_service.decision.caller import Caller
    from remit_service.http.exchange import Exchange
    from remit_service.http.service import Service

MAX_WAIT_SECONDS: Final = 60
"""Longest long poll; whoever wants to wait longer asks again."""


@dataclass(slots=True)
class Desk:
    """Where coordination is asked for over HTTP."""

    service: Service
    coordinator: Coordinator
    leases: Leases = field(init=False)
    operations: Operations = field(init=False)
    signals: Signals = field(init=False)
    polls: Polls = field(init=False)

    def __post_init__(self) -> None:
        """Make the faces of the coordinator."""
        self.leases = Leases(self.coordinator)
        self.operations = Operations(self.coordinator)
        self.signals = Signals(self.coordinator)
        self.polls = Polls(self.service.settings.max_long_polls, self.service.closing)

    async def read(self, request: Request) -> tuple[Exchange, Caller, Body]:
        """Return the exchange, who calls, and the body of a command.

        Raises:
            ProblemError, RequestError: the call is none that can be answered.
        """
        exchange = exchange_of(request)
        caller = await self.service.caller(exchange)
        return exchange, caller, Body(await self.service.document(exchange))

    def record_seen_by(
        self, caller: Caller, record: Mapping[str, Any] | None, member: str, what: str
    ) -> Mapping[str, Any]:
        """Return a record to one who may see it: an insider, or who speaks for the principal it belongs to.

        Raises:
            ProblemError: there is none, or none that this caller may see; which of both is not told.
        """
        if record is None or not (caller.sees_graph or caller.may_speak_for(str(record[member]))):
            raise ProblemError(Problem(code="not_found", detail=f"there is no {what} of this name here"))
        return record
