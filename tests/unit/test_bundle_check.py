"""Checking, testing and comparing policies, with no OPA at hand."""

from __future__ import annotations

from remit_service.bundle.build import build_bundle
from remit_service.bundle.check import check_policy
from remit_service.bundle.diff import DataChange, diff_bundles
from remit_service.bundle.folder import read_folder, shipped_policy
from remit_service.bundle.suite import find_tests, run_suite
from tests.support.engines import policy_files, rego

TESTED = {
    **policy_files(remit_a="package remit.a\n\nis_even(x) if x % 2 == 0\n"),
    "remit/a/a_test.rego": rego("""
        package remit.a_test

        import data.remit.a

        test_two_is_even if a.is_even(2)

        test_three_is_even if a.is_even(3)

        test_false := false

        test_cases[note] if {
            some note, number in {"two": 2, "four": 4}
            a.is_even(number)
        }

        test_some_case_fails[note] := a.is_even(number) == expected if {
            some note, [number, expected] in {"two": [2, true], "six": [6, false], "ten": [10, false]}
        }

        test_no_cases[note] if some note in []

        test_input if a.is_even(input.x) with input as {"x": 4}

        test_data if data.remit.revision.policy_revision == "r" with data.remit.revision as {"policy_revision": "r"}

        test_breaks if count(1) == 1

        todo_test_later if false

        helper if false
    """),
}


def test_every_test_is_run_and_told_apart() -> None:
    """Passing, false, undefined, failing cases, no cases, an error: each with its reason."""
    outcomes = {outcome.test.name: outcome.detail for outcome in run_suite(TESTED)}

    error = outcomes.pop("test_breaks")
    assert outcomes == {
        "test_two_is_even": "",
        "test_three_is_even": "is undefined: one of its conditions does not hold",
        "test_false": "is false",
        "test_cases": "",
        "test_some_case_fails": "fails for six, ten",
        "test_no_cases": "has no cases",
        "test_input": "",
        "test_data": "",
    }
    assert "`count` requires array/object/set/string argument" in error


def test_an_outcome_says_where_the_test_stands() -> None:
    """The report names file, package and rule, and how long it took."""
    first = next(run_suite(TESTED))

    assert (first.test.file, first.test.package, first.passed) == ("remit/a/a_test.rego", "remit.a_test", True)
    assert first.duration_seconds > 0


def test_a_test_in_several_definitions_is_one_test() -> None:
    """OPA counts rules, and so does this."""
    files = {"remit/a/a_test.rego": b"package remit.a_test\n\ntest_x if 1 == 2\n\ntest_x if 1 == 1\n"}

    assert [test.name for test in find_tests(files)] == ["test_x"]
    assert [outcome.passed for outcome in run_suite(files)] == [True]


def test_rules_outside_test_packages_are_no_tests() -> None:
    """`test_` in a package of the policy is a name like another."""
    assert find_tests(policy_files(remit_a="package remit.a\n\ntest_x := 1\n")) == []


def test_the_tests_of_the_shipped_policy_pass_in_process() -> None:
    """`remit policy test` needs no OPA."""
    outcomes = list(run_suite(read_folder(shipped_policy())))

    assert [f"{o.test.file}: {o.test.name} {o.detail}" for o in outcomes if not o.passed] == []


def test_a_sound_policy_has_a_bundle_and_no_problems() -> None:
    """Without the program the check says that it was not strict."""
    report = check_policy(TESTED)

    assert (report.bundle, report.problems, report.was_strict) == (build_bundle(TESTED), (), False)


def test_a_policy_that_does_not_compile_is_found() -> None:
    """The VM's own objection is among the problems."""
    report = check_policy(
        policy_files(remit_a="package remit.a\n\n# METADATA\n# entrypoint: true\nx := nobody.knows\n")
    )

    assert report.bundle is None
    assert [problem.message.partition(":")[0] for problem in report.problems] == ["policy_error"]


def test_a_policy_without_decision_is_found() -> None:
    """F050: before it is activated."""
    files = {"remit/decision/decision.rego": b"package remit.decision\n\ndecision := {}\n"}

    assert [str(problem) for problem in check_policy(files).problems] == [
        "remit/decision: no rule `remit/decision/decision` is annotated with `entrypoint: true`"
    ]


def test_what_the_build_refuses_is_reported() -> None:
    """The check ends with the build's problems where there are any."""
    report = check_policy(policy_files(remit_a="package remit.a\n\nx := time.now_ns()\n"))

    assert [str(problem) for problem in report.problems] == [
        "remit/a/a.rego:3: the built-in function `time.now_ns` is not allowed"
    ]


def test_a_diff_names_files_values_and_lines() -> None:
    """Rego by line, data by pointer."""
    before = build_bundle(
        {
            **policy_files(remit_a="package remit.a\n\nx := 1\n", remit_gone="package remit.gone\n"),
            "remit/config/data.yaml": b"scales: {risk: [LOW]}\nkept: 1\nold/er: 2\n",
        }
    )
    after = build_bundle(
        {
            **policy_files(remit_a="package remit.a\n\nx := 2\n", remit_new="package remit.new\n"),
            "remit/config/data.yaml": b"scales: {risk: [LOW, HIGH]}\nkept: 1\nnew: {deep: null}\n",
        }
    )
    diff = diff_bundles(before, after)

    assert (diff.before, diff.after, diff.is_empty) == (before.revision, after.revision, False)
    assert diff.added == ("remit/new/new.rego",)
    assert diff.removed == ("remit/gone/gone.rego",)
    assert diff.changed == ("remit/a/a.rego", "remit/config/data.yaml")
    assert diff.data == (
        DataChange("/remit/config/new", None, {"deep": None}, "added"),
        DataChange("/remit/config/old~1er", 2, None, "removed"),
        DataChange("/remit/config/scales/risk", ["LOW"], ["LOW", "HIGH"], "changed"),
    )
    assert "--- a/remit/a/a.rego\n+++ b/remit/a/a.rego\n@@ -1,3 +1,3 @@\n" in diff.text
    assert "-x := 1\n+x := 2\n" in diff.text


def test_a_bundle_does_not_differ_from_itself() -> None:
    """Nothing is reported."""
    bundle = build_bundle(TESTED)
    diff = diff_bundles(bundle, bundle)

    assert (diff.is_empty, diff.text, diff.data, diff.changed) == (True, "", (), ())
