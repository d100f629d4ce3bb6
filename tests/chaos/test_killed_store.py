"""Neo4j is killed under decision points at work: nothing acknowledged is lost, nothing is permitted on a guess."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import httpx
import pytest

from remit_graph.neo4j import Neo4jLedger
from tests.contract.ledger_commands import everything
from tests.contract.ledgers import patient
from tests.support.process import wait_until
from tests.support.replicas import ServedReplica, neo4j_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.neo4j_server import Neo4jServer

pytestmark = [pytest.mark.neo4j, pytest.mark.chaos]

MAX_STALENESS: Final = 3.0
REQUEST_SECONDS: Final = 120
"""A command waits for its repeats and for a server that comes back; what a decision may take is bounded elsewhere."""


@dataclass
class Load:
    """Commands and questions without a pause, and what came of them.

    Attributes:
        declared: Principals whose command was acknowledged.
        failed: Answers that were no acknowledgement.
        answers: When a question was sent, and its reasons; none is a permit.
    """

    replica: ServedReplica
    stop: threading.Event = field(default_factory=threading.Event)
    declared: list[str] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    answers: list[tuple[float, list[str]]] = field(default_factory=list)

    def declare(self) -> None:
        """Declare one principal after the other, each until it is acknowledged, under one Idempotency-Key."""
        with httpx.Client(base_url=self.replica.url, timeout=REQUEST_SECONDS) as client:
            number = 0
            while not self.stop.is_set():
                number += 1
                name = f"instance:{self.replica.name}-{number}"
                while not self._is_declared(client, name):
                    # Not a wait for something to happen: whoever is refused with 503 comes back a little later.
                    self.stop.wait(0.1)
                self.declared.append(name)

    def _is_declared(self, client: httpx.Client, name: str) -> bool:
        body = {"id": name, "actor": "human:chief"}
        reply = client.post("/v1/principals", json=body, headers={"Idempotency-Key": name})
        if reply.is_success:
            return True
        self.failed.append(reply.status_code)
        assert reply.status_code == 503, reply.text
        return False

    def ask(self) -> None:
        """Ask one question after the other."""
        while not self.stop.is_set():
            sent = time.monotonic()
            self.answers.append((sent, self.replica.codes()))


@pytest.mark.slow
@pytest.mark.feature("S85", "S112")
@pytest.mark.timeout(900)
def test_a_killed_store_costs_time_and_nothing_else(neo4j_of_this_run: Neo4jServer, tmp_path: Path) -> None:
    """Commands and questions on two decision points, kill -9, a restart: each command once, and no permit between."""
    server = neo4j_of_this_run
    server.revive()
    server.empty()
    with ExitStack() as ends:
        replicas = [
            ServedReplica(
                name, neo4j_settings(server), tmp_path, settings={"max_staleness_seconds": str(MAX_STALENESS)}
            )
            for name in ("one", "two")
        ]
        for each in replicas:
            ends.callback(each.stop)
            each.start()
        pids = [each.process.pid for each in replicas]
        loads = [Load(each) for each in replicas]
        threads = ends.enter_context(ThreadPoolExecutor(4))
        running = [threads.submit(work) for load in loads for work in (load.declare, load.ask)]
        for load in loads:
            ends.callback(load.stop.set)

        # (1) Under way, the store is killed: beyond the bound every answer is a deny that says why.
        _until(lambda: all(len(load.declared) >= 5 for load in loads))
        server.kill()
        killed = time.monotonic()
        _until(lambda: all(load.answers[-1][1] == ["authority_stale"] for load in loads))
        _until(lambda: not any(each.is_ready() for each in replicas))
        _until(lambda: time.monotonic() > killed + 2 * MAX_STALENESS)
        restarted = time.monotonic()

        # (2) It comes back, and so do they, by themselves.
        server.start()
        before = [len(load.declared) for load in loads]
        _until(lambda: all(load.answers[-1][1] == [] for load in loads))
        _until(lambda: all(len(load.declared) >= some + 5 for load, some in zip(loads, before, strict=True)))
        _until(lambda: all(each.is_ready() for each in replicas))
        for load in loads:
            load.stop.set()
        for done in running:
            done.result()
        assert [each.process.pid for each in replicas] == pids

    # (3) What was acknowledged is in the log once; what was repeated after a cut connection was not done twice.
    outage = [codes for load in loads for at, codes in load.answers if killed + MAX_STALENESS < at < restarted]
    assert outage
    assert [codes for codes in outage if codes != ["authority_stale"]] == []
    put = Counter(asyncio.run(_declared(server)))
    acknowledged = [name for load in loads for name in load.declared]
    assert {name: put[name] for name in acknowledged} == dict.fromkeys(acknowledged, 1)


async def _declared(server: Neo4jServer) -> list[str]:
    """Return the principals that commands under load have put, as often as they did, from a log that is sound."""
    ledger = await Neo4jLedger.open(patient(url=server.url, user=server.user, password=server.password))
    try:
        entries = await everything(ledger)
        await ledger.materialised()
        assert await ledger.check() == []
    finally:
        await ledger.aclose()
    assert [entry.revision for entry in entries] == list(range(1, len(entries) + 1))
    changes = [change for entry in entries for change in entry.changes if change.kind == "principal.put"]
    return [
        str(each.body["id"]) for each in changes if str(each.body["id"]).startswith(("instance:one-", "instance:two-"))
    ]


def _until(condition: Callable[[], bool]) -> None:
    """Wait as long as a busy machine may take."""
    wait_until(condition, within_seconds=150)
