"""What the engine in process promises beyond the port: one compilation, any thread, bounded, nothing left behind."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
import regorus as library  # type: ignore[import-untyped]

from remit_service.bundle.build import build_bundle
from remit_service.engines import embedded
from remit_service.engines.embedded import EmbeddedEngine
from remit_service.engines.errors import EngineTimeout, EngineUnavailable, PolicyError, ResultUndefined
from remit_service.engines.ports import DECISION, ImmediateEngine
from tests.support.engines import a_bundle, policy_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_service.engines.regorus import Modules

ECHO = "package remit.echo\n\n# METADATA\n# entrypoint: true\nvalue := input.value\n"
PARTIAL_SITE_RULE = (
    'package custom\n\ndeny contains {"rule": "a", "code": "a", "message": "a"} if startswith("a", "b")\n'
)


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """Every compilation that the interpreter is asked for, by its entry points."""
    seen: list[Sequence[str]] = []
    compile_ = library.Program.compile_from_modules

    class Counting:
        deserialize_binary = staticmethod(library.Program.deserialize_binary)

        @staticmethod
        def compile_from_modules(data: str, modules: Modules, rules: list[str]) -> object:
            seen.append(rules)
            return compile_(data, modules, rules)

    monkeypatch.setattr(library, "Program", Counting)
    return seen


def test_a_bundle_is_compiled_once(compilations: list[Sequence[str]]) -> None:
    """F055: a thousand evaluations, over two entry points and three threads, and the compile counter reads 1."""
    engine = EmbeddedEngine(a_bundle(remit_echo=ECHO))

    def ask(count: int) -> None:
        for number in range(count):
            assert engine.evaluate_now("remit/echo/value", b'{"value": %d}' % number) == number
            engine.evaluate_now(DECISION, b"{}")

    ask(300)
    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(ask, [100, 100]))

    assert engine.compilations == 1
    assert compilations == [["data.remit.decision.decision", "data.remit.echo.value"]]


def test_threads_get_their_own_answers() -> None:
    """Four threads ask at once, each for its own value; none gets another's."""
    engine = EmbeddedEngine(a_bundle(remit_echo=ECHO))
    start = threading.Barrier(4)

    def ask(thread: int) -> set[object]:
        start.wait()
        return {engine.evaluate_now("remit/echo/value", b'{"value": %d}' % thread) for _ in range(200)}

    with ThreadPoolExecutor(max_workers=4) as pool:
        answers = list(pool.map(ask, range(4)))

    assert answers == [{0}, {1}, {2}, {3}]


def test_an_input_does_not_linger() -> None:
    """What one question asked is gone in the next."""
    engine = EmbeddedEngine(a_bundle(remit_echo=ECHO))
    engine.evaluate_now("remit/echo/value", b'{"value": 1}')

    with pytest.raises(ResultUndefined):
        engine.evaluate_now("remit/echo/value", b"{}")


async def test_closing_ends_all_threads_machines() -> None:
    """A thread that had a machine of a closed engine is refused, and forgets it with its next engine."""
    first, second = EmbeddedEngine(a_bundle()), EmbeddedEngine(a_bundle())
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(first.evaluate_now, DECISION, b"{}").result()
        await first.aclose()
        with pytest.raises(EngineUnavailable):
            pool.submit(first.evaluate_now, DECISION, b"{}").result()
        pool.submit(second.evaluate_now, DECISION, b"{}").result()
        kept = pool.submit(lambda: set(embedded._thread.machines)).result()

    assert kept == {second._serial}


def test_an_engine_that_nobody_closed_is_forgotten() -> None:
    """Dropping the last reference is as good as closing."""
    engine = EmbeddedEngine(a_bundle())
    engine.evaluate_now(DECISION, b"{}")
    serial = engine._serial
    del engine
    gc.collect()

    EmbeddedEngine(a_bundle()).evaluate_now(DECISION, b"{}")

    assert serial not in embedded._thread.machines


def test_a_policy_that_does_not_compile_is_policy_error() -> None:
    """What parses, but uses a value that nobody defines, is refused when the engine is made, without a stack trace."""
    bundle = a_bundle(remit_broken="package remit.broken\n\n# METADATA\n# entrypoint: true\nx := nobody.knows\n")
    with pytest.raises(PolicyError) as caught:
        EmbeddedEngine(bundle)

    assert "Stack backtrace" not in caught.value.message


def test_a_bundle_without_entry_points_answers_nothing() -> None:
    """F050 (a): an engine can be made of a bundle without the decision; every question is undefined."""
    files = policy_files(remit_echo=ECHO.replace("# METADATA\n# entrypoint: true\n", ""))
    del files["remit/decision/decision.rego"]
    engine = EmbeddedEngine(build_bundle(files))

    with pytest.raises(ResultUndefined):
        engine.evaluate_now(DECISION, b"{}")


def test_the_strict_pass_is_made_only_where_a_site_rule_can_fail() -> None:
    """A site pays for the interpreter only if its own rules call something that may fail."""
    plain, partial = EmbeddedEngine(a_bundle()), EmbeddedEngine(a_bundle(custom=PARTIAL_SITE_RULE))
    for engine in (plain, partial):
        engine.evaluate_now(DECISION, b"{}")

    used = [engine._serial in embedded._thread.interpreters for engine in (plain, partial)]

    assert used == [False, True]


WIDE = """
    package remit.wide

    # METADATA
    # entrypoint: true
    pairs := count([1 | some a in input.many; some b in input.many; a == b])
"""
MANY = b'{"many": [%s]}' % b",".join(b"%d" % number for number in range(120))


def test_what_is_too_much_for_the_vm_is_still_answered() -> None:
    """14,400 pairs need more than 25,000 instructions; with no looping rule of a site the interpreter goes on."""
    engine = EmbeddedEngine(a_bundle(remit_wide=WIDE))

    assert engine.evaluate_now("remit/wide/pairs", MANY) == 120


def test_a_looping_rule_of_the_site_is_never_left_without_bound() -> None:
    """Where a site loops, the VM's bound is the last word."""
    engine = EmbeddedEngine(a_bundle(remit_wide=WIDE, custom="package custom\n\nx if some a in input.many\n"))
    with pytest.raises(EngineTimeout):
        engine.evaluate_now("remit/wide/pairs", MANY)


def test_an_unread_rule_of_the_site_costs_nothing() -> None:
    """The strict pass evaluates what decisions read, and no helper that would not end."""
    endless = "x := count([1 | some a in numbers.range(1, 9000); some b in numbers.range(1, 9000); a == b])\n"
    engine = EmbeddedEngine(a_bundle(custom=PARTIAL_SITE_RULE + endless))

    assert isinstance(engine.evaluate_now(DECISION, b"{}"), dict)


def test_it_is_an_immediate_engine() -> None:
    """The writer may ask it without waiting."""
    assert isinstance(EmbeddedEngine(a_bundle()), ImmediateEngine)
