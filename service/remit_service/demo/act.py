"""What a chapter is made of: questions (`Beat`) and calls (`Act`), each with the answer it is promised."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

_NAME: Final = re.compile(r"\{([a-z_0-9]+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """One question.

    Attributes:
        says: What happens, in words.
        subject: `<kind>:<name>`, or a verified identity.
        action: The action.
        resource: A full key, in any of its spellings.
        context: What the gateway sends along; `{name}` stands for what was kept before.
        outcome: The outcome it must get.
        reasons: The reason codes it must get, in order.
    """

    says: str
    subject: str
    action: str
    resource: str
    outcome: str
    reasons: tuple[str, ...] = ()
    context: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One call of the API.

    Attributes:
        says: What happens, in words.
        call: Method and path, `POST /v1/operations`; `{name}` stands for what was kept before.
        body: The JSON body, with the same placeholders; one that is a whole string keeps the type of its value.
        status: The status it must get.
        code: The code of the problem it must be; None where it must succeed.
        outcome: The outcome it must name, where that matters.
        holds: Members of the answer that must be so, by path: `lease.state`, `notices.0.code`.
        keeps: What later calls need of the answer: name to path.
        shows: Paths that are printed.
    """

    says: str
    call: str
    status: int = 200
    code: str | None = None
    outcome: str | None = None
    body: dict[str, Any] | None = None
    holds: dict[str, Any] = field(default_factory=dict)
    keeps: dict[str, str] = field(default_factory=dict)
    shows: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """Questions and calls that show one thing."""

    title: str
    teaches: str
    beats: tuple[Beat | Act, ...] = ()


def filled(value: Any, kept: dict[str, Any]) -> Any:
    """Return `value` with its placeholders replaced by what was kept.

    Raises:
        KeyError: nothing of that name was kept: the story is told in the wrong order.
    """
    if isinstance(value, dict):
        return {name: filled(each, kept) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [filled(each, kept) for each in value]
    if not isinstance(value, str):
        return value
    whole = _NAME.fullmatch(value)
    if whole is not None:
        return kept[whole[1]]
    return _NAME.sub(lambda found: str(kept[found[1]]), value)


def at_path(document: Any, path: str) -> Any:
    """Return the member at `a.b.0`, or None where there is none."""
    for name in path.split("."):
        if isinstance(document, list):
            document = document[int(name)] if name.isdecimal() and int(name) < len(document) else None
        else:
            document = document.get(name) if isinstance(document, dict) else None
    return document
