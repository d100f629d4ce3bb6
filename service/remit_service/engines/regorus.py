"""The Rego interpreter regorus, behind three small classes; no other module imports it.

What is measured about it, and why these classes are as they are:

- Its objects may be used only by the thread that made them; any other gets a panic, which is no `Exception`. So a
  `Program` travels between threads as bytes, and each thread loads them into a machine of its own.
- `Machine`, the register VM, is fast and lenient: a built-in that fails leaves its rule undefined, as OPA does without
  `strict-builtin-errors`. Two values for one rule leave it undefined even past its `default`.
- `Interpreter`, the tree walker, is about ten times slower and strict: both are errors. It has no bound of its own.
- The VM stops after 25,000 instructions; the bindings offer no way to set another bound.
- Undefined is the string `<undefined>`, in both. No rule of a policy may yield that string.
- Integers are exact within 64 bits; beyond them they become floats. Errors carry a stack trace behind the message.
- Of two values from one body, `x := y if some y in [1, 2]`, the VM takes the last; OPA and the interpreter fail.
- `some x in v` with a `v` that is no collection is an error in the interpreter, and nothing at all in VM and OPA.
- Neither knows template strings; the VM knows no `with`, no `walk`, no local variable named as a rule of its package.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Self

import regorus as _regorus  # type: ignore[import-untyped]

from remit_service.engines.errors import EngineTimeout, PolicyError, ResultUndefined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Modules = list[tuple[str, str]]
"""Pairs of file name and Rego source."""

_UNDEFINED: Final = '"<undefined>"'
_STEPS_EXHAUSTED: Final = "exceeded maximum instruction limit"
_NO_ENTRY_POINT: Final = ("not a valid rule path", "Entry point '")


class Program:
    """A compiled set of modules with its entry points, as bytes that any thread may load."""

    __slots__ = ("image",)

    def __init__(self, image: bytes) -> None:
        self.image = image

    @classmethod
    def compile(cls, modules: Modules, data_json: str, rules: Iterable[str]) -> Self:
        """Compile `modules` over `data_json` for the entry points `rules`, such as `data.remit.decision.decision`.

        Raises:
            PolicyError: the Rego does not compile, or a rule and a data file define the same value.
            ResultUndefined: one of `rules` does not exist.
        """
        try:
            program = _regorus.Program.compile_from_modules(data_json, modules, list(rules))
            return cls(bytes(program.serialize_binary()))
        except RuntimeError as error:
            raise _translated(error) from None


class Machine:
    """A register VM with a program and its data; belongs to the thread that made it."""

    __slots__ = ("_vm",)

    def __init__(self, program: Program, data_json: str) -> None:
        try:
            loaded, _ = _regorus.Program.deserialize_binary(program.image)
            self._vm = _regorus.Rvm()
            self._vm.load_program(loaded)
            self._vm.set_data_json(data_json)
        except RuntimeError as error:
            raise _translated(error) from None

    def run(self, rule: str, input_json: str) -> str:
        """Return the value of `rule` as JSON text.

        Raises:
            PolicyError: the input is no JSON, or evaluation failed.
            EngineTimeout: the bound on instructions was reached.
            ResultUndefined: the rule has no value for this input.
        """
        try:
            self._vm.set_input_json(input_json)
            text: str = self._vm.execute_entry_point(rule)
        except RuntimeError as error:
            raise _translated(error) from None
        return _defined(text, rule)


class Interpreter:
    """The tree walker with strict built-in errors; belongs to the thread that made it."""

    __slots__ = ("_engine", "_pristine")

    def __init__(self, modules: Modules, data_json: str) -> None:
        self._pristine = _regorus.Engine()
        try:
            for path, source in modules:
                self._pristine.add_policy(path, source)
            self._pristine.add_data_json(data_json)
        except RuntimeError as error:
            raise _translated(error) from None
        self._engine: Any = None

    def run(self, rule: str, input_json: str | None = None) -> str:
        """Return the value of `rule` as JSON text.

        Raises:
            PolicyError: a built-in failed, a rule has two values, or the input is no JSON.
            ResultUndefined: the rule has no value.
        """
        with self._borrowed() as engine:
            engine.set_input_json("{}" if input_json is None else input_json)
            # A query without value has no `result` at all.
            rows = json.loads(engine.eval_query_as_json(rule)).get("result")
        return _defined(json.dumps(rows[0]["expressions"][0]["value"]) if rows else _UNDEFINED, rule)

    def check(self, rules: Iterable[str], input_json: str) -> None:
        """Evaluate `rules`, which exist, and drop their values.

        Raises:
            PolicyError: one of them failed.
        """
        with self._borrowed() as engine:
            engine.set_input_json(input_json)
            for rule in rules:
                engine.eval_rule_as_json(rule)

    @contextmanager
    def _borrowed(self) -> Iterator[Any]:
        """Lend a copy of the engine, and keep it unless something went wrong in it; copying costs ten evaluations."""
        engine, self._engine = self._engine or self._pristine.clone(), None
        try:
            yield engine
        except RuntimeError as error:
            raise _translated(error) from None
        self._engine = engine


def syntax_tree(path: str, source: str) -> dict[str, Any]:
    """Parse one module and return its syntax tree.

    Raises:
        PolicyError: the module does not parse; the message names line and column.
    """
    engine = _regorus.Engine()
    try:
        engine.add_policy(path, source)
        tree: list[dict[str, Any]] = json.loads(engine.get_ast_as_json())
    except RuntimeError as error:
        raise _translated(error) from None
    module: dict[str, Any] = tree[0]["ast"]
    return module


def _defined(text: str, rule: str) -> str:
    if text == _UNDEFINED:
        raise ResultUndefined(f"`{rule}` has no value", rule=rule)
    return text


def _translated(error: RuntimeError) -> EngineTimeout | PolicyError | ResultUndefined:
    """Return our error for one of the interpreter's, without its stack trace."""
    message = str(error).partition("\n\nStack backtrace:")[0].strip()
    if _STEPS_EXHAUSTED in message:
        return EngineTimeout(f"the policy was stopped: {message.lower()}")
    if message.startswith(_NO_ENTRY_POINT):
        return ResultUndefined(f"no such entry point: {message}")
    return PolicyError(message)
