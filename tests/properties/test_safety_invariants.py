"""I01 to I15 (S116): a world in which only the premise is violated never reaches the consequence.

Worlds are generated (`support/invariant_worlds.py`): who acts, over what chain, who else is about. Each law is asked
twice: with the shipped rules, and with the rule that holds it switched off, where the consequence is reached in every
one of them; so no test here passes because something else stood in the way. Three premises lie at the root of a proof:
with their rules off the policy permits, and only the last guard of all still stands, that a permit without a proof is
none. What other systems know (release gates, baselines, drift: I03 to I05) comes in the context that a gateway hands
in, and a rule of the site refuses on it. The rules of I13, I14 and of half of I04 are the machine's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from remit_graph.model.instant import SECOND
from remit_service.approval.approvals import Approvals
from remit_service.approval.record import PER_CALL, Terms
from remit_service.approval.vote import Agreeing
from remit_service.bundle.folder import shipped_policy
from remit_service.capability.capabilities import Capabilities, Given
from remit_service.capability.mint import Minting
from remit_service.coordination import operation
from remit_service.coordination.work import Work
from remit_service.settings import Settings
from remit_service.signing import load_signer
from remit_service.writer.command import Accepted
from tests.support.desk import question
from tests.support.invariant_worlds import (
    ACTIONS,
    SHAPES,
    VERSIONS,
    Part,
    Shape,
    settle,
    site_rule,
    without,
    world,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from tests.support.desk import Desk

READ = {"expected_version": "v1", "resource_version": "v1"}
CONFIG = "remit/config/data.yaml"
UNPROVEN = ("result_malformed",)
ISSUER = "https://remit.example.com"

# One desk serves all worlds of a law: each has names of its own in it.
LAWS = settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])


def leases_for_nobody() -> dict[str, str]:
    """Return policy data by which an exclusive write needs no lease."""
    data = yaml.safe_load((shipped_policy() / CONFIG).read_text())
    data["concurrency"]["WRITE_EXCLUSIVE"] = ["version"]
    return {CONFIG: yaml.safe_dump(data)}


@pytest.fixture(params=[True, False], ids=["held", "switched off"])
def is_held(request: pytest.FixtureRequest) -> bool:
    """Whether the rule is there."""
    return bool(request.param)


@pytest.fixture
async def desk(request: pytest.FixtureRequest, tmp_path: Path, *, is_held: bool) -> AsyncIterator[Desk]:
    """A desk with the rules of the test's law, given by its marker `rules(held=..., off=...)`."""
    marker = request.node.get_closest_marker("rules")
    files: Mapping[str, Mapping[str, str]] = marker.kwargs if marker is not None else {}
    async with world(tmp_path, files.get("held" if is_held else "off")) as opened:
        yield opened


@pytest.fixture
def capabilities(desk: Desk, tmp_path: Path) -> Capabilities:
    """What gives capabilities out."""
    signer = load_signer(Settings(store=f"sqlite:///{tmp_path / 'keys.db'}"))
    return Capabilities(desk.point, lambda: signer, issuer=ISSUER)


async def minted(capabilities: Capabilities, desk: Desk, part: Part, subject: str, action: str, key: str) -> Given:
    """Ask for a capability."""
    asked = Minting(
        evaluation=question(subject, action, key, READ),
        caller=desk.caller,
        capability_id=f"cap_{part.number}",
        issuer=ISSUER,
        ttl_us=SECOND * 60,
    )
    return await capabilities.mint(asked)


async def begun(desk: Desk, part: Part, version: str = "v1") -> tuple[str, int]:
    """Begin an operation on the page; return its name and token."""
    reply = await desk.begin(part.subject, "EDIT", part.page, context={**READ, "expected_version": version})
    assert not reply.is_refused, reply
    return reply.body["coordination_id"], reply.body["lease_epoch"]


@pytest.mark.parametrize("is_held", [True], indirect=True)
@given(shape=SHAPES)
@LAWS
async def test_control_nothing_stands_in_the_way(desk: Desk, capabilities: Capabilities, shape: Shape) -> None:
    """With every premise met each consequence is reached: these worlds forbid nothing by themselves."""
    part = await settle(desk, shape)
    for who in (part.subject, part.other):
        edit = await desk.ask(who, "EDIT", part.page, READ)
        expand = await desk.ask(who, "EXPAND", part.doc, READ)
        lease = (await desk.take(who, "REWRITE", part.robots, context=READ)).body["lease"]
        rewrite = await desk.present(lease, "REWRITE", **READ)
        await desk.leases.release(lease["lease_id"], desk.caller, token=lease["lease_epoch"])

        assert [each.outcome for each in (edit, expand, rewrite)] == ["execute"] * 3
    given = await minted(capabilities, desk, part, part.subject, "PUBLISH", part.doc)
    assert given.record is not None


@pytest.mark.rules(off=without("shortfall"))
@pytest.mark.feature("S116", "S23")
@given(shape=SHAPES, action=st.sampled_from(["PUBLISH", "EXPAND"]), who=st.sampled_from(["approver", "owner"]))
@LAWS
async def test_i01_no_valid_decision_no_capability(
    desk: Desk, capabilities: Capabilities, shape: Shape, action: str, who: str, *, is_held: bool
) -> None:
    """Who may not do it is given no capability to do it."""
    part = await settle(desk, shape)
    given = await minted(capabilities, desk, part, getattr(part, who), action, part.doc)

    assert given.record is None
    assert given.refused is not None
    assert given.refused.code == ("no_authority" if is_held else UNPROVEN[0])


@pytest.mark.rules(off=without("capability"))
@pytest.mark.feature("S116")
@given(shape=SHAPES, version=VERSIONS)
@LAWS
async def test_i02_no_capability_no_production_mutation(
    desk: Desk, shape: Shape, version: str, *, is_held: bool
) -> None:
    """Authority over a risky action in production is not enough for the write itself."""
    part = await settle(desk, shape)
    write = await desk.ask(
        part.subject, "PUBLISH", part.doc, {"expected_version": version, "resource_version": version}
    )

    assert write.outcome == ("deny" if is_held else "execute")
    assert write.codes == (("capability_required",) if is_held else ())


SAID = st.one_of(st.text(min_size=1, max_size=8), st.integers(0, 9), st.booleans())


@pytest.mark.rules(held=site_rule("release_gate", "open"))
@pytest.mark.feature("S116")
@given(shape=SHAPES, said=SAID)
@LAWS
async def test_i03_no_release_gate_no_exposure_expansion(desk: Desk, shape: Shape, said: Any, *, is_held: bool) -> None:
    """A closed gate, one that nobody has spoken of, and one spoken of in no words expand nothing; an open one does."""
    await _by_a_rule_of_the_site(desk, shape, "release_gate", "open", said, is_held=is_held)


@pytest.mark.rules(held=site_rule("baseline", "verified"))
@pytest.mark.feature("S116")
@given(shape=SHAPES, said=SAID)
@LAWS
async def test_i04_no_baseline_verification_no_change_closure(
    desk: Desk, shape: Shape, said: Any, *, is_held: bool
) -> None:
    """By a site's rule nothing goes on without its baseline."""
    await _by_a_rule_of_the_site(desk, shape, "baseline", "verified", said, is_held=is_held)


@pytest.mark.feature("S116", "S67")
@given(shape=SHAPES, verified=st.sampled_from(["never", "in vain"]))
@LAWS
async def test_i04_no_verification_no_completion(desk: Desk, shape: Shape, verified: str, *, is_held: bool) -> None:
    """An operation that was not verified, or in vain, is never completed."""
    part = await settle(desk, shape)
    name, token = await begun(desk, part)
    await desk.operations.precondition(name, desk.caller, current_version="v1")
    await desk.operations.executed(name, desk.caller, token=token, result="applied")
    if verified == "in vain":
        await desk.operations.verified(name, desk.caller, token=token, passed=False)
    with pytest.MonkeyPatch.context() as patch:
        if not is_held:
            patch.setattr(operation, "_unverified", lambda *_: None)
        closed = await desk.operations.complete(name, desk.caller, token=token, final_version="v2")

    assert closed.code == ("not_verified" if is_held else None)


@pytest.mark.rules(held=site_rule("drift", "resolved"))
@pytest.mark.feature("S116")
@given(shape=SHAPES, said=SAID)
@LAWS
async def test_i05_unresolved_critical_drift_no_new_high_risk_release(
    desk: Desk, shape: Shape, said: Any, *, is_held: bool
) -> None:
    """Drift that nobody has resolved holds the release back, by a rule of the site."""
    await _by_a_rule_of_the_site(desk, shape, "drift", "resolved", said, is_held=is_held)


async def _by_a_rule_of_the_site(
    desk: Desk, shape: Shape, attribute: str, wanted: str, said: Any, *, is_held: bool
) -> None:
    assume(said != wanted)
    part = await settle(desk, shape)
    contexts: list[dict[str, Any]] = [{attribute: wanted}, {attribute: said}, {}]
    asked = [await desk.ask(part.subject, "EXPAND", part.doc, READ | each) for each in contexts]

    refused = ["execute", "deny", "deny"] if is_held else ["execute"] * 3
    codes = ("policy_denied",) if isinstance(said, str) else ("policy_denied", "policy_error")
    assert [each.outcome for each in asked] == refused
    assert [each.codes for each in asked][1:] == ([codes, ("policy_error",)] if is_held else [(), ()])


@pytest.mark.rules(off=without("ownership", "shortfall"))
@pytest.mark.feature("S116", "S38")
@given(shape=SHAPES, cause=st.sampled_from(["revoked", "expired"]))
@LAWS
async def test_i06_no_resolved_ownership_no_managed_write(
    desk: Desk, shape: Shape, cause: str, *, is_held: bool
) -> None:
    """A managed field that nobody owns any more is written by nobody, whatever grants are left."""
    part = await settle(desk, shape)
    await desk.append(("edges.end", {"edges": [[part.own, 1]], "cause": cause}))
    write = await desk.ask(part.subject, "EDIT", part.page, READ)

    assert write.outcome == "deny"
    assert ("ownership_unresolved" in write.codes) is is_held
    assert (write.codes == UNPROVEN) is not is_held


@pytest.mark.rules(off=leases_for_nobody())
@pytest.mark.feature("S116")
@given(shape=SHAPES, is_busy=st.booleans())
@LAWS
async def test_i07_no_valid_coordination_right_no_exclusive_write(
    desk: Desk, shape: Shape, *, is_busy: bool, is_held: bool
) -> None:
    """What must not be written by two needs a right to coordinate before the write, whether it is free or not."""
    part = await settle(desk, shape)
    if is_busy:
        await desk.take(part.subject, "REWRITE", part.robots, context=READ)
    write = await desk.ask(part.subject, "REWRITE", part.robots, READ)

    assert write.outcome == ("acquire" if is_held else "execute")


@pytest.mark.rules(off=without("coordination"))
@pytest.mark.feature("S116")
@given(
    shape=SHAPES,
    how=st.sampled_from(["expired", "released", "ended", "of another", "unknown"]),
    ttl=st.integers(1, 600),
)
@LAWS
async def test_i08_no_valid_lease_no_exclusive_write(
    desk: Desk, shape: Shape, how: str, ttl: int, *, is_held: bool
) -> None:
    """A lease that is over, was given back or taken, is somebody else's or nobody's is none."""
    part = await settle(desk, shape)
    holder = part.other if how == "of another" else part.subject
    lease = (await desk.take(holder, "REWRITE", part.robots, context=READ, ttl=ttl)).body["lease"]
    if how in ("expired", "of another"):
        await desk.to(desk.at + ttl)
    elif how == "released":
        await desk.leases.release(lease["lease_id"], desk.caller, token=lease["lease_epoch"])
    elif how == "ended":
        end = {"id": lease["lease_id"], "state": "REVOKED", "cause": "operator", "ended_at": desk.point.now()}
        await desk.append(("lease.end", end))
    shown = {**lease, "holder": part.subject, **({"lease_id": "lease_0"} if how == "unknown" else {})}
    write = await desk.present(shown, "REWRITE", **READ)

    assert (write.outcome == "execute") is not is_held


@pytest.mark.rules(off=without("coordination"))
@pytest.mark.feature("S116", "S65")
@given(shape=SHAPES, ttl=st.integers(1, 600), is_same=st.booleans())
@LAWS
async def test_i09_stale_lease_epoch_no_production_write(
    desk: Desk, shape: Shape, ttl: int, *, is_same: bool, is_held: bool
) -> None:
    """Also where no lease is needed: whoever shows a token that is behind writes nothing."""
    part = await settle(desk, shape)
    lease = (await desk.take(part.subject, "EDIT", part.page, context=READ, ttl=ttl)).body["lease"]
    await desk.to(desk.at + ttl)
    later = part.subject if is_same else part.other
    again = (await desk.take(later, "EDIT", part.page, context=READ, ttl=ttl)).body["lease"]
    await desk.leases.release(again["lease_id"], desk.caller, token=again["lease_epoch"])
    write = await desk.present(lease, "EDIT", **READ)

    assert again["lease_epoch"] > lease["lease_epoch"]
    assert write.outcome == ("deny" if is_held else "execute")
    assert ("stale_fencing_token" in write.codes) is is_held


@pytest.mark.rules(off=without("version"))
@pytest.mark.feature("S116", "S78")
@given(shape=SHAPES, planned=VERSIONS, found=VERSIONS)
@LAWS
async def test_i10_stale_resource_version_no_blind_overwrite(
    desk: Desk, shape: Shape, planned: str, found: str, *, is_held: bool
) -> None:
    """A plan on a version that is no more is sent back to read."""
    assume(planned != found)
    part = await settle(desk, shape)
    write = await desk.ask(part.subject, "EDIT", part.page, {"expected_version": planned, "resource_version": found})

    assert (write.outcome, write.codes) == (("rebase", ("stale_resource_version",)) if is_held else ("execute", ()))


@pytest.mark.rules(off=without("ownership", "shortfall"))
@pytest.mark.feature("S116")
@given(
    shape=SHAPES,
    wider=st.sampled_from(["action", "field", "both"]),
    more=st.lists(st.sampled_from(ACTIONS), max_size=3, unique=True),
)
@LAWS
async def test_i11_delegated_authority_never_exceeds_its_parent(
    desk: Desk, shape: Shape, wider: str, more: list[str], *, is_held: bool
) -> None:
    """A wider delegation that got into the ledger past every law gives nothing of what is wider."""
    part = await settle(desk, shape)
    scope: dict[str, Any] = {
        "actions": sorted({"RENAME", *more}),
        "resources": [part.page],
        "fields": ["body", "title"],
    }
    if wider == "action":
        scope["fields"] = ["title"]
    elif wider == "both":
        del scope["fields"]
    edge = {
        "edge": "DELEGATES", "edge_id": f"x-{part.number}", "version": 1, "epoch": 1, "issuer": part.subject,
        "from": part.subject, "to": part.approver, "under": f"{part.grant}-page0@1", "max_depth": 0, "scope": scope,
    }  # fmt: skip
    await desk.append(("edge.begin", edge))
    write = await desk.ask(part.approver, "RENAME", part.page, READ)

    assert write.outcome == "deny"
    assert ("attenuation_violated" in write.codes) is is_held
    assert (write.codes == UNPROVEN) is not is_held


@pytest.mark.rules(off=without("ownership"))
@pytest.mark.feature("S116", "S39")
@given(
    shape=SHAPES,
    kind=st.sampled_from(["controller", "organization"]),
    fields=st.sampled_from([["body"], ["body", "title"]]),
    is_wide=st.booleans(),
)
@LAWS
async def test_i12_one_managed_field_one_owner(
    desk: Desk, shape: Shape, kind: str, fields: list[str], *, is_wide: bool, is_held: bool
) -> None:
    """While two own a field, neither side writes it."""
    part = await settle(desk, shape)
    rival = f"{kind}:second{part.number}"
    own = {"edge": "OWNS", "edge_id": f"second-{part.number}", "version": 1, "epoch": 1, "issuer": "organization:root",
           "from": rival, "to": "page:*" if is_wide else part.page, "ownership_epoch": 1,
           "scope": {"fields": fields}}  # fmt: skip
    await desk.append(("principal.put", {"id": rival}), ("edge.begin", own))
    write = await desk.ask(part.subject, "EDIT", part.page, READ)
    await desk.append(("edges.end", {"edges": [[own["edge_id"], 1]], "cause": "revoked"}))

    assert write.outcome == ("deny" if is_held else "execute")
    assert ("ownership_conflict" in write.codes) is is_held


ENDS = st.sampled_from(["complete", "abort", "expire"])


@pytest.mark.feature("S116", "S98")
@given(shape=SHAPES, ends=st.lists(ENDS, min_size=1, max_size=3))
@LAWS
async def test_i13_no_coordination_receipt_no_complete_write(
    desk: Desk, shape: Shape, ends: list[str], *, is_held: bool
) -> None:
    """Whatever ends an operation writes its receipt in the same revision; no revision shows one without the other."""
    part, before = await settle(desk, shape), desk.point.view.revision
    with pytest.MonkeyPatch.context() as patch:
        if not is_held:
            patch.setattr(Work, "change", _but_receipts(Work.change))
        for how in ends:
            name, token = await begun(desk, part)
            if how == "complete":
                await desk.walk_on(name, token)
            elif how == "abort":
                await desk.operations.abort(name, desk.caller, reason="nothing to do")
            else:
                await desk.to(desk.at + 601)
                await desk.sweep()
    entries = await desk.point.ledger.read(before, 100)

    ended = {change.body["id"]: entry.revision for entry in entries for change in entry.changes
             if change.kind == "operation.end"}  # fmt: skip
    written = {change.body["id"]: entry.revision for entry in entries for change in entry.changes
               if change.kind == "receipt.put" and change.body["record"] == "coordination"}  # fmt: skip
    assert len(ended) == len(ends)
    assert (written == ended) is is_held


def _but_receipts(change: Any) -> Any:
    """Return what changes anything but receipts."""
    return lambda work, kind, body: None if kind == "receipt.put" else change(work, kind, body)


@pytest.mark.feature("S116")
@given(shape=SHAPES, found=VERSIONS)
@LAWS
async def test_i14_outcome_unknown_no_blind_retry(desk: Desk, shape: Shape, found: str, *, is_held: bool) -> None:
    """After a call whose outcome nobody knows, only a new operation goes on, and only once it has read again."""
    assume(found != "v1")
    part = await settle(desk, shape)
    with pytest.MonkeyPatch.context() as patch:
        if not is_held:
            patch.setattr(operation, "_out_of_step", lambda *_: None)
        name, token = await begun(desk, part)
        await desk.operations.precondition(name, desk.caller, current_version="v1")
        await desk.operations.executed(name, desk.caller, token=token, result="unknown")
        twice = await desk.operations.executed(name, desk.caller, token=token, result="applied")
        if not is_held:
            assert twice.code is None
            return
        ended = await desk.operations.abort(name, desk.caller, reason="the connection broke")
        late = await desk.operations.executed(name, desk.caller, token=token, result="applied")
        name, token = await begun(desk, part)
        blind = await desk.operations.executed(name, desk.caller, token=token, result="applied")
        read = await desk.operations.precondition(name, desk.caller, current_version=found)
        await desk.operations.abort(name, desk.caller, reason="it has moved")

    assert ended.body["status"] == "OUTCOME_UNKNOWN"
    assert (twice.code, late.is_refused) == ("invalid_transition", True)
    assert (blind.code, read.code) == ("invalid_transition", "stale_resource_version")


@pytest.mark.rules(held=without("capability"), off=without("capability", "approval"))
@pytest.mark.feature("S116", "S120")
@given(shape=SHAPES, approved=VERSIONS, other=VERSIONS)
@LAWS
async def test_i15_approval_of_one_version_is_none_of_another(
    desk: Desk, shape: Shape, approved: str, other: str, *, is_held: bool
) -> None:
    """What was approved on one version is deleted on that version alone."""
    assume(approved != other)
    part = await settle(desk, shape)
    terms = Terms(
        action="DELETE", keys=(part.doc,), fields=(), requester=part.subject, expected_version=approved,
        content_hash=None, mode=PER_CALL, run_id=None, quorum=1, expires_at=desk.instant(desk.at + 600),
    )  # fmt: skip
    given = await Approvals(desk.point).ask(
        terms, Agreeing(approver=part.approver, under="APPROVE_IT"), asked_through="service:gateway",
        actor=part.approver,
    )  # fmt: skip
    assert isinstance(given.verdict, Accepted)
    shown = {"approval_id": given.verdict.result["approval_id"]}
    asked = [
        await desk.ask(part.subject, "DELETE", part.doc, {"expected_version": each, "resource_version": each, **shown})
        for each in (approved, other)
    ]

    assert asked[0].outcome == "execute"
    assert asked[1].outcome == ("review_required" if is_held else "execute")
    assert ("approval_stale" in asked[1].codes) is is_held
