"""Capabilities over a store with a manual clock: what gives one, what it is good for, and how it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.model.instant import SECOND
from remit_service.capability.capabilities import Capabilities
from remit_service.capability.mint import Minting
from remit_service.capability.offline import Wanted, verify
from remit_service.decision.caller import Caller
from remit_service.settings import Settings
from remit_service.signing import SignatureInvalid, Signer, load_signer
from tests.support.desk import Desk, codes, desk_on, question, sqlite_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from remit_service.capability.capabilities import Given

WORLD = """\
realm: passes
root: ["organization:root"]
dimensions: [environment]
resource_types:
  worker: {key: "worker:{id}", concurrency: WRITE_EXCLUSIVE}
  page:   {key: "page:{id}", concurrency: WRITE_OPTIMISTIC}
actions:
  DEPLOY:  {class: write, domain: APPLICATION_DEPLOY, risk: HIGH, reversible: true}
  PUBLISH: {class: write, domain: CONTENT_BODY, risk: HIGH, reversible: true}
  TOUCH:   {class: write, domain: CONTENT_BODY, risk: LOW, reversible: true}
principals:
  - {id: "organization:root"}
  - {id: "role:deployer", trust: 3}
  - {id: "instance:a", trust: 3, acts_as: ["role:deployer"], identities: ["spiffe://acme.test/a"]}
  - {id: "instance:b", trust: 3}
  - {id: "service:broker", trust: 3}
resources:
  - {key: "worker:w", attributes: {environment: production}}
  - {key: "page:p", attributes: {environment: production}}
grants:
  - {edge_id: deploy, edge: MAY_WRITE, from: "role:deployer", to: "worker:*", scope: {actions: [DEPLOY]}}
  - {edge_id: publish, edge: MAY_WRITE, from: "role:deployer", to: "page:*", valid_until: "2027-01-10T10:30:00Z",
     scope: {actions: [PUBLISH, TOUCH]}}
  - {edge_id: broker, edge: MAY_WRITE, from: "service:broker", to: "remit:graph", scope: {actions: [MINT_CAPABILITY]}}
enforcement_points:
  - {id: "service:gateway", identities: ["key:gateway"], speaks_for: ["instance:*", "service:*"],
     trusted: [resource_version], visibility: full}
  - {id: "service:other", identities: ["key:other"], speaks_for: ["instance:*"], trusted: [resource_version]}
"""
ISSUER = "https://remit.example.com"


@pytest.fixture
def signer(tmp_path: Path) -> Signer:
    """A key of the test's own."""
    return load_signer(Settings(store=f"sqlite:///{tmp_path / 'keys.db'}"))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A desk on the world of this file."""
    world = tmp_path / "passes.yaml"
    world.write_text(WORLD)
    async with desk_on(sqlite_in(tmp_path), world=str(world.with_suffix(""))) as found:
        yield found


async def mint(
    desk: Desk, signer: Signer, subject: str, action: str, key: str, *, ttl: float = 60, caller: Caller | None = None,
    **more: Any,
) -> Given:  # fmt: skip
    """Ask for a capability."""
    made = f"cap_{len(desk.point.view.records.get('capability', {}))}{desk.point.view.revision}"
    asked = Minting(
        evaluation=question(subject, action, key),
        caller=caller or desk.caller,
        capability_id=made,
        issuer=ISSUER,
        ttl_us=round(ttl * SECOND),
        **more,
    )
    return await Capabilities(desk.point, lambda: signer, issuer=ISSUER).mint(asked)


async def use(desk: Desk, capability: Any, action: str, key: str, subject: str = "instance:a", **context: Any) -> Any:
    """Ask to act with a capability, and with a version where one is needed."""
    said = {"capability": capability, "expected_version": "v1", "resource_version": "v1", **context}
    return await desk.point.evaluate(question(subject, action, key, said), context.pop("_caller", desk.caller))


@pytest.mark.feature("S23")
async def test_only_capability_and_lease_together_allow_an_exclusive_write(desk: Desk, signer: Signer) -> None:
    """Of the four combinations one executes; each of the others names what is missing."""
    given = await mint(desk, signer, "instance:a", "DEPLOY", "worker:w")
    shown = {"capability": {"token": given.token}}
    begun = await desk.take("instance:a", "DEPLOY", "worker:w", ttl=30)
    lease = {
        "lease": {"lease_id": begun.body["lease"]["lease_id"], "fencing_token": begun.body["lease"]["lease_epoch"]}
    }
    version = {"expected_version": "v1", "resource_version": "v1"}

    both = await desk.ask("instance:a", "DEPLOY", "worker:w", {**version, **shown, **lease})
    capability = await desk.ask("instance:a", "DEPLOY", "worker:w", {**version, **shown})
    alone = await desk.ask("instance:a", "DEPLOY", "worker:w", {**version, **lease})
    neither = await desk.ask("instance:a", "DEPLOY", "worker:w", version)

    assert [each.outcome for each in (both, capability, alone, neither)] == ["execute", "acquire", "deny", "deny"]
    assert [codes(each) for each in (both, capability, alone, neither)] == [
        [], ["lease_required"], ["capability_required"], ["capability_required", "lease_required"],
    ]  # fmt: skip


@pytest.mark.feature("S37")
async def test_a_capability_that_expired_does_not_publish(desk: Desk, signer: Signer) -> None:
    """Good until its end, denied from then on, and the reason names the expired capability."""
    given = await mint(desk, signer, "instance:a", "PUBLISH", "page:p", ttl=600)
    shown = {"token": given.token}

    before = await use(desk, shown, "PUBLISH", "page:p")
    await desk.to(600)
    after = await use(desk, shown, "PUBLISH", "page:p")

    assert given.record is not None
    assert (before.outcome, before.not_after) == ("execute", desk.instant(600))
    assert (after.effect, codes(after)) == ("deny", ["capability_expired"])
    name = given.record["capability_id"]
    assert after.reasons[0].message == f"capability `{name}` expired at 2027-01-10T10:10:00Z"
    await desk.sweep()
    assert codes(await use(desk, shown, "PUBLISH", "page:p")) == ["capability_expired"]


@pytest.mark.feature("S23")
async def test_a_capability_outlives_neither_decision_nor_bound(desk: Desk, signer: Signer) -> None:
    """Its end is that of what it rests on, or what was asked for, whichever comes first."""
    long = await mint(desk, signer, "instance:a", "PUBLISH", "page:p", ttl=3_600)
    short = await mint(desk, signer, "instance:a", "PUBLISH", "page:p", ttl=5)
    earlier = await mint(desk, signer, "instance:a", "PUBLISH", "page:p", not_after=desk.instant(3))

    ends = [each.record["expires_at"] for each in (long, short, earlier) if each.record is not None]
    assert ends == [desk.instant(1_800), desk.instant(5), desk.instant(3)]


@pytest.mark.feature("S23")
async def test_without_a_valid_decision_there_is_no_capability(desk: Desk, signer: Signer) -> None:
    """Who may not do it gets none, with the code that a decision gives; nothing is appended (I01)."""
    revision = desk.point.view.revision
    other = await mint(desk, signer, "instance:b", "DEPLOY", "worker:w")
    unknown = await mint(desk, signer, "instance:nobody", "DEPLOY", "worker:w")
    stranger = Caller(point=desk.point.view.points["service:other"], identity="key:other")
    unspoken = await mint(desk, signer, "service:broker", "DEPLOY", "worker:w", caller=stranger)

    refused = [each.refused.code for each in (other, unknown, unspoken) if each.refused is not None]
    assert refused == ["no_authority", "unknown_subject", "identity_mismatch"]
    assert desk.point.view.revision == revision


@pytest.mark.feature("S23")
async def test_a_capability_is_good_for_its_own_request(desk: Desk, signer: Signer) -> None:
    """Another action, another subject, another caller, a changed token or an unknown id is a mismatch."""
    given = await mint(desk, signer, "instance:a", "PUBLISH", "page:p")
    assert given.token is not None
    stranger = Caller(point=desk.point.view.points["service:other"], identity="key:other")
    flipped = given.token[:-3] + ("A" if given.token[-3] != "A" else "B") + given.token[-2:]
    uses = [
        await use(desk, {"token": given.token}, "TOUCH", "page:p"),
        await use(desk, {"token": flipped}, "PUBLISH", "page:p"),
        await use(desk, {"capability_id": "cap_unknown"}, "PUBLISH", "page:p"),
        await use(desk, {"token": "no.token.at-all"}, "PUBLISH", "page:p"),
        await desk.point.evaluate(
            question(
                "instance:a", "PUBLISH", "page:p", {"capability": {"token": given.token}, "expected_version": "v"}
            ),
            stranger,
        ),
    ]

    assert [codes(each) for each in uses] == [["capability_mismatch"]] * 5
    assert (await use(desk, {"token": given.token}, "PUBLISH", "page:p")).outcome == "execute"


@pytest.mark.feature("S33")
async def test_a_capability_ends_with_what_it_rests_on(desk: Desk, signer: Signer) -> None:
    """Revoking the grant ends it in the same revision; whoever shows it later is told that it was revoked."""
    given = await mint(desk, signer, "instance:a", "PUBLISH", "page:p")
    assert given.record is not None

    ended = await desk.revoke("publish")
    after = await use(desk, {"token": given.token}, "PUBLISH", "page:p")

    assert ended["capability"] == [given.record["capability_id"]]
    assert codes(after) == ["delegation_revoked", "capability_revoked"]


@pytest.mark.feature("S34")
@pytest.mark.parametrize(("floors", "expected"), [({}, []), ({"write": 1}, ["capability_revoked"])])
async def test_an_epoch_floor_ends_a_capability(
    desk: Desk, signer: Signer, floors: dict[str, int], expected: list[str]
) -> None:
    """A floor for writes ends what was given out below it; a bump without one ends nothing."""
    given = await mint(desk, signer, "instance:a", "PUBLISH", "page:p")
    epoch = desk.point.view.authority_epoch + 1
    body: dict[str, Any] = {"authority": epoch}
    if floors:
        body["minimum_authority"] = dict.fromkeys(floors, epoch)
    await desk.append(("epoch.set", body))

    after = codes(await use(desk, {"token": given.token}, "PUBLISH", "page:p"))

    assert [each for each in after if each.startswith("capability")] == expected


@pytest.mark.feature("S23")
async def test_a_broker_needs_the_right_to_mint_for_others(desk: Desk, signer: Signer) -> None:
    """Who holds MINT_CAPABILITY asks for another, bound to its identity; without that right there is none."""
    given = await mint(
        desk, signer, "instance:a", "PUBLISH", "page:p", minter="service:broker", bind_to="spiffe://acme.test/a"
    )
    refused = await mint(desk, signer, "instance:a", "PUBLISH", "page:p", minter="instance:b")
    point = desk.point.view.points["service:other"]
    bound = Caller(point=point, identity="key:other", subject_identity="spiffe://acme.test/a")
    said = {"capability": {"token": given.token}, "expected_version": "v1", "resource_version": "v1"}

    used = await desk.point.evaluate(question("instance:a", "PUBLISH", "page:p", said), bound)

    assert given.record is not None
    assert (given.record["minted_by"], given.record["bound_to"]) == (
        "service:broker", {"identity": "spiffe://acme.test/a"},
    )  # fmt: skip
    assert (used.outcome, refused.refused is not None and refused.refused.code) == ("execute", "no_authority")


@pytest.mark.feature("S17")
async def test_a_token_is_verified_without_asking(desk: Desk, signer: Signer) -> None:
    """With the published keys alone a token proves subject, action, resource, presenter and window."""
    given = await mint(desk, signer, "instance:a", "PUBLISH", "page:p", ttl=60)
    assert given.token is not None
    keys, at = signer.public(), desk.point.now()
    wanted = Wanted(
        issuer=ISSUER, subject="instance:a", action="PUBLISH", resource="page:p", presenter="service:gateway"
    )

    claims = verify(given.token, keys, at, wanted)

    assert (claims["remit"]["chain"], "d" in keys["keys"][0]) == (
        list(given.record["proof"]) if given.record else [],
        False,
    )
    for token, instant, other in (
        (given.token, at + 60 * SECOND, wanted),
        (given.token[:-4] + "AAAA", at, wanted),
        (given.token, at, Wanted(action="TOUCH")),
        (given.token, at, Wanted(presenter="service:other")),
        (given.token, at, Wanted(minimum_authority=99)),
    ):
        with pytest.raises(SignatureInvalid):
            verify(token, keys, instant, other)


@pytest.mark.feature("S23")
async def test_the_ledger_holds_no_token(desk: Desk, signer: Signer) -> None:
    """What is kept tells a token again and could not be presented; the same key makes the same token of it."""
    given = await mint(desk, signer, "instance:a", "PUBLISH", "page:p")
    rows = [row.body async for row in desk.point.ledger.rows(0)]

    assert given.token is not None
    assert given.record is not None
    assert not any(given.token in each for each in rows)
    assert Capabilities(desk.point, lambda: signer, issuer=ISSUER).token_of(given.record) == given.token


@pytest.mark.feature("S23")
async def test_a_lease_of_high_risk_is_renewed_without_a_capability(desk: Desk) -> None:
    """Beginning needs no capability and renewing none either; each write under the lease is asked for its own."""
    lease = (await desk.take("instance:a", "DEPLOY", "worker:w", ttl=30)).body["lease"]

    renewed = await desk.leases.renew(lease["lease_id"], desk.caller, token=lease["lease_epoch"])

    assert not renewed.is_refused
