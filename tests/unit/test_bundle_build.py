"""Building a bundle: what is published, under which digest, and everything that is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from remit_service.bundle.build import build_bundle
from remit_service.bundle.digest import is_policy_revision, policy_revision
from remit_service.bundle.errors import BundleRefused, Problem
from tests.support.engines import DENY, a_bundle, policy_files, rego

if TYPE_CHECKING:
    from collections.abc import Mapping

DECISION_FILE = "remit/decision/decision.rego"


def problems_of(files: Mapping[str, bytes]) -> list[str]:
    """Return what is wrong with a policy, as a compiler would print it."""
    with pytest.raises(BundleRefused) as caught:
        build_bundle(files)
    return [str(problem) for problem in caught.value.problems]


def test_equal_files_give_an_equal_bundle() -> None:
    """F002: built twice, in another order of the files, the bundle and its digest are the same."""
    files = policy_files(remit_a="package remit.a\n\nx := 1\n")
    again = build_bundle(dict(reversed(files.items())))

    assert again == build_bundle(files)
    assert is_policy_revision(again.revision)


def test_a_comment_changes_the_digest() -> None:
    """F002: a policy that differs in a comment only is another policy."""
    files = policy_files()
    commented = {**files, DECISION_FILE: files[DECISION_FILE] + b"# denied by default\n"}

    assert build_bundle(commented).revision != build_bundle(files).revision


def test_path_and_content_cannot_run_into_each_other() -> None:
    """Two sets of files whose names and contents make the same string have different digests."""
    assert policy_revision({"remit/a": b"bc"}) != policy_revision({"remit/ab": b"c"})
    assert policy_revision({"remit/a": b"", "remit/b": b""}) != policy_revision({"remit/a": b"remit/b"})


def test_tests_readmes_and_schemas_are_not_published() -> None:
    """The digest is about what engines evaluate; a new test does not make a new policy."""
    files = policy_files()
    rest = {
        "remit/decision/decision_test.rego": b"package remit.decision_test\n",
        "README.md": b"# policy",
        "schemas/input.json": b"{}",
        "remit/config/notes.yaml": b"a: 1",
    }

    assert build_bundle({**files, **rest}) == build_bundle(files)


def test_what_the_build_writes_is_written_anew() -> None:
    """A revision or manifest among the sources neither counts nor survives."""
    files = policy_files()
    stale = {"remit/revision/data.json": b'{"policy_revision": "sha256:old"}', ".manifest": b"{}"}
    bundle = build_bundle({**files, **stale})

    assert bundle == build_bundle(files)
    assert json.loads(bundle.all_files["remit/revision/data.json"]) == {"policy_revision": bundle.revision}
    assert json.loads(bundle.all_files[".manifest"]) == {
        "metadata": {"time_dependent": False},
        "rego_version": 1,
        "revision": bundle.revision,
        "roots": ["custom", "remit"],
    }


def test_the_data_tree_knows_the_revision() -> None:
    """Policies read their own revision, and data files where their folders say."""
    bundle = build_bundle({**policy_files(), "remit/config/data.yaml": b"scales:\n  risk: [LOW, HIGH]\n"})

    assert json.loads(bundle.data_json)["remit"] == {
        "config": {"scales": {"risk": ["LOW", "HIGH"]}},
        "revision": {"policy_revision": bundle.revision},
    }


@pytest.mark.parametrize("data", [b'{"revision": {"policy_revision": "mine"}}', b'{"revision": 1}'])
def test_the_revision_cannot_be_given_by_hand(data: bytes) -> None:
    """No data file says what the revision is, at whatever level it tries."""
    assert problems_of({**policy_files(), "remit/data.json": data}) == [
        "remit/revision/data.json: `remit.revision` is already given by another data file"
    ]


def test_entry_points_are_the_annotated_rules() -> None:
    """`entrypoint: true` makes one; a title, or the annotation of a package, does not."""
    annotated = """
        # METADATA
        # title: both
        # entrypoint: true
        package remit.both

        # METADATA
        # title: first
        # description: |
        #   with a colon: here
        # entrypoint: true
        default first := 1

        # METADATA
        # entrypoint: false
        second := 2

        # a comment

        # METADATA
        # entrypoint: true
        third contains 3
    """

    assert a_bundle(remit_both=annotated).entrypoints == {
        "remit/both/first",
        "remit/both/third",
        "remit/decision/decision",
    }


def test_all_problems_are_reported_at_once_in_order() -> None:
    """A policy author mends everything in one go."""
    files = {
        **policy_files(),
        "remit/a/a.rego": rego("""
            package remit.a

            x := http.send({"method": "get", "url": "http://localhost"})

            y := time.now_ns()
        """),
        "remit/b/b.rego": b"package remit.c\n",
        "other/data.json": b"{}",
    }

    assert problems_of(files) == [
        "other/data.json: lies outside the roots `custom` and `remit`",
        "remit/a/a.rego:3: the built-in function `http.send` is not allowed",
        "remit/a/a.rego:5: the built-in function `time.now_ns` is not allowed",
        "remit/b/b.rego:1: the package `remit.c` belongs in its own folder",
    ]


def test_what_does_not_parse_is_told_with_its_line() -> None:
    """Every file that is no Rego is named, before anything else is looked at."""
    files = {**policy_files(), "remit/a/a.rego": b"package remit.a\n\nx := := 1\n", "remit/b/b.rego": b"\xff"}

    assert problems_of(files) == [
        "remit/a/a.rego:3: does not parse: expecting expression",
        "remit/b/b.rego: is not UTF-8",
    ]


@pytest.mark.parametrize(
    "call",
    [
        "opa.runtime()",
        'rand.intn("x", 3)',
        'net.lookup_ip_addr("localhost")',
        'uuid.rfc4122("x")',
        'io.jwt.decode("x")',
        'glob.match("*", [":"], "a:b")',
        "walk([1])",
        "time.add_date(1, 0, 1, 0)",
        'trace("x")',
        'print("x")',
    ],
)
def test_an_impure_or_unequal_function_is_refused(call: str) -> None:
    """rules.md 12: no clock, no network, no chance, and nothing in which the engines differ."""
    name = call.partition("(")[0]

    assert problems_of(policy_files(remit_a=f"package remit.a\n\nx := {call}\n")) == [
        f"remit/a/a.rego:3: the built-in function `{name}` is not allowed"
    ]


@pytest.mark.parametrize("head", ['x["k"] := 1', 'x["k"] := 1 if input.a', "x.k := 1", 'x["k"][1] := 1'])
def test_a_constant_key_in_a_head_is_refused(head: str) -> None:
    """OPA takes it and the VM does not; the message says what both take."""
    assert problems_of(policy_files(remit_a=f"package remit.a\n\n{head}\n")) == [
        'remit/a/a.rego:3: the VM compiles no constant key in a head: write `x[key] := ... if key := "k"`'
    ]


def test_own_functions_may_have_any_name() -> None:
    """A function of the policy is called by its name, by an import, or by its whole path."""
    library = "package remit.library\n\nwalk(x) := x\n"
    user = """
        package remit.user

        import data.remit.library
        import data.remit.library as books

        own(x) := x

        y := [own(1), library.walk(1), books.walk(1), data.remit.library.walk(1)]
    """

    assert a_bundle(remit_library=library, remit_user=user).files.keys() >= {"remit/user/user.rego"}


def test_a_misspelt_function_of_the_policy_is_refused() -> None:
    """What is neither built in nor defined is found at build."""
    user = "package remit.user\n\nimport data.remit.library\n\ny := library.wlak(1)\n"

    assert problems_of(policy_files(remit_user=user)) == [
        "remit/user/user.rego:5: the function `data.remit.library.wlak` is not defined"
    ]


def test_a_problem_of_a_whole_file_has_no_line() -> None:
    """The form of a problem is that of compilers."""
    assert [str(Problem("a.rego", 3, "x")), str(Problem("a.rego", 0, "x"))] == ["a.rego:3: x", "a.rego: x"]


def test_the_message_of_a_refusal_counts_the_rest() -> None:
    """One line says the first problem and how many more there are."""
    assert str(BundleRefused(Problem("a", 1, "x"), Problem("b", 2, "y"))) == "a:1: x, and 1 more"


def test_a_bundle_cannot_be_changed() -> None:
    """What was checked stays what was checked."""
    bundle = a_bundle()
    with pytest.raises(TypeError):
        bundle.files[DECISION_FILE] = b""  # type: ignore[index]

    assert bundle.files[DECISION_FILE] == DENY.encode()
