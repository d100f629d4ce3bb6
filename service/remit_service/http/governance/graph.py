"""`/v1/graph/...`: principals, resources, edges and chains to read; the graph as a world file, out and in."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response

from remit_graph.model.builtin import Governance
from remit_graph.world.dump import dump_world
from remit_graph.world.of_view import world_of
from remit_graph.world.source import WorldRefused
from remit_service.decision.request import RequestError
from remit_service.drawing.chains import paths_figure
from remit_service.drawing.formats import Format
from remit_service.governance import reading
from remit_service.governance.apply_world import Applied, apply_world, impact_of, read_world, try_world
from remit_service.governance.governor import Outcome
from remit_service.governance.law import Actor
from remit_service.governance.review import EXPIRING_DAYS
from remit_service.governance.spec import COMMON, optional, refuse_unknown, text, trial
from remit_service.governance.surviving import why_still
from remit_service.http import overview
from remit_service.http.documented import answers, body
from remit_service.http.drawn import FormatQuery, drawing, or_drawn
from remit_service.http.governance.described import COMMAND, GRAPH, READ, AtRevision, Key, Name, keyed
from remit_service.http.idempotency import REPLAYED
from remit_service.http.problems import Problem, ProblemError
from remit_service.http.question import parse_question
from remit_service.http.replies import CALLED, exchange_of, json
from remit_service.replica.history import view_at_revision

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_service.http.governance.desk import Desk

YAML: Final = "application/yaml"
EXPORT: Final = answers(None, problems=(400, 410, *READ)) | {
    200: {"description": "A world file", "content": {YAML: {"schema": {"type": "object"}}}},
}
Days = Annotated[int, Query(ge=0, le=3_650, description="How soon an end counts as near.")]
Asked = Annotated[str, Query(min_length=1, max_length=1024)]


def add_routes(router: APIRouter, desk: Desk) -> None:
    """Add the routes of the graph."""
    _add_nodes(router, desk)
    _add_paths(router, desk)
    _add_reports(router, desk)
    _add_worlds(router, desk)


def _found(document: dict[str, Any] | None, what: str, identifier: str) -> dict[str, Any]:
    if document is None:
        raise ProblemError(Problem(code="not_found", detail=f"there is no {what} `{identifier}` here"))
    return document


def _read(desk: Desk, document: dict[str, Any]) -> Response:
    return json({**document, "revision": desk.point.revision_token()})


def _add_nodes(router: APIRouter, desk: Desk) -> None:
    @router.get("/v1/graph/summary", tags=GRAPH, responses=answers("Summary", problems=CALLED))
    async def graph_summary(request: Request) -> Response:
        """Realm, revision, epochs, and counts of what the graph holds."""
        await desk.reader(request)
        return json(overview.summary(desk.service))

    @router.get("/v1/graph/principals/{principal}", tags=GRAPH, responses=answers("PrincipalView", problems=READ))
    async def principal(request: Request, principal: Name) -> Response:
        """A principal with what it belongs to, holds, may hand on and has handed on."""
        await desk.reader(request)
        return _read(
            desk, _found(reading.principal(desk.point.view, principal, desk.point.now()), "principal", principal)
        )

    @router.get("/v1/graph/resources/{key}", tags=GRAPH, responses=answers("ResourceView", problems=READ))
    async def resource(request: Request, key: Key) -> Response:
        """A resource with what it lies under, who owns its fields, and the grants that cover it."""
        await desk.reader(request)
        return _read(desk, _found(reading.resource(desk.point.view, key, desk.point.now()), "resource", key))

    @router.get("/v1/graph/edges/{edge_id}", tags=GRAPH, responses=answers("EdgeView", problems=READ))
    async def edge(request: Request, edge_id: Name) -> Response:
        """An edge with all its versions; the ETag is the version that an amendment names."""
        await desk.reader(request)
        document = _found(reading.edge(desk.point.view, edge_id, desk.point.now()), "edge", edge_id)
        etag = {"ETag": f'"{document["versions"][-1]["version"]}"'} if document["current"] else {}
        return json({**document, "revision": desk.point.revision_token()}, headers=etag)


def _add_paths(router: APIRouter, desk: Desk) -> None:
    @router.get("/v1/graph/paths", tags=GRAPH, responses=or_drawn(answers("Paths", problems=READ)))
    async def paths(
        request: Request,
        subject: Annotated[str, Query(min_length=1, max_length=1024, description="`<kind>:<name>`.")],
        action: Asked,
        resource: Annotated[str, Query(min_length=1, max_length=4096, description="A canonical key.")],
        format: FormatQuery = Format.JSON,  # noqa: A002 - its name on the wire
    ) -> Response:
        """The chains by which a subject may act on a resource, and those that come near."""
        caller = await desk.reader(request)
        kind, _, name = subject.partition(":")
        if not name:
            raise RequestError("a subject is `<kind>:<name>`", pointer="", parameter="subject")
        question = parse_question(
            {
                "subject": {"type": kind, "id": name},
                "action": {"name": action},
                "resource": {"type": "key", "id": resource},
            }
        )
        decision = await desk.point.explain(
            question, caller, labels={"request_id": exchange_of(request).request_id_text}
        )
        explanation = decision.explanation or {}
        found = {name: explanation.get(name, []) for name in ("chains", "near_misses")}
        if format is not Format.JSON:
            return drawing(paths_figure(f"{subject} {action} {resource}", decision.outcome, found), format)
        return _read(desk, {"outcome": decision.outcome, "reasons": list(decision.codes), **found})


def _add_reports(router: APIRouter, desk: Desk) -> None:
    @router.get("/v1/graph/review", tags=GRAPH, responses=answers("ReviewReport", problems=READ))
    async def review(request: Request, within_days: Days = EXPIRING_DAYS) -> Response:
        """Grants that are unused, expiring, too wide, stale or orphaned; who governs, and who acts for others."""
        await desk.reader(request)
        return _read(desk, desk.governor.review(within_days))

    @router.get("/v1/graph/why-still/{edge_id}", tags=GRAPH, responses=answers("WhyStill", problems=READ))
    async def why(request: Request, edge_id: Name) -> Response:
        """What carries an edge that is still there, up to its root, and what else could."""
        await desk.reader(request)
        found = why_still(desk.point.view, edge_id, desk.point.now(), desk.point.policy.scales)
        return _read(desk, _found(found, "current edge", edge_id))


def _add_worlds(router: APIRouter, desk: Desk) -> None:
    @router.get("/v1/graph/export", tags=GRAPH, responses=EXPORT)
    async def export(request: Request, at_revision: AtRevision = None) -> Response:
        """The graph as a world file: the same graph gives the same bytes."""
        await desk.reader(request)
        view = desk.point.view
        if at_revision is not None:
            view = await view_at_revision(desk.point.ledger, view, at_revision)
        made = world_of(view)
        written = await asyncio.to_thread(dump_world, made)
        headers = {"Remit-Revision": desk.point.revision_token(view.revision)}
        return Response(written, headers=headers, media_type=YAML)

    @router.post(
        "/v1/graph/apply", tags=GRAPH, responses=answers("Applied", problems=COMMAND),
        openapi_extra=keyed(body("ApplyRequest")),
    )  # fmt: skip
    async def apply(request: Request) -> Response:
        """Make the graph what a world file says, all of it or nothing; a dry run is the plan."""
        exchange, caller, document = await desk.read(request)
        refuse_unknown(document, COMMON | {"world"})
        order = desk.order(exchange, caller, document)
        who = Actor(principal=order.actor, approval_id=optional(document, "approval_id"))
        reason, (dry_run, impact) = optional(document, "reason"), trial(document)
        wanted = await _world(desk, text(document, "world"))
        if dry_run:
            applied = await try_world(desk.governor, wanted, actor=who)
        else:
            applied = await apply_world(desk.point, wanted, actor=who, reason=reason, key=order.key)
        await desk.governor.record(who, order, Governance.APPLY_WORLD.value, dry_run=dry_run)
        if applied.refused is not None:
            outcome = Outcome(body=applied.refused.facts, revision=applied.revision, refused=applied.refused)
            raise ProblemError(desk.problem(caller, outcome))
        more = {}
        if impact and applied.decided is not None:
            more["impact"] = await impact_of(applied.decided, desk.governor, wanted, actor=who)
        return _applied(desk, applied, dry_run=dry_run, more=more)


async def _world(desk: Desk, written: str) -> Any:
    try:
        return await read_world(written, desk.point)
    except WorldRefused as error:
        faults = [
            {"detail": str(each), "pointer": "#/world", "line": each.line, "code": each.code} for each in error.problems
        ]
        first = error.problems[0]
        raise ProblemError(
            Problem(code=first.code, status=400, detail=str(first), members={"errors": faults})
        ) from error


def _applied(desk: Desk, applied: Applied, *, dry_run: bool, more: Mapping[str, Any]) -> Response:
    told = {**applied.record(), **more, "revision": desk.point.revision_token(applied.revision)}
    told |= {"applied": False, "dry_run": True} if dry_run else {}
    return json(told, headers={REPLAYED: "true"} if applied.replayed else {})
