"""F021: a wall clock that is set back revives nothing that is over, and is told of.

There is no cache of decisions yet, so no entry can become immortal; these are the durations and instants that exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx

from remit_graph.model.instant import SECOND
from remit_graph.sqlite.ledger import SqliteLedger
from remit_graph.sqlite.options import SqliteOptions
from remit_service.clock import ManualClock
from remit_service.coordination.bounds import Limits, Quota
from remit_service.coordinator.rates import Rates
from remit_service.http.limits import RateLimit
from remit_service.http.problems import ProblemError
from remit_service.identity.errors import KeysUnavailable
from remit_service.identity.jwks import KEEP_SECONDS, UrlKeys
from tests.support.desk import T0, codes, desk_on, sqlite_in

if TYPE_CHECKING:
    from pathlib import Path

    from remit_graph.ports import Ledger

HOUR = 3_600


async def test_f021_what_was_over_at_the_last_change_stays_over(tmp_path: Path) -> None:
    """A right and a lease that ended are not revived by a clock set back an hour: nothing is before the last change."""
    async with desk_on(sqlite_in(tmp_path)) as desk:
        edge = {"edge_id": "short", "version": 1, "edge": "MAY_WRITE", "from": "instance:a", "to": "log:*", "epoch": 1}
        scope = {"actions": ["WORK"]}
        body = {**edge, "issuer": "organization:desk", "scope": scope, "valid_until": desk.instant(10)}
        await desk.append(("edge.begin", body))
        held = (await desk.take("instance:a", "UPDATE_CANONICAL", "wp:post:1", ttl=10)).body["lease"]
        await desk.to(11)
        await desk.sweep()

        desk.clock.set(T0 - HOUR * SECOND)

        assert desk.point.now() == desk.instant(11)
        assert "short" not in (await desk.ask("instance:a", "WORK", "log:1")).determining
        late = await desk.present(held, "UPDATE_CANONICAL", expected_version="v1")
        assert (late.outcome, codes(late)) == ("acquire", ["lease_expired"])


async def test_f021_a_process_with_such_a_clock_is_not_ready(tmp_path: Path) -> None:
    """Off by more than `max_clock_skew`, in either direction, it says by how much; within the bound it is ready."""
    ledgers = ManualClock(T0)

    async def make(realm: str, _: ManualClock) -> Ledger:
        return await SqliteLedger.init(tmp_path / "remit.db", realm, options=SqliteOptions(clock=ledgers.now))

    async with desk_on(make) as desk:
        told: dict[float, tuple[bool, list[str]]] = {}
        for off in (0.0, -2.0, -2.1, -float(HOUR), 2.1):
            desk.clock.set(T0 + round(off * SECOND))
            await desk.point.replica.catch_up()
            found = desk.point.readiness()
            told[off] = (found.ready, [each for each in found.problems if "clock" in each])

    assert told == {
        0.0: (True, []),
        -2.0: (True, []),
        -2.1: (False, ["the clock is -2.1 s off the ledger's"]),
        -HOUR: (False, ["the clock is -3600.0 s off the ledger's"]),
        2.1: (False, ["the clock is +2.1 s off the ledger's"]),
    }


def test_f021_bounds_by_the_second_run_on() -> None:
    """Buckets of commands and of questions fill again a second later, whatever the wall clock did meanwhile."""
    clock = ManualClock(T0)
    quotas = Quota(lease=1, waiter=1, operation=1, presence=1, commands_per_second=1)
    rates, questions = Rates(clock), RateLimit(1, clock.monotonic)
    limits = Limits(principal=quotas, point=quotas)

    def taken() -> tuple[bool, bool]:
        try:
            questions.take("service:gateway")
        except ProblemError:
            return rates.over("instance:a", "service:gateway", limits) is None, False
        return rates.over("instance:a", "service:gateway", limits) is None, True

    assert [taken(), taken()] == [(True, True), (False, False)]
    clock.advance(1)
    clock.set(T0 - HOUR * SECOND)
    assert taken() == (True, True)


async def test_f021_an_issuers_keys_grow_old_all_the_same() -> None:
    """Keys that could not be fetched again are forgotten when their time is over, though the wall clock went back."""
    clock = ManualClock(T0)
    up = True

    def answer(_: httpx.Request) -> httpx.Response:
        key = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "kid": "k"}
        return httpx.Response(200, json={"keys": [key]}) if up else httpx.Response(503)

    keys = UrlKeys("http://issuer.test/jwks", clock.monotonic, httpx.MockTransport(answer))
    assert await keys.current(None)
    up = False
    clock.advance(KEEP_SECONDS - 1)
    clock.set(T0 - HOUR * SECOND)
    assert await keys.current(None)
    clock.advance(2)
    problems: list[Any] = []
    try:
        await keys.current(None)
    except KeysUnavailable as error:
        problems.append(error)
    await keys.aclose()

    assert len(problems) == 1
