"""All routes of what is given out, put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter

from remit_service.http.passes import approvals, capabilities
from remit_service.http.passes.desk import Desk

if TYPE_CHECKING:
    from remit_service.http.service import Service
    from remit_service.point import DecisionPoint


def passes_router(service: Service, point: DecisionPoint) -> APIRouter:
    """Return the routes of capabilities and approvals for one decision point."""
    router = APIRouter()
    desk = Desk(service=service, point=point)
    for part in (capabilities, approvals):
        part.add_routes(router, desk)
    return router
