"""From a `Decision` to the AuthZEN answer: `decision`, and as much of the `context` as the caller takes and may see.

An enforcement point says how much it takes (`response`): `full` is decision.md section 6, `reasons` is id, outcome,
reasons and obligations, `decision` is the bare boolean that strict interop runners compare as text: only what has no
obligation to perform should be asked that way. Members without a value are left out (AuthZEN 1.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_graph.model.instant import format_instant
from remit_service.decision.redact import redact

if TYPE_CHECKING:
    from remit_service.decision.caller import Caller
    from remit_service.decision.decision import Decision, Reason
    from remit_service.http.ports import Point


def render(decision: Decision, caller: Caller, point: Point) -> dict[str, Any]:
    """Return the answer to one evaluation."""
    shape = caller.response
    if shape == "decision":
        return {"decision": decision.executes}
    if not caller.sees_graph:
        decision = redact(decision, point.policy.reasons)
    context: dict[str, Any] = {
        "decision_id": decision.decision_id,
        "outcome": decision.outcome,
        "reasons": [render_reason(each) for each in decision.reasons],
    }
    if shape == "full" or decision.obligations:
        context["obligations"] = decision.obligations
    if shape == "full":
        _add_rest(context, decision, point)
    return {"decision": decision.executes, "context": context}


def _add_rest(context: dict[str, Any], decision: Decision, point: Point) -> None:
    context["epochs"] = {name: value for name, value in decision.epochs.items() if value is not None}
    context["revision"] = point.revision_token(decision.revision)
    context["policy_revision"] = decision.policy_revision or point.policy_revision
    context["conflicts"] = decision.conflicts
    if decision.determining:
        context["determining"] = decision.determining
    if decision.not_after is not None:
        context["not_after"] = format_instant(decision.not_after)
    for name in ("lease", "retry_after_seconds", "receipt_id", "explanation"):
        value = getattr(decision, name)
        if value is not None:
            context[name] = value


def render_reason(reason: Reason) -> dict[str, Any]:
    """Return `{code, message, ...facts}`; a fact never takes the place of the code or the sentence."""
    return {"code": reason.code, "message": reason.message} | {
        name: value for name, value in reason.facts.items() if name not in ("code", "message")
    }


def render_fault(message: str, pointer: str, caller: Caller) -> dict[str, Any]:
    """Return the answer to an item of a batch that is not well formed: it is denied, the others stand."""
    if caller.response == "decision":
        return {"decision": False}
    reason = {"code": "malformed_request", "message": message, "pointer": pointer}
    context: dict[str, Any] = {"outcome": "deny", "reasons": [reason], "error": {"status": 400, "message": message}}
    return {"decision": False, "context": context}
