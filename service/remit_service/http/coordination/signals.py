"""`/v1/presence`, `/v1/incidents`, `/v1/observations`, `/v1/work-sets`: what is said about resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fastapi import Request, Response

from remit_graph.model.instant import SECOND
from remit_service.coordination.incident import STATUSES
from remit_service.decision.request import Entity, Evaluation
from remit_service.http.coordination.described import COMMAND, CommandId, Tags, parameters
from remit_service.http.coordination.speaker import actor_of
from remit_service.http.coordination.tell import answer, done, shown
from remit_service.http.documented import answers, body
from remit_service.http.idempotency import PARAMETER, key_of
from remit_service.http.replies import CALLED, exchange_of, json

if TYPE_CHECKING:
    from fastapi import APIRouter

    from remit_service.http.coordination.desk import Desk

TAGS: Final[Tags] = ["signals"]
PRESENCE_SECONDS: Final = 60
"""Life of a presence that names none; an editor says again that it is there."""


def add_routes(router: APIRouter, desk: Desk) -> None:
    """Add the routes of signals."""
    _add_presence(router, desk)
    _add_incidents(router, desk)
    _add_observations(router, desk)
    _add_work_sets(router, desk)


def _add_presence(router: APIRouter, desk: Desk) -> None:
    @router.post(
        "/v1/presence",
        tags=TAGS,
        responses=answers("Presence", problems=COMMAND),
        openapi_extra=body("PresenceRequest"),
    )
    async def presence(request: Request) -> Response:
        """Say that somebody edits: writes of others to the touched fields are held."""
        _, caller, document = await desk.read(request)
        ttl = document.microseconds("ttl_seconds")
        seen = document.instant("last_activity")
        reply = await desk.signals.presence(
            document.entity("resource"),
            caller,
            actor=document.needed("actor", document.text("actor")),
            fields=document.texts("fields_touched"),
            last_activity=desk.coordinator.point.now() if seen is None else seen,
            ttl_us=PRESENCE_SECONDS * SECOND if ttl is None else ttl,
            interactive_editor=document.flag("interactive_editor", default=True),
        )
        return answer(desk, caller, reply)

    @router.get("/v1/presence", tags=TAGS, responses=answers("Presences", problems=(400, *CALLED)))
    async def present(request: Request) -> Response:
        """Who edits what, now."""
        await desk.service.insider(exchange_of(request))
        return json({"presences": shown(desk.signals.live("presence"))})

    @router.delete(
        "/v1/presence/{presence_id}",
        tags=TAGS,
        status_code=204,
        responses=answers(None, 204, problems=COMMAND),
        response_class=Response,
    )
    async def leave(request: Request, presence_id: CommandId) -> Response:
        """Say that somebody has stopped editing; whoever was held by it and waits goes on."""
        caller = await desk.service.caller(exchange_of(request))
        return done(desk, caller, await desk.signals.end_presence(presence_id, caller))


def _add_incidents(router: APIRouter, desk: Desk) -> None:
    @router.post(
        "/v1/incidents",
        tags=TAGS,
        responses=answers("Incident", problems=COMMAND),
        openapi_extra=body("IncidentRequest"),
    )
    async def incident(request: Request) -> Response:
        """Open, change or close an incident, by one who may DECLARE_INCIDENT on the resource."""
        _, caller, document = await desk.read(request)
        actor = actor_of(document, caller)
        reply = await desk.signals.incident(
            _asking(actor, document.entity("resource")),
            caller,
            incident_id=document.needed("incident_id", document.text("incident_id")),
            actor=actor,
            severity=document.needed("severity", document.text("severity")),
            status=document.choice("status", STATUSES, STATUSES[0]),
        )
        return answer(desk, caller, reply)

    @router.get("/v1/incidents", tags=TAGS, responses=answers("Incidents", problems=(400, *CALLED)))
    async def incidents(request: Request) -> Response:
        """The incidents at hand, the closed ones too."""
        await desk.service.insider(exchange_of(request))
        return json({"incidents": shown(desk.signals.all("incident"))})


def _asking(actor: str, resource: Entity) -> Evaluation:
    """The question whether the actor may declare an incident on a resource."""
    kind, _, name = actor.partition(":")
    return Evaluation(subject=Entity(type=kind, id=name), action="DECLARE_INCIDENT", resource=resource)


def _add_observations(router: APIRouter, desk: Desk) -> None:
    @router.post(
        "/v1/observations",
        tags=TAGS,
        responses=answers("Observation", problems=COMMAND),
        openapi_extra=body("ObservationRequest"),
    )
    async def observe(request: Request) -> Response:
        """Report a change seen at a resource; answers which operation explains it, or what it is if none does."""
        _, caller, document = await desk.read(request)
        seen = document.instant("at")
        reply = await desk.signals.observe(
            document.entity("resource"),
            caller,
            reporter=document.text("reporter") or caller.name,
            fields=document.texts("fields"),
            seen_at=desk.coordinator.point.now() if seen is None else seen,
            observed_version=document.text("observed_version"),
            actor=document.text("actor"),
        )
        return answer(desk, caller, reply)

    @router.get("/v1/observations", tags=TAGS, responses=answers("Observations", problems=(400, *CALLED)))
    async def observed(request: Request) -> Response:
        """The changes seen at resources that no operation explains, as far as they are at hand; oldest first."""
        await desk.service.insider(exchange_of(request))
        found = sorted(desk.signals.all("observation"), key=lambda each: each["at"])
        return json({"observations": shown(found), "coverage": desk.signals.coverage()})


def _add_work_sets(router: APIRouter, desk: Desk) -> None:
    @router.post(
        "/v1/work-sets",
        tags=TAGS,
        responses=answers("WorkSet", problems=COMMAND),
        openapi_extra=body("WorkSetRequest") | parameters(PARAMETER),
    )
    async def declare(request: Request) -> Response:
        """Declare what a run will read, write and delete; answers with the declared runs it would meet."""
        exchange, caller, document = await desk.read(request)
        reply = await desk.signals.declare_work_set(
            caller,
            run_id=document.needed("run_id", document.text("run_id")),
            actor=actor_of(document, caller),
            expires_at=document.needed("expires_at", document.instant("expires_at")),
            key=key_of(exchange, caller, document.members),
            exclusive=document.flag("exclusive", default=False),
            **{name: document.texts(name) for name in ("reads", "writes", "deletes", "operations")},
        )
        return answer(desk, caller, reply)

    @router.get("/v1/work-sets", tags=TAGS, responses=answers("WorkSets", problems=(400, *CALLED)))
    async def declared(request: Request) -> Response:
        """The runs that are declared now."""
        await desk.service.insider(exchange_of(request))
        return json({"work_sets": shown(desk.signals.live("work_set"))})

    @router.delete(
        "/v1/work-sets/{run_id}",
        tags=TAGS,
        status_code=204,
        responses=answers(None, 204, problems=COMMAND),
        response_class=Response,
    )
    async def end(request: Request, run_id: CommandId) -> Response:
        """Say that a run is over."""
        caller = await desk.service.caller(exchange_of(request))
        known = desk.coordinator.view.records.get("work_set", {}).get(run_id)
        record = desk.record_seen_by(caller, known, "actor", "work set")
        return done(desk, caller, await desk.signals.end_work_set(run_id, caller, actor=record["actor"]))
