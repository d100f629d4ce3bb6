"""Everything that is known to be wrong with a policy before it decides anything: `remit policy check`.

1. The build's own rules (`build_bundle`).
2. The VM compiles every entry point, and the decision is one of them.
3. `opa check --strict` and `opa fmt`, over the tests too, where the program is installed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from remit_service.bundle.build import build_bundle
from remit_service.bundle.errors import BundleRefused, Problem
from remit_service.engines.embedded import EmbeddedEngine
from remit_service.engines.errors import EngineError
from remit_service.engines.ports import DECISION

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from remit_service.bundle.model import Bundle
    from remit_service.bundle.opa_cli import OpaProgram


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """The outcome of a check; a policy without problems has a bundle."""

    bundle: Bundle | None
    problems: tuple[Problem, ...]
    was_strict: bool
    """Whether OPA took part; without it unused variables, wrong types and formatting are not found."""


def check_policy(
    files: Mapping[str, bytes], *, opa: OpaProgram | None = None, schemas: Path | None = None
) -> CheckReport:
    """Check a whole policy, tests included; `opa` is `OpaProgram.find()` for a strict check."""
    problems: list[Problem] = []
    bundle: Bundle | None = None
    try:
        bundle = build_bundle(files)
        problems += _engine_problems(bundle)
    except BundleRefused as error:
        problems += error.problems
    if opa is not None:
        problems += opa.problems(files, schemas)
    return CheckReport(
        bundle=None if problems else bundle, problems=tuple(sorted(set(problems))), was_strict=opa is not None
    )


def _engine_problems(bundle: Bundle) -> list[Problem]:
    if DECISION not in bundle.entrypoints:
        return [Problem("remit/decision", 0, f"no rule `{DECISION}` is annotated with `entrypoint: true`")]
    try:
        EmbeddedEngine(bundle).evaluate_now(DECISION, b"{}")
    except EngineError as error:
        return [Problem("policy", 0, f"{error.code}: {error}")]
    return []
