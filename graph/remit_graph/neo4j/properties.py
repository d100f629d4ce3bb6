"""How a record of the ledger looks as properties of a node or relationship, and the digest over them.

Neo4j holds scalars and lists of one kind. So:

- scalars and plain lists keep name and value;
- what is nested stands in full as canonical JSON under its name;
- `scope` also stands as properties that Cypher can filter on: `scope_actions`, `scope_fields`, `scope_resources`,
  `scope_conditions`, `scope_unknown`, and `where_<dimension>`; a dimension that does not narrow is absent;
- `attributes` also stand as `attribute_<name>`;
- what is null is absent.

`row_digest` is 40 bits of SHA-256 over the properties: the sum over eight million elements still fits a signed 64-bit
number, which is what Cypher adds up. It finds slips and edits; it is no proof against somebody who forges it, and
needs to be none, since this graph is never what decisions read (rules.md 11).
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.change import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Properties = dict[str, Any]

MODULUS: Final = 1 << 40
"""One more than the highest digest; also a parameter of the queries that add digests."""

ENDED_PREFIX: Final = "ended_"
OF_EDGES: Final = frozenset({"row_digest"})
"""Properties of an edge that its digest does not cover."""

OF_ENTITIES: Final = frozenset({"row_digest", "ref", "was_ref", "revision_from"})
"""Properties of any other node that its digest does not cover: the database alone knows them, or moves them."""

_TEXT: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
_INTEGERS: Final = range(-(1 << 63), 1 << 63)


def flatten(record: Mapping[str, Any]) -> Properties:
    """Return the properties of `record`."""
    properties: Properties = {}
    for name, value in record.items():
        if name == "scope" and isinstance(value, dict):
            properties |= _scope(value)
        elif name == "attributes" and isinstance(value, dict):
            properties["attributes"] = canonical(value)
            properties |= {f"attribute_{each}": storable(one) for each, one in value.items() if one is not None}
        elif value is not None:
            properties[name] = storable(value)
    return properties


def storable(value: Any) -> Any:
    """Return `value` as Neo4j can hold it: itself, or its JSON text."""
    if isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if value in _INTEGERS else canonical(value)
    if isinstance(value, list | tuple) and _is_plain(value):
        return list(value)
    return canonical(value)


def _is_plain(values: Iterable[Any]) -> bool:
    kinds = {type(each) for each in values}
    if kinds == {int}:
        return all(each in _INTEGERS for each in values)
    return kinds in ({str}, {bool}, set())


def _scope(scope: Mapping[str, Any]) -> Properties:
    properties: Properties = {"scope": canonical(scope)}
    for name, value in scope.items():
        if name in ("actions", "fields"):
            properties[f"scope_{name}"] = storable(value)
        elif name == "resources":
            properties["scope_resources"] = _selectors(value)
        elif name == "where" and isinstance(value, dict):
            properties |= {f"where_{each}": storable(allowed) for each, allowed in value.items()}
        elif name == "conditions" and isinstance(value, list):
            properties["scope_conditions"] = [_condition(each) for each in value]
        else:
            properties.setdefault("scope_unknown", []).append(name)
    return properties


def _selectors(value: Any) -> Any:
    """Return all selectors of a scope; where they are several lists, each of which must cover, only `scope` says so."""
    if isinstance(value, list) and any(isinstance(each, list) for each in value):
        return sorted({one for each in value for one in (each if isinstance(each, list) else [each])})
    return storable(value)


def _condition(record: Any) -> str:
    """Return `risk at_most MEDIUM`."""
    if not isinstance(record, dict) or "attribute" not in record:
        return canonical(record)
    rest = [(name, value) for name, value in record.items() if name != "attribute"]
    compared = " ".join(f"{name} {value if isinstance(value, str) else canonical(value)}" for name, value in rest)
    return f"{record['attribute']} {compared}"


def digest_of(properties: Mapping[str, Any], without: frozenset[str]) -> int:
    """Return the digest of properties as they were begun; what ended them is `digest_of_end`."""
    return _digest({name: value for name, value in properties.items() if name not in without and not _ends(name)})


def digest_of_end(properties: Mapping[str, Any]) -> int:
    """Return what the end of an element adds to its digest: 0 while it has not ended."""
    ended = {name: value for name, value in properties.items() if _ends(name)}
    return _digest(ended) if ended else 0


def full_digest(properties: Mapping[str, Any], without: frozenset[str]) -> int:
    """Return the `row_digest` that an element with these properties must carry."""
    return (digest_of(properties, without) + digest_of_end(properties)) % MODULUS


def _ends(name: str) -> bool:
    return name == "revision_to" or name.startswith(ENDED_PREFIX)


def _digest(properties: Mapping[str, Any]) -> int:
    # Values that somebody put there by hand can be of any kind, so everything has some text here.
    text = _TEXT.encode(properties)
    return int.from_bytes(hashlib.sha256(text.encode(errors="surrogatepass")).digest()[:5], "big")
