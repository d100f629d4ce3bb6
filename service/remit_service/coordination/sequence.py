"""Ordered actions: only the next number of a line is granted, and only once what it depends on is done (S58).

A line begins with the first number that depends on nothing. Its record is written when an operation of it completes:
`{"id": line, "last": 103, "version": "rev_9", ...}`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from remit_graph.view.state import View
    from remit_service.coordination.values import Claim, Record


UNNAMED: Final = -1
"""The number of a request that names none: it is never anybody's turn."""


def sequence_facts(view: View, line: str | None, said: object) -> dict[str, Any] | None:
    """Return the fact `coordination.sequence`, or None for an action of no line.

    Args:
        view: The graph.
        line: The line that the action declares, or None.
        said: `context.sequence` of the request: `{line?, number, depends_on?}`.
    """
    asked = said if isinstance(said, dict) else {}
    line = line or _text(asked.get("line"))
    if line is None:
        return None
    number, depends_on = _number(asked.get("number")), _numbers(asked.get("depends_on"))
    last = last_of(view, line)
    first = min(depends_on, default=0 if number is None else number)
    upcoming = first if last is None else last + 1
    met = number is not None and all(last is not None and each <= last for each in depends_on)
    return {"line": line, "number": UNNAMED if number is None else number, "next": upcoming, "depends_met": met}


def is_next(facts: Record | None) -> bool:
    """Whether it is this operation's turn in its line."""
    return facts is not None and bool(facts["depends_met"]) and facts["number"] == facts["next"]


def is_turn(view: View, claim: Claim) -> bool:
    """Whether what a claim asks for is next in its line."""
    return is_next(sequence_facts(view, claim.action.sequence, claim.context.get("sequence")))


def last_of(view: View, line: str) -> int | None:
    """Return the last completed number of a line, or None before its first."""
    record = view.records.get("sequence", {}).get(line)
    return None if record is None else int(record["last"])


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: object) -> int | None:
    return value if type(value) is int else None


def _numbers(value: object) -> list[int]:
    found = value if isinstance(value, list) else [value]
    return [each for each in found if type(each) is int]
