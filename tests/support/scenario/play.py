"""Play a scenario's steps on a stage and compare every verdict, whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_graph.model.instant import format_instant, parse_instant

if TYPE_CHECKING:
    from remit_service.decision.decision import Decision
    from tests.support.scenario.document import Scenario, Step
    from tests.support.scenario.stage import Stage


async def play(scenario: Scenario, stage: Stage) -> None:
    """Play all steps.

    Raises:
        AssertionError: at the first verdict that is not the expected one, naming the step.
    """
    for step in scenario.steps:
        if step.verb == "ask":
            compare(step, await stage.ask(step.value))
        elif step.verb == "advance":
            stage.advance(step.value)
        elif step.verb == "set_clock":
            stage.clock.set(parse_instant(step.value))
        elif step.verb == "append":
            await stage.append(step.value)
        elif step.verb == "break":
            stage.break_(step.value)
        else:
            stage.mend(step.value)


def compare(step: Step, decision: Decision) -> None:
    """Compare one decision with what its step expects."""
    assert step.expect is not None
    actual: dict[str, Any] = {
        "outcome": decision.outcome,
        "reasons": list(decision.codes),
        "determining": list(decision.determining),
        "obligations": sorted(each["type"] for each in decision.obligations),
        "not_after": None if decision.not_after is None else format_instant(decision.not_after),
        "site": [each.facts.get("site") for each in decision.reasons if each.code == "policy_denied"],
    }
    said = [reason.message for reason in decision.reasons]
    expected = {"reasons": [], **step.expect}
    wanted_messages = expected.pop("says", [])
    assert {name: actual[name] for name in expected} == expected, f"step {step.number}: {said}"
    missing = [each for each in wanted_messages if each not in said]
    assert not missing, f"step {step.number}: {missing} is not among {said}"
    assert decision.executes == (decision.effect == "permit" and decision.outcome == "execute")
