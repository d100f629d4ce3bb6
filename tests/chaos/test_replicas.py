"""Several decision points on one store, each a process of its own: what is acknowledged on one holds on all."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import httpx
import pytest

from tests.support.process import NotReadyError
from tests.support.process import wait_until as wait_for
from tests.support.replicas import ServedReplica, neo4j_settings, sqlite_settings
from tests.support.site_policy import policy_that_is_strict, policy_that_refuses
from tests.support.tcp_proxy import TcpProxy, tcp_proxy_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tests.support.neo4j_server import Neo4jServer

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(400)]

MAX_STALENESS: Final = 8.0
BOUNDS: Final = {
    "max_staleness_seconds": str(MAX_STALENESS),
    # What a question waits for on a busy machine is no fault; the bound on staleness is what is shown.
    "revision_wait_seconds": "5",
    "decision_within_seconds": "60",
}
DISABLED: Final = ["subject_disabled", "delegation_revoked"]
FULLY: Final = "fully_consistent"
BUNDLE: Final = "/bundles/remit.tar.gz"


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait as long as a busy machine may take; what is bounded has its bound in the test."""
    wait_for(condition, within_seconds=60)


@dataclass
class Replicas:
    """Decision points that share a store.

    Attributes:
        store: The settings that name it.
        one, two: They reach it directly.
        far: Reaches it through `proxy`, where there is a network in between.
        folder: Where their output is.
    """

    store: Mapping[str, str]
    folder: Path
    one: ServedReplica
    two: ServedReplica
    far: ServedReplica | None = None
    proxy: TcpProxy | None = None

    @property
    def all(self) -> list[ServedReplica]:
        """Return every one."""
        return [self.one, self.two, *([self.far] if self.far is not None else [])]

    def remit(self, *arguments: str) -> None:
        """Run a command on the store itself."""
        environment = {**os.environ, **self.store}
        done = subprocess.run(
            [sys.executable, "-m", "remit_service", *arguments],
            cwd=self.folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


def _start_at_once(made: list[ServedReplica], ends: ExitStack) -> None:
    """Start all of them together, on a store that nobody has made yet."""
    for each in made:
        ends.callback(each.stop)
    with ThreadPoolExecutor(len(made)) as threads:
        list(threads.map(_started, made))


def _started(replica: ServedReplica) -> None:
    """Start one, and again if it ends, as its host would: a cold server on a busy machine is slower than its bounds."""
    for left in (2, 1, 0):
        try:
            replica.start()
        except NotReadyError:
            if not left:
                raise
        else:
            return


@pytest.fixture(scope="module")
def on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    """Two decision points on one file."""
    folder = tmp_path_factory.mktemp("sqlite")
    store = sqlite_settings(folder)
    with ExitStack() as ends:
        made = [ServedReplica(name, store, folder, settings=BOUNDS) for name in ("one", "two")]
        _start_at_once(made, ends)
        yield Replicas(store, folder, made[0], made[1])


@pytest.fixture(scope="module")
def on_neo4j(neo4j_of_this_run: Neo4jServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    """Three decision points on one Neo4j, one of them behind a network that can fail."""
    neo4j_of_this_run.revive()
    neo4j_of_this_run.empty()
    folder = tmp_path_factory.mktemp("neo4j")
    store = neo4j_settings(neo4j_of_this_run)
    with ExitStack() as ends:
        proxy = ends.enter_context(tcp_proxy_to(neo4j_of_this_run.port))
        far_store = neo4j_settings(neo4j_of_this_run, port=proxy.port)
        one, two = (ServedReplica(name, store, folder, settings=BOUNDS) for name in ("one", "two"))
        far = ServedReplica("far", far_store, folder, settings=BOUNDS)
        _start_at_once([one, two, far], ends)
        yield Replicas(store, folder, one, two, far, proxy)


@pytest.fixture(params=["on_sqlite", pytest.param("on_neo4j", marks=pytest.mark.neo4j)])
def replicas(request: pytest.FixtureRequest) -> Replicas:
    """Decision points on each kind of store, all of them well."""
    found: Replicas = request.getfixturevalue(request.param)
    return found


def test_whoever_starts_at_once_makes_one_store_with_one_world(replicas: Replicas) -> None:
    """All are ready, on the same revision of the same realm, with one policy in force."""
    wait_until(lambda: len({each.health()["revision"] for each in replicas.all}) == 1)

    told = [each.health() for each in replicas.all]
    assert [each["ready"] for each in told] == [True] * len(told)
    assert {(each["realm"], each["policy_epoch"]) for each in told} == {("acme", 1)}
    assert len({each["policy_revision"] for each in told}) == 1
    assert [each.codes() for each in replicas.all] == [[]] * len(told)


@pytest.mark.feature("S33")
def test_what_was_acknowledged_on_one_is_read_on_another_by_its_token(replicas: Replicas) -> None:
    """Ten times off and on, through whichever: with the token, or fully consistent, no answer is of before."""
    for number in range(10):
        writer = replicas.all[number % len(replicas.all)]
        for disabled in (True, False):
            token = writer.disable(disabled=disabled)
            wanted = DISABLED if disabled else []
            for each in replicas.all:
                assert each.codes(consistency={"at_least_as_fresh": token}) == wanted
                assert each.codes(consistency=FULLY) == wanted


@pytest.mark.parametrize("token", ["another store", "another incarnation"])
def test_a_token_of_another_store_is_not_compared(replicas: Replicas, token: str) -> None:
    """Neither one of a store that this is not, nor of an incarnation that it has not."""
    mine = replicas.one.disable(disabled=False)
    store, _, revision = _spelled(mine).split(".")
    foreign = {"another store": f"{'0' * len(store)}.1.{revision}", "another incarnation": f"{store}.7.{revision}"}[
        token
    ]

    for each in replicas.all:
        asked = urlsafe_b64encode(foreign.encode()).decode().rstrip("=")
        assert each.codes(consistency={"at_least_as_fresh": asked}) == ["revision_foreign"]


def _spelled(token: str) -> str:
    return urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()


@contextmanager
def asked_all_the_time(replica: ServedReplica) -> Iterator[list[tuple[float, list[str]]]]:
    """Ask a decision point in a thread of its own; yields the instants of asking with the codes answered."""
    answers: list[tuple[float, list[str]]] = []
    ending = threading.Event()

    def ask() -> None:
        while not ending.is_set():
            asked_at = time.monotonic()
            answers.append((asked_at, replica.codes()))

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        wait_until(lambda: bool(answers))
        yield answers
    finally:
        ending.set()
        thread.join()


@pytest.mark.feature("S33", "S112")
def test_a_revocation_reaches_the_other_within_the_bound(replicas: Replicas) -> None:
    """Acknowledged by one, the other permits by it no question that is asked later than the bound."""
    with asked_all_the_time(replicas.two) as answers:
        replicas.one.disable(disabled=True)
        acknowledged = time.monotonic()
        wait_until(lambda: answers[-1][1] == DISABLED)
    replicas.one.disable(disabled=False)

    assert answers[0][1] == []
    assert [codes for at, codes in answers if at > acknowledged + MAX_STALENESS and codes == []] == []


@pytest.mark.feature("S33")
def test_a_strict_class_is_denied_at_once(replicas: Replicas, tmp_path: Path) -> None:
    """Where the policy is strict for writes, each answer of another after the acknowledgement is the new one."""
    before = replicas.one.health()["policy_revision"]
    replicas.remit("policy", "activate", str(policy_that_is_strict("write", tmp_path / "strict")))
    wait_until(lambda: all(each.health()["policy_revision"] != before for each in replicas.all))

    for disabled in (True, False) * 10:
        replicas.one.disable(disabled=disabled)
        assert replicas.two.codes() == (DISABLED if disabled else [])

    replicas.remit("policy", "activate")
    wait_until(lambda: all(each.health()["policy_revision"] == before for each in replicas.all))


def test_a_policy_activated_on_the_store_is_in_force_on_all(replicas: Replicas, tmp_path: Path) -> None:
    """Its OPA is woken, and a decision point that is started again with its old files keeps the new policy."""
    before = replicas.two.health()
    tag = replicas.two.client.get(BUNDLE).headers["etag"]
    headers = {"If-None-Match": tag, "Prefer": "modes=snapshot;wait=30"}
    with ThreadPoolExecutor(1) as threads:
        woken = threads.submit(httpx.get, replicas.two.url + BUNDLE, headers=headers, timeout=60)
        replicas.remit("policy", "activate", str(policy_that_refuses("UPDATE_CANONICAL", tmp_path / "frozen")))

        reply = woken.result()

    assert (reply.status_code, reply.headers["etag"] != tag) == (200, True)
    wait_until(lambda: [each.codes() for each in replicas.all] == [["policy_denied"]] * len(replicas.all))
    replicas.two.process.kill()
    replicas.two.start()
    again = replicas.two.health()
    assert again["policy_epoch"] == before["policy_epoch"] + 1
    assert again["policy_revision"] == replicas.one.health()["policy_revision"] != before["policy_revision"]
    assert replicas.two.codes() == ["policy_denied"]
    replicas.remit("policy", "activate", "--revision", before["policy_revision"])
    wait_until(lambda: [each.codes() for each in replicas.all] == [[]] * len(replicas.all))


def test_one_that_is_killed_is_missed_by_nobody(replicas: Replicas) -> None:
    """The other goes on deciding and changing, and the killed one comes back to what was done meanwhile."""
    replicas.one.process.kill()
    token = replicas.two.disable(disabled=True)
    assert replicas.two.codes(consistency={"at_least_as_fresh": token}) == DISABLED

    replicas.one.start()

    assert replicas.one.codes() == DISABLED
    replicas.one.disable(disabled=False)


@pytest.mark.feature("S112")
def test_one_that_is_cut_off_denies_and_recovers_by_itself(on_neo4j: Replicas) -> None:
    """It says what it cannot know, permits nothing beyond the bound, is not ready, and is well when the network is."""
    far, proxy = on_neo4j.far, on_neo4j.proxy
    assert far is not None
    assert proxy is not None
    with asked_all_the_time(far) as answers:
        proxy.is_frozen = True
        token = on_neo4j.one.disable(disabled=True)
        acknowledged = time.monotonic()

        unreached = far.codes(consistency={"at_least_as_fresh": token})
        wait_until(lambda: answers[-1][1] == ["authority_stale"])
        # What hinders it is told beside it, once the driver has given up for the first time.
        wait_until(lambda: len(far.problems()) == 2)
        problems = far.problems()
        newest = far.codes(consistency=FULLY)
        proxy.is_frozen = False
        wait_until(lambda: answers[-1][1] == DISABLED)
    wait_until(far.is_ready)

    assert unreached == ["revision_not_reached"]
    assert newest == ["authority_stale"]
    stale, hindered = problems
    assert "last confirmed" in stale
    assert hindered.startswith("the ledger cannot be followed: ")
    assert [codes for at, codes in answers if at > acknowledged + MAX_STALENESS and codes == []] == []
    on_neo4j.one.disable(disabled=False)


def test_a_command_that_reaches_nothing_is_told_so(on_neo4j: Replicas) -> None:
    """Cut off, a decision point takes no command; the same Idempotency-Key is good elsewhere."""
    far, proxy = on_neo4j.far, on_neo4j.proxy
    assert far is not None
    assert proxy is not None
    call: dict[str, Any] = {
        "json": {"disabled": False, "actor": "human:chief"},
        "headers": {"Idempotency-Key": "cut-off-1"},
    }
    proxy.is_frozen = True
    try:
        refused = far.client.patch("/v1/principals/instance:seo-agent-8", **call, timeout=90)
    finally:
        proxy.is_frozen = False
    done = on_neo4j.one.client.patch("/v1/principals/instance:seo-agent-8", **call)

    assert (refused.status_code, refused.json()["retryable"]) == (503, True)
    assert done.status_code == 200
    wait_until(far.is_ready)


def test_a_clock_that_is_off_is_measured_and_told(on_neo4j: Replicas) -> None:
    """Behind or ahead by more than the bound: not ready, with the seconds; ahead, no command is taken, and why."""
    told: dict[float, str] = {}
    for off in (-30.0, 30.0):
        with ExitStack() as ends:
            # It has run before, so its start has nothing to append.
            steady = ServedReplica("steady", on_neo4j.store, on_neo4j.folder)
            ends.callback(steady.stop)
            steady.start()
            steady.process.stop()
            skewed = ServedReplica("steady", on_neo4j.store, on_neo4j.folder, clock_off_seconds=off)
            ends.callback(skewed.stop)
            skewed.process.start(skewed.is_up)

            assert not skewed.is_ready()
            assert ["off the ledger's" in each for each in skewed.problems()] == [True]
            assert abs(skewed.health()["clock_skew_seconds"] - off) < 10
            body = {"disabled": off < 0, "actor": "human:chief"}
            reply = skewed.client.patch("/v1/principals/instance:seo-agent-8", json=body)
            told[off] = f"{reply.status_code} {reply.json().get('detail', '')}"

    on_neo4j.one.disable(disabled=False)

    assert told[-30.0].startswith("200")
    assert told[30.0].startswith("503 ")
    assert "the clock of this decision point is ahead" in told[30.0]


def test_a_start_that_a_fast_clock_forbids_says_so(on_neo4j: Replicas) -> None:
    """One that would have to append at its start ends instead, with the sentence."""
    with ExitStack() as ends:
        skewed = ServedReplica("fast", on_neo4j.store, on_neo4j.folder, clock_off_seconds=30.0)
        ends.callback(skewed.stop)

        with pytest.raises(NotReadyError, match=r"ahead of the ledger's.*set the clock of this machine"):
            skewed.start()
