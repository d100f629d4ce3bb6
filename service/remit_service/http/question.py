"""From a JSON document to the question it asks; what the pure parser leaves to the wire is checked here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_service.decision.request import Evaluation, RequestError, parse_evaluation

if TYPE_CHECKING:
    from typing import Any


def parse_question(document: Any) -> Evaluation:
    """Read an AuthZEN evaluation.

    Raises:
        RequestError: it is not well formed, with the pointer to the place.
    """
    question = parse_evaluation(document)
    explain = question.context.get("explain")
    if explain is not None and type(explain) is not bool:
        raise RequestError("`explain` is true or false", pointer="/context/explain")
    return question
