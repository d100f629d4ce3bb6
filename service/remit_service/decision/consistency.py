"""How fresh an answer has to be, and the tokens that say so (decision.md 7).

A token names the store and its incarnation beside the revision: one of another store, or from before a restore, is
`revision_foreign` and never compared by number (F012).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from remit_service.decision.request import RequestError

if TYPE_CHECKING:
    from remit_graph.head import Head

MINIMIZE_LATENCY: Final = "minimize_latency"
FULLY_CONSISTENT: Final = "fully_consistent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Consistency:
    """What was asked for.

    Attributes:
        fully: The view first catches up with the ledger's head.
        token: The view is at least at this revision token.
    """

    fully: bool = False
    token: str | None = None


def parse_consistency(value: object) -> Consistency:
    """Read `context.consistency`.

    Raises:
        RequestError: it is none of the three forms. An earlier revision or instant serves explanations and replay
            only and is refused here, so that no permit ever speaks of another moment (F018).
    """
    if value is None or value == MINIMIZE_LATENCY:
        return Consistency()
    if value == FULLY_CONSISTENT:
        return Consistency(fully=True)
    pointer = "/context/consistency"
    if (
        isinstance(value, Mapping)
        and set(value) == {"at_least_as_fresh"}
        and isinstance(value["at_least_as_fresh"], str)
    ):
        return Consistency(token=value["at_least_as_fresh"])
    if isinstance(value, Mapping) and set(value) & {"at_exact_revision", "as_of"}:
        raise RequestError(
            f"an earlier moment serves explanations and replay, not enforcement, at `{pointer}`", pointer=pointer
        )
    raise RequestError(
        f"use minimize_latency, fully_consistent or {{at_least_as_fresh: token}} at `{pointer}`", pointer=pointer
    )


def make_token(head: Head, revision: int) -> str:
    """Return the token of `revision` of the store that `head` is of."""
    return _token(head.store_id, head.incarnation, revision)


@lru_cache(maxsize=64)
def _token(store_id: str, incarnation: int, revision: int) -> str:
    """Return a token; kept, since every answer at one revision names the same."""
    text = f"{store_id}.{incarnation}.{revision}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_token(token: str, head: Head) -> int | None:
    """Return the revision a token names, or None where it is not of this store and incarnation."""
    try:
        text = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
    store, _, rest = text.rpartition(".")[0].rpartition(".")
    number = text.rpartition(".")[2]
    if store != head.store_id or rest != str(head.incarnation) or not number.isdecimal():
        return None
    return int(number)
