"""What a command would mean for what was decided lately: which decisions rested on it, and which would change.

Both are read from the newest records of this process. A record whose question was masked cannot be asked again; it is
counted and never guessed.
"""

from __future__ import annotations

import asyncio
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from remit_service.asking import ask_now
from remit_service.decision.decide import decide_now, prepare
from remit_service.evidence.recorded import NotAskable, recorded
from remit_service.governance.becoming import Becoming
from remit_service.governance.review import Used
from remit_service.presenting import facts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from remit_graph.model.change import Change
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.decision.caller import Caller
    from remit_service.decision.decision import Decision
    from remit_service.decision.request import Evaluation
    from remit_service.evidence.decision_log.ports import DecisionLog
    from remit_service.governance.becoming import Again, Decided
    from remit_service.governance.structure import Structure
    from remit_service.point import DecisionPoint
    from remit_service.policy import Policy

MAX_RECENT: Final = 1_000
"""Records that are looked at; as many as a process keeps at hand."""

MAX_SHOWN: Final = 100
SLICE: Final = 8
"""Decisions made again between two looks at other work, each about half a millisecond twice."""

_Asked = tuple["Mapping[str, Any]", "Evaluation", "Caller"]
_DECISIONS: Final = frozenset({"decision", None})


class Impact:
    """Looks at recorded decisions."""

    def __init__(self, point: DecisionPoint, log: DecisionLog | None, structure: Structure) -> None:
        """Read from `log`; where there is none, nothing is known of what was decided."""
        self._point = point
        self._structure = structure
        self._log = log

    def _recent(self) -> list[Mapping[str, Any]]:
        records = self._log.recent(MAX_RECENT) if self._log is not None else ()
        return [each for each in records if each.get("kind") in _DECISIONS]

    def used(self) -> Used:
        """Return every edge that a recent decision rested on."""
        recent = self._recent()
        return Used(
            positions=frozenset(position for each in recent for position in each.get("determining") or ()),
            decisions=len(recent),
            since=min((str(each["timestamp"]) for each in recent), default=None),
        )

    def rested_on(self, changes: Iterable[Change]) -> list[dict[str, Any]]:
        """Return the newest decisions whose proof holds an edge that `changes` end, newest first."""
        told = list(changes)
        ended = {
            f"{edge_id}@{version}"
            for each in told
            if each.kind == "edges.end"
            for edge_id, version in each.body["edges"]
        }
        gone = {each.body["id"] for each in told if each.kind == "principal.end"}
        return self.resting_on(ended, gone)

    def resting_on(self, positions: AbstractSet[str], subjects: AbstractSet[str] = frozenset()) -> list[dict[str, Any]]:
        """Return the newest decisions that rested on one of these edges, or were asked for one of these subjects."""
        found = [
            {
                "decision_id": each["decision_id"],
                "timestamp": each["timestamp"],
                **_question(each),
                "outcome": (each.get("result") or {}).get("outcome"),
                "rested_on": sorted(positions & set(each.get("determining") or ())),
            }
            for each in self._recent()
            if not positions.isdisjoint(each.get("determining") or ()) or _subject(each) in subjects
        ]
        return found[:MAX_SHOWN]

    async def of(self, decided: Decided, again: Again) -> dict[str, Any]:
        """Decide recorded questions again, as the graph is and as it would be, and return the verdicts that differ.

        Both are of one revision for each question. Where the graph does not stand still, or the command would be
        refused by now, the questions that are left count as skipped.

        Args:
            decided: What the command would change.
            again: Decides it anew, where the graph has moved.
        """
        askable = _Askable(self._point.view)
        questions = list(askable.among(self._recent()))
        becoming = Becoming(self._point, self._structure, decided, again)
        changed: list[dict[str, Any]] = []
        asked = 0
        while asked < len(questions) and await becoming.is_ready():
            part = questions[asked : asked + SLICE]
            # INVARIANT: nothing is awaited up to the end of both sides, so that they are of one revision.
            at = self._point.now()
            before = self._judged(part, self._point.view, at)
            with becoming.tried(at) as view:
                after = self._judged(part, view, at)
            changed += [
                _change(record, old, new)
                for (record, _, _), old, new in zip(part, before, after, strict=True)
                if _verdict(old) != _verdict(new)
            ]
            asked += len(part)
            await asyncio.sleep(0)
        return _told(changed, asked=asked, skipped=askable.skipped + len(questions) - asked)

    def _judged(self, part: Sequence[_Asked], view: View, at: Instant) -> list[Decision]:
        return [self._point.judge_now(evaluation, caller, view=view, at=at) for _, evaluation, caller in part]


def between(
    point: DecisionPoint, records: Iterable[Mapping[str, Any]], current: Policy, other: Policy
) -> dict[str, Any]:
    """Decide recorded questions again on the graph of now under two policies, and return the verdicts that differ.

    Args:
        point: Whose graph.
        records: Of a decision log; what is no decision is passed over, and none is kept that differs in nothing.
        current: The policy in force.
        other: The one that may be put in force.
    """
    view, at = point.view, point.now()
    questions = _Askable(view)
    changed: list[dict[str, Any]] = []
    for record, evaluation, caller in questions.among(records):
        before, after = (_decided(policy, evaluation, caller, view, at) for policy in (current, other))
        if _verdict(before) != _verdict(after):
            changed.append(_change(record, before, after))
    told = {"decisions": questions.found, "skipped": questions.skipped}
    return {**told, "would_change": changed, "changed": len(changed)}


def _decided(policy: Policy, evaluation: Evaluation, caller: Caller, view: View, at: Instant) -> Decision:
    collect = partial(facts_of, tables=policy.tables)
    prepared = prepare(evaluation, caller, view, at, rules=policy, coordination=collect)
    return decide_now(prepared, partial(ask_now, policy), rules=policy)


class _Askable:
    """The different questions that can be put again, with a record of each.

    Attributes:
        found: How many there are so far.
        skipped: How many decisions cannot be asked again.
    """

    def __init__(self, view: View) -> None:
        """Read them as `view` has it."""
        self.found = 0
        self.skipped = 0
        self._view = view
        self._seen: set[bytes] = set()

    def among(self, records: Iterable[Mapping[str, Any]]) -> Iterator[_Asked]:
        """Iterate those of records; of what was asked before no more than a digest is kept."""
        for record in records:
            if record.get("kind") not in _DECISIONS:
                continue
            try:
                asked = recorded(record, self._view)
            except NotAskable:
                self.skipped += 1
                continue
            evaluation, caller = asked.evaluation, asked.caller
            digest = sha256(repr((evaluation.record(), caller.name)).encode()).digest()
            if digest not in self._seen:
                self._seen.add(digest)
                self.found += 1
                yield record, evaluation, caller


def _told(changed: list[dict[str, Any]], *, asked: int, skipped: int) -> dict[str, Any]:
    return {"decisions": asked, "skipped": skipped, "would_change": changed[:MAX_SHOWN], "changed": len(changed)}


def _verdict(decision: Decision) -> tuple[str, str]:
    return decision.effect, decision.outcome


def _question(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: record[name] for name in ("subject", "action", "resource") if name in record}


def _subject(record: Mapping[str, Any]) -> str:
    subject = record.get("subject") or {}
    return f"{subject.get('type')}:{subject.get('id')}"


def _change(record: Mapping[str, Any], before: Decision, after: Decision) -> dict[str, Any]:
    return {
        "decision_id": record["decision_id"],
        **_question(record),
        "before": {"effect": before.effect, "outcome": before.outcome},
        "after": {"effect": after.effect, "outcome": after.outcome, "reasons": list(after.codes)},
    }
