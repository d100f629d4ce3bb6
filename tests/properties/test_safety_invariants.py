"""I01 to I15 (S116): a world in which only the premise is violated never reaches the consequence.

Each is asked twice: with the shipped rules, and with the rule that holds it switched off, where the consequence is
reached; so no test here passes because something else stood in the way. Three premises lie at the root of a proof: with
their rules off the policy permits, and only the last guard of all still stands, that a permit without a proof is none.
What other systems know (release gates, baselines, drift: I03 to I05) comes in the context that a gateway hands in, and
a rule of the site refuses on it.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
import yaml

from remit_graph.model.instant import SECOND
from remit_service.approval.approvals import Approvals
from remit_service.approval.record import PER_CALL, Terms
from remit_service.approval.vote import Agreeing
from remit_service.bundle.folder import shipped_policy
from remit_service.capability.capabilities import Capabilities, Given
from remit_service.capability.mint import Minting
from remit_service.settings import Settings
from remit_service.signing import load_signer
from remit_service.writer.command import Accepted
from tests.support.desk import desk_on, question, sqlite_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from tests.support.desk import Desk

WORLD = """\
realm: invariants
root: ["organization:root"]
dimensions: [environment]
resource_types:
  page:   {key: "page:{id}", concurrency: WRITE_OPTIMISTIC,
           fields: {body: {domain: CONTENT_BODY, merge: exclusive, managed: true, independent: true}}}
  doc:    {key: "doc:{id}", concurrency: WRITE_OPTIMISTIC}
  robots: {key: "robots:{id}", concurrency: WRITE_EXCLUSIVE}
actions:
  EDIT:    {class: write, fields: [body], risk: LOW, reversible: true}
  EXPAND:  {class: write, domain: CONTENT_BODY, risk: LOW, reversible: true}
  PUBLISH: {class: write, domain: CONTENT_BODY, risk: HIGH, reversible: true}
  DELETE:  {class: write, domain: CONTENT_BODY, risk: CRITICAL, reversible: false}
  APPROVE_IT: {class: approve}
  REWRITE: {class: write, domain: INDEXING_CONTROL, risk: LOW, reversible: true}
principals:
  - {id: "organization:root"}
  - {id: "controller:content", trust: 4}
  - {id: "controller:other", trust: 4}
  - {id: "instance:a", trust: 3}
  - {id: "instance:b", trust: 3}
  - {id: "human:editor", trust: 3}
resources:
  - {key: "doc:p", attributes: {environment: production}}
owns:
  - {edge_id: own, from: "controller:content", to: "page:*", fields: [body]}
grants:
  - {edge_id: edit, edge: MAY_WRITE, from: "instance:a", to: "page:*", issuer: "controller:content",
     max_depth: 2, scope: {actions: [EDIT], fields: [body]}}
  - {edge_id: doc, edge: MAY_WRITE, from: "instance:a", to: "doc:*", scope: {actions: [DELETE, EXPAND, PUBLISH]}}
  - {edge_id: robots-a, edge: MAY_WRITE, from: "instance:a", to: "robots:*", scope: {actions: [REWRITE]}}
  - {edge_id: robots-b, edge: MAY_WRITE, from: "instance:b", to: "robots:*", scope: {actions: [REWRITE]}}
  - {edge_id: approve, edge: MAY_APPROVE, from: "human:editor", to: "doc:*"}
enforcement_points:
  - {id: "service:gateway", identities: ["key:gateway"], speaks_for: ["*:*"], visibility: full,
     trusted: [resource_version, release_gate, baseline, drift]}
"""
READ = {"expected_version": "v1", "resource_version": "v1"}
SITE = "custom/site.rego"
CONFIG = "remit/config/data.yaml"
UNPROVEN = ("result_malformed",)
ISSUER = "https://remit.example.com"


def without(*packages: str) -> dict[str, str]:
    """Return the files of packages of rules that give no reason any more."""
    files = {}
    for name in packages:
        path = f"remit/{name}/{name}.rego"
        text = (shipped_policy() / path).read_text()
        assert "reasons contains" in text
        files[path] = text.replace("reasons contains", "given_up contains") + "\nreasons := set()\n"
    return files


def site_rule(attribute: str, wanted: str) -> dict[str, str]:
    """Return a rule of a site: nothing is expanded unless an attribute that the gateway is believed about says so."""
    return {
        SITE: f"""package custom

requires[rule] := {{"/action/name": "string", "/request/context/{attribute}": "string"}} if rule := "gate"

deny contains {{"rule": "gate", "code": "gate_closed", "message": "{attribute} is not {wanted}"}} if {{
	input.action.name == "EXPAND"
	input.request.context.{attribute} != "{wanted}"
}}
"""
    }


@asynccontextmanager
async def world(folder: Path, policy: Mapping[str, str] | None = None, *, name: str = "store") -> AsyncIterator[Desk]:
    """Open a desk in the world of the invariants, on a store of this name."""
    place = folder / name
    place.mkdir()
    (place / "invariants.yaml").write_text(WORLD)
    async with desk_on(sqlite_in(place), world=str(place / "invariants"), policy=policy) as desk:
        yield desk


@pytest.fixture(params=[True, False], ids=["held", "switched off"])
def is_held(request: pytest.FixtureRequest) -> bool:
    """Whether the rule is there."""
    return bool(request.param)


async def minted(desk: Desk, folder: Path, subject: str, action: str, key: str) -> Given:
    """Ask for a capability."""
    signer = load_signer(Settings(store=f"sqlite:///{folder / 'keys.db'}"))
    capabilities = Capabilities(desk.point, lambda: signer, issuer=ISSUER)
    asked = Minting(
        evaluation=question(subject, action, key, READ),
        caller=desk.caller,
        capability_id="cap_1",
        issuer=ISSUER,
        ttl_us=SECOND * 60,
    )
    return await capabilities.mint(asked)


async def test_control_nothing_stands_in_the_way(tmp_path: Path) -> None:
    """With every premise met each consequence is reached: this world forbids nothing by itself."""
    async with world(tmp_path) as desk:
        edit = await desk.ask("instance:a", "EDIT", "page:1", READ)
        expand = await desk.ask("instance:a", "EXPAND", "doc:1", READ)
        lease = (await desk.take("instance:a", "REWRITE", "robots:1", context=READ)).body["lease"]
        rewrite = await desk.present(lease, "REWRITE", **READ)

    assert [each.outcome for each in (edit, expand, rewrite)] == ["execute"] * 3


@pytest.mark.feature("S116", "S23")
async def test_i01_no_valid_decision_no_capability(tmp_path: Path, *, is_held: bool) -> None:
    """Who may not publish is given no capability to publish."""
    async with world(tmp_path, None if is_held else without("shortfall")) as desk:
        given = await minted(desk, tmp_path, "instance:b", "PUBLISH", "doc:p")

    assert given.record is None
    assert given.refused is not None
    assert given.refused.code == ("no_authority" if is_held else UNPROVEN[0])


@pytest.mark.feature("S116")
async def test_i02_no_capability_no_production_mutation(tmp_path: Path, *, is_held: bool) -> None:
    """Authority over a risky action in production is not enough for the write itself."""
    async with world(tmp_path, None if is_held else without("capability")) as desk:
        write = await desk.ask("instance:a", "PUBLISH", "doc:p", READ)

    assert write.outcome == ("deny" if is_held else "execute")
    assert write.codes == (("capability_required",) if is_held else ())


@pytest.mark.feature("S116")
async def test_i03_no_release_gate_no_exposure_expansion(tmp_path: Path, *, is_held: bool) -> None:
    """A closed gate, and one that nobody has spoken of, expand nothing; an open one does."""
    await _by_a_rule_of_the_site(tmp_path, "release_gate", "open", "closed", is_held=is_held)


@pytest.mark.feature("S116")
async def test_i04_no_baseline_verification_no_change_closure(tmp_path: Path, *, is_held: bool) -> None:
    """An operation that was not verified is never completed; and with a site's rule not without its baseline."""
    await _by_a_rule_of_the_site(tmp_path, "baseline", "verified", "unverified", is_held=is_held)
    async with world(tmp_path, name="again") as desk:
        begun = await desk.begin("instance:a", "EDIT", "page:1", context=READ)
        name, token = begun.body["coordination_id"], begun.body["lease_epoch"]
        await desk.operations.precondition(name, desk.caller, current_version="v1")
        await desk.operations.executed(name, desk.caller, token=token, result="applied")
        early = await desk.operations.complete(name, desk.caller, token=token, final_version="v2")
        await desk.operations.verified(name, desk.caller, token=token, passed=True)
        closed = await desk.operations.complete(name, desk.caller, token=token, final_version="v2")

    assert (early.code, closed.code) == ("not_verified", None)


@pytest.mark.feature("S116")
async def test_i05_unresolved_critical_drift_no_new_high_risk_release(tmp_path: Path, *, is_held: bool) -> None:
    """Drift that nobody has resolved holds the release back, by a rule of the site."""
    await _by_a_rule_of_the_site(tmp_path, "drift", "resolved", "critical", is_held=is_held)


async def _by_a_rule_of_the_site(folder: Path, attribute: str, wanted: str, found: str, *, is_held: bool) -> None:
    async with world(folder, site_rule(attribute, wanted) if is_held else None) as desk:
        asked = [
            await desk.ask("instance:a", "EXPAND", "doc:1", READ | said)
            for said in ({attribute: wanted}, {attribute: found}, {})
        ]

    refused = ["execute", "deny", "deny"] if is_held else ["execute"] * 3
    assert [each.outcome for each in asked] == refused
    assert [each.codes for each in asked][1:] == ([("policy_denied",), ("policy_error",)] if is_held else [(), ()])


@pytest.mark.feature("S116", "S38")
async def test_i06_no_resolved_ownership_no_managed_write(tmp_path: Path, *, is_held: bool) -> None:
    """A managed field that nobody owns any more is written by nobody, whatever grants are left."""
    async with world(tmp_path, None if is_held else without("ownership", "shortfall")) as desk:
        await desk.append(("edges.end", {"edges": [["own", 1]], "cause": "revoked"}))
        write = await desk.ask("instance:a", "EDIT", "page:1", READ)

    assert write.outcome == "deny"
    assert ("ownership_unresolved" in write.codes) is is_held
    assert (write.codes == UNPROVEN) is not is_held


@pytest.mark.feature("S116")
async def test_i07_no_valid_coordination_right_no_exclusive_write(tmp_path: Path, *, is_held: bool) -> None:
    """What must not be written by two needs a right to coordinate before the write."""
    data = yaml.safe_load((shipped_policy() / CONFIG).read_text())
    data["concurrency"]["WRITE_EXCLUSIVE"] = ["version"]
    async with world(tmp_path, None if is_held else {CONFIG: yaml.safe_dump(data)}) as desk:
        write = await desk.ask("instance:a", "REWRITE", "robots:1", READ)

    assert write.outcome == ("acquire" if is_held else "execute")


@pytest.mark.feature("S116")
@pytest.mark.parametrize("how", ["expired", "released", "of another", "unknown"])
async def test_i08_no_valid_lease_no_exclusive_write(tmp_path: Path, how: str, *, is_held: bool) -> None:
    """A lease that is over, was given back, is somebody else's or nobody's is none."""
    async with world(tmp_path, None if is_held else without("coordination")) as desk:
        holder = "instance:b" if how == "of another" else "instance:a"
        lease = (await desk.take(holder, "REWRITE", "robots:1", context=READ, ttl=30)).body["lease"]
        if how == "expired":
            await desk.to(30)
        elif how == "released":
            await desk.leases.release(lease["lease_id"], desk.caller, token=lease["lease_epoch"])
        shown = {**lease, "holder": "instance:a", **({"lease_id": "lease_0"} if how == "unknown" else {})}
        if how == "of another":
            await desk.to(30)
        write = await desk.present(shown, "REWRITE", **READ)

    assert (write.outcome == "execute") is not is_held


@pytest.mark.feature("S116", "S65")
async def test_i09_stale_lease_epoch_no_production_write(tmp_path: Path, *, is_held: bool) -> None:
    """Also where no lease is needed: whoever shows a token that is behind writes nothing."""
    async with world(tmp_path, None if is_held else without("coordination")) as desk:
        lease = (await desk.take("instance:a", "EDIT", "page:1", context=READ, ttl=10)).body["lease"]
        await desk.to(10)
        again = (await desk.take("instance:a", "EDIT", "page:1", context=READ, ttl=10)).body["lease"]
        await desk.leases.release(again["lease_id"], desk.caller, token=again["lease_epoch"])
        write = await desk.present(lease, "EDIT", **READ)

    assert again["lease_epoch"] > lease["lease_epoch"]
    assert write.outcome == ("deny" if is_held else "execute")
    assert ("stale_fencing_token" in write.codes) is is_held


@pytest.mark.feature("S116", "S78")
async def test_i10_stale_resource_version_no_blind_overwrite(tmp_path: Path, *, is_held: bool) -> None:
    """A plan on a version that is no more is sent back to read."""
    async with world(tmp_path, None if is_held else without("version")) as desk:
        write = await desk.ask("instance:a", "EDIT", "page:1", {**READ, "resource_version": "v2"})

    assert (write.outcome, write.codes) == (("rebase", ("stale_resource_version",)) if is_held else ("execute", ()))


@pytest.mark.feature("S116")
async def test_i11_delegated_authority_never_exceeds_its_parent(tmp_path: Path, *, is_held: bool) -> None:
    """A wider delegation that got into the ledger past every law gives nothing of what is wider."""
    async with world(tmp_path, None if is_held else without("ownership", "shortfall")) as desk:
        edge = {"edge": "DELEGATES", "edge_id": "x", "version": 1, "epoch": 1, "issuer": "organization:root",
                "from": "instance:a", "to": "instance:b", "under": "edit@1", "max_depth": 0,
                "scope": {"actions": ["EXPAND"], "resources": ["page:*"]}}  # fmt: skip
        await desk.append(("edge.begin", edge))
        write = await desk.ask("instance:b", "EXPAND", "page:1", READ)

    assert write.outcome == "deny"
    assert ("attenuation_violated" in write.codes) is is_held
    assert (write.codes == UNPROVEN) is not is_held


@pytest.mark.feature("S116", "S39")
async def test_i12_one_managed_field_one_owner(tmp_path: Path, *, is_held: bool) -> None:
    """While two own a field, neither side writes it."""
    async with world(tmp_path, None if is_held else without("ownership")) as desk:
        own = {"edge": "OWNS", "edge_id": "own-2", "version": 1, "epoch": 1, "issuer": "organization:root",
               "from": "controller:other", "to": "page:*", "ownership_epoch": 1,
               "scope": {"fields": ["body"]}}  # fmt: skip
        await desk.append(("edge.begin", own))
        write = await desk.ask("instance:a", "EDIT", "page:1", READ)

    assert write.outcome == ("deny" if is_held else "execute")
    assert ("ownership_conflict" in write.codes) is is_held


@pytest.mark.feature("S116", "S98")
async def test_i13_no_coordination_receipt_no_complete_write(tmp_path: Path) -> None:
    """Whatever ends an operation writes its receipt in the same revision; no revision shows one without the other."""
    async with world(tmp_path) as desk:
        done = await desk.begin("instance:a", "EDIT", "page:1", context=READ)
        await desk.walk(done, final="v2")
        given_up = await desk.begin("instance:a", "EDIT", "page:2", context=READ)
        await desk.operations.abort(given_up.body["coordination_id"], desk.caller, reason="nothing to do")
        await desk.begin("instance:a", "EDIT", "page:3", context=READ, ttl=5)
        await desk.to(5)
        await desk.sweep()
        entries = await desk.point.ledger.read(0, 100)

    ended = {change.body["id"]: entry.revision for entry in entries for change in entry.changes
             if change.kind == "operation.end"}  # fmt: skip
    written = {change.body["id"]: entry.revision for entry in entries for change in entry.changes
               if change.kind == "receipt.put" and change.body["record"] == "coordination"}  # fmt: skip
    assert len(ended) == 3
    assert written == ended


@pytest.mark.feature("S116")
async def test_i14_outcome_unknown_no_blind_retry(tmp_path: Path) -> None:
    """After a call whose outcome nobody knows, only a new operation goes on, and only once it has read again."""
    async with world(tmp_path) as desk:
        begun = await desk.begin("instance:a", "EDIT", "page:1", context=READ)
        name, token = begun.body["coordination_id"], begun.body["lease_epoch"]
        await desk.operations.precondition(name, desk.caller, current_version="v1")
        await desk.operations.executed(name, desk.caller, token=token, result="unknown")
        twice = await desk.operations.executed(name, desk.caller, token=token, result="applied")
        ended = await desk.operations.abort(name, desk.caller, reason="the connection broke")
        late = await desk.operations.executed(name, desk.caller, token=token, result="applied")
        fresh = await desk.begin("instance:a", "EDIT", "page:1", context=READ)
        name, token = fresh.body["coordination_id"], fresh.body["lease_epoch"]
        blind = await desk.operations.executed(name, desk.caller, token=token, result="applied")
        read = await desk.operations.precondition(name, desk.caller, current_version="v2")

    assert ended.body["status"] == "OUTCOME_UNKNOWN"
    assert (twice.code, late.is_refused) == ("invalid_transition", True)
    assert (blind.code, read.code) == ("invalid_transition", "stale_resource_version")


@pytest.mark.feature("S116", "S120")
async def test_i15_approval_of_one_version_is_none_of_another(tmp_path: Path, *, is_held: bool) -> None:
    """What was approved on v1 is deleted on v1 alone."""
    async with world(tmp_path, without("capability") | ({} if is_held else without("approval"))) as desk:
        terms = Terms(
            action="DELETE", keys=("doc:p",), fields=(), requester="instance:a", expected_version="v1",
            content_hash=None, mode=PER_CALL, run_id=None, quorum=1, expires_at=desk.instant(600),
        )  # fmt: skip
        given = await Approvals(desk.point).ask(
            terms, Agreeing(approver="human:editor", under="APPROVE_IT"), asked_through="service:gateway",
            actor="human:editor",
        )  # fmt: skip
        assert isinstance(given.verdict, Accepted)
        shown = {"approval_id": given.verdict.result["approval_id"]}
        newer = {"expected_version": "v2", "resource_version": "v2", **shown}
        first = await desk.ask("instance:a", "DELETE", "doc:p", {**READ, **shown})
        other = await desk.ask("instance:a", "DELETE", "doc:p", newer)

    assert first.outcome == "execute"
    assert other.outcome == ("review_required" if is_held else "execute")
    assert ("approval_stale" in other.codes) is is_held
