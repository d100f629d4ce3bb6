"""All routes of coordination, put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter

from remit_service.http.coordination import changes, leases, operations, signals, transfers, waiting
from remit_service.http.coordination.desk import Desk

if TYPE_CHECKING:
    from remit_service.coordinator.coordinator import Coordinator
    from remit_service.http.service import Service


def coordination_router(service: Service, coordinator: Coordinator) -> APIRouter:
    """Return the routes of one coordinator."""
    router = APIRouter()
    desk = Desk(service=service, coordinator=coordinator)
    for part in (operations, leases, waiting, transfers, signals, changes):
        part.add_routes(router, desk)
    return router
