"""What the routes of governance share: the governor, in whose name a command is given, and who may read the graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from remit_graph.model.builtin import Governance
from remit_service.governance.apply_world import SYSTEM
from remit_service.governance.governor import Governor, Order, Outcome
from remit_service.governance.law import Actor, permitted, refused_by_policy
from remit_service.governance.spec import flag, optional
from remit_service.http.governance.tell import refusal_of
from remit_service.http.idempotency import key_of
from remit_service.http.problems import Problem, ProblemError
from remit_service.http.replies import exchange_of

if TYPE_CHECKING:
    from fastapi import Request

    from remit_service.decision.caller import Caller
    from remit_service.http.exchange import Exchange
    from remit_service.http.service import Service
    from remit_service.point import DecisionPoint


@dataclass(slots=True)
class Desk:
    """Where governance is asked for over HTTP."""

    service: Service
    point: DecisionPoint
    governor: Governor = field(init=False)

    def __post_init__(self) -> None:
        """Stand beside the decision point, with its log."""
        self.governor = Governor(self.point, self.service.log)

    async def command(
        self, request: Request, verb: str, *, identifier: str = "", version: int | None = None, keyed: bool = False
    ) -> Outcome:
        """Carry out the command of a request; `keyed` where doing it twice would hurt.

        Raises:
            ProblemError: it is refused, or the caller may not give it.
            RequestError: it is malformed.
        """
        exchange, caller, body = await self.read(request)
        order = self.order(exchange, caller, body, identifier=identifier, version=version, keyed=keyed)
        outcome = await self.governor.carry_out(verb, body, order)
        if outcome.refused is not None:
            raise ProblemError(self.problem(caller, outcome))
        return outcome

    async def read(self, request: Request) -> tuple[Exchange, Caller, dict[str, Any]]:
        """Return the exchange, who calls, and the body.

        Raises:
            ProblemError, RequestError: the call is none that can be answered.
        """
        exchange = exchange_of(request)
        caller = await self.service.caller(exchange, principals=True)
        return exchange, caller, await self.service.document(exchange)

    def order(
        self,
        exchange: Exchange,
        caller: Caller,
        body: dict[str, Any],
        *,
        identifier: str = "",
        version: int | None = None,
        keyed: bool | None = False,
    ) -> Order:
        """Return in whose name a command is given, and how a repeat of it is known.

        Args:
            exchange: The call.
            caller: Who calls.
            body: The decoded body.
            identifier: The id in the path.
            version: Of `If-Match`.
            keyed: Whether an Idempotency-Key must be there; None where the call takes none.

        Raises:
            ProblemError: the caller may not speak for the actor it names, or names none and is none.
            RequestError: the Idempotency-Key is missing where it is needed, or is none.
        """
        actor = self.actor(caller, optional(body, "actor"))
        # A dry run does nothing, so doing it twice is nothing either.
        required = bool(keyed) and not flag(body, "dry_run")
        said = {**body, "actor": actor, "id": identifier}
        key = None if keyed is None else key_of(exchange, caller, said, required=required)
        labels = {"request_id": exchange.request_id_text}
        return Order(actor=actor, caller=caller, id=identifier, version=version, key=key, labels=labels)

    def actor(self, caller: Caller, named: str | None) -> str:
        """Return the principal in whose name a caller acts.

        That is the principal its own identity, or its user's, is bound to; another one if its enforcement point may
        speak for it; and for callers of this machine that need no credentials, the first root.

        Raises:
            ProblemError: there is none such.
        """
        view = self.point.view
        bound = view.identities.get(caller.subject_identity or "") or view.identities.get(caller.identity or "")
        if named is not None and named != bound:
            if not caller.may_speak_for(named):
                detail = f"`{caller.name}` may not give commands in the name of `{named}`"
                raise ProblemError(Problem(code="identity_mismatch", detail=detail))
            return named
        if bound is not None:
            return bound
        is_local = caller.trusts_all or (caller.point is not None and caller.point.loopback)
        if is_local and view.realm.root:
            return view.realm.root[0]
        if is_local and not view.principals:
            # Nobody is there yet to be asked: the first world says who governs.
            return SYSTEM
        if caller.name in view.principals:
            return caller.name
        detail = f"`{caller.name}` is no principal of this realm; name in `actor` for whom it speaks"
        raise ProblemError(Problem(code="identity_mismatch", detail=detail))

    def speaks_for(self, caller: Caller, principal: str) -> bool:
        """Whether a caller may give commands in the name of `principal`."""
        try:
            return self.actor(caller, principal) == principal
        except ProblemError:
            return False

    async def reader(self, request: Request) -> Caller:
        """Return a caller that may read the graph: an insider, or a principal that holds READ_GRAPH or is a root.

        Raises:
            ProblemError: it may not.
        """
        caller = await self.service.caller(exchange_of(request), principals=True)
        if caller.sees_graph:
            return caller
        principal = self.point.view.identities.get(caller.identity or "")
        if principal is not None:
            actor = Actor(principal=principal)
            decision = permitted(self.point.policy, self.point.view, self.point.now(), actor, Governance.READ_GRAPH)
            if refused_by_policy(decision) is None:
                return caller
        detail = f"`{caller.name}` may not read the graph"
        raise ProblemError(Problem(code="forbidden", detail=detail))

    def problem(self, caller: Caller, outcome: Outcome) -> Problem:
        """Return the problem that a refused command is."""
        whole = caller.sees_graph or caller.point is None
        return refusal_of(
            outcome, self.point.policy.reasons, revision=self.point.revision_token(outcome.revision), whole=whole
        )
