"""Every built-in function that a policy may call gives the same value in both engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from remit_service.bundle.capabilities import ALLOWED
from remit_service.engines.embedded import EmbeddedEngine
from remit_service.engines.opa import OpaEngine
from tests.support.builtin_calls import CALLS
from tests.support.engines import a_bundle, write_bundle

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.services import StartOpa


def test_every_allowed_function_is_called() -> None:
    """A function that is allowed without being compared would be allowed on hope."""
    assert {name for name, calls in CALLS.items() if calls} == ALLOWED


@pytest.mark.opa
async def test_builtins_agree(start_opa: StartOpa, tmp_path: Path) -> None:
    """Called with the same values in both engines, each function returns the same."""
    calls = [call for group in CALLS.values() for call in group]
    rules = "\n\n".join(f"# METADATA\n# entrypoint: true\ncall_{number} := {call}" for number, call in enumerate(calls))
    bundle = a_bundle(remit_calls=f"package remit.calls\n\n{rules}\n")
    server = start_opa(write_bundle(bundle, tmp_path / "bundle"))
    embedded, opa = EmbeddedEngine(bundle), OpaEngine(server.url, policy_revision=bundle.revision, timeout_seconds=10)
    ours, theirs = {}, {}
    for number, call in enumerate(calls):
        entrypoint = f"remit/calls/call_{number}"
        ours[call] = embedded.evaluate_now(entrypoint, b"{}")
        theirs[call] = await opa.evaluate(entrypoint, b"{}")
    await opa.aclose()

    assert ours == theirs
