"""A recorded decision as the question that it was, and what became of the coordination right it was asked under.

A record whose question was masked cannot be asked again, nor one whose enforcement point is gone: nothing is guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_graph.errors import ModelError
from remit_graph.model.instant import parse_instant
from remit_service.decision.caller import Caller
from remit_service.decision.held import became_of
from remit_service.decision.request import parse_evaluation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.decision.request import Evaluation

KINDS: Final = frozenset({"decision", "explain", None})
"""Records of a question that anybody could put again; a governance command is decided on more than its question."""

_MEMBERS: Final = ("subject", "action", "resource", "context")
_TRUSTED: Final = frozenset({"anonymous", "cli"})
"""Who asked where no enforcement point stood between: somebody that is believed about everything."""


class NotAskable(ModelError):
    """The record does not hold what would have to be asked."""

    code = "not_found"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A decision as it was asked.

    Attributes:
        evaluation: The question.
        caller: Who asked, with the trust its enforcement point has now.
        revision: The state it was decided on.
        at: The instant it was decided at.
    """

    evaluation: Evaluation
    caller: Caller
    revision: int
    at: Instant


def recorded(record: Mapping[str, Any], view: View) -> Recorded:
    """Read a record.

    Raises:
        NotAskable: it is of another kind, or does not hold all of the question, or nobody could put it any more.
    """
    name = record.get("decision_id")
    if record.get("kind") not in KINDS:
        kind = record.get("kind")
        raise NotAskable(f"`{name}` is a record of the kind `{kind}`, which was decided on more than its question")
    # What is masked of the facts is known to the graph; of the question it is known to nobody.
    hidden = [each for each in record.get("masked") or () if not each.startswith("/input/")]
    if hidden:
        raise NotAskable(f"the record of `{name}` does not show {', '.join(hidden)}, and it is not guessed")
    said = record.get("caller") or {}
    point = view.points.get(str(said.get("point")))
    if point is not None:
        caller = Caller(
            point=point,
            identity=said.get("identity"),
            subject_identity=said.get("subject_identity"),
            on_behalf_of=said.get("on_behalf_of"),
        )
    elif said.get("point") in _TRUSTED:
        caller = Caller(point=None, trusts_all=True)
    else:
        raise NotAskable(f"`{name}` was asked by `{said.get('point')}`, which is no enforcement point any more")
    try:
        evaluation = parse_evaluation({member: record[member] for member in _MEMBERS if member in record})
        return Recorded(
            evaluation=evaluation, caller=caller, revision=record["revision"], at=_instant(record["timestamp"])
        )
    except (ModelError, KeyError) as error:
        raise NotAskable(f"the record of `{name}` holds no question: {error}") from error


def _instant(timestamp: str) -> Instant:
    """Return the instant of a record, which is written with nanoseconds as OPA does."""
    return parse_instant(f"{timestamp.removesuffix('000Z')}Z")


def told(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was decided, as an explanation cites it."""
    result = record.get("result") or {}
    return {
        "decision_id": record["decision_id"],
        **{name: record[name] for name in ("subject", "action", "resource") if name in record},
        "effect": result.get("effect"),
        "outcome": result.get("outcome"),
        "codes": [each["code"] for each in result.get("reasons") or ()],
        "revision": record.get("revision"),
        "policy_revision": record.get("policy_revision"),
    }


def given_back(record: Mapping[str, Any], view: View, at: Instant) -> dict[str, Any] | None:
    """Return what became of the right a decision was asked under, by what is known now; None where it showed none."""
    shown = record.get("lease")
    return None if shown is None else became_of(view, str(shown["lease_id"]), at)
