"""Commands that are governed: they need their own law, and a chain to `remit:graph` for their action (rules.md 5).

The law is judged by the policy like the rest, from the facts given here; for a root principal it decides alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_service.coordination.standing import acting_as
from remit_service.coordination.values import Ask, Refusal

if TYPE_CHECKING:
    from collections.abc import Generator

    from remit_graph.model.builtin import Governance
    from remit_service.coordination.values import Verdict
    from remit_service.coordination.work import Work


def governed(work: Work, actor: str, action: Governance, **facts: Any) -> Generator[Ask, Verdict, Refusal | None]:
    """Ask whether an actor may give a command; returns its refusal, or None where it may.

    Args:
        work: The step.
        actor: The principal in whose name the command is given.
        action: What it does to the graph.
        facts: Of its law: `transfer` or `revocation`.
    """
    kind, _, name = actor.partition(":")
    # The version of the graph is its revision, and the append compares it.
    version = str(work.view.revision)
    request = {
        "subject": {"type": kind, "id": name},
        "action": {"name": action.value},
        "resource": {"type": "key", "id": "remit:graph"},
        "context": {"expected_version": version, "resource_version": version},
    }
    voices = acting_as(work.view, actor, work.at)
    governance = {
        "command": action.value,
        "root": any(work.view.is_root(each) for each in voices),
        "delegation": None,
        "revocation": None,
        "transfer": None,
        **facts,
    }
    work.questions += 1
    verdict: Verdict = yield Ask(request=request, phase="probe", governance=governance)
    if verdict.effect == "permit" and verdict.outcome == "execute":
        return None
    return Refusal(code=verdict.codes[0], outcome=verdict.outcome, reasons=verdict.reasons)
