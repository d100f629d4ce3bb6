"""The decision log that the settings name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from remit_service.clock import SystemClock
from remit_service.evidence.decision_log.files import FileSink
from remit_service.evidence.decision_log.log import BufferedLog
from remit_service.evidence.decision_log.nothing import NoLog
from remit_service.evidence.decision_log.scribe import Scribe
from remit_service.evidence.decision_log.upload import UploadSink
from remit_service.version import program_version

if TYPE_CHECKING:
    from collections.abc import Callable

    from remit_graph.model.instant import Instant
    from remit_service.metrics import Metrics
    from remit_service.settings import Settings


def make_log(
    settings: Settings, metrics: Metrics | None = None, *, now: Callable[[], Instant] | None = None
) -> BufferedLog | NoLog:
    """Return the log, not yet started, whose losses `metrics` counts."""
    log = _log(settings, now or SystemClock().now)
    if metrics is not None:
        metrics.watch_count("remit_decision_log_dropped", "Records that were lost.", lambda: sum(log.lost.values()))
    return log


def _log(settings: Settings, now: Callable[[], Instant]) -> BufferedLog | NoLog:
    scribe = Scribe(
        {"app": "remit", "id": settings.replica, "version": program_version()},
        with_input=settings.decision_log_input == "full",
        keep=settings.recent_decisions,
    )
    kind, _, folder = settings.decision_log.partition(":")
    if kind == "none":
        return NoLog(scribe)
    sink: FileSink | UploadSink
    if kind == "file":
        sink = FileSink(Path(folder), settings.replica, settings.decision_log_file_bytes)
    else:
        token = settings.decision_log_token
        sink = UploadSink(settings.decision_log, settings.replica, token=token.reveal() if token else None)
    return BufferedLog(
        sink, scribe, now, buffer=settings.decision_log_buffer, wait_seconds=settings.decision_log_wait_seconds
    )
