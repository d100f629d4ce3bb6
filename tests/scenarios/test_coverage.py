"""No reason without a scenario, no scenario that says what it does not mean."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.scenario.coverage import codes_to_show, shown
from tests.support.scenario.document import SCENARIOS, read, scenarios

if TYPE_CHECKING:
    from collections.abc import Iterator

FAULT_ROWS = re.compile(r"\bF0\d\d\b")
ANY_FAULT = re.compile(r"(?<![A-Za-z0-9])[Ff]0\d\d(?!\d)")


@pytest.mark.feature("S02")
def test_every_reason_has_a_scenario_with_its_sentence() -> None:
    """Each code of a decision is produced by a scenario that says its sentence; a new code is missed here at once."""
    assert sorted(codes_to_show() - shown().keys()) == []


def test_the_codes_are_found_where_they_are_said() -> None:
    """What is looked for holds codes of every group; an empty search would miss nothing."""
    assert codes_to_show() > {
        "malformed_request", "malformed_resource_key", "unknown_action", "unknown_resource", "unknown_field",
        "unauthenticated", "identity_mismatch", "unknown_subject", "subject_disabled",
        "no_authority", "scope_not_covered", "attenuation_violated", "delegation_expired", "delegation_not_yet_valid",
        "delegation_revoked", "depth_exceeded", "principal_mismatch", "condition_not_met", "condition_unknown",
        "stale_authority_epoch", "trust_too_low", "proof_search_truncated", "delegation_cycle",
        "ownership_unresolved", "not_owner", "stale_ownership_epoch", "owner_frozen", "ownership_conflict",
        "version_required", "stale_resource_version", "policy_denied",
        "engine_unavailable", "engine_timeout", "result_undefined", "result_malformed", "policy_mismatch",
        "authority_stale", "revision_not_reached", "revision_foreign", "decision_log_unavailable", "policy_error",
        "deadline_exceeded",
    }  # fmt: skip


FAULTS_SHOWN = {
    "F005", "F006", "F007", "F012", "F015", "F016", "F017", "F018", "F020", "F022", "F023", "F024", "F028", "F029",
    "F030", "F031", "F032", "F033", "F035", "F036", "F037", "F041", "F042",
}  # fmt: skip


def test_the_fault_cases_keep_their_scenarios() -> None:
    """Each row of the fault cases that needs no lease and no wire of its own is named by a scenario."""
    named = {row for path in SCENARIOS.rglob("*.yaml") for row in FAULT_ROWS.findall(path.read_text())}

    assert FAULTS_SHOWN - named == set()


ROWS_OF_AUTHORITY = frozenset(f"F{number:03}" for number in range(1, 50))
"""Freshness, expiry, delegation, reverse queries: the rows of the fault cases that speak of who may act."""


def said_of_tests() -> Iterator[str]:
    """Return the name and the first sentence of each test, and what each scenario says."""
    yield from (path.read_text() for path in SCENARIOS.rglob("*.yaml"))
    for path in Path("tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                yield f"{node.name} {(ast.get_docstring(node) or '').splitlines()[0]}"


def test_every_fault_of_authority_is_named_by_a_test() -> None:
    """Each row from F001 to F049 stands in the name or the first sentence of a test, or in a scenario."""
    named = {row.upper() for said in said_of_tests() for row in ANY_FAULT.findall(said)}

    assert sorted(ROWS_OF_AUTHORITY - named) == []


def test_names_are_files_and_titles_are_sentences() -> None:
    """Every scenario has a title of its own that says what is expected."""
    titles = [each.title for each in scenarios()]

    assert len(set(titles)) == len(titles)
    assert [title for title in titles if len(title) < 20 or title.endswith(".")] == []


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("ask: {}, expects: {}", "is none of"),
        ("ask: {}, mend: engine", "needs one of"),
        ("ask: {}", "expects"),
        ("advance: 3, expect: {outcome: deny}", "expects nothing"),
        ("ask: {}, expect: {outcomes: deny}", "is none of"),
    ],
)
def test_a_scenario_that_is_misspelt_is_no_scenario(tmp_path: Path, step: str, problem: str) -> None:
    """A step of another form is refused, so that no expectation is passed over."""
    path = tmp_path / "misspelt.yaml"
    path.write_text(f'title: t\nworld: pages\nat: "2027-01-10T10:00:00Z"\nsteps: [{{{step}}}]\n')

    with pytest.raises(ValueError, match=problem):
        read(path)
