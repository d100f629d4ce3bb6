"""What an edge that somebody put into the graph by hand would be as a record of the ledger.

The full `scope` counts where there is one; otherwise it is put together from the properties that Cypher filters on, so
that an engineer writes `scope_actions: ["UPDATE_CANONICAL"]` and need not write JSON. Nothing is checked here: a
proposal is what adoption puts to the laws.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from remit_graph.neo4j.properties import flatten

if TYPE_CHECKING:
    from collections.abc import Mapping

Record = dict[str, Any]

MEMBERS: Final = (
    "edge_id", "version", "valid_from", "valid_until", "epoch", "issuer", "reason", "request_id", "max_depth",
    "ownership_epoch", "under", "except", "count", "domains",
)  # fmt: skip
"""Members of a record that are properties of the same name and value."""

_WHERE: Final = "where_"


def proposed(row: Mapping[str, Any]) -> Record:
    """Return the record of a relationship, with the ends that it has."""
    properties: Mapping[str, Any] = row["properties"]
    record: Record = {name: properties[name] for name in MEMBERS if name in properties}
    record |= {"edge": row["type"], "from": row["from"], "to": row["to"]}
    if scope := _scope(properties):
        record["scope"] = scope
    if isinstance(rests_on := _document(properties.get("rests_on")), list):
        record["rests_on"] = rests_on
    return record


def _scope(properties: Mapping[str, Any]) -> Record:
    written = _document(properties.get("scope"))
    shown = _shown(properties)
    if not isinstance(written, dict):
        return shown
    # Of an edge that had both, whichever was edited counts: the filters, if they say other than the full scope.
    derived = _shown(flatten({"scope": written}))
    return written if shown in ({}, derived) else {**_unshown(written), **shown}


def _shown(properties: Mapping[str, Any]) -> Record:
    scope: Record = {
        name: properties[f"scope_{name}"]
        for name in ("actions", "resources", "fields")
        if f"scope_{name}" in properties
    }
    where = {name.removeprefix(_WHERE): value for name, value in properties.items() if name.startswith(_WHERE)}
    return scope | ({"where": where} if where else {})


def _unshown(written: Record) -> Record:
    return {name: value for name, value in written.items() if name == "conditions"}


def _document(text: Any) -> Any:
    if not isinstance(text, str):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None
