"""Switches a store to a later row schema, once no decision point would stop at such a row (rules.md 2)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from remit_graph.model.change import SCHEMA
from remit_service.stores import open_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_graph.sharing import Seen
    from remit_service.clock import Clock
    from remit_service.settings import Settings

LATELY: Final = timedelta(minutes=1)
"""A decision point says that it is there every 20 s; one that did not for so long is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Enabled:
    """What came of it.

    Attributes:
        seen: The decision points of the last minute.
        before, schema: The schema that rows were written in, and are now.
        done: Whether rows are written in this program's schema now.
        sentence: The same for a person.
    """

    seen: Sequence[Seen]
    before: int
    schema: int
    done: bool
    sentence: str


async def enable_schema(settings: Settings, clock: Clock, *, anyway: bool) -> Enabled:
    """Let rows be written in this program's schema from here on.

    Nothing is changed where a decision point of the last minute does not know it, unless `anyway`.

    Raises:
        LedgerError: the store cannot be used.
    """
    ledger = await open_store(settings, clock)
    try:
        before = (await ledger.head()).schema
        seen = await ledger.seen(LATELY)
        behind = [each.name for each in seen if each.schema < SCHEMA]
        if before >= SCHEMA:
            return Enabled(
                seen=seen, before=before, schema=before, done=True, sentence=f"rows are of schema {before} already"
            )
        if behind and not anyway:
            sentence = (
                f"nothing was changed: {', '.join(behind)} would stop at the first row of schema {SCHEMA}; "
                "end them or start them with this version, then repeat, or add --anyway"
            )
            return Enabled(seen=seen, before=before, schema=before, done=False, sentence=sentence)
        head = await ledger.enable_schema(SCHEMA, version("remit"))
    finally:
        await ledger.aclose()
    sentence = f"rows are written in schema {head.schema} from here on; they were of schema {before}"
    return Enabled(seen=seen, before=before, schema=head.schema, done=True, sentence=sentence)
