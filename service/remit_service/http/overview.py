"""`GET /v1/graph/summary` and `GET /v1/limits`: what is here, and how much of it may be asked."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.instant import SECOND
from remit_graph.view.coordination.tables import RECORDS_KEPT
from remit_service.keeping.compaction import retention_of

DAY_SECONDS: Final = 24 * 3600

if TYPE_CHECKING:
    from remit_service.coordination.tables import Tables
    from remit_service.http.service import Service


def summary(service: Service) -> dict[str, Any]:
    """Return realm, revision, epochs and counts of what the graph holds."""
    point, view = service.point, service.point.view
    readiness = point.readiness()
    return {
        "realm": view.realm.name,
        "revision": point.revision_token(),
        "revision_number": view.revision,
        "policy_revision": point.policy_revision,
        "epochs": {"policy": view.policy_epoch, "authority": view.authority_epoch},
        "engine": service.settings.engine,
        "ready": readiness.ready,
        "problems": list(readiness.problems),
        "unauthenticated_loopback": service.identifier.loopback.is_open,
        "counts": {
            "principals": dict(sorted(Counter(each.kind for each in view.principals.values()).items())),
            "edges": dict(sorted(Counter(str(each.edge) for each in view.edges.values()).items())),
            "resource_types": len(view.types),
            "resources": len(view.resources),
            "enforcement_points": len(view.points),
        },
    }


def limits(service: Service) -> dict[str, Any]:
    """Return every bound of this service (rules.md 14)."""
    settings = service.settings
    tables = None if service.coordinator is None else service.coordinator.tables
    return {
        "max_body_bytes": settings.max_body_bytes,
        "max_json_depth": settings.max_json_depth,
        "max_batch_items": settings.max_batch_items,
        "requests_per_second": settings.requests_per_second,
        "max_requests_in_flight": settings.max_requests_in_flight,
        "max_long_polls": settings.max_long_polls,
        "max_readings_in_flight": settings.max_readings_in_flight,
        "search_deadline_seconds": settings.search_deadline_seconds,
        "max_staleness_seconds": settings.max_staleness_seconds,
        "revision_wait_seconds": settings.revision_wait_seconds,
        "decision_within_seconds": settings.decision_within_seconds,
        "engine_timeout_seconds": settings.engine_timeout_seconds,
        "decision_log": {"buffer": settings.decision_log_buffer, "lost": dict(service.log.lost)},
        "retention": _retention(service),
        **({} if tables is None else _coordination(tables)),
    }


def _retention(service: Service) -> dict[str, Any]:
    """Return how long things are kept; None is for good, unless an operator compacts the store by hand.

    Receipts are part of the history, beside the newest that are at hand, as conflicts, notices and observations are.
    Answers to keys of governance stay for good, those of coordination for so long at least, whatever is compacted.
    """
    tables, days = None if service.coordinator is None else service.coordinator.tables, service.settings.history_days
    history = days * DAY_SECONDS or None
    return {
        "history_seconds": history,
        "history_after": service.point.readiness().details["history_after"],
        "receipts_seconds": history,
        "idempotency_keys_seconds": None if tables is None else retention_of(tables).kept_for.total_seconds(),
        "governance_keys_seconds": None,
        "records_at_hand": RECORDS_KEPT,
    }


def _coordination(tables: Tables) -> dict[str, Any]:
    """Return quotas, and how long things are held; both quotas count."""
    quotas = tables.limits
    bounds = {name: value for name, value in asdict(tables.leases).items() if name.endswith("_us")}
    return {
        "per_principal": quotas.principal.record(),
        "per_enforcement_point": quotas.point.record(),
        "leases": {f"{name.removesuffix('_us')}_seconds": value / SECOND for name, value in bounds.items()},
        "max_hold_seconds": {name: value / SECOND for name, value in sorted(tables.max_hold_us.items())},
    }
