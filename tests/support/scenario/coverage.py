"""Which reason codes the scenarios produce, each with its sentence, and which there are to produce.

A code is to be produced where the table of reasons has it in one of the groups of a decision, and a room that these
scenarios reach says it. Codes that only other rooms say are theirs to show: leases and transfers are asked for by
commands of coordination.
"""

from __future__ import annotations

import re
from functools import lru_cache
from string import Formatter
from typing import TYPE_CHECKING, Final

from tests.support.scenario.document import ROOT, scenarios
from tests.support.scenario.stage import policy_with

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_service.decision.reasons import ReasonRow
    from tests.support.scenario.document import Step

GROUPS: Final = frozenset({"request", "identity", "authority", "ownership", "version", "site", "fault"})
"""The groups whose every code has a scenario; those of coordination and commands are shown by their rooms."""

ROOMS: Final = (
    "graph/remit_graph/errors.py",
    "graph/remit_graph/laws",
    "graph/remit_graph/model",
    "graph/remit_graph/view",
    "policy/remit",
    "service/remit_service/decision",
    "service/remit_service/engines",
    "service/remit_service/http/limits.py",
    "service/remit_service/point.py",
    "service/remit_service/replica",
)
"""Where the codes come from that an evaluation, an explanation or a governance command can end with."""

ELSEWHERE: Final = ("policy/remit/reasons", "policy/remit/transfer", "graph/remit_graph/view/coordination")
"""The table itself, and the rooms of transfers."""


UNTEMPLATED: Final = frozenset({"delegation_cycle", "malformed_request", "overloaded"})
"""Codes whose sentence is not the table's: problems and refused commands say more than a reason has facts for."""


def codes_to_show() -> frozenset[str]:
    """Return the codes of the groups that something within reach of these scenarios says."""
    said = _said()
    return frozenset(row.code for row in _rows() if row.group in GROUPS and row.code in said)


@lru_cache(maxsize=1)
def _said() -> frozenset[str]:
    words: set[str] = set()
    for room in ROOMS:
        place = ROOT / room
        for path in [place] if place.is_file() else place.rglob("*"):
            name = str(path.relative_to(ROOT))
            source = path.suffix in {".py", ".rego"} and not name.endswith("_test.rego")
            if source and not name.startswith(ELSEWHERE):
                words.update(re.findall(r'"([a-z_]+)"', path.read_text()))
    return frozenset(words)


def shown() -> dict[str, list[str]]:
    """Return the codes that some step expects together with their sentence, with the scenarios that do."""
    found: dict[str, list[str]] = {}
    for scenario in scenarios():
        for step in scenario.steps:
            for code in _codes_with_sentence(step):
                found.setdefault(code, []).append(f"{scenario.name}, step {step.number}")
    return found


def _codes_with_sentence(step: Step) -> Iterator[str]:
    codes = {*step.expect.get("reasons", ()), step.expect.get("problem"), step.expect.get("refused")} - {None}
    for row in _rows():
        if row.code in codes and any(_is_sentence_of(row, each) for each in step.expect.get("says", ())):
            yield row.code


def _is_sentence_of(row: ReasonRow, said: str) -> bool:
    if said == row.fixed or row.code in UNTEMPLATED:
        return True
    parts = (re.escape(text) + (".+" if name else "") for text, name, _, _ in Formatter().parse(row.message))
    return re.fullmatch("".join(parts), said) is not None


def _rows() -> list[ReasonRow]:
    table = policy_with(()).reasons
    return [table.row(code) for code in sorted(table.codes)]
