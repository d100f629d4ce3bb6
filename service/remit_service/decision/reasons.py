"""Reasons as sentences: the table of codes, and the facts each sentence names.

The table is policy data (`policy/remit/reasons/data.yaml`): code, group, outcome, HTTP status of a refused command,
who can settle it, a template and a fixed sentence. A template whose facts are not all known gives way to the fixed
sentence, so a reason is never mute and never half.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import Formatter
from typing import TYPE_CHECKING, Any

from remit_service.decision.decision import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonRow:
    """One row of the table.

    Attributes:
        code: The code.
        group: Which question it belongs to; `fault` is no verdict of a rule.
        outcome: What it asks the caller to do.
        status: HTTP status where a command is refused for it.
        resolver: Who can settle it: requester, delegator, owner, operator, human_reviewer, wait.
        message: Template.
        fixed: Sentence that names nothing.
        names: Facts that the template names.
    """

    code: str
    group: str
    outcome: str
    status: int
    resolver: str
    message: str
    fixed: str
    names: tuple[str, ...]


class ReasonTable:
    """The closed set of codes of one bundle."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Read the rows of `data.remit.reasons.codes`."""
        self._rows = {row["code"]: _row(row) for row in rows}

    @property
    def codes(self) -> frozenset[str]:
        """Every code."""
        return frozenset(self._rows)

    def row(self, code: str) -> ReasonRow:
        """Return the row of a code.

        Raises:
            KeyError: it is not in the closed set.
        """
        return self._rows[code]

    def is_fault(self, code: str) -> bool:
        """Whether a fault, not a rule, says no."""
        return self._rows[code].group == "fault"

    def reason(self, code: str, facts: Mapping[str, Any]) -> Reason:
        """Return the reason with its sentence; facts that are None are left out."""
        row = self._rows[code]
        known = {name: value for name, value in facts.items() if value is not None}
        if all(name in known for name in row.names):
            text = row.message.format_map({name: _text(value) for name, value in known.items()})
            return Reason(code=code, message=text, facts=known)
        return Reason(code=code, message=row.fixed, facts=known)


def _row(row: Mapping[str, Any]) -> ReasonRow:
    names = tuple(name for _, name, _, _ in Formatter().parse(row["message"]) if name)
    return ReasonRow(**{name: row[name] for name in ReasonRow.__dataclass_fields__ if name != "names"}, names=names)


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(f"`{each}`" for each in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
