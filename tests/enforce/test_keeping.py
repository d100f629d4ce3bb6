"""The lease beside the work: renewed while it goes on, and the work stopped when it is lost."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from remit_enforce import AsyncClient, CallbackFailed, MarginTooShort, StalePlan, StaleToken, Turn, write
from tests.support.process import wait_until
from tests.support.tcp_proxy import tcp_proxy_to

if TYPE_CHECKING:
    from tests.http.serving import Served
    from tests.support.guarded_page import Page

ROOT = "organization:acme"


def lease_of(served: Served, key: str) -> dict[str, Any]:
    """Return the one lease that is held on a key."""
    (lease,) = served.client("gateway").get(f"/v1/leases?under={key}").json()["leases"]
    return dict(lease)


def revoke(served: Served, key: str) -> None:
    """End the lease on a key, as whoever is above its holder may."""
    body = {"actor": ROOT, "target": {"lease_id": lease_of(served, key)["lease_id"]}, "reason": "a test"}
    served.client("gateway").post("/v1/revocations", json=body).raise_for_status()


async def until(condition: Any) -> None:
    """Wait for a condition beside the work."""
    await asyncio.to_thread(wait_until, condition, within_seconds=60)


class Slow:
    """A write in a thread, which nobody can cancel: it goes on when it is told to, and then meets the guard."""

    def __init__(self, page: Page) -> None:
        """Stand before the guard of a page."""
        self.started, self.go_on, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.refused: StaleToken | None = None
        self.was_cancelled = False
        self._page = page

    async def execute(self, turn: Turn) -> None:
        """Begin it, and wait for it as long as one is let."""
        try:
            await asyncio.to_thread(self._write, turn)
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise

    def _write(self, turn: Turn) -> None:
        self.started.set()
        self.go_on.wait(60)
        try:
            with self._page.guard.admit(self._page.key, turn.fencing_tokens):
                self._page.put("rev_66", "/late")
        except StaleToken as error:
            self.refused = error
        self.ended.set()


@pytest.mark.feature("S68", "S86")
async def test_a_long_execution_keeps_its_lease(served: Served, point: AsyncClient, page: Page) -> None:
    """A lease of six seconds is renewed until the work is done, with the progress that it marks."""

    async def execute(turn: Turn) -> dict[str, Any]:
        turn.mark("half of it")
        await until(lambda: lease_of(served, page.key)["version"] > 2)
        return await page.execute(turn)

    receipt = await write(point, page.plan(execute=execute, ttl_seconds=6))

    assert (receipt.status, page.state) == ("COMPLETED", ("rev_2", "/new"))


@pytest.mark.feature("S64", "S65", "S82", "S86")
async def test_a_lease_lost_in_the_middle_stops_the_work_and_fences_it(
    served: Served, point: AsyncClient, page: Page
) -> None:
    """The execution is cancelled, another writes meanwhile, and what of the first could not be stopped is refused."""
    slow = Slow(page)
    first = asyncio.create_task(write(point, page.plan(execute=slow.execute, ttl_seconds=6)))
    await asyncio.to_thread(slow.started.wait, 60)
    await asyncio.to_thread(revoke, served, page.key)
    with pytest.raises(StalePlan) as raised:
        await first

    second = await write(point, page.plan(subject="instance:seo-agent-8"))
    slow.go_on.set()
    await asyncio.to_thread(slow.ended.wait, 60)

    receipt = raised.value.receipt
    assert receipt is not None
    assert slow.was_cancelled
    assert (raised.value.refusal.code, receipt.execution, receipt.stopped_at) == ("lease_revoked", "unknown", "execute")
    assert (receipt.status, receipt.document["status"]) == ("REVOKED", "REVOKED")
    assert second.status == "COMPLETED"
    assert slow.refused is not None
    assert slow.refused.highest == second.document["lease_epoch"]
    assert page.state == ("rev_2", "/new")


@pytest.mark.feature("S64", "S82")
async def test_a_lease_that_cannot_be_renewed_counts_as_lost_before_its_end(
    served: Served, point: AsyncClient, page: Page
) -> None:
    """With the way to the decision point frozen the work is stopped while the lease still stands there (F059)."""
    slow, stood = Slow(page), []
    port = int(served.url.rpartition(":")[2])
    with tcp_proxy_to(port) as proxy:
        settings = replace(point.settings, url=f"http://127.0.0.1:{proxy.port}", timeout_seconds=3)

        async def execute(turn: Turn) -> None:
            proxy.is_frozen = True
            try:
                await slow.execute(turn)
            finally:
                stood.append(lease_of(served, page.key)["state"])

        async with AsyncClient(settings) as client:
            with pytest.raises(StalePlan) as raised:
                await write(client, page.plan(execute=execute, ttl_seconds=6))
    slow.go_on.set()
    await asyncio.to_thread(slow.ended.wait, 60)

    receipt = raised.value.receipt
    assert receipt is not None
    assert slow.was_cancelled
    assert stood == ["HELD"]
    assert (raised.value.refusal.code, receipt.status, receipt.execution) == (
        "lease_not_renewed",
        "ABANDONED",
        "unknown",
    )
    look = served.client("gateway")
    await until(lambda: look.get(f"/v1/receipts/{receipt.coordination_id}").json().get("status") == "EXPIRED")


@pytest.mark.feature("S82")
async def test_nothing_is_started_after_the_loss(served: Served, point: AsyncClient, page: Page) -> None:
    """Lost while it was reading, a run executes nothing."""

    async def read(turn: Turn) -> Any:
        await asyncio.to_thread(revoke, served, page.key)
        await asyncio.Event().wait()
        return await page.read(turn)

    with pytest.raises(StalePlan) as raised:
        await write(point, page.plan(read=read, ttl_seconds=6))

    receipt = raised.value.receipt
    assert receipt is not None
    assert (receipt.status, receipt.stopped_at, receipt.execution) == ("REVOKED", "read_version", None)
    assert page.calls == []


@pytest.mark.feature("S82")
async def test_a_write_that_was_applied_after_the_loss_says_so(served: Served, point: AsyncClient, page: Page) -> None:
    """The lease ended between the write and its record: a stale plan whose receipt says that it was applied."""

    async def execute(turn: Turn) -> dict[str, Any]:
        evidence = await page.execute(turn)
        await asyncio.to_thread(revoke, served, page.key)
        return evidence

    with pytest.raises(StalePlan) as raised:
        await write(point, page.plan(execute=execute))

    receipt = raised.value.receipt
    assert receipt is not None
    assert (raised.value.refusal.code, receipt.status, receipt.execution) == ("lease_revoked", "REVOKED", "applied")
    assert page.calls == ["read", "execute"]


@pytest.mark.feature("S82")
async def test_what_a_cancelled_callback_raises_is_the_loss(served: Served, point: AsyncClient, page: Page) -> None:
    """A callback that ends its cancelling with an error of its own has lost the lease all the same."""

    async def execute(_: Turn) -> None:
        await asyncio.to_thread(revoke, served, page.key)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ConnectionResetError("the resource hung up") from None

    with pytest.raises(StalePlan) as raised:
        await write(point, page.plan(execute=execute, ttl_seconds=6))

    assert raised.value.refusal.code == "lease_revoked"
    assert raised.value.receipt is not None
    assert raised.value.receipt.execution == "unknown"


@pytest.mark.feature("S86")
async def test_a_callback_that_cancels_itself_has_failed(point: AsyncClient, page: Page) -> None:
    """Its caller was not cancelled, and is not told so."""

    async def execute(_: Turn) -> None:
        raise asyncio.CancelledError

    with pytest.raises(CallbackFailed) as raised:
        await write(point, page.plan(execute=execute))

    assert raised.value.receipt is not None
    assert raised.value.receipt.status == "OUTCOME_UNKNOWN"


@pytest.mark.feature("S68")
async def test_settings_that_leave_no_time_to_renew_are_refused(served: Served, point: AsyncClient, page: Page) -> None:
    """Both numbers are named, nothing is read, and what was begun is given back (F061)."""
    settings = replace(point.settings, renew_timeout_seconds=4, pause_seconds=1)
    async with AsyncClient(settings) as client:
        with pytest.raises(MarginTooShort, match=r"leaves 5 s .* take 5 s"):
            await write(client, page.plan(ttl_seconds=10))
        receipt = await write(client, page.plan(ttl_seconds=12))

    assert receipt.status == "COMPLETED"
    assert page.calls == ["read", "execute", "verify"]
    assert served.client("gateway").get(f"/v1/leases?under={page.key}").json()["leases"] == []
