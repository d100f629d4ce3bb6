"""Decide one question on one view, failing closed.

Steps:
    (1) Resolve subject, action, resource and what the caller is believed about.
    (2) Collect the facts of the policy input from the view.
    (3) Put them to the policy engine.
    (4) Interpret the document; anything unexpected is a deny with a reason of its own.

What is not done here: freshness (`point`), the record (`point`), and fencing at the resource: a token can become stale
after the answer, so `remit_enforce` checks it again there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from remit_service.decision.case import Case
from remit_service.decision.explain import explain
from remit_service.decision.facts import Facts, collect
from remit_service.decision.request import RequestError
from remit_service.decision.resolve import Question, resolve
from remit_service.decision.verdict import Answer, conclude, refuse

if TYPE_CHECKING:
    from remit_graph.model.condition import Scales
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.decision.caller import Caller
    from remit_service.decision.decision import Decision
    from remit_service.decision.reasons import ReasonTable
    from remit_service.decision.request import Evaluation


MAX_INPUT_BYTES: Final = 64 << 10
"""The largest policy input (F051): a proof subgraph, never the graph."""


class Rules(Protocol):
    """What deciding needs of the policy in force."""

    @property
    def reasons(self) -> ReasonTable:
        """The table of reasons."""

    @property
    def scales(self) -> Scales:
        """Ordered scales."""

    @property
    def data(self) -> Mapping[str, Any]:
        """The data tree, for the numbers that sentences name."""


class Fault(Exception):
    """The engine gave no answer that may be used."""

    def __init__(self, code: str, facts: Mapping[str, Any]) -> None:
        """Keep the reason code and the facts of its sentence."""
        super().__init__(code)
        self.code = code
        self.facts = facts


@dataclass(slots=True)
class Prepared:
    """A question with its facts, ready for the engine; `revision` is that of the facts, which the view may leave."""

    question: Question
    facts: Facts
    view: View
    encoded: bytes
    facts_us: int
    revision: int


def prepare(
    evaluation: Evaluation,
    caller: Caller,
    view: View,
    at: Instant,
    *,
    rules: Rules,
    coordination: Mapping[str, Any] | Coordinate,
) -> Prepared:
    """Do steps (1) and (2), without awaiting, so that all facts are of one revision.

    Args:
        evaluation: What is asked.
        caller: Who asks.
        view: The graph.
        at: The decision's one instant.
        rules: The policy in force.
        coordination: The facts of coordination, or what collects them once the question is resolved.
    """
    started = perf_counter_ns()
    # (1) Resolve.
    question = resolve(evaluation, caller, view, at)
    # (2) Facts.
    given = coordination(view, question) if callable(coordination) else coordination
    facts = collect(question, view, scales=rules.scales, coordination=given)
    encoded = msgspec.json.encode(facts.document)
    if len(encoded) > MAX_INPUT_BYTES:
        facts, encoded = _shortened(facts)
    return Prepared(question, facts, view, encoded, (perf_counter_ns() - started) // 1_000, view.revision)


def _shortened(facts: Facts) -> tuple[Facts, bytes]:
    """Leave out chains from the longest on, and say so, until the input fits.

    Raises:
        RequestError: it does not fit even with one chain, because of what the request itself holds.
    """
    document = {**facts.document, "search": {**facts.document["search"], "truncated": True}}
    while True:
        encoded = msgspec.json.encode(document)
        if len(encoded) <= MAX_INPUT_BYTES:
            return replace(facts, document=document), encoded
        longest = max(("chains", "near_misses"), key=lambda name: len(document[name]))
        if len(document[longest]) <= 1:
            kib = MAX_INPUT_BYTES >> 10
            raise RequestError(f"the facts of this request exceed {kib} KiB at `/context`", pointer="/context")
        document[longest] = document[longest][: len(document[longest]) // 2]


def interpret(prepared: Prepared, answer: Answer, *, rules: Rules, engine_us: int) -> Decision:
    """Do step (4) for an answer that may be used."""
    case = Case(
        question=prepared.question,
        facts=prepared.facts,
        result=answer.document,
        view=prepared.view,
        revision=prepared.revision,
        scales=rules.scales,
        config=rules.data["remit"]["config"],
    )
    timings = {"facts": prepared.facts_us, "engine": engine_us}
    decision = conclude(case, answer, table=rules.reasons, timings_us=timings, encoded=prepared.encoded)
    if prepared.question.evaluation.context.get("explain") is True:
        return replace(decision, explanation=explain(case, decision, rules.reasons))
    return decision


def fault(prepared: Prepared, error: Fault, *, rules: Rules) -> Decision:
    """Do step (4) for a fault: deny."""
    denied = refuse(
        error.code,
        error.facts,
        question=prepared.question,
        view=prepared.view,
        at=prepared.question.at,
        table=rules.reasons,
        document=prepared.facts.document,
    )
    # The view may have gone on while the engine was waited for; what is recorded is what was asked about.
    seen = prepared.facts.document["epochs"]
    epochs = {**denied.epochs, "policy": seen["policy"], "authority": seen["authority"]}
    return replace(denied, revision=prepared.revision, epochs=epochs)


Coordinate = Callable[["View", Question], Mapping[str, Any]]
"""Collects the members `coordination`, `capability`, `approval` and `incidents` of the input (`coordination.facts`)."""

Ask = Callable[[bytes], Awaitable[Answer]]
AskNow = Callable[[bytes], Answer]


def decide_now(prepared: Prepared, ask: AskNow, *, rules: Rules) -> Decision:
    """Do steps (3) and (4) with an engine in this process."""
    started = perf_counter_ns()
    try:
        answer = ask(prepared.encoded)
    except Fault as error:
        return fault(prepared, error, rules=rules)
    return interpret(prepared, answer, rules=rules, engine_us=(perf_counter_ns() - started) // 1_000)


async def decide(prepared: Prepared, ask: Ask, *, rules: Rules) -> Decision:
    """Do steps (3) and (4) with an engine that has to be waited for."""
    started = perf_counter_ns()
    try:
        answer = await ask(prepared.encoded)
    except Fault as error:
        return fault(prepared, error, rules=rules)
    return interpret(prepared, answer, rules=rules, engine_us=(perf_counter_ns() - started) // 1_000)
