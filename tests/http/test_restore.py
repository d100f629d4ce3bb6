"""A restore from backup, seen by those who hold something from before: nothing of it counts, and guards go on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from remit_enforce import MemoryGuard, StaleToken
from remit_service.backup.make import make_backup
from remit_service.signing import make_key
from tests.contract.backups import opened, place_of, restored
from tests.http.serving import serve
from tests.http.test_passes import REQUEST, WORLD

if TYPE_CHECKING:
    from pathlib import Path

    import httpx

    from remit_service.settings import Settings
    from tests.http.serving import Served

NEO4J = pytest.mark.neo4j
MORE = "\n".join(f'  - {{key: "page:p{number}", attributes: {{environment: production}}}}' for number in range(5))
PAGES = {"subject": REQUEST["subject"], "action": {"name": "PUBLISH"}, "resource": {"type": "page"}}


@dataclass
class Held:
    """What somebody holds: a lease with its token, a capability, a revision token, and a search for its next page."""

    lease: dict[str, Any]
    capability: str
    revision: str
    search: dict[str, Any]

    @property
    def fencing_token(self) -> int:
        """The lease's."""
        return int(self.lease["lease_epoch"])


def passes(guard: MemoryGuard, some: Held) -> bool:
    """Whether what stands at the resource lets a write with this lease through; it knows nothing but tokens."""
    try:
        with guard.admit(some.lease["resource_key"], some.lease["fencing_tokens"]):
            return True
    except StaleToken:
        return False


def held(client: httpx.Client, resource: str) -> Held:
    """Take a lease and a capability on a page, and begin to search."""
    body = {**REQUEST, "resource": {"type": "page", "id": resource}, "action": {"name": "PUBLISH"}}
    given = _posted(client, "/v1/capabilities", {**body, "ttl_seconds": 300})
    shown = {"capability": {"token": given["token"]}, "expected_version": "v1", "resource_version": "v1"}
    lease = _posted(client, "/v1/leases", {**body, "context": shown, "ttl_seconds": 300})["lease"]
    found = _posted(client, "/access/v1/search/resource", {**PAGES, "context": shown, "page": {"limit": 1}})
    going_on = {**PAGES, "context": shown, "page": {"token": found["page"]["next_token"]}}
    return Held(lease, given["token"], found["context"]["revision"], going_on)


def _posted(client: httpx.Client, path: str, body: dict[str, Any]) -> Any:
    reply = client.post(path, json=body)
    assert reply.is_success, reply.text
    return reply.json()


def write(client: httpx.Client, resource: str, **context: Any) -> tuple[bool, list[str]]:
    """Ask to publish a page, and return the decision and its reasons."""
    said = {"expected_version": "v1", "resource_version": "v1", **context}
    body = {**REQUEST, "resource": {"type": "page", "id": resource}, "action": {"name": "PUBLISH"}, "context": said}
    answer = _posted(client, "/access/v1/evaluation", body)
    return answer["decision"], [each["code"] for each in answer["context"].get("reasons", ())]


def shown(some: Held) -> dict[str, Any]:
    """Return the context that shows a lease with its token, and a capability."""
    lease = {"lease_id": some.lease["lease_id"], "fencing_token": some.fencing_token}
    return {"lease": lease, "capability": {"token": some.capability}}


@pytest.fixture(params=["sqlite", pytest.param("neo4j", marks=NEO4J)])
def places(request: pytest.FixtureRequest) -> tuple[str, pytest.FixtureRequest]:
    """Each kind of store in turn."""
    return request.param, request


@pytest.mark.feature("S32", "S64", "S85")
async def test_nothing_from_before_a_restore_counts(places: tuple[str, pytest.FixtureRequest], tmp_path: Path) -> None:
    """Tokens from before the backup and from after it: the numbers of the second are given again, and meet nothing."""
    kind, request = places
    world = tmp_path / "world.yaml"
    world.write_text(WORLD.replace("resources:\n", f"resources:\n{MORE}\n"))
    place = await place_of(kind, "before", request)
    make_key(tmp_path / "signing.json")
    served = await asyncio.to_thread(_serve, tmp_path, world, place)
    guard = MemoryGuard()

    # (1) Something is held, then a backup is made, then something else is given out.
    before = await asyncio.to_thread(held, served.client("gateway"), "p0")
    assert write(served.client("gateway"), "p0", **shown(before)) == (True, [])
    assert passes(guard, before)
    ledger = await opened(place)
    await make_backup(ledger, tmp_path / "backup", lambda _: None)
    await ledger.aclose()
    lost = await asyncio.to_thread(held, served.client("gateway"), "p1")
    assert passes(guard, lost)
    await asyncio.to_thread(served.stop)

    # (2) The store is lost, and the backup put back.
    place = await place_of(kind, "after", request)
    await restored(tmp_path / "backup", place)
    served = await asyncio.to_thread(_serve, tmp_path, world, place)
    client = served.client("gateway")
    try:
        # (3) Nothing is held any more, and whatever is shown from before is refused, each by its name.
        records = served.point.view.records
        assert {noun: records.get(noun) or {} for noun in ("lease", "waiter", "operation", "capability")} == {
            "lease": {}, "waiter": {}, "operation": {}, "capability": {},
        }  # fmt: skip
        for some, resource in ((before, "p0"), (lost, "p1")):
            _refused(client, some, resource)
        introspected = client.post("/v1/capabilities/introspect", json={"token": before.capability}).json()
        assert (introspected["active"], introspected["code"]) == (False, "capability_revoked")
        assert client.get(f"/v1/leases/{before.lease['lease_id']}").json()["state"] == "EXPIRED"

        # (4) Work goes on, with tokens that a guard accepts which has seen higher revisions than there are now.
        after = await asyncio.to_thread(held, client, "p0")
        assert write(client, "p0", **shown(after)) == (True, [])
        assert after.fencing_token >> 40 == 1
        assert passes(guard, after)
        assert [passes(guard, each) for each in (before, lost)] == [False, False]
        fresh = {"consistency": {"at_least_as_fresh": after.revision}}
        assert write(client, "p0", **shown(after), **fresh) == (True, [])
    finally:
        await asyncio.to_thread(served.stop)


def _refused(client: httpx.Client, some: Held, resource: str) -> None:
    fresh = {"consistency": {"at_least_as_fresh": some.revision}}
    assert write(client, resource, **fresh) == (False, ["revision_foreign"])
    decision, codes = write(client, resource, **shown(some))
    assert decision is False
    assert "stale_fencing_token" in codes
    assert {"capability_revoked", "capability_required", "capability_mismatch"} & set(codes)
    page = client.post("/access/v1/search/resource", json=some.search)
    assert (page.status_code, page.json()["code"]) == (400, "page_token_stale")
    renewal = {"lease_epoch": some.fencing_token, "ttl_seconds": 60}
    assert client.put(f"/v1/leases/{some.lease['lease_id']}", json=renewal, headers={"If-Match": "*"}).is_client_error
    changes = client.get("/v1/changes", params={"after": some.revision})
    assert (changes.status_code, changes.json()["code"]) == (409, "revision_foreign")


def _serve(folder: Path, world: Path, place: Settings) -> Served:
    return serve(
        folder, world, keys=("gateway",), store=place.store, store_password=place.store_password,
        base_url="https://remit.example.com", signing_key_file=folder / "signing.json",
    )  # fmt: skip
