"""Figures: percentiles, one row a case, a table for people, a line of history for later."""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from time import gmtime, strftime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

HISTORY = Path(__file__).parent / "history.jsonl"


@dataclass(frozen=True)
class Row:
    """One case.

    Attributes:
        case: Its name.
        target: What the design asks for, as text.
        per_second: Operations a second, or None where only latency was measured.
        latency_us: p50, p95, p99, p99.9 and maximum, microseconds.
        facts: What else belongs to it: graph size, connections, memory.
    """

    case: str
    target: str
    per_second: float | None
    latency_us: dict[str, float]
    facts: dict[str, Any] = field(default_factory=dict)


def percentiles(samples_us: Sequence[float]) -> dict[str, float]:
    """Return the percentiles of samples in microseconds."""
    ordered = sorted(samples_us)
    if not ordered:
        return {}
    places = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
    found = {name: ordered[min(len(ordered) - 1, int(len(ordered) * place))] for name, place in places.items()}
    return {**found, "max": ordered[-1]}


def memory_mib() -> float:
    """Return the highest resident memory of this process so far, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def machine() -> dict[str, Any]:
    """Return what figures depend on besides the code."""
    return {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "remit": version("remit"),
        "load_average": os.getloadavg()[0],
    }


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a table."""
    head = f"{'case':<46} {'per second':>11} {'p50 us':>9} {'p99 us':>9} {'p99.9 us':>9} {'max us':>10}   target"
    lines = [head, "-" * len(head)]
    for row in rows:
        rate = "" if row.per_second is None else f"{row.per_second:,.0f}"
        cells = [
            f"{row.latency_us[name]:,.0f}" if name in row.latency_us else "" for name in ("p50", "p99", "p99.9", "max")
        ]
        lines.append(
            f"{row.case:<46} {rate:>11} {cells[0]:>9} {cells[1]:>9} {cells[2]:>9} {cells[3]:>10}   {row.target}"
        )
        for name, value in row.facts.items():
            lines.append(f"    {name}: {value}")
    return "\n".join(lines)


def remember(rows: Sequence[Row]) -> None:
    """Append this run to the history, under the commit it measured."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    entry = {"at": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime()), "commit": commit, **document(rows)}
    with HISTORY.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry, sort_keys=True) + "\n")


def document(rows: Sequence[Row]) -> dict[str, Any]:
    """Return a run as JSON."""
    return {"machine": machine(), "rows": [asdict(row) for row in rows]}


def tell(message: str) -> None:
    """Say what is being measured, on standard error."""
    print(message, file=sys.stderr, flush=True)


def in_a_process(module: str, *arguments: str) -> Any:
    """Run a module of this package as a process of its own, whose memory is its own; return the JSON it ends with."""
    done = subprocess.run([sys.executable, "-m", module, *arguments], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout.splitlines()[-1])
