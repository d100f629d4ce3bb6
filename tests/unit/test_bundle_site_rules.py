"""What rules of a site must declare, and what is found out about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from remit_service.bundle.build import build_bundle
from remit_service.bundle.errors import BundleRefused
from remit_service.bundle.folder import read_folder, shipped_policy
from tests.support.engines import a_bundle, policy_files, rego

if TYPE_CHECKING:
    from remit_service.bundle.model import Bundle

HEAD = 'deny contains {"rule": "r", "code": "c", "message": "m"} if'


def site(rules: str, *, requires: str = "{}", imports: str = "") -> Bundle:
    """Build a policy with `rules` in the package `custom`; `requires` is what the rule `r` declares."""
    return a_bundle(custom=f'package custom\n\n{imports}\n\nrequires[rule] := {requires} if rule := "r"\n\n{rules}\n')


def refusals(rules: str, *, requires: str = "{}", imports: str = "") -> list[str]:
    """Return the messages with which such a policy is refused."""
    with pytest.raises(BundleRefused) as caught:
        site(rules, requires=requires, imports=imports)
    return [problem.message for problem in caught.value.problems]


def undeclared(pointer: str) -> list[str]:
    """Return the one message about a pointer that is not declared."""
    return [f"the deny rule `r` reads `{pointer}`, which `custom.requires` does not declare"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ("input.request.context.score > 3", "/request/context/score"),
        ('input.request["context"].score > 3', "/request/context/score"),
        ("input.request[`context`].score > 3", "/request/context/score"),
        ('input.request.context["a/b~c"] > 3', "/request/context/a~1b~0c"),
        ("not input.subject.disabled", "/subject/disabled"),
        ('"prod" in input.resource.ancestors', "/resource/ancestors"),
        ("some key in input.resource.ancestors\n\tkey == `x`", "/resource/ancestors"),
        ("every chain in input.chains {\n\t\tchain.root == `x`\n\t}", "/chains"),
        ("input.chains[_].root == `x`", "/chains"),
        ("count([x | some x in input.incidents]) > 0", "/incidents"),
        ("count({x | some x in input.incidents}) > 0", "/incidents"),
        ("object.get(input.request, `score`, 0) > 3", "/request"),
        ("{1} & {input.subject.trust} == {1}", "/subject/trust"),
        ("x := input.subject.trust\n\tx > 3", "/subject/trust"),
        ("score > 3", "/request/context/score"),
        ("is_high(7)", "/request/context/limit"),
        ("data.custom.score > 3", "/request/context/score"),
    ],
)
def test_undeclared_input_of_a_deny_rule_is_refused(body: str, pointer: str) -> None:
    """rules.md 12: what a deny rule reads, itself or through a helper, is declared; else the build is refused."""
    helpers = "\n\nscore := input.request.context.score\n\nis_high(x) if x > input.request.context.limit\n"
    rules = f"{HEAD} {{\n\t{body}\n}}{helpers}"

    assert refusals(rules) == undeclared(pointer)
    assert site(rules, requires=f'{{"{pointer}": "any"}}').revision


def test_input_in_the_head_counts() -> None:
    """A message that quotes input reads it."""
    rules = 'deny contains {"rule": "r", "code": "c", "message": input.subject.kind} if true'

    assert refusals(rules) == undeclared("/subject/kind")


def test_input_under_an_import_counts() -> None:
    """`import input.request` hides nothing."""
    rules = f"{HEAD} request.context.score > 3"

    assert refusals(rules, imports="import input.request") == undeclared("/request/context/score")


def test_input_through_other_packages_of_the_site_counts() -> None:
    """A helper in `custom.lib` is followed, from there to its own helpers too."""
    files = policy_files(
        custom=f"package custom\n\nimport data.custom.lib\n\n{HEAD} lib.high\n",
        custom_lib="package custom.lib\n\nhigh if deep > 3\n\ndeep := input.request.context.score\n",
    )
    with pytest.raises(BundleRefused) as caught:
        build_bundle(files)

    problem = caught.value.problems[0]
    assert (problem.path, problem.line, [problem.message]) == (
        "custom/lib/lib.rego",
        5,
        undeclared("/request/context/score"),
    )


def test_a_pointer_above_or_below_does_not_declare() -> None:
    """Declaring an object does not promise its members, nor a member the object."""
    rules = f"{HEAD} input.request.context.score > 3"

    for declared in ("/request/context", "/request/context/score/x"):
        assert refusals(rules, requires=f'{{"{declared}": "any"}}') == undeclared("/request/context/score")


def test_each_rule_declares_for_itself() -> None:
    """What another rule declares does not count."""
    rules = f'requires[rule] := {{"/subject/trust": "number"}} if rule := "other"\n\n{HEAD} input.subject.trust > 3'

    assert refusals(rules) == undeclared("/subject/trust")


@pytest.mark.parametrize("body", ["x := input\n\tx.a == 1", "input[input.k] == 1", "some k, v in input\n\tk == v"])
def test_reading_the_input_as_a_whole_is_refused(body: str) -> None:
    """What cannot be named cannot be declared."""
    message = "the deny rule `r` reads the input as a whole: read the members that it needs"

    assert message in refusals(f"{HEAD} {{\n\t{body}\n}}", requires='{"/k": "string"}')


@pytest.mark.parametrize(
    "head",
    ['deny contains {"rule": name, "code": "c", "message": "m"} if', "deny contains denial if", "deny contains 1 if"],
)
def test_a_deny_rule_without_a_constant_name_is_refused(head: str) -> None:
    """A rule that names itself only when it runs has no declaration."""
    rules = f'{head} {{\n\tinput.subject.trust > 3\n\tname := "r"\n\tdenial := {{"rule": "r"}}\n}}'

    assert refusals(rules) == ['a deny rule yields an object with its name, `"rule": "..."`']


def test_a_deny_rule_that_reads_nothing_needs_no_name() -> None:
    """The empty set of denials that is shipped passes."""
    assert site("deny contains denial if some denial in []").revision


def test_obligations_need_no_declaration() -> None:
    """A missing obligation does not widen; only denials must not be skipped."""
    rules = 'obligations contains {"id": "o", "type": "t", "properties": {}} if input.subject.trust > 3'

    assert site(rules).revision


def test_declarations_may_be_data() -> None:
    """`custom.requires` may come from a data file."""
    files = policy_files(custom=f"package custom\n\n{HEAD} input.subject.trust > 3\n")
    files["custom/data.yaml"] = b"requires:\n  r:\n    /subject/trust: number\n"

    assert build_bundle(files).revision


@pytest.mark.parametrize("requires", ['["/a"]', "input.x", '"x"'])
def test_declarations_of_another_form_are_refused(requires: str) -> None:
    """They are an object of objects, and rest on no input."""
    rules = f"{HEAD} input.subject.trust > 3"

    assert refusals(rules, requires=requires)


@pytest.mark.parametrize(
    ("rules", "dependent"),
    [
        ("x := input.request.at", True),
        ("x := input.request[`at`]", True),
        ("x := input.request", True),
        ("x := input.request[input.k]", True),
        ("x if time.weekday(input.request.at * 1000) == `Sunday`", True),
        ("x := input.request.attitude", False),
        ("x := input.request.context.at", False),
        ("x := input.resource.at", False),
    ],
)
def test_reading_the_instant_makes_a_bundle_time_dependent(rules: str, *, dependent: bool) -> None:
    """rules.md 13: such decisions are not cached; what may read the instant counts as reading it."""
    assert site(rules).is_time_dependent is dependent


def test_shipped_rules_may_read_the_instant() -> None:
    """Windows of edges are known to the cache; only rules of the site are not."""
    assert a_bundle(remit_a="package remit.a\n\nx := input.request.at\n").is_time_dependent is False


@pytest.mark.parametrize(
    ("rules", "can_fail"),
    [
        ("x if input.subject.trust > 3", False),
        ("x if is_string(input.subject.kind)", False),
        ('x if "a" in input.resource.ancestors', False),
        ("x if half(input.a)\n\nhalf(y) if y == 1", False),
        ("x if count(input.a) > 1", True),
        ("x := input.a + 1", True),
        ("x := input.a - input.b", True),
        ("x := -input.a", True),
        ("x := input.a & {1}", True),
        ('x if startswith(input.a, "b")', True),
        ("x if half(input.a)\n\nhalf(y) if y % 2 == 0", True),
    ],
)
def test_what_can_fail_is_found(rules: str, *, can_fail: bool) -> None:
    """Only for such rules the engine in process asks the strict interpreter in addition."""
    assert site(rules).site_rules_can_fail is can_fail


@pytest.mark.parametrize(
    ("rules", "iterates"),
    [
        ("x if input.subject.trust > 3", False),
        ("x if input.a[`b`].c == 1", False),
        ('x if "a" in input.resource.ancestors', False),
        ("x contains name if some name in [`a`, `b`]", False),
        ("x if some y in input.list", True),
        ("x if every y in input.list { y > 1 }", True),
        ("x := [y | y := input.z]", True),
        ("x := {y | y := input.z}", True),
        ("x := {y: 1 | y := input.z}", True),
        ("x if input.list[_] == 1", True),
        ("x if input.list[i] == i", True),
        ("x := numbers.range(1, input.n)", True),
    ],
)
def test_what_iterates_is_found(rules: str, *, iterates: bool) -> None:
    """Such a rule may cost more than the size of the input says."""
    assert site(rules).site_rules_iterate is iterates


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('sprintf("%d", [input.x])', "`sprintf` takes a literal format with no verb but `%v`"),
        ("sprintf(input.f, [1])", "`sprintf` takes a literal format with no verb but `%v`"),
        (r"regex.match(`^\w+$`, input.x)", r"the pattern `^\w+$` must spell classes out"),
        ("regex.match(input.p, input.x)", "`regex.match` takes a literal pattern"),
        (r"regex.replace(input.x, `\d`, `n`)", r"the pattern `\d` must spell classes out"),
    ],
)
def test_a_format_or_pattern_on_which_engines_differ_is_refused(call: str, message: str) -> None:
    """The same text is written, and the same text matched, by both engines."""
    assert refusals(f"x := {call}")[0].startswith(message)


def test_formats_and_patterns_that_agree_are_taken() -> None:
    """`%v`, `%%` and spelt out classes are fine."""
    assert site("x := sprintf(`%v %%`, [input.x])\n\ny if regex.match(`^[0-9a-z-]+$`, input.x)").revision


def test_rego_helper_strips_indentation() -> None:
    """What tests write is what is built."""
    assert rego("\n    package a\n\n    x := 1\n") == b"package a\n\nx := 1\n"


@pytest.mark.parametrize(
    ("rules", "reads"),
    [
        ("x if input.request.context.score > 3", False),
        ("x if input.resource.type == `wp:post`", False),
        ("x if input.resource.key == `wp:post:1`", True),
        ("x if input.resource.coordination_key == `wp:post:1`", True),
        ("x if `wp` in input.resource.ancestors", True),
        ("x := object.keys(input.resource)", True),
        ("x := input.request.resource", True),
        ("x if input.chains[_].hops[_].edge_id == `g`", True),
        ("x if count(input.near_misses) > 3", True),
        ("x := data.remit.authority.asked", True),
        ("x := data[input.action.name]", True),
        ("x := input[input.action.name]", True),
    ],
)
def test_reading_names_is_found_out(rules: str, *, reads: bool) -> None:
    """A site rule that may read the name of a resource or an edge, itself or through a shipped rule, says so."""
    shipped = read_folder(shipped_policy())
    source = f"package custom\n\n{rules}\n"

    assert build_bundle({**shipped, "custom/custom.rego": source.encode()}).tells_names_apart is reads


def test_a_shipped_rule_that_was_changed_may_read_anything() -> None:
    """Only the rules that came with this program are known to compare names and no more."""
    shipped = read_folder(shipped_policy())
    path = "remit/authority/authority.rego"

    assert not build_bundle(shipped).tells_names_apart
    assert build_bundle({**shipped, path: shipped[path] + b"\n# ours\n"}).tells_names_apart
