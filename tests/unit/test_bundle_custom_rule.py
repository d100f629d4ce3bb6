"""The site adds a rule to a copy of the shipped policy: what it can rely on there."""

from __future__ import annotations

import pytest

from remit_service.bundle.folder import read_folder, shipped_policy
from remit_service.bundle.rego import parse_module
from remit_service.bundle.suite import find_tests, run_suite

# It refuses the very request that the shipped tests start from, and reads what they do not send.
RULE = b"""package custom

requires[rule] := {"/request/action/name": "string", "/request/context/change_window": "string"} if rule := "freeze"

deny contains {"rule": "freeze", "code": "change_freeze", "message": "nothing is published today"} if {
	input.request.action.name == "UPDATE_CANONICAL"
}
"""

RULE_TEST = b"""package custom.freeze_test

test_refuses_in_the_window if {
	count(data.custom.deny) == 1 with input as {"request": {"action": {"name": "UPDATE_CANONICAL"}}}
}
"""


def test_the_hook_as_it_is_shipped_says_nothing() -> None:
    """No rule of the package `custom` is in the shipped policy."""
    files = read_folder(shipped_policy())
    found = {
        path: parse_module(path, text.decode()).rules for path, text in files.items() if path.startswith("custom/")
    }

    assert {path: list(rules) for path, rules in found.items() if path.endswith(".rego")} == {"custom/custom.rego": []}


@pytest.mark.slow
@pytest.mark.feature("S13")
def test_a_rule_of_the_site_breaks_no_shipped_test() -> None:
    """With a rule that refuses all they ask, and demands what they do not send, the shipped tests hold as before."""
    files = {**read_folder(shipped_policy()), "custom/freeze.rego": RULE, "custom/freeze_test.rego": RULE_TEST}

    outcomes = list(run_suite(files))

    assert [outcome.test.rule for outcome in outcomes if not outcome.passed] == []
    assert len(outcomes) == len(find_tests(read_folder(shipped_policy()))) + 1
