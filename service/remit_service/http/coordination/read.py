"""Bodies of commands, read strictly: what is missing or of another type is refused with the pointer to the place.

Members that are not known are ignored, and a member whose value is null counts as absent, as everywhere on this wire.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from remit_graph.errors import ModelError
from remit_graph.model.instant import SECOND, Instant, parse_instant
from remit_service.decision.request import Entity, RequestError, parse_entity
from remit_service.http.question import parse_question

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from remit_service.decision.request import Evaluation

MAX_TEXT: Final = 1_024
MAX_ITEMS: Final = 256
MAX_SECONDS: Final = 366 * 86_400
MAX_RESOURCES: Final = 64
"""Resources of one operation: each is a question to the policy (rules.md 11)."""

Value = TypeVar("Value")


class Body:
    """A JSON object that a command is read from."""

    def __init__(self, members: Mapping[str, Any]) -> None:
        """Read from the decoded document."""
        self.members = members

    def text(self, name: str) -> str | None:
        """Return a string, or None where it is absent."""
        value = self._of(name, str, "a string")
        if value is not None and not 0 < len(value) <= MAX_TEXT:
            raise refused(name, f"`{name}` has 1 to {MAX_TEXT} characters")
        return value

    def whole(self, name: str) -> int | None:
        """Return a whole number that is not negative, or None."""
        value = self._of(name, int, "a whole number")
        if value is not None and value < 0:
            raise refused(name, f"`{name}` is not negative")
        return value

    def microseconds(self, name: str) -> int | None:
        """Return a number of seconds as microseconds, or None."""
        value = self.members.get(name)
        if value is None:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= MAX_SECONDS:
            raise refused(name, f"`{name}` is a number of seconds from 0 to {MAX_SECONDS}")
        return round(value * SECOND)

    def flag(self, name: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self._of(name, bool, "true or false")
        return default if value is None else value

    def choice(self, name: str, allowed: Sequence[str], default: str | None = None) -> str:
        """Return one of the allowed strings."""
        value = self._of(name, str, "a string")
        if value is None and default is not None:
            return default
        if value is None or value not in allowed:
            raise refused(name, f"`{name}` is one of {', '.join(allowed)}")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return strings; none where they are absent."""
        value = self._of(name, list, "a list of strings") or []
        if len(value) > MAX_ITEMS or not all(isinstance(each, str) and 0 < len(each) <= MAX_TEXT for each in value):
            raise refused(name, f"`{name}` is a list of at most {MAX_ITEMS} strings")
        return tuple(value)

    def mapping(self, name: str) -> dict[str, Any] | None:
        """Return an object, or None."""
        return self._of(name, dict, "an object")

    def mappings(self, name: str) -> tuple[dict[str, Any], ...]:
        """Return objects; none where they are absent."""
        value = self._of(name, list, "a list of objects") or []
        if len(value) > MAX_ITEMS or not all(type(each) is dict for each in value):
            raise refused(name, f"`{name}` is a list of at most {MAX_ITEMS} objects")
        return tuple(value)

    def entity(self, name: str) -> Entity:
        """Return a `{type, id}`."""
        return parse_entity(self.needed(name, self.members.get(name)), f"/{name}")

    def instant(self, name: str) -> Instant | None:
        """Return an RFC 3339 time with offset, or None."""
        value = self.members.get(name)
        if value is None:
            return None
        try:
            return parse_instant(value)
        except ModelError as error:
            raise refused(name, error.message) from error

    def needed(self, name: str, value: Value | None) -> Value:
        """Return a value that must be there.

        Raises:
            RequestError: it is absent.
        """
        if value is None:
            raise refused(name, f"`{name}` is required")
        return value

    def _of(self, name: str, kind: type[Value], called: str) -> Value | None:
        value = self.members.get(name)
        if value is not None and type(value) is not kind:
            raise refused(name, f"`{name}` is {called}")
        return value

    def evaluation(self) -> Evaluation:
        """Return the one question that a body asks."""
        return parse_question(self.members)

    def evaluations(self) -> list[Evaluation]:
        """Return the questions of a body: `resource`, or `resources`, each with context of its own if it needs some."""
        listed = self.members.get("resources")
        if listed is None:
            return [self.evaluation()]
        if self.members.get("resource") is not None:
            raise refused("resource", "name `resource` or `resources`, not both")
        if type(listed) is not list or not 0 < len(listed) <= MAX_RESOURCES:
            raise refused("resources", f"`resources` is a list of 1 to {MAX_RESOURCES} resources")
        return [self._one(each, index) for index, each in enumerate(listed)]

    def _one(self, resource: Any, index: int) -> Evaluation:
        shared, own = self.members.get("context") or {}, {}
        if type(resource) is dict and resource.get("context") is not None:
            own = resource["context"]
            if type(own) is not dict:
                raise refused(f"resources/{index}/context", "a context is an object")
        if type(shared) is not dict:
            raise refused("context", "a context is an object")
        try:
            return parse_question({**self.members, "resource": resource, "context": {**shared, **own}})
        except RequestError as error:
            pointer = str(error.facts.get("pointer", ""))
            moved = f"/resources/{index}{pointer.removeprefix('/resource')}"
            raise RequestError(error.message, pointer=moved if pointer.startswith("/resource") else pointer) from error


def refused(name: str, message: str) -> RequestError:
    """Return the refusal of one member."""
    return RequestError(message, pointer=f"/{name}")
