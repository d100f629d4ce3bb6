"""What a search asks, read from an AuthZEN body (AuthZEN 1.0, search API), and from that of `POST /v1/search`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.change import canonical, digest
from remit_service.decision.request import Entity, Evaluation, RequestError, parse_entity, parse_evaluation

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant

KINDS: Final = ("subject", "resource", "action")
MAX_LIMIT: Final = 1_000
"""Results of one page; also what a request without a limit gets."""

EXECUTE: Final = frozenset({"execute"})
"""What AuthZEN's searches list: what would be permitted as asked."""

OUTCOMES: Final = frozenset(
    {
        "acquire", "deny", "escalate", "execute", "hold", "merge_required", "ordered", "preempt", "rebase", "reject",
        "review_required", "serialize", "wait",
    }
)  # fmt: skip
"""Outcomes that a search of Remit's own may ask for."""

_ANY: Final = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """An earlier moment that is searched; for reading, never for enforcement.

    Attributes:
        revision: The revision, or None.
        as_of: The instant, or None.
    """

    revision: int | None = None
    as_of: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One search.

    Attributes:
        kind: `subject`, `resource` or `action`: what is looked for.
        question: The evaluation with a placeholder where candidates go in.
        entity_type: AuthZEN type looked for; None for actions.
        limit: Results of a page, or None where the request leaves it open.
        token: The page token presented, or None.
        paged: Whether the request speaks of pages at all.
        outcomes: What decisions must come to for a candidate to be listed.
        moment: When, or None for now.
        fingerprint: Digest of all that must not change from page to page, but the limit.
    """

    kind: str
    question: Evaluation
    entity_type: str | None
    limit: int | None
    token: str | None
    paged: bool
    outcomes: frozenset[str]
    moment: Moment | None
    fingerprint: str


def parse_query(
    kind: str, document: Mapping[str, Any], *, outcomes: frozenset[str] = EXECUTE, moment: Moment | None = None
) -> Query:
    """Read a search.

    Args:
        kind: What is looked for.
        document: The body; what other routes add to it is ignored here.
        outcomes: What is listed.
        moment: When, or None for now.

    Raises:
        RequestError: a member is missing or of the wrong type, with the pointer to it.
    """
    body = dict(document)
    page = body.pop("page", None)
    entity_type = None
    if kind == "action":
        body["action"] = {"name": _ANY}
    else:
        entity_type = _type_of(body, kind)
        body[kind] = {**body[kind], "id": _ANY}
    question = parse_evaluation(body)
    limit, token = _page(page)
    same = question.record()
    moment_record = None if moment is None else [moment.revision, moment.as_of]
    if kind == "action":
        del same["action"]
    else:
        same[kind] = {"type": entity_type, "properties": body[kind].get("properties", {})}
    return Query(
        kind=kind,
        question=question,
        entity_type=entity_type,
        limit=limit,
        token=token,
        paged=page is not None,
        outcomes=outcomes,
        moment=moment,
        fingerprint=digest(canonical(_without_floats([kind, same, sorted(outcomes), moment_record]))),
    )


def parse_outcomes(value: object) -> frozenset[str]:
    """Read the outcomes that a search is to list.

    Raises:
        RequestError: it is no list of them.
    """
    pointer = "/outcomes"
    if not isinstance(value, list) or not value:
        raise RequestError("`outcomes` is a list, and not empty, at `/outcomes`", pointer=pointer)
    for index, each in enumerate(value):
        if not isinstance(each, str) or each not in OUTCOMES:
            place = f"{pointer}/{index}"
            raise RequestError(f"an outcome is one of {', '.join(sorted(OUTCOMES))}, at `{place}`", pointer=place)
    return frozenset(value)


def _type_of(body: Mapping[str, Any], kind: str) -> str:
    """Return the type looked for; an id beside it is ignored (AuthZEN 1.0)."""
    entity = body.get(kind)
    if not isinstance(entity, Mapping):
        what = "is required" if entity is None else "is an object"
        raise RequestError(f"`{kind}` {what} at `/{kind}`", pointer=f"/{kind}")
    return parse_entity({**entity, "id": _ANY}, f"/{kind}").type


def _page(page: object) -> tuple[int | None, str | None]:
    if page is None:
        return None, None
    if not isinstance(page, Mapping):
        raise RequestError("`page` is an object at `/page`", pointer="/page")
    limit, token = page.get("limit"), page.get("token")
    if limit is not None and (type(limit) is not int or limit < 0):
        raise RequestError("`limit` is a whole number, 0 or more, at `/page/limit`", pointer="/page/limit")
    if token is not None and not isinstance(token, str):
        raise RequestError("`token` is a string at `/page/token`", pointer="/page/token")
    return (None if not limit else min(limit, MAX_LIMIT)), (token or None)


def _without_floats(value: Any) -> Any:
    """Spell floats as text: a context may hold them, a digest may not."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, Mapping):
        return {str(name): _without_floats(each) for name, each in value.items()}
    return [_without_floats(each) for each in value] if isinstance(value, list | tuple) else value


def candidate_question(query: Query, candidate: str) -> Evaluation:
    """Return the single evaluation that decides about one candidate."""
    asked = query.question
    subject, action, resource = asked.subject, asked.action, asked.resource
    if query.kind == "subject":
        subject = Entity(type=asked.subject.type, id=candidate, properties=asked.subject.properties)
    elif query.kind == "resource":
        resource = Entity(type=asked.resource.type, id=candidate, properties=asked.resource.properties)
    else:
        action = candidate
    return Evaluation(
        subject=subject,
        action=action,
        action_properties=asked.action_properties,
        resource=resource,
        context=asked.context,
    )
