"""States of the decision point that metrics read when somebody asks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from remit_graph.model.instant import SECOND

if TYPE_CHECKING:
    from remit_service.http.service import Service


def watch_point(service: Service) -> None:
    """Expose revision, epochs, staleness and the bundle."""
    point, watch = service.point, service.metrics.watch

    def staleness() -> float:
        value = point.readiness().details.get("staleness_seconds")
        return float("inf") if value is None else float(value)

    def drift() -> float:
        return float(point.readiness().details.get("drift", 0))

    def begins() -> float:
        return float(point.readiness().details.get("history_after", 0))

    watch("remit_graph_revision", "Newest revision of the view.", lambda: point.view.revision)
    watch("remit_ledger_base_revision", "Revision that history begins after.", begins)
    watch("remit_graph_staleness_seconds", "Since the view was last known to be the ledger's head.", staleness)
    watch("remit_graph_epoch", "Epoch of the authority structure.", lambda: point.view.authority_epoch)
    watch("remit_policy_epoch", "Epoch of the policy.", lambda: point.view.policy_epoch)
    watch("remit_ready", "1 if this process should be asked.", lambda: float(point.readiness().ready))
    watch("remit_graph_drift", "Elements of the store's graph that the ledger did not make.", drift)
    watch("remit_requests_in_flight", "Requests that are worked on.", lambda: service.in_flight.count)
    active = {mode: partial(_active, service, mode) for mode in ("exclusive", "shared")}
    service.metrics.watch_each("remit_leases_active", "Leases that are held now, by mode.", "mode", active)
    watch("remit_waiters", "Requests for control that wait.", lambda: float(len(point.view.records.get("waiter", {}))))
    watch("remit_longest_wait_seconds", "How long the first of them has waited.", partial(_longest_wait, service))
    if service.coordinator is not None:
        service.coordinator.point.follow_commands(service.metrics.tally.note)
    service.metrics.watch_info("remit_policy_bundle", "The bundle in force.", "revision", lambda: point.policy_revision)


def _active(service: Service, mode: str) -> float:
    at, leases = service.point.now(), service.point.view.records.get("lease", {}).values()
    return float(sum(each["mode"] == mode and each["expires_at"] > at for each in leases))


def _longest_wait(service: Service) -> float:
    at, waiters = service.point.now(), service.point.view.records.get("waiter", {}).values()
    return max(0, at - min((each["since"] for each in waiters), default=at)) / SECOND
