"""Reading the decision document: only a well-formed permit is one."""

from __future__ import annotations

from typing import Any

import pytest

from remit_service.engines.errors import EngineError, PolicyMismatch, ResultMalformed, ResultUndefined
from remit_service.engines.result import (
    PERMITTING,
    DecisionReader,
    Effect,
    Obligation,
    Outcome,
    PolicyResult,
    SiteDenial,
)

REVISION = "sha256:" + "a" * 64
CODES = frozenset({"no_authority", "policy_denied", "lease_required"})
read = DecisionReader(codes=CODES, revision=REVISION)


def a_document(**members: Any) -> dict[str, Any]:
    """Return a decision document that permits, with `members` in place of its own."""
    permit = {
        "effect": "permit",
        "outcome": "execute",
        "reasons": [],
        "determining": ["g-1@1"],
        "conflicts": [],
        "obligations": [],
        "policy_revision": REVISION,
    }
    return {**permit, **members}


def a_deny(**members: Any) -> dict[str, Any]:
    """Return a decision document that denies."""
    return a_document(**{"effect": "deny", "outcome": "deny", "reasons": ["no_authority"], **members})


def test_a_permit_is_read() -> None:
    """Every member arrives, as values that cannot be changed."""
    obligation: dict[str, Any] = {"id": "o-1", "type": "restrict_fields", "properties": {"fields": ["canonical"]}}

    result = read(a_document(obligations=[obligation], conflicts=[{"lease_id": "l-1"}]))

    assert result == PolicyResult(
        effect=Effect.PERMIT,
        outcome=Outcome.EXECUTE,
        reasons=(),
        determining=("g-1@1",),
        conflicts=({"lease_id": "l-1"},),
        obligations=(Obligation(**obligation),),
        approvals=(),
        site=(),
        policy_errors=(),
        policy_revision=REVISION,
    )


def test_a_denial_of_the_site_carries_the_sites_code() -> None:
    """`policy_denied` comes with the rule, the code and the message of the site."""
    denial = {"rule": "freeze", "code": "release_freeze", "message": "no releases in December"}

    result = read(a_deny(reasons=["policy_denied"], site=[denial]))

    assert result.site == (SiteDenial(**denial),)


@pytest.mark.parametrize(
    "document",
    [
        True,
        False,
        None,
        1,
        "permit",
        {},
        [],
        [a_document()],
        {"result": a_document()},
        a_document(effect=None),
        a_document(effect="PERMIT"),
        a_document(effect="allow"),
        a_document(effect=True),
        a_document(effect=["permit"]),
        a_document(outcome="EXECUTE"),
        a_document(outcome="run"),
        a_document(reasons="no_authority"),
        a_document(reasons=None),
        a_document(reasons={}),
        a_document(determining=[1]),
        a_document(conflicts=["l-1"]),
        a_document(obligations=[{"id": "o", "type": "t"}]),
        a_document(obligations=[{"id": "o", "type": "t", "properties": {}, "unless": "friday"}]),
        a_document(policy_revision=None),
        a_document(extra=1),
        a_document(conflicts=[{"share": 0.5}]),
        a_document(obligations=[{"id": "o", "type": "t", "properties": {"rate": [{"n": 1.0}]}}]),
        a_deny(reasons=["because"]),
    ],
)
def test_what_is_no_decision_document_is_malformed(document: Any) -> None:
    """F050 (d), (e): not one value besides the agreed document is read."""
    with pytest.raises(ResultMalformed):
        read(document)


@pytest.mark.parametrize("member", sorted(a_document()))
def test_every_member_is_required(member: str) -> None:
    """A permit without outcome, or without any other member, is malformed."""
    document = a_document()
    del document[member]

    with pytest.raises(ResultMalformed, match=f"missing required field `{member}`"):
        read(document)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_effect_and_outcome_belong_together(outcome: Outcome) -> None:
    """execute, acquire and preempt permit, all others deny; the other effect is a contradiction."""
    reasons = [] if outcome is Outcome.EXECUTE else ["lease_required"]
    right, wrong = ("permit", "deny") if outcome in PERMITTING else ("deny", "permit")

    assert read(a_document(effect=right, outcome=outcome.value, reasons=reasons)).effect == right
    with pytest.raises(ResultMalformed, match="contradicts"):
        read(a_document(effect=wrong, outcome=outcome.value, reasons=reasons))


def test_a_deny_is_never_mute() -> None:
    """A deny without reason is malformed."""
    with pytest.raises(ResultMalformed, match="comes without a reason"):
        read(a_deny(reasons=[]))


def test_execute_has_no_reason_against_it() -> None:
    """A permit to act that names a failing question contradicts itself."""
    with pytest.raises(ResultMalformed, match="`execute` comes with reason `no_authority`"):
        read(a_document(reasons=["no_authority"]))


def test_the_default_of_the_entry_point_is_undefined() -> None:
    """Where the policy fell back to its default, that is the fault, not a verdict."""
    with pytest.raises(ResultUndefined):
        read(a_deny(reasons=["result_undefined"], policy_revision=""))


def test_the_document_of_another_bundle_is_a_mismatch() -> None:
    """Both revisions are named."""
    with pytest.raises(PolicyMismatch) as caught:
        read(a_document(policy_revision="sha256:other"))

    assert caught.value.facts == {"expected": REVISION, "actual": "sha256:other"}


def test_a_result_is_no_boolean() -> None:
    """A result cannot be used as a bare yes."""
    with pytest.raises(TypeError):
        bool(read(a_document()))


def test_every_error_of_an_engine_has_a_code_of_its_own() -> None:
    """The six faults can be told apart by their codes."""
    codes = sorted(kind.code for kind in EngineError.__subclasses__())

    assert codes == [
        "engine_timeout",
        "engine_unavailable",
        "policy_error",
        "policy_mismatch",
        "result_malformed",
        "result_undefined",
    ]
