"""What every suite shares: real servers, the report at the end, the profiles of Hypothesis, the grouping of tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import Phase, settings

pytest_plugins = ["tests.support.services", "tests.support.report"]

# A marker says what a test needs; the fixture that brings it implies the marker.
MARKER_OF_FIXTURE = {
    "neo4j_of_this_run": "neo4j",
    "opa_of_this_run": "opa",
    "start_opa": "opa",
    "start_gateway": "gateways",
}

# Their modules start a service for all of their tests, which on one worker is one and sees them in their order.
WHOLE_MODULES = {"enforce", "http"}

# In CI the examples are the same in every run, and a failing one is not made smaller, which can take minutes; elsewhere
# they are new ones. A failure prints how to repeat it.
unshrunk = [phase for phase in Phase if phase is not Phase.shrink]
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True, phases=unshrunk)
settings.register_profile("here", deadline=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by the servers they use, keep those of Neo4j on one worker, and leave endurance out.

    Neo4j Community has one database, so tests that use it follow each other; the fixture empties it between them.
    What is left of chaos follows each other too: two of them at once would starve their processes. So do the tests of
    a module that shares a service.
    """
    if "soak" not in config.option.markexpr:
        endurance = [item for item in items if item.get_closest_marker("soak")]
        config.hook.pytest_deselected(items=endurance)
        items[:] = [item for item in items if item not in endurance]
    for item in items:
        for fixture in getattr(item, "fixturenames", ()):
            if marker := MARKER_OF_FIXTURE.get(fixture):
                item.add_marker(marker)
        lane = next((marker for marker in ("neo4j", "chaos") if item.get_closest_marker(marker)), None)
        if lane is None and item.path.parent.name in WHOLE_MODULES:
            lane = f"{item.path.parent.name}/{item.path.stem}"
        if lane is not None:
            item.add_marker(pytest.mark.xdist_group(lane))


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a test by the size of the bytes it is about: an archive holds the time it was made at.

    Every worker collects for itself, and all must come to the same names.
    """
    return f"{len(val)} bytes" if isinstance(val, bytes) and not val.isascii() else None
