"""The question: an AuthZEN evaluation, and what Remit reads from its context (decision.md 1).

Values here are already of the right JSON types; whether the caller is believed about them is decided in `resolve`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from remit_graph.errors import ModelError

MAX_ID: Final = 1024
"""Characters of an id or a type on the wire."""

LEAST_NUMBER: Final = -(1 << 63)
GREATEST_NUMBER: Final = (1 << 63) - 1

MAX_FIELDS: Final = 256
"""Fields of one request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A subject or resource: type, id, properties."""

    type: str
    id: str
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One question, as asked.

    Attributes:
        subject: Who asks.
        action: Name of the action.
        action_properties: Its properties.
        resource: What it would act on.
        context: Free attributes, and the members Remit reads.
    """

    subject: Entity
    action: str
    resource: Entity
    action_properties: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return the AuthZEN form, for the decision record and for replay."""
        action: dict[str, Any] = {"name": self.action}
        if self.action_properties:
            action["properties"] = dict(self.action_properties)
        return {
            "subject": _entity(self.subject),
            "action": action,
            "resource": _entity(self.resource),
            "context": dict(self.context),
        }


def _entity(entity: Entity) -> dict[str, Any]:
    record: dict[str, Any] = {"type": entity.type, "id": entity.id}
    if entity.properties:
        record["properties"] = dict(entity.properties)
    return record


class RequestError(ModelError):
    """The request is not well formed; `facts['pointer']` is the JSON pointer of the place."""

    code = "malformed_request"


def _refuse(pointer: str, message: str) -> RequestError:
    return RequestError(f"{message} at `{pointer}`", pointer=pointer)


def parse_evaluation(document: object) -> Evaluation:
    """Read an evaluation from decoded JSON; unknown members are ignored (AuthZEN 1.0).

    Raises:
        RequestError: a missing member or one of the wrong type, with the pointer to it.
    """
    body = _mapping(document, "")
    action = _mapping(_required(body, "action", ""), "/action")
    evaluation = Evaluation(
        subject=parse_entity(_required(body, "subject", ""), "/subject"),
        action=_text(action, "name", "/action"),
        action_properties=_optional_mapping(action, "properties", "/action"),
        resource=parse_entity(_required(body, "resource", ""), "/resource"),
        context=_optional_mapping(body, "context", ""),
    )
    check_context(evaluation.context)
    for pointer, said in _free_parts(evaluation):
        check_numbers(said, pointer)
    return evaluation


def _free_parts(evaluation: Evaluation) -> list[tuple[str, Mapping[str, Any]]]:
    parts = [
        ("/context", evaluation.context),
        ("/subject/properties", evaluation.subject.properties),
        ("/action/properties", evaluation.action_properties),
        ("/resource/properties", evaluation.resource.properties),
    ]
    return [(pointer, said) for pointer, said in parts if said]


def check_numbers(value: object, pointer: str) -> None:
    """Refuse whole numbers that the two policy engines would read differently.

    Raises:
        RequestError: one does not fit 64 bits, with the pointer to it.
    """
    if type(value) is str:
        return
    if isinstance(value, int):
        if not LEAST_NUMBER <= value <= GREATEST_NUMBER:
            raise _refuse(pointer, "a whole number has to fit 64 bits")
    elif isinstance(value, Mapping):
        for name, each in value.items():
            check_numbers(each, f"{pointer}/{name}")
    elif isinstance(value, list):
        for index, each in enumerate(value):
            check_numbers(each, f"{pointer}/{index}")


def parse_entity(value: object, pointer: str) -> Entity:
    """Read `{type, id, properties?}`."""
    entity = _mapping(value, pointer)
    return Entity(
        type=_text(entity, "type", pointer),
        id=_text(entity, "id", pointer),
        properties=_optional_mapping(entity, "properties", pointer),
    )


def _mapping(value: object, pointer: str) -> Mapping[str, Any]:
    # Asked of the exact type first: what an abstract class takes for its own is found out slowly.
    if type(value) is dict or isinstance(value, Mapping):
        return value
    raise _refuse(pointer or "/", "an object is required")


def _required(body: Mapping[str, Any], name: str, pointer: str) -> object:
    if body.get(name) is None:
        raise _refuse(f"{pointer}/{name}", f"`{name}` is required")
    return body[name]


def _text(body: Mapping[str, Any], name: str, pointer: str) -> str:
    value = _required(body, name, pointer)
    if not isinstance(value, str):
        raise _refuse(f"{pointer}/{name}", f"`{name}` is a string")
    if not value:
        raise _refuse(f"{pointer}/{name}", f"`{name}` is empty")
    if len(value) > MAX_ID:
        raise _refuse(f"{pointer}/{name}", f"`{name}` has more than {MAX_ID} characters")
    return value


def _optional_mapping(body: Mapping[str, Any], name: str, pointer: str) -> Mapping[str, Any]:
    value = body.get(name)
    return {} if value is None else _mapping(value, f"{pointer}/{name}")


TEXTS: Final = (
    "approval_id", "change_id", "coordination_id", "environment", "expected_version", "on_behalf_of", "purpose",
    "resource_version",
)  # fmt: skip
"""Members of the context that are texts, also where they look like a number."""

_STRING_LISTS: Final = ("fields", "proof")


def check_context(context: Mapping[str, Any]) -> None:
    """Check the types of the members Remit reads; every other attribute is free.

    Raises:
        RequestError: with the pointer to the member.
    """
    for name in TEXTS:
        if context.get(name) is not None and not isinstance(context[name], str):
            raise _refuse(f"/context/{name}", f"`{name}` is a string")
    for name in _STRING_LISTS:
        _check_strings(context.get(name), f"/context/{name}", name)
    for name in ("lease", "capability", "set_operations"):
        if context.get(name) is not None and not isinstance(context[name], Mapping):
            raise _refuse(f"/context/{name}", f"`{name}` is an object")
    _check_lease(context.get("lease"))
    for name, each in (context.get("set_operations") or {}).items():
        _check_strings(each, f"/context/set_operations/{name}", str(name))
    epoch = context.get("ownership_epoch")
    if epoch is not None and type(epoch) is not int:
        raise _refuse("/context/ownership_epoch", "`ownership_epoch` is a whole number")


def _check_strings(value: object, pointer: str, name: str) -> None:
    if value is None:
        return
    if not isinstance(value, list) or len(value) > MAX_FIELDS or not all(isinstance(each, str) for each in value):
        raise _refuse(pointer, f"`{name}` is a list of at most {MAX_FIELDS} strings")


def _check_lease(lease: Mapping[str, Any] | None) -> None:
    if lease is None:
        return
    if not isinstance(lease.get("lease_id"), str):
        raise _refuse("/context/lease/lease_id", "`lease_id` is a string")
    if type(lease.get("fencing_token")) is not int:
        raise _refuse("/context/lease/fencing_token", "`fencing_token` is a whole number")
