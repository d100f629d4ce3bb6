"""A holder that is stopped in the middle of its write and wakes up after somebody else has written (S64), whole."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from signal import SIGCONT, SIGSTOP
from typing import TYPE_CHECKING

import pytest

from remit_enforce import AsyncClient, Settings, write
from tests.chaos.coordination_points import ROOT, DecisionPoint
from tests.support.guarded_page import Page

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]
POST = "wp:post:1024"


def started(command: list[str]) -> subprocess.Popen[str]:
    """Start a program that is told what to do, and says what came of it."""
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.feature("S63", "S64", "S65", "S82")
@pytest.mark.parametrize("is_down", [False, True], ids=["up", "down"])
async def test_a_stopped_writer_wakes_up_to_nothing(tmp_path: Path, *, is_down: bool) -> None:
    """With the decision point up or down: the guard refuses its write, the library says the lease is lost."""
    folder = tmp_path / "point"
    folder.mkdir()
    point = DecisionPoint(folder)
    await asyncio.to_thread(point.start)
    page = Page(tmp_path, POST)
    command = [sys.executable, "-m", "tests.enforce.paused_writer", point.url, str(tmp_path), POST]
    paused = started(command)
    assert paused.stdin is not None
    assert paused.stdout is not None
    try:
        first = json.loads(await asyncio.to_thread(paused.stdout.readline))
        paused.send_signal(SIGSTOP)
        async with AsyncClient(Settings(url=point.url)) as client:
            second = await write(client, page.plan(subject="instance:seo-agent-8", wait_seconds=60))
        if is_down:
            point.process.kill()
        paused.stdin.write("go on\n")
        paused.stdin.flush()
        paused.send_signal(SIGCONT)
        told = json.loads(await asyncio.to_thread(paused.stdout.readline))
    finally:
        paused.kill()
        paused.communicate()
        point.process.kill()

    assert second.document["lease_epoch"] > first["token"]
    assert told["guard"] == "refused"
    # Whichever of the two that know it is heard first.
    assert told["code"] in ("stale_fencing_token", "lease_not_renewed")
    assert page.state == ("rev_2", "/new")
