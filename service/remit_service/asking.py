"""Put encoded facts to the policy in force; every engine error becomes a `Fault` with a reason code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_service.decision.decide import Fault
from remit_service.decision.verdict import Answer
from remit_service.engines.errors import EngineError, PolicyMismatch
from remit_service.engines.ports import DECISION

if TYPE_CHECKING:
    from remit_service.engines.ports import Document
    from remit_service.policy import Policy


def ask_now(policy: Policy, encoded: bytes) -> Answer:
    """Ask the engine in process.

    Raises:
        Fault: there is no answer that may be used.
    """
    try:
        return _read(policy, policy.embedded.evaluate_now(DECISION, encoded))
    except EngineError as error:
        raise _fault(error) from error


async def ask(policy: Policy, encoded: bytes) -> Answer:
    """Ask whatever engine answers decisions.

    Raises:
        Fault: there is no answer that may be used.
    """
    try:
        return _read(policy, await policy.engine.evaluate(DECISION, encoded))
    except EngineError as error:
        raise _fault(error) from error


def _read(policy: Policy, document: Document) -> Answer:
    result = policy.reader(document)
    assert isinstance(document, dict)  # noqa: S101 - the reader has just refused everything else
    duties: Any = document["obligations"]
    return Answer(
        effect=str(result.effect),
        outcome=str(result.outcome),
        reasons=result.reasons,
        determining=result.determining,
        obligations=tuple(duties),
        policy_revision=result.policy_revision,
        document=document,
    )


def _fault(error: EngineError) -> Fault:
    facts: dict[str, Any] = {"problem": str(error), **error.facts}
    if isinstance(error, PolicyMismatch):
        facts["found"] = facts.get("actual")
    return Fault(error.code, facts)
