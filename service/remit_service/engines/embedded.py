"""The engine in process: the bundle compiled once, evaluated by a register VM without waiting for anything.

- One compilation a bundle (`compilations` counts them); a new bundle is a new engine.
- Each thread gets a VM of its own on its first question, loaded from the one compiled image.
- Strict built-in errors (rules.md 12): the VM is lenient, so where a rule of the site can fail, the package `custom` is
  evaluated once more by the strict interpreter, and a failure is `PolicyError`. The shipped packages are evaluated by
  it only when the VM finds no value, to say why; `engines_agree` holds them equal to OPA, which is strict.
- Bounded: the VM stops after 25,000 instructions. The interpreter, which has no bound, then goes on if no rule of the
  site iterates: the shipped rules take it some 20 ms at most, for an input of 64 KiB. Else it is `EngineTimeout`.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from typing import TYPE_CHECKING, Final

import msgspec

from remit_service.engines.encoding import encoded, text_of
from remit_service.engines.errors import EngineError, EngineTimeout, EngineUnavailable, ResultMalformed, ResultUndefined
from remit_service.engines.ports import DECISION
from remit_service.engines.regorus import Interpreter, Machine, Program
from remit_service.engines.result import revision_of

if TYPE_CHECKING:
    from remit_service.engines.ports import Document, Input, PolicySource

_SITE_RULES: Final = ("deny", "obligations", "required_approvals")
"""What decisions read of the site. The VM has evaluated it within its bound, so the interpreter may without one."""

_serials = itertools.count(1)
_live: Final[set[int]] = set()


class _ThreadState(threading.local):
    """The interpreters of one thread, by engine; they must die in the thread that made them."""

    def __init__(self) -> None:
        self.machines: dict[int, Machine] = {}
        self.interpreters: dict[int, Interpreter] = {}

    def forget_closed(self) -> None:
        for serial in self.machines.keys() - _live:
            del self.machines[serial]
            self.interpreters.pop(serial, None)


_thread: Final = _ThreadState()


class EmbeddedEngine:
    """Evaluates one bundle in this process."""

    def __init__(self, policy: PolicySource) -> None:
        """Compile `policy` for all its entry points.

        Raises:
            PolicyError: it does not compile.
        """
        self._revision = policy.revision
        self._modules = policy.modules
        self._data_json = policy.data_json
        self._strict_site_rules = [
            f"data.custom.{rule}" for rule in _SITE_RULES if policy.site_rules_can_fail and rule in policy.site_rules
        ]
        self._unbounded = policy.site_rules_iterate
        self._rules = {name: "data." + name.replace("/", ".") for name in policy.entrypoints}
        self._compilations = 0
        self._program = self._compile()
        self._serial = next(_serials)
        _live.add(self._serial)
        weakref.finalize(self, _live.discard, self._serial)

    def _compile(self) -> Program | None:
        if not self._rules:
            return None
        self._compilations += 1
        return Program.compile(self._modules, self._data_json, sorted(self._rules.values()))

    @property
    def policy_revision(self) -> str:
        """The digest of the bundle."""
        return self._revision

    @property
    def compilations(self) -> int:
        """How often this engine has compiled its bundle: 1, however many questions and threads there were."""
        return self._compilations

    def evaluate_now(self, entrypoint: str, input_json: bytes) -> Document:
        """Evaluate `entrypoint` at once.

        Raises:
            EngineError: there is no answer that may be used.
        """
        try:
            return self._evaluate(entrypoint, input_json)
        except EngineError as error:
            failure = error
        # INVARIANT: no frame of the failure is kept. Frames hold the machine, which an error must not take along to
        # another thread: there it could not even be freed.
        failure.__context__ = None
        raise failure.with_traceback(None)

    def _evaluate(self, entrypoint: str, input_json: bytes) -> Document:
        rule = self._rules.get(entrypoint)
        if rule is None:
            raise ResultUndefined(f"the bundle has no entry point `{entrypoint}`", entrypoint=entrypoint)
        text = text_of(input_json)
        try:
            value = self._machine().run(rule, text)
        except ResultUndefined:
            # The VM calls a rule with two values, or with a failing built-in, undefined; the interpreter knows better.
            self._interpreter().run(rule, text)
            raise
        except EngineTimeout:
            if self._unbounded:
                raise
            value = self._interpreter().run(rule, text)
        if self._strict_site_rules:
            self._interpreter().check(self._strict_site_rules, text)
        return _decoded(value)

    async def evaluate(self, entrypoint: str, document: Input) -> Document:
        """Evaluate `entrypoint`; never suspends."""
        return self.evaluate_now(entrypoint, encoded(document))

    async def check(self) -> None:
        """Evaluate a decision on an empty input, and compare the revision it names."""
        revision_of(self.evaluate_now(DECISION, b"{}"), expected=self._revision)

    async def aclose(self) -> None:
        """Forget the VMs: at once in this thread, in others when they next load one."""
        _live.discard(self._serial)
        _thread.forget_closed()

    def _machine(self) -> Machine:
        machine = _thread.machines.get(self._serial)
        if machine is None or self._serial not in _live:
            machine = self._new_machine()
        return machine

    def _new_machine(self) -> Machine:
        _thread.forget_closed()
        if self._serial not in _live or self._program is None:
            raise EngineUnavailable("the engine is closed")
        return _thread.machines.setdefault(self._serial, Machine(self._program, self._data_json))

    def _interpreter(self) -> Interpreter:
        interpreter = _thread.interpreters.get(self._serial)
        if interpreter is None:
            interpreter = _thread.interpreters.setdefault(self._serial, Interpreter(self._modules, self._data_json))
        return interpreter


def _decoded(text: str) -> Document:
    try:
        document: Document = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ResultMalformed(f"the value is no JSON: {error}") from error
    return document
