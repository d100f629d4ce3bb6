"""Play a scenario's steps on a stage and compare every answer, whole."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.instant import parse_instant
from remit_service.writer.command import Refused
from tests.support.scenario.body import begin, end

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from remit_service.writer.command import Verdict
    from tests.support.scenario.document import Scenario, Step
    from tests.support.scenario.stage import Stage
    from tests.support.scenario.wire import Answer

FENCED: Final = 15
"""The question `Would stale actors be fenced if authority changed?`."""


async def play(scenario: Scenario, stage: Stage) -> None:
    """Play all steps.

    Raises:
        AssertionError: at the first answer that is not the expected one, naming the step.
    """
    for step in scenario.steps:
        await _VERBS[step.verb](step, stage)


async def _ask(step: Step, stage: Stage) -> None:
    compare(step, await stage.ask(step.value))


async def _explain(step: Step, stage: Stage) -> None:
    compare(step, await stage.explain(step.value))


async def _crowd(step: Step, stage: Stage) -> None:
    answer = await stage.crowd(step.value)
    if answer is not None:
        compare(step, answer)


async def _command(step: Step, stage: Stage) -> None:
    compare_command(step, await stage.command(step.value))


async def _hold(step: Step, stage: Stage) -> None:
    reply = await stage.hold(step.value)
    if not reply.is_refused:
        assert step.expect.get("done") is True, f"step {step.number}: not refused, but held: {reply.body}"
        return
    said = [reply.message, *(each["message"] for each in reply.body.get("reasons", ()))]
    assert reply.code == step.expect.get("refused"), f"step {step.number}: {reply}"
    _say(step, step.expect.get("says", []), said)


async def _give_back(step: Step, stage: Stage) -> None:
    await stage.give_back(step.value)


async def _check(step: Step, stage: Stage) -> None:
    assert await stage.problems() == step.expect["problems"], f"step {step.number}"


async def _advance(step: Step, stage: Stage) -> None:
    await stage.advance(step.value)


async def _set_clock(step: Step, stage: Stage) -> None:
    stage.clock.set(parse_instant(step.value))


async def _append(step: Step, stage: Stage) -> None:
    await stage.append(step.value)


async def _edges(step: Step, stage: Stage) -> None:
    await stage.append(begin(step.value, stage.point.view))


async def _end(step: Step, stage: Stage) -> None:
    await stage.append(end(step.value, stage.point.view))


async def _break(step: Step, stage: Stage) -> None:
    stage.break_(step.value)


async def _mend(step: Step, stage: Stage) -> None:
    stage.mend(step.value)


_VERBS: Final[dict[str, Callable[[Step, Stage], Awaitable[None]]]] = {
    "advance": _advance,
    "append": _append,
    "ask": _ask,
    "break": _break,
    "check": _check,
    "command": _command,
    "crowd": _crowd,
    "edges": _edges,
    "end": _end,
    "explain": _explain,
    "give_back": _give_back,
    "hold": _hold,
    "mend": _mend,
    "set_clock": _set_clock,
}


def compare(step: Step, answer: Answer) -> None:
    """Compare one answer with what its step expects."""
    expected = dict(step.expect)
    problem, says = expected.pop("problem", None), expected.pop("says", [])
    if answer.problem is not None:
        # Where a step expects both, callers in process get the decision, and over the wire there is none.
        assert answer.problem == problem, f"step {step.number}: {answer.document}"
        said = [answer.document["detail"]] if not expected else says
    else:
        assert "outcome" in expected, f"step {step.number}: a problem is expected, not {answer.document}"
        actual = facts_of(answer.document)
        said = [reason["message"] for reason in answer.document["context"]["reasons"]]
        expected = {"reasons": [], **expected}
        assert {name: actual[name] for name in expected} == expected, f"step {step.number}: {said}"
        assert answer.document["decision"] is (expected["outcome"] == "execute"), f"step {step.number}"
    _say(step, says, said)


def _say(step: Step, says: list[str], said: list[str]) -> None:
    """Each wanted sentence was said; `…` in it stands for what no scenario can know, such as a digest."""
    patterns = {each: re.escape(each).replace("…", ".+") for each in says}
    missing = [each for each, pattern in patterns.items() if not any(re.fullmatch(pattern, one) for one in said)]
    assert not missing, f"step {step.number}: {missing} is not among {said}"


def facts_of(document: dict[str, Any]) -> dict[str, Any]:
    """Return what a scenario may expect of an answer, by the names it uses."""
    context = document["context"]
    explanation = context.get("explanation") or {}
    return {
        "outcome": context["outcome"],
        "reasons": [reason["code"] for reason in context["reasons"]],
        "determining": list(context.get("determining", [])),
        "obligations": sorted(each["type"] for each in context.get("obligations", [])),
        "not_after": context.get("not_after"),
        "epochs": context.get("epochs"),
        "site": [denial["code"] for reason in context["reasons"] for denial in reason.get("site", ())],
        "chains": [[hop["edge"] for hop in chain["hops"]] for chain in explanation.get("chains", ())],
        "near": [f"{miss['failed']}: {miss['reason']}" for miss in explanation.get("near_misses", ())],
        "changes": [each["change"] for each in explanation.get("would_change", ())],
        "fence": _fence_keys(explanation.get("questions", ())),
        "ignored": explanation.get("ignored"),
    }


def _fence_keys(questions: Sequence[dict[str, Any]]) -> list[str] | None:
    """Return what the fifteenth question says: the keys by which a stale actor would be fenced."""
    answers = [each["answer"] for each in questions if each["number"] == FENCED and each["answered"]]
    return answers[0]["fence_key"] if answers else None


def compare_command(step: Step, verdict: Verdict) -> None:
    """Compare what came of a command with what its step expects."""
    if isinstance(verdict, Refused):
        said = [verdict.message, *(each["message"] for each in verdict.facts.get("reasons", ()))]
        assert verdict.code == step.expect.get("refused"), f"step {step.number}: {verdict}"
        _say(step, step.expect.get("says", []), said)
    else:
        assert step.expect.get("done") is True, f"step {step.number}: not refused, but done: {verdict.result}"
