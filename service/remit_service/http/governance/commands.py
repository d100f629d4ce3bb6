"""The commands that change who may act: edges, revocations, epochs, principals, emergencies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Request, Response  # noqa: TC002 - FastAPI reads annotations when it runs

from remit_service.governance.emergency import open_reviews
from remit_service.http.documented import answers, body
from remit_service.http.governance.described import COMMAND, COMMANDS, IF_MATCH, READ, Name, keyed, version_of
from remit_service.http.governance.tell import answer
from remit_service.http.problems import Problem, ProblemError
from remit_service.http.replies import exchange_of, json

if TYPE_CHECKING:
    from remit_service.governance.governor import Outcome
    from remit_service.http.governance.desk import Desk

CREATED: Final = 201


def add_routes(router: APIRouter, desk: Desk) -> None:
    """Add the routes of commands."""
    _add_edges(router, desk)
    _add_amendments(router, desk)
    _add_endings(router, desk)
    _add_principals(router, desk)
    _add_break_glass(router, desk)


def _told(desk: Desk, outcome: Outcome, status: int = 200) -> Response:
    version = outcome.body.get("version")
    headers = {"ETag": f'"{version}"'} if version is not None else None
    return answer(outcome, desk.point.revision_token(outcome.revision), status=status, headers=headers)


def _made(schema: str) -> dict[int | str, dict[str, Any]]:
    """Return the answers of a command that makes something: 201, or 200 where it was only tried."""
    return answers(schema) | answers(schema, CREATED, problems=COMMAND)


def _add_edges(router: APIRouter, desk: Desk) -> None:
    @router.post(
        "/v1/grants", tags=COMMANDS, status_code=CREATED, responses=_made("Edge"),
        openapi_extra=keyed(body("GrantRequest")),
    )  # fmt: skip
    async def grant(request: Request) -> Response:
        """Grant a right on resources, or make an owner, a right to delegate, to preempt, to revoke; one or a list."""
        return _told(desk, await desk.command(request, "grant"), CREATED)

    @router.post(
        "/v1/delegations", tags=COMMANDS, status_code=CREATED, responses=_made("Edge"),
        openapi_extra=keyed(body("DelegationRequest")),
    )  # fmt: skip
    async def delegate(request: Request) -> Response:
        """Hand authority on, the same or less; what is left open is filled in from what it rests on."""
        return _told(desk, await desk.command(request, "delegate"), CREATED)

    @router.post(
        "/v1/memberships", tags=COMMANDS, status_code=CREATED, responses=_made("Edge"),
        openapi_extra=keyed(body("MembershipRequest")),
    )  # fmt: skip
    async def member(request: Request) -> Response:
        """Let a principal act as a role, or belong to a team."""
        return _told(desk, await desk.command(request, "member"), CREATED)


def _add_amendments(router: APIRouter, desk: Desk) -> None:
    async def amend(request: Request, identifier: str) -> Response:
        version = version_of(exchange_of(request).headers.get(b"if-match"))
        return _told(desk, await desk.command(request, "amend", identifier=identifier, version=version))

    @router.patch(
        "/v1/grants/{edge_id}", tags=COMMANDS, responses=answers("Edge", problems=COMMAND),
        openapi_extra=keyed(body("AmendmentRequest"), IF_MATCH),
    )  # fmt: skip
    async def amend_grant(request: Request, edge_id: Name) -> Response:
        """Amend a grant or right: one version ends and the next begins; what it no longer covers shrinks with it."""
        return await amend(request, edge_id)

    @router.patch(
        "/v1/delegations/{delegation_id}", tags=COMMANDS, responses=answers("Edge", problems=COMMAND),
        openapi_extra=keyed(body("AmendmentRequest"), IF_MATCH),
    )  # fmt: skip
    async def amend_delegation(request: Request, delegation_id: Name) -> Response:
        """Amend a delegation, within what it rests on; what was made under it shrinks with it."""
        return await amend(request, delegation_id)


def _add_endings(router: APIRouter, desk: Desk) -> None:
    @router.post(
        "/v1/revocations", tags=COMMANDS, responses=answers("Revocation", problems=COMMAND),
        openapi_extra=keyed(body("RevocationRequest")),
    )  # fmt: skip
    async def revoke(request: Request) -> Response:
        """End something and everything that rests on it alone, in one revision; a dry run is the plan."""
        return _told(desk, await desk.command(request, "revoke"))

    @router.post(
        "/v1/epochs", tags=COMMANDS, responses=answers("EpochAnswer", problems=COMMAND),
        openapi_extra=keyed(body("EpochRequest"), required=True),
    )  # fmt: skip
    async def bump(request: Request) -> Response:
        """Raise the authority epoch, and with a floor end what was made before it; or that of one principal."""
        return _told(desk, await desk.command(request, "bump", keyed=True))

    @router.post(
        "/v1/epochs/renewals", tags=COMMANDS, responses=answers("Renewal", problems=COMMAND),
        openapi_extra=keyed(body("RenewalRequest")),
    )  # fmt: skip
    async def renew(request: Request) -> Response:
        """Issue a reviewed selection of edges again under the epoch of now."""
        return _told(desk, await desk.command(request, "renew"))


def _add_principals(router: APIRouter, desk: Desk) -> None:
    @router.post(
        "/v1/principals", tags=COMMANDS, status_code=CREATED, responses=_made("PrincipalAnswer"),
        openapi_extra=keyed(body("PrincipalRequest")),
    )  # fmt: skip
    async def declare(request: Request) -> Response:
        """Declare a principal; one of the same name from earlier leaves it nothing."""
        return _told(desk, await desk.command(request, "declare"), CREATED)

    @router.patch(
        "/v1/principals/{principal}", tags=COMMANDS, responses=answers("PrincipalAnswer", problems=COMMAND),
        openapi_extra=keyed(body("PrincipalChange")),
    )  # fmt: skip
    async def change(request: Request, principal: Name) -> Response:
        """Disable or enable a principal, or change what is known of it: trust, name, attributes, identities."""
        return _told(desk, await desk.command(request, "change_principal", identifier=principal))


def _add_break_glass(router: APIRouter, desk: Desk) -> None:
    @router.post(
        "/v1/break-glass", tags=COMMANDS, status_code=CREATED, responses=_made("Edge"),
        openapi_extra=keyed(body("BreakGlassRequest")),
    )  # fmt: skip
    async def break_glass(request: Request) -> Response:
        """Grant for minutes, in an emergency; it raises an alarm and has to be reviewed."""
        return _told(desk, await desk.command(request, "break_glass"), CREATED)

    @router.get("/v1/break-glass", tags=COMMANDS, responses=answers("BreakGlassList", problems=READ))
    async def reviews(request: Request) -> Response:
        """Break-glass grants whose use nobody has looked at yet, oldest first."""
        await desk.reader(request)
        return json({"open": open_reviews(desk.point.view, desk.point.now())})

    @router.get("/v1/break-glass/{break_glass_id}", tags=COMMANDS, responses=answers("BreakGlassReport", problems=READ))
    async def report(request: Request, break_glass_id: Name) -> Response:
        """What was done under a break-glass grant: the decisions and receipts that rested on it."""
        await desk.reader(request)
        found = desk.governor.glass_report(break_glass_id)
        if found is None:
            raise ProblemError(Problem(code="not_found", detail=f"there is no break-glass grant `{break_glass_id}`"))
        return json(found)

    @router.post(
        "/v1/break-glass/{break_glass_id}/review", tags=COMMANDS, responses=answers("BreakGlass", problems=COMMAND),
        openapi_extra=keyed(body("ReviewRequest")),
    )  # fmt: skip
    async def review(request: Request, break_glass_id: Name) -> Response:
        """Note that the use of a break-glass grant was looked at, by nobody who made or used it."""
        return _told(desk, await desk.command(request, "review_break_glass", identifier=break_glass_id))
