"""Run the policy's own tests with the interpreter in process, so that `remit policy test` needs no OPA.

A test is a rule `test_*` in a package that ends in `_test`. It passes if its value is true; a test of the form
`test_x[note] if ...` passes if it has at least one case and each is true. A rule `todo_test_*` is left out, as in OPA.
It is stricter than `opa test`: a failing built-in, and `some` in a value that is no collection, fail the test.

```python
for outcome in run_policy_tests(modules, data_json):
    print(outcome.file, outcome.name, outcome.passed, outcome.detail)
```
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from remit_service.engines.errors import EngineError, ResultUndefined
from remit_service.engines.regorus import Interpreter, Modules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PACKAGE_SUFFIX: Final = "_test"
_PREFIX: Final = "test_"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTest:
    """One test rule: where it stands, and the path that evaluates it."""

    file: str
    package: str
    name: str

    @property
    def rule(self) -> str:
        """The path of the rule, quoted where a part is no plain name."""
        parts = "".join(f".{part}" if part.isidentifier() else f'["{part}"]' for part in self.package.split("."))
        return f"data{parts}.{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTestOutcome:
    """What became of one test."""

    test: PolicyTest
    passed: bool
    detail: str
    """Why it failed; empty for one that passed."""
    duration_seconds: float


def is_test(package: str, name: str) -> bool:
    """Whether the rule `name` of `package` is a test."""
    return package.endswith(PACKAGE_SUFFIX) and name.startswith(_PREFIX)


def run_policy_tests(modules: Modules, data_json: str, tests: Iterable[PolicyTest]) -> Iterator[PolicyTestOutcome]:
    """Evaluate `tests` one after the other, each from a fresh state.

    Raises:
        PolicyError: the modules do not parse.
    """
    interpreter = Interpreter(modules, data_json)
    for test in tests:
        started = time.perf_counter()
        detail = _failure(interpreter, test)
        duration = time.perf_counter() - started
        yield PolicyTestOutcome(test=test, passed=not detail, detail=detail, duration_seconds=duration)


def _failure(interpreter: Interpreter, test: PolicyTest) -> str:
    """Return why a test fails, or the empty string."""
    try:
        value = json.loads(interpreter.run(test.rule))
    except ResultUndefined:
        return "is undefined: one of its conditions does not hold"
    except EngineError as error:
        return error.message
    if isinstance(value, dict):
        failing = sorted(note for note, outcome in value.items() if outcome is not True)
        return "" if value and not failing else f"fails for {', '.join(failing)}" if failing else "has no cases"
    return "" if value is True else f"is {json.dumps(value)}"
