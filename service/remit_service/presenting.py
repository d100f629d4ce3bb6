"""What a request presents beside a lease: a capability, an approval; added to the facts of coordination in one place.

Every evaluation goes through here: of callers (`point`), of the machine of coordination (`coordinator.judge`) and of
governance commands (`governance.law`), so that what is presented counts the same wherever it is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_service.approval.presented import approval_fact
from remit_service.capability.presented import capability_fact
from remit_service.coordination.facts import PLAIN, Manner, coordination_facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.view.state import View
    from remit_service.coordination.tables import Tables
    from remit_service.decision.resolve import Question


def facts_of(view: View, question: Question, tables: Tables, manner: Manner = PLAIN) -> Mapping[str, Any]:
    """Return the members `coordination`, `capability`, `approval` and `incidents` of the policy input.

    A capability that is presented stands before a begun operation: what is shown must be good.
    """
    facts = coordination_facts(view, question, tables, manner)
    said = question.evaluation.context
    if said.get("capability") is not None:
        facts = {**facts, "capability": capability_fact(view, question)}
    if said.get("approval_id") is not None:
        facts = {**facts, "approval": approval_fact(view, question)}
    return facts
