"""Find the tests of a policy and run them in process: `remit policy test`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from remit_service.bundle.data import data_tree
from remit_service.bundle.rego import parse_module
from remit_service.engines.policy_tests import PolicyTest, PolicyTestOutcome, is_test, run_policy_tests

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def find_tests(files: Mapping[str, bytes]) -> list[PolicyTest]:
    """Return every test in `files`, by file and name; several definitions of one rule are one test.

    Raises:
        BundleRefused: a file does not parse.
    """
    tests: dict[PolicyTest, None] = {}
    for path in sorted(files):
        if path.endswith(".rego"):
            module = parse_module(path, files[path].decode())
            package = ".".join(module.package)
            for rule in module.rules:
                if is_test(package, rule.name):
                    tests[PolicyTest(file=path, package=package, name=rule.name)] = None
    return list(tests)


def run_suite(files: Mapping[str, bytes]) -> Iterator[PolicyTestOutcome]:
    """Run every test of a policy, one by one as they are asked for.

    Raises:
        BundleRefused: a file does not parse, or the data cannot be read.
        PolicyError: the modules do not fit together.
    """
    tests = find_tests(files)
    modules = [(path, content.decode()) for path, content in files.items() if path.endswith(".rego")]
    return run_policy_tests(modules, json.dumps(data_tree(files)), tests)
