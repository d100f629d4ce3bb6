"""The head of a ledger: which store it is, where it stands, and whether it may be used.

The identity is (`store_id`, `incarnation`): what was issued under another one is foreign, never compared by number
(rules.md 2). What is done with a ledger is `ports`.
"""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.change import GENESIS, SCHEMA

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant


class State(StrEnum):
    """Whether a ledger may be used; it stands in the store, so that every process knows."""

    READY = "ready"
    UNFINISHED = "unfinished"
    """A restore or a move is filling it, or was cut short: nothing is read from it to decide."""
    MOVED = "moved"
    """It went on in another store under the same identity: closed for writing, for good."""


USABLE: Final = frozenset({State.READY})
"""What is opened unless somebody asks for more."""


def new_store_id() -> str:
    """Return an id that no other store has."""
    return secrets.token_hex(16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where the ledger stands.

    Attributes:
        store_id: Random id of the store, made with it, and another one by each restore.
        realm: Name of the realm.
        incarnation: 1 at first, one more after each restore from a backup.
        revision: Of the last appended command; 0 is empty.
        hash: Of the last row.
        at: Instant of the last command, microseconds UTC; 0 is none.
        schema: The schema that rows are written in.
        now: The store's own clock when this was read, microseconds UTC.
        state: Whether the ledger may be used.
        note: What an unfinished ledger is made from, or where a moved one went.
        needs: The version of Remit that switched the store to `schema`; empty for the first schema.
        base: The last revision whose rows were removed; 0 where history is whole.
    """

    store_id: str
    realm: str
    incarnation: int
    revision: int
    hash: str
    at: Instant
    schema: int
    now: Instant
    state: State = State.READY
    note: str = ""
    needs: str = ""
    base: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """What a ledger is to become that is filled from another one or from a backup.

    Attributes:
        store_id: The identity it has from the start; nobody sees it before it is ready.
        incarnation: Of that identity.
        schema: The schema that its rows are written in.
        needs: As in `Head`.
        note: What it is made from, for whoever meets it unfinished.
    """

    store_id: str
    incarnation: int
    schema: int
    needs: str
    note: str


def first_head(realm: str, beginning: Beginning | None = None) -> dict[str, Any]:
    """Return what a store writes as the head of a new ledger; with `beginning` it is unfinished, and to be that."""
    begins = beginning or Beginning(store_id=new_store_id(), incarnation=1, schema=SCHEMA, needs="", note="")
    state = State.READY if beginning is None else State.UNFINISHED
    return {"realm": realm, "hash": GENESIS, "state": str(state), **asdict(begins)}
