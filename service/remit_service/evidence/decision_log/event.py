"""The record of one decision: a superset of OPA's decision log event (reference/opa.md 2 and 11)."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

import msgspec

from remit_graph.model.instant import SECOND, Instant, format_instant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_service.decision.caller import Caller
    from remit_service.decision.decision import Decision
    from remit_service.decision.request import Evaluation
    from remit_service.evidence.decision_log.mask import Masker

PATH: Final = "remit/decision/decision"
_encode = msgspec.json.Encoder().encode


def timestamp(at: Instant) -> str:
    """Return an instant as OPA writes it, with nanoseconds."""
    return f"{format_instant(at - at % SECOND)[:-1]}.{at % SECOND:06d}000Z"


def decision_event(
    decision: Decision,
    evaluation: Evaluation,
    caller: Caller,
    labels: Mapping[str, Any],
    *,
    masker: Masker,
    with_input: bool,
) -> dict[str, Any]:
    """Return the record; `labels` are members of their own: `request_id`, `batch_id`, `trace_id`, `kind`.

    The digest of the input runs over the input as the policy saw it, before masking: it proves what was decided on
    without showing it.
    """
    masked: list[str] = []
    event: dict[str, Any] = {
        "kind": "decision",
        "decision_id": decision.decision_id,
        "timestamp": timestamp(decision.at),
        "path": PATH,
        **labels,
        "requested_by": caller.address,
        "caller": _caller(caller),
        **masker.request(evaluation.record(), masked),
        "result": _result(decision),
        "revision": decision.revision,
        "policy_revision": decision.policy_revision,
        "bundles": {"remit": {"revision": decision.policy_revision}},
        "epochs": decision.epochs,
        "determining": decision.determining,
        "lease": decision.lease,
        "metrics": _metrics(decision.timings_us),
    }
    if decision.record_input:
        whole = decision.record_json or _encode(decision.record_input)
        event["input_digest"] = f"sha256:{hashlib.sha256(whole).hexdigest()}"
        if with_input:
            shown = masker.facts(decision.record_input, masked)
            event["input"] = msgspec.Raw(whole if shown is decision.record_input else _encode(shown))
    if masked:
        event["masked"] = masked
    return event


def _caller(caller: Caller) -> dict[str, Any]:
    told = {"point": caller.name, "identity": caller.identity, "subject_identity": caller.subject_identity}
    return told if caller.on_behalf_of is None else {**told, "on_behalf_of": caller.on_behalf_of}


def _result(decision: Decision) -> dict[str, Any]:
    return {
        "effect": decision.effect,
        "outcome": decision.outcome,
        "reasons": [each.record() for each in decision.reasons],
        "obligations": decision.obligations,
        "conflicts": decision.conflicts,
        "not_after": None if decision.not_after is None else format_instant(decision.not_after),
        "fault": decision.deny_is_fault,
        "cached": decision.cached,
    }


def _metrics(timings_us: Mapping[str, int]) -> dict[str, int]:
    return {f"timer_{'server_handler' if name == 'total' else name}_ns": us * 1_000 for name, us in timings_us.items()}
