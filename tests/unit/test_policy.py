"""A policy, ready to decide: its data is what Python reads, or it is refused in a sentence."""

from __future__ import annotations

import pytest

from remit_graph.errors import ModelError
from remit_service.bundle.build import build_bundle
from remit_service.bundle.folder import read_folder, shipped_policy
from remit_service.policy import policy_of

CONFIG = "remit/config/data.yaml"


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("scales:", "scales: 7\nno_scales:"),
        ("scales:", "scales: {risk: 3}\nno_scales:"),
        ("scales:", "no_scales:"),
        ("separation_of_duties: []", "separation_of_duties: 5"),
        ("max_hold_seconds:", "max_hold_seconds: soon\nno_max_hold_seconds:"),
    ],
)
def test_data_that_no_decision_could_read_is_refused(line: str, instead: str) -> None:
    """Whoever compiles a policy has one error to catch for it, whatever it is that somebody wrote."""
    files = read_folder(shipped_policy())
    config = files[CONFIG].decode()
    assert f"\n{line}" in config
    bundle = build_bundle({**files, CONFIG: config.replace(f"\n{line}", f"\n{instead}", 1).encode()})

    with pytest.raises(ModelError):
        policy_of(bundle)
