"""From an answer to the figure of its chains: the proofs, what came near, and what would change the verdict.

The answer is one that was rendered for its reader: where it has no explanation, because its enforcement point may not
see the graph, the figure shows the question, the verdict and its codes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_graph.model.edge import MEMBERSHIPS
from remit_service.drawing.figure import Arrow, Box, Figure, Lane

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Document = Mapping[str, Any]

_WINDOW = (("valid_from", "from"), ("valid_until", "until"), ("ended_at", "ended"))


def figure_of(question: Document, answer: Document) -> Figure:
    """Return the figure of an answer.

    Args:
        question: The AuthZEN evaluation that was asked.
        answer: The AuthZEN answer to it, as its reader may see it.
    """
    details: Document = answer.get("context") or {}
    explanation: Document = details.get("explanation") or {}
    verdict = "permit" if answer["decision"] else "deny"
    lanes = tuple(_lanes(explanation)) or (_question_alone(question, details, verdict),)
    return Figure(
        title=f"{_asked(question)}: {', '.join(dict.fromkeys((verdict, details.get('outcome', verdict))))}",
        lanes=lanes,
        notes=tuple(_notes(details, explanation)),
    )


def paths_figure(asked: str, outcome: str, paths: Document) -> Figure:
    """Return the figure of `GET /v1/graph/paths`: chains and near misses without a verdict of their own."""
    lanes = tuple(_lanes(paths)) or (Lane(title="no chain, and none that comes near", boxes=(Box(asked),), arrows=()),)
    return Figure(title=f"{asked}: {outcome}", lanes=lanes)


def _asked(question: Document) -> str:
    return f"{_entity(question['subject'])} {question['action']['name']} {_entity(question['resource'])}"


def _entity(entity: Document) -> str:
    kind, name = entity["type"], entity["id"]
    return str(name) if kind == "key" else f"{kind}:{name}"


def _lanes(explanation: Document) -> Iterator[Lane]:
    for number, chain in enumerate(explanation.get("chains", ()), 1):
        yield _lane(f"proof {number}", chain["hops"])
    for miss in explanation.get("near_misses", ()):
        yield _lane(f"near miss: {miss['reason']} at {miss['failed']}", miss["hops"], failed=miss["failed"])


def _lane(title: str, hops: Sequence[Document], failed: str | None = None) -> Lane:
    """Return a chain as a lane: the target of the root grant first, the subject last."""
    boxes = [Box(hops[0]["to"], "target"), Box(hops[0]["from"], "root")]
    arrows = [_arrow(hops[0], failed, back=True)]
    for hop in hops[1:]:
        member = hop["type"] in MEMBERSHIPS
        boxes.append(Box(hop["from"] if member else hop["to"]))
        arrows.append(_arrow(hop, failed, back=member))
    boxes[-1] = Box(boxes[-1].name, "subject")
    return Lane(title=title, boxes=tuple(boxes), arrows=tuple(arrows))


def _arrow(hop: Document, failed: str | None, *, back: bool) -> Arrow:
    window = (f"{word} {hop[name]}" for name, word in _WINDOW if name in hop)
    return Arrow((hop["edge"], hop["type"], *window), back=back, failed=hop["edge"] == failed)


def _question_alone(question: Document, details: Document, verdict: str) -> Lane:
    codes = (each["code"] for each in details.get("reasons", ()))
    return Lane(
        title="no chain is shown",
        boxes=(Box(_entity(question["subject"]), "subject"), Box(_entity(question["resource"]), "target")),
        arrows=(Arrow((question["action"]["name"], *codes), failed=verdict == "deny"),),
    )


def _notes(details: Document, explanation: Document) -> Iterator[str]:
    for reason in details.get("reasons", ()):
        yield f"{reason['code']}: {reason['message']}"
    for each in explanation.get("would_change", ()):
        yield f"to change it ({each['resolver']}): {each['change']}"
