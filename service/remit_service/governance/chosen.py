"""Which edits past the ledger are meant by an adoption or a quarantine: all, some by their ids, some by their kinds.

An id stands for what was found when somebody looked. If the edit was made otherwise since, the id is of nothing, and
nothing is done: what is adopted is what was read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_service.decision.request import RequestError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from remit_graph.drift import Finding

MEMBERS: Final = frozenset({"edits", "only"})
"""The members of a body that choose."""

MAX_NAMED: Final = 1_000
"""Edits or kinds that one call may name, as `max_items_per_command`: more are chosen by kind, or all at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which edits are meant; those that both members allow, and all where neither is given.

    Attributes:
        edits: Their ids; None for any.
        only: Their kinds: types of relationships and labels of nodes; None for any.
    """

    edits: tuple[str, ...] | None = None
    only: tuple[str, ...] | None = None

    def among(self, found: Sequence[Finding], parts: Collection[str] = ()) -> list[Finding]:
        """Return those of `found` that are meant.

        Args:
            found: What differs now.
            parts: Kinds that there may be; others must be the kind of something found.

        Raises:
            RequestError: there is no such edit, or no such kind.
        """
        ids, kinds = {each.edit_id for each in found}, {each.kind for each in found}
        for index, named in enumerate(self.edits or ()):
            if named not in ids:
                message = f"there is no edit `{named}` now: `remit graph check` prints those there are"
                raise RequestError(message, pointer=f"/edits/{index}")
        for index, named in enumerate(self.only or ()):
            if named not in kinds and named not in parts:
                known = ", ".join(sorted(kinds)) or "none is there now"
                raise RequestError(f"`{named}` is no kind of edit; kinds there are: {known}", pointer=f"/only/{index}")
        edits, only = set(self.edits or ()), set(self.only or ())
        return [
            each
            for each in found
            if (self.edits is None or each.edit_id in edits) and (self.only is None or each.kind in only)
        ]


def choice_of(body: Mapping[str, Any]) -> Choice:
    """Read `edits` and `only`.

    Raises:
        RequestError: one of them is no list of texts, is empty, or names too many.
    """
    return Choice(edits=_texts(body, "edits"), only=_texts(body, "only"))


def _texts(body: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    given = body.get(name)
    if given is None:
        return None
    if not isinstance(given, list) or not 1 <= len(given) <= MAX_NAMED:
        raise RequestError(f"`{name}` is a list of 1 to {MAX_NAMED} texts; leave it out for all", pointer=f"/{name}")
    for index, each in enumerate(given):
        if not isinstance(each, str) or not each:
            raise RequestError(f"`{name}` is a list of texts", pointer=f"/{name}/{index}")
    return tuple(given)
