"""Bounds of a ledger in Neo4j that no busy machine reaches: what is tried is not how fast a new database warms up."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from remit_service.stores import neo4j_options

if TYPE_CHECKING:
    from remit_graph.neo4j import Neo4jOptions
    from remit_service.settings import Settings

LONG: Final = timedelta(seconds=60)


def patiently(settings: Settings) -> Neo4jOptions:
    """Return the options of a store with such bounds; stands in for `stores.neo4j_options`."""
    return replace(neo4j_options(settings), hold_at_most=LONG, retry_for=LONG, connect_within=LONG)
