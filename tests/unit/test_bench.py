"""The benchmark runs: cases of stores, small, give their rows; what the figures are is for a machine at rest."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_cases_of_stores_give_rows() -> None:
    """Appends with and without group commit, leases, and how long a revoked right lives on another process."""
    cases = ("appends", "leases", "last_permit")
    options = [option for case in cases for option in ("--only", case)]
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--quick", "--json", *options],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr

    rows = {row["case"]: row for row in json.loads(done.stdout)["rows"]}
    appends = [row for case, row in rows.items() if case.startswith("appends, embedded")]
    assert len(appends) == 6
    assert [row["case"] for row in appends if not row["per_second"] > 0] == []
    assert rows["revocation to last permit, same process, embedded"]["latency_us"]["max"] == 0
    assert rows["revocation to last permit, another replica, embedded"]["latency_us"].keys() >= {"p50", "p99"}
    assert rows["lease acquire + release, distinct keys, embedded"]["per_second"] > 0
