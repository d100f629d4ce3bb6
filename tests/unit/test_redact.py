"""Redaction: the same verdict, without anything that belongs to others (rules.md 7)."""

from __future__ import annotations

import json
from dataclasses import fields, replace

from remit_service.decision.decision import Decision, Reason
from remit_service.decision.reasons import ReasonTable
from remit_service.decision.redact import redact

OTHERS = ("instance:content-2", "lease_771", "del_882", "80321", "wp:post:9", "2027-01-01")
TABLE = ReasonTable(
    [
        {
            "code": code, "group": "g", "outcome": "deny", "status": 409, "resolver": "wait",
            "message": "`{holder}` holds it", "fixed": f"The sentence of {code}.",
        }
        for code in ("resource_busy", "policy_denied", "malformed_request")
    ]
)  # fmt: skip
WHOLE = Decision(
    decision_id="dec_1",
    effect="deny",
    outcome="wait",
    reasons=(
        Reason(
            code="resource_busy",
            message="`instance:content-2` holds it",
            facts={"holder": "instance:content-2", "token": 80321},
        ),
        Reason(
            code="policy_denied", message="no", facts={"rule": "quiet_hours", "message": "del_882", "site": ["del_882"]}
        ),
        Reason(code="malformed_request", message="at /context/wp:post:9", facts={"pointer": "/context/risk"}),
    ),
    at=7,
    revision=42,
    obligations=({"id": "precondition", "type": "precondition", "properties": {"expected_version": "rev_1"}},),
    determining=("del_882@1",),
    conflicts=(
        {
            "lease_id": "lease_771",
            "holder": "instance:content-2",
            "key": "wp:post:9",
            "domain": "CANONICAL",
            "result": "serialize",
            "held_until": "2027-01-01",
        },
    ),
    epochs={"policy": 3, "authority": 91, "ownership": {"canonical": 2}, "lease": 80321},
    policy_revision="sha256:a",
    not_after=99,
    retry_after_seconds=5,
    receipt_id="rcp_1",
    explanation={"chains": ["del_882"]},
    record_input={"chains": ["del_882"]},
)


def test_nothing_of_others_is_left() -> None:
    """Ids, edges, keys, tokens and times of others are in no member that an answer shows."""
    shown = replace(redact(WHOLE, TABLE), record_input={})

    text = json.dumps([str(getattr(shown, each.name)) for each in fields(Decision)])
    assert [name for name in OTHERS if name in text] == []


def test_the_verdict_is_the_same() -> None:
    """Decision, outcome, codes and their order, obligations, waits and ends do not change."""
    shown = redact(WHOLE, TABLE)

    same = (
        "decision_id",
        "effect",
        "outcome",
        "codes",
        "obligations",
        "not_after",
        "retry_after_seconds",
        "receipt_id",
    )
    assert [getattr(shown, name) for name in same] == [getattr(WHOLE, name) for name in same]
    assert [each.message for each in shown.reasons] == [f"The sentence of {code}." for code in WHOLE.codes]
    assert shown.conflicts == ({"domain": "CANONICAL", "result": "serialize"},)


def test_what_speaks_of_the_request_itself_stays() -> None:
    """The place of a mistake and the name of a site's rule help the caller and show nothing of the graph."""
    assert [dict(each.facts) for each in redact(WHOLE, TABLE).reasons] == [
        {},
        {"rule": "quiet_hours"},
        {"pointer": "/context/risk"},
    ]


def test_the_caller_s_own_lease_stays_with_its_token() -> None:
    """Who holds the lease keeps its epoch; nobody else sees it."""
    own = redact(replace(WHOLE, lease={"lease_id": "mine"}), TABLE)

    assert own.lease == {"lease_id": "mine"}
    assert own.epochs["lease"] == 80321
    assert "lease" not in redact(WHOLE, TABLE).epochs


def test_the_record_keeps_everything() -> None:
    """Redaction makes another decision; the one that is recorded and cached is not touched."""
    before = repr(WHOLE)

    redact(WHOLE, TABLE)

    assert repr(WHOLE) == before
