"""What the routes of capabilities and approvals share: the decision point, its key, and how a refusal is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.instant import format_instant
from remit_service.approval.approvals import Approvals
from remit_service.capability.capabilities import Capabilities
from remit_service.governance.governor import Outcome
from remit_service.http.coordination.read import Body
from remit_service.http.governance.desk import Desk as GovernanceDesk
from remit_service.http.governance.tell import refusal_of
from remit_service.http.problems import Problem, ProblemError
from remit_service.http.replies import exchange_of
from remit_service.signing import Signer, SigningError, load_signer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import Request

    from remit_service.decision.caller import Caller
    from remit_service.http.exchange import Exchange
    from remit_service.http.governance.described import Tags
    from remit_service.http.service import Service
    from remit_service.point import DecisionPoint
    from remit_service.writer.command import Refused

TAGS: Final[Tags] = ["passes"]
_INSTANTS: Final = frozenset({"at", "created_at", "ended_at", "expires_at", "issued_at"})


@dataclass(slots=True)
class Desk:
    """Where capabilities and approvals are asked for over HTTP."""

    service: Service
    point: DecisionPoint
    capabilities: Capabilities = field(init=False)
    approvals: Approvals = field(init=False)
    governance: GovernanceDesk = field(init=False)

    def __post_init__(self) -> None:
        """Make the faces; the key is read when it is first needed."""
        settings = self.service.settings

        @cache
        def signer() -> Signer:
            try:
                return load_signer(settings)
            except SigningError as error:
                raise ProblemError(Problem(code="forbidden", detail=f"{error.message}; {error.advice}")) from error

        self.capabilities = Capabilities(self.point, signer, issuer=settings.public_url)
        self.approvals = Approvals(self.point)
        self.governance = GovernanceDesk(service=self.service, point=self.point)

    async def read(self, request: Request, *, principals: bool = False) -> tuple[Exchange, Caller, Body]:
        """Return the exchange, who calls, and the body of a command.

        Raises:
            ProblemError, RequestError: the call is none that can be answered.
        """
        exchange = exchange_of(request)
        caller = await self.service.caller(exchange, principals=principals)
        return exchange, caller, Body(await self.service.document(exchange))

    def refuse(self, caller: Caller, refused: Refused, revision: int) -> ProblemError:
        """Return a refused command as an error that is answered with its problem."""
        outcome = Outcome(body=refused.facts, revision=revision, refused=refused)
        table, token = self.point.policy.reasons, self.point.revision_token(revision)
        whole = caller.sees_graph or caller.point is None
        return ProblemError(refusal_of(outcome, table, revision=token, whole=whole))


def told(value: Any) -> Any:
    """Return a record as it is sent: instants as text, members without a value left out."""
    if isinstance(value, list):
        return [told(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: _told(name, each) for name, each in value.items() if each is not None}


def _told(name: str, value: Any) -> Any:
    return format_instant(value) if name in _INSTANTS and type(value) is int else told(value)


def only(record: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return some members of a record, as they are sent."""
    found: dict[str, Any] = told({name: record[name] for name in names if name in record})
    return found
