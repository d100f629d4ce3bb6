"""States of the decision point that metrics read when somebody asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remit_service.http.service import Service


def watch_point(service: Service) -> None:
    """Expose revision, epochs, staleness and the bundle."""
    point, watch = service.point, service.metrics.watch

    def staleness() -> float:
        value = point.readiness().details.get("staleness_seconds")
        return float("inf") if value is None else float(value)

    watch("remit_graph_revision", "Newest revision of the view.", lambda: point.view.revision)
    watch("remit_graph_staleness_seconds", "Since the view was last known to be the ledger's head.", staleness)
    watch("remit_graph_epoch", "Epoch of the authority structure.", lambda: point.view.authority_epoch)
    watch("remit_policy_epoch", "Epoch of the policy.", lambda: point.view.policy_epoch)
    watch("remit_ready", "1 if this process should be asked.", lambda: float(point.readiness().ready))
    watch("remit_requests_in_flight", "Requests that are worked on.", lambda: service.in_flight.count)
    service.metrics.watch_info("remit_policy_bundle", "The bundle in force.", "revision", lambda: point.policy_revision)
