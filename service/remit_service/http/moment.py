"""Which earlier moment a question is about: `at_revision` (a number, or the token of an answer) or `as_of`.

Both may stand in the body, or in `context.consistency` as `at_exact_revision` and `as_of` (decision.md 7). They serve
explanations and searches, never enforcement (F018).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from remit_graph.errors import ModelError
from remit_graph.model.instant import Instant, parse_instant
from remit_service.decision.consistency import parse_consistency, read_token
from remit_service.decision.request import RequestError
from remit_service.http.problems import Problem, ProblemError

if TYPE_CHECKING:
    from remit_service.http.service import Service


def moment_of(service: Service, body: Mapping[str, Any], consistency: Any) -> tuple[int | None, Instant | None]:
    """Return the earlier revision or instant that a body names, or neither.

    Raises:
        RequestError: it names both, or something that is none, with the pointer to it.
        ProblemError: the token is of another store.
    """
    named = {name: body[name] for name in ("at_revision", "as_of") if body.get(name) is not None}
    places = {name: f"/{name}" for name in named}
    if isinstance(consistency, Mapping) and set(consistency) in ({"at_exact_revision"}, {"as_of"}):
        place = next(iter(consistency))
        name = "as_of" if place == "as_of" else "at_revision"
        if name in named:
            raise RequestError(f"`{name}` is named twice", pointer=places[name])
        named[name], places[name] = consistency[place], f"/context/consistency/{place}"
    else:
        parse_consistency(consistency)
    if len(named) > 1:
        raise RequestError("name a revision or an instant, not both", pointer=places["at_revision"])
    revision = _revision(service, named["at_revision"], places["at_revision"]) if "at_revision" in named else None
    return revision, _instant(named["as_of"], places["as_of"]) if "as_of" in named else None


def _revision(service: Service, value: Any, pointer: str) -> int:
    if type(value) is int:
        return value
    if not isinstance(value, str):
        raise RequestError("a revision is a whole number, or the token of an answer", pointer=pointer)
    head = service.point.replica.head
    found = read_token(value, head) if head is not None else None
    if found is None:
        raise ProblemError(Problem(code="revision_foreign", detail=f"the token at `{pointer}` is not of this store"))
    return found


def _instant(value: Any, pointer: str) -> Instant:
    try:
        return parse_instant(value)
    except ModelError as error:
        raise RequestError(error.message, pointer=pointer) from error
