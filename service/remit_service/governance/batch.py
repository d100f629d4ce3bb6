"""Several edges in one command: all of them or none, each judged on what those before it would make (F040)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from remit_graph.errors import ModelError
from remit_graph.view.apply import apply_changes
from remit_graph.view.journal import Journal
from remit_service.decision.request import RequestError
from remit_service.writer.command import Accepted, Refused

if TYPE_CHECKING:
    from remit_graph.model.change import Change
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.governance.law import Actor
    from remit_service.policy import Policy
    from remit_service.writer.command import Verdict

MAX_ITEMS: Final = 1_000
"""Items that one command may ask for; what follows from them is never counted (rules.md 5)."""

Read = Callable[[Mapping[str, Any]], Any]
Make = Callable[..., "Verdict"]


def batch(name: str, items: Any, read: Read, make: Make) -> Callable[[Policy, View, Instant, Actor], Verdict]:
    """Return how a list of edges is decided as one command.

    Args:
        name: The member that holds the list, and the result.
        items: The list, each as a command of its own would have it.
        read: Reads one.
        make: Decides one.

    Raises:
        RequestError: it is no list, is empty, or an item is malformed.
    """
    if not isinstance(items, list) or not items:
        raise RequestError(f"`{name}` is a list with at least one item", pointer=f"/{name}")
    if len(items) > MAX_ITEMS:
        return lambda *_: too_many(name, len(items))
    specs = [_read(each, f"/{name}/{index}", read) for index, each in enumerate(items)]

    def decide(policy: Policy, view: View, at: Instant, actor: Actor) -> Verdict:
        changes: list[Change] = []
        results: list[Mapping[str, Any]] = []
        journal = Journal()
        try:
            for index, spec in enumerate(specs):
                verdict = make(policy, view, at, actor, spec)
                if isinstance(verdict, Refused):
                    return Refused(code=verdict.code, message=verdict.message, facts={**verdict.facts, "item": index})
                apply_changes(view, verdict.changes, journal, revision=view.revision + 1, at=at)
                changes += verdict.changes
                results.append(verdict.result)
        finally:
            journal.undo()
        return Accepted(changes=tuple(changes), result={name: results})

    return decide


def too_many(name: str, count: int) -> Refused:
    """Return the refusal of a command with more items than one takes."""
    message = f"one command takes at most {MAX_ITEMS} {name}, and this one has {count}"
    facts = {"limit": "max_items_per_command", "maximum": MAX_ITEMS, "count": count}
    return Refused(code="limit_exceeded", message=message, facts=facts)


def _read(item: Any, pointer: str, read: Read) -> Any:
    if not isinstance(item, Mapping):
        raise RequestError("an item is an object", pointer=pointer)
    try:
        return read(item)
    except RequestError as error:
        raise RequestError(error.message, pointer=f"{pointer}{error.facts.get('pointer', '')}") from error
    except ModelError as error:
        raise RequestError(error.message, pointer=pointer) from error
