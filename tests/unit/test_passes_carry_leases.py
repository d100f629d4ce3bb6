"""What was asked for with a capability or an approval ends with it, in the same revision (coordination.md 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.model.instant import SECOND
from remit_service.approval.approvals import Approvals
from remit_service.approval.record import PER_CALL, Terms
from remit_service.approval.vote import Agreeing
from remit_service.capability.capabilities import Capabilities
from remit_service.capability.mint import Minting
from remit_service.governance.consequences import concluded
from remit_service.governance.ending import Target, revoke
from remit_service.governance.given_out import end_capability
from remit_service.governance.law import Actor
from remit_service.settings import Settings
from remit_service.signing import load_signer
from remit_service.writer.command import Accepted, Submission
from tests.support.desk import Desk, codes, desk_on, question, sqlite_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.policy import Policy
    from remit_service.signing import Signer
    from remit_service.writer.command import Verdict

WORLD = """\
realm: passes
root: ["organization:root"]
dimensions: [environment]
resource_types:
  worker: {key: "worker:{id}", concurrency: WRITE_EXCLUSIVE}
actions:
  READ: {class: read}
  DEPLOY: {class: write, domain: APPLICATION_DEPLOY, risk: HIGH, reversible: true}
  DELETE: {class: write, domain: APPLICATION_DEPLOY, risk: CRITICAL, reversible: false}
principals:
  - {id: "organization:root"}
  - {id: "human:root", acts_as: ["organization:root"]}
  - {id: "human:editor"}
  - {id: "instance:a", trust: 3}
  - {id: "instance:b", trust: 3}
resources:
  - {key: "worker:w", attributes: {environment: production}}
  - {key: "worker:x", attributes: {environment: production}}
grants:
  - {edge_id: first, edge: MAY_WRITE, from: "instance:a", to: "worker:*", scope: {actions: [DEPLOY, DELETE]}}
  - {edge_id: other, edge: MAY_WRITE, from: "instance:b", to: "worker:*", scope: {actions: [DEPLOY, DELETE]}}
  - {edge_id: reader, edge: MAY_READ, from: "instance:a", to: "worker:*"}
  - {edge_id: editor, edge: MAY_APPROVE, from: "human:editor", to: "worker:*"}
enforcement_points:
  - {id: "service:gateway", identities: ["key:gateway"], speaks_for: ["*:*"], trusted: [resource_version],
     visibility: full}
"""
ISSUER = "https://remit.example.com"
ROOT = Actor(principal="human:root")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A desk on the world of this file."""
    world = tmp_path / "passes.yaml"
    world.write_text(WORLD)
    async with desk_on(sqlite_in(tmp_path), world=str(world.with_suffix(""))) as found:
        yield found


@dataclass
class Hands:
    """What a test does beside taking leases."""

    desk: Desk
    signer: Signer

    async def mint(self, ttl: float = 60) -> str:
        """Give `instance:a` a capability to deploy `worker:w`; returns its id."""
        asked = Minting(
            evaluation=question("instance:a", "DEPLOY", "worker:w"), caller=self.desk.caller,
            capability_id=f"cap_{self.desk.point.view.revision}", issuer=ISSUER, ttl_us=round(ttl * SECOND),
        )  # fmt: skip
        given = await Capabilities(self.desk.point, lambda: self.signer, issuer=ISSUER).mint(asked)
        assert given.record is not None
        return str(given.record["capability_id"])

    async def approve(self, key: str = "worker:w", minutes: float = 60, version: str = "v1") -> str:
        """Let the editor approve that `instance:a` deletes a worker; returns the id."""
        terms = Terms(
            action="DELETE", keys=(key,), fields=(), requester="instance:a", expected_version=version,
            content_hash=None, mode=PER_CALL, run_id=None, quorum=1, expires_at=self.desk.instant(minutes * 60),
        )  # fmt: skip
        agreeing = Agreeing(approver="human:editor", under="APPROVE")
        done = await Approvals(self.desk.point).ask(
            terms, agreeing, asked_through="service:gateway", actor="human:editor"
        )
        assert isinstance(done.verdict, Accepted), done.verdict
        return str(done.verdict.result["approval_id"])

    async def take(self, shown: dict[str, Any], action: str = "DEPLOY", ttl: float = 30) -> dict[str, Any]:
        """Take a lease of `worker:w` with what is shown."""
        context = {"expected_version": "v1", "resource_version": "v1", **shown}
        reply = await self.desk.take("instance:a", action, "worker:w", context=context, ttl=ttl)
        assert not reply.is_refused, reply
        lease: dict[str, Any] = reply.body["lease"]
        return lease

    async def govern(self, decide: Callable[[Policy, View, Instant], Verdict]) -> dict[str, Any]:
        """Carry out a governance command with all that follows from it; returns its answer."""
        policy = self.desk.point.policy

        def whole(view: View, at: Instant) -> Verdict:
            return concluded(decide(policy, view, at), view, at, policy)

        done = await self.desk.point.submit(Submission(action="REVOKE", actor="human:root", decide=whole))
        assert isinstance(done.verdict, Accepted), done.verdict
        return dict(done.verdict.result)

    def ended(self, lease: dict[str, Any]) -> tuple[str, str | None]:
        """Return how a lease ended, and the code its holder is told."""
        found = self.desk.lease(lease["lease_id"])
        return found["state"], found.get("reason")


@pytest.fixture
def hands(desk: Desk, tmp_path: Path) -> Hands:
    """The hands of a test."""
    return Hands(desk, load_signer(Settings(store=f"sqlite:///{tmp_path / 'keys.db'}")))


@pytest.mark.feature("S33")
async def test_a_revoked_capability_ends_the_lease_that_was_taken_with_it(hands: Hands) -> None:
    """In the revision of the revocation: the lease is REVOKED, its token stale, and whoever waits is served."""
    desk, capability = hands.desk, await hands.mint()
    lease = await hands.take({"capability": {"capability_id": capability}})
    waiting = await desk.take("instance:b", "DEPLOY", "worker:w", ttl=30, wait=20, keep_alive=10)

    told = await hands.govern(lambda policy, view, at: end_capability(policy, view, at, ROOT, capability))

    assert told["ended"]["capabilities"] == [capability]
    assert told["ended"]["leases"] == [lease["lease_id"]]
    assert hands.ended(lease) == ("REVOKED", "capability_revoked")
    assert waiting.is_waiting
    assert desk.holders("worker:w") == ["instance:b"]
    renewed = await desk.leases.renew(lease["lease_id"], desk.caller, token=lease["lease_epoch"])
    written = await desk.present(lease, "DEPLOY", "worker:w", expected_version="v1", resource_version="v1")
    assert renewed.code == "lease_revoked"
    assert {"lease_revoked", "stale_fencing_token"} <= set(codes(written))


@pytest.mark.feature("S33")
async def test_a_wait_that_began_with_a_capability_ends_with_it(hands: Hands) -> None:
    """It is refused at once, and not when its turn comes."""
    desk, capability = hands.desk, await hands.mint()
    await desk.take("instance:b", "DEPLOY", "worker:w", ttl=30)
    context = {"capability": {"capability_id": capability}}
    waiting = await desk.take("instance:a", "DEPLOY", "worker:w", context=context, ttl=30, wait=20, keep_alive=10)

    told = await hands.govern(lambda policy, view, at: end_capability(policy, view, at, ROOT, capability))

    assert told["ended"]["waiters"] == [waiting.body["waiter_id"]]


@pytest.mark.feature("S33")
async def test_a_lease_without_the_capability_stays(hands: Hands) -> None:
    """What was taken without it rests on its chain alone."""
    capability = await hands.mint()
    lease = await hands.take({})

    told = await hands.govern(lambda policy, view, at: end_capability(policy, view, at, ROOT, capability))

    assert told["ended"]["leases"] == []
    assert hands.desk.lease(lease["lease_id"])["state"] == "HELD"


@pytest.mark.feature("S33", "S37")
async def test_a_lease_outlives_no_capability_it_was_taken_with(hands: Hands) -> None:
    """It ends with the capability whatever its time to live, also when it is renewed before."""
    desk, capability = hands.desk, await hands.mint(ttl=40)
    lease = await hands.take({"capability": {"capability_id": capability}}, ttl=30)
    await desk.to(20)
    renewed = await desk.leases.renew(lease["lease_id"], desk.caller, token=lease["lease_epoch"])
    assert not renewed.is_refused
    assert renewed.body["lease"]["expires_at"] == desk.instant(40)

    await desk.to(40)
    late = await desk.leases.renew(lease["lease_id"], desk.caller, token=lease["lease_epoch"])
    await desk.sweep()

    assert late.code in ("lease_expired", "capability_expired")
    assert desk.lease(lease["lease_id"])["state"] == "EXPIRED"
    assert desk.holders("worker:w") == []


@pytest.mark.feature("S33", "S117")
async def test_a_withdrawn_approval_ends_the_lease_that_was_taken_with_it(hands: Hands) -> None:
    """Who agreed takes it back, and the deletion that has begun goes no further."""
    desk, approval = hands.desk, await hands.approve()
    lease = await hands.take({"approval_id": approval}, "DELETE")

    done = await Approvals(desk.point).withdraw(approval, "human:editor")

    assert isinstance(done.verdict, Accepted)
    assert done.verdict.result["ended"]["leases"] == [lease["lease_id"]]
    assert hands.ended(lease)[0] == "REVOKED"
    assert hands.ended(lease)[1] in ("approval_required", "approval_stale")


@pytest.mark.feature("S33", "S121")
async def test_a_vote_whose_right_is_revoked_ends_the_lease(hands: Hands) -> None:
    """The right to approve is gone, so is the vote, and what was begun with it."""
    approval = await hands.approve()
    lease = await hands.take({"approval_id": approval}, "DELETE")

    told = await hands.govern(lambda policy, view, at: revoke(policy, view, at, ROOT, Target(edge_id="editor")))

    assert told["ended"]["leases"] == [lease["lease_id"]]
    assert hands.ended(lease)[0] == "REVOKED"


async def test_a_lease_outlives_no_approval_it_was_taken_with(hands: Hands) -> None:
    """An approval of ten seconds is no lease of thirty."""
    approval = await hands.approve(minutes=1 / 6)

    lease = await hands.take({"approval_id": approval}, "DELETE", ttl=30)

    assert lease["expires_at"] == hands.desk.instant(10)


@pytest.mark.feature("S33")
async def test_a_later_principal_of_the_name_inherits_no_approval(hands: Hands) -> None:
    """With who would have acted its approval ends; whoever is created under the name later asks anew (F026)."""
    desk, approval = hands.desk, await hands.approve()

    told = await hands.govern(lambda policy, view, at: revoke(policy, view, at, ROOT, Target(principal="instance:a")))
    await desk.append(("principal.put", {"id": "instance:a", "trust": 3}))
    grant = {**desk.point.view.edges["other"].record(), "edge_id": "again", "version": 1, "from": "instance:a"}
    await desk.append(("edge.begin", grant))
    asked = {"approval_id": approval, "expected_version": "v1", "resource_version": "v1"}
    after = await desk.ask("instance:a", "DELETE", "worker:w", asked)

    assert told["ended"]["approvals"] == [approval]
    assert {"approval_required", "approval_stale"} <= set(codes(after))


@pytest.mark.feature("S37")
async def test_an_approval_does_not_stand_in_for_a_capability_that_is_over(hands: Hands) -> None:
    """A capability until half past nine and an approval at half past ten: nothing is done, and the reason names it."""
    desk, capability = hands.desk, await hands.mint(ttl=1_800)
    shown = {"capability": {"capability_id": capability}, "expected_version": "v1", "resource_version": "v1"}
    await desk.to(5_400)

    late = await desk.ask(
        "instance:a", "DEPLOY", "worker:w", {**shown, "approval_id": await hands.approve(minutes=120)}
    )

    assert late.effect == "deny"
    assert "capability_expired" in codes(late)
    assert any(capability in each.message for each in late.reasons)


@pytest.mark.feature("S118", "S120")
async def test_an_approval_is_not_used_again_for_a_changed_plan(hands: Hands) -> None:
    """Another version came in between: the refusal names it, the old approval fits no new plan, reading needs none."""
    desk, approval = hands.desk, await hands.approve()
    old = {"approval_id": approval, "expected_version": "v1"}

    failed = await desk.ask("instance:a", "DELETE", "worker:w", {**old, "resource_version": "v2"})
    again = await desk.ask(
        "instance:a", "DELETE", "worker:w", {**old, "expected_version": "v2", "resource_version": "v2"}
    )
    reread = await desk.ask("instance:a", "READ", "worker:w", {})
    anew = await hands.approve(version="v2")
    fresh = await hands.take({"approval_id": anew, "expected_version": "v2", "resource_version": "v2"}, "DELETE")

    stale = next(each for each in failed.reasons if each.code == "stale_resource_version")
    assert ("v1" in stale.message, "v2" in stale.message) == (True, True)
    assert {"approval_required", "approval_stale"} <= set(codes(again))
    assert reread.outcome == "execute"
    assert fresh["state"] == "HELD"


@pytest.mark.feature("S120")
async def test_an_approval_is_over_at_its_instant(hands: Hands) -> None:
    """It counts until then and not at it; nothing else of the question has changed."""
    desk, approval = hands.desk, await hands.approve(minutes=1)
    shown = {"approval_id": approval, "expected_version": "v1", "resource_version": "v1"}

    await desk.to(59.999999)
    before = await desk.ask("instance:a", "DELETE", "worker:w", shown)
    await desk.to(60)
    after = await desk.ask("instance:a", "DELETE", "worker:w", shown)

    assert set(codes(after)) - set(codes(before)) == {"approval_required", "approval_stale"}
    assert not {"approval_required", "approval_stale"} & set(codes(before))
