"""All routes of governance, put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter

from remit_service.http.governance import checks, commands, drift, graph, keys
from remit_service.http.governance.desk import Desk

if TYPE_CHECKING:
    from remit_service.http.service import Service
    from remit_service.point import DecisionPoint


def governance_router(service: Service, point: DecisionPoint) -> APIRouter:
    """Return the routes of governance for one decision point."""
    router = APIRouter()
    desk = Desk(service=service, point=point)
    for part in (commands, graph, checks, drift, keys):
        part.add_routes(router, desk)
    return router
