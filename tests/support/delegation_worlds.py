"""Turns a case of `fixtures/vectors/delegation.yaml` into changes put straight into a store, and one request.

The mapping is the table "In Remit's model" of the vectors' README: a MAY_DELEGATE link becomes a delegation that was
made, together with the standing right to make it; `environment` becomes a dimension; a shown `chain` becomes the proof.
Nothing is judged here: some cases hold edges that Remit refuses to make, and show that the check at use does not lean
on the check at creation.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from remit_graph.model.change import Change
from remit_graph.model.instant import parse_instant
from remit_graph.model.key import overlap

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant

VECTORS: Final = Path(__file__).resolve().parents[2] / "fixtures" / "vectors" / "delegation.yaml"
ROOT: Final = "organization:root"
_TYPES: Final = ("depot", "page", "site")
_CLASSES: Final = {"publish": "write", "read": "read", "write": "write"}
_WINDOW: Final = ("valid_from", "valid_until")


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationCase:
    """One case, ready to run.

    Attributes:
        name: Its id.
        changes: The world, to be appended as one command or more.
        request: The body of an AuthZEN evaluation.
        at: The instant of the request.
        decision: What is expected.
        reasons: On a deny, the codes of which one must be among those reported; empty on a permit.
    """

    name: str
    changes: tuple[Change, ...]
    request: dict[str, Any]
    at: Instant
    decision: bool
    reasons: frozenset[str]


def delegation_cases() -> list[DelegationCase]:
    """Read all cases, in the order of the file."""
    return [_case(each) for each in yaml.safe_load(VECTORS.read_text())]


def _case(case: dict[str, Any]) -> DelegationCase:
    expected = case["expected"]
    reasons = {expected["reason"], *expected.get("or", ())} - {None}
    return DelegationCase(
        name=case["id"],
        changes=tuple(_world(case["world"])),
        request=_request(case["request"]),
        at=parse_instant(case["request"]["at"]),
        decision=expected["decision"],
        reasons=frozenset(reasons),
    )


def _world(world: dict[str, Any]) -> list[Change]:
    changes = [Change("realm.set", {"name": "delegation", "root": [ROOT], "dimensions": ["environment"]})]
    for name in _TYPES:
        key = f"{name}:{{path}}"
        changes.append(Change("resource_type.put", {"name": name, "key": key, "concurrency": "APPEND_ONLY"}))
    for name, class_ in _CLASSES.items():
        changes.append(Change("action.put", {"name": name, "class": class_, "domain": "CONTENT_BODY"}))
    changes.append(Change("principal.put", {"id": ROOT, "trust": 4}))
    changes.extend(_node(each) for each in world["nodes"])
    floor = world.get("minimum_authority_epoch", 0)
    newest = max([floor, *(each["epoch"] for each in world["edges"])])
    changes.append(Change("epoch.set", {"authority": newest, "minimum_authority": {"read": floor, "write": floor}}))
    for each in world["edges"]:
        changes.extend(_edge(each, world["edges"]))
    return changes


def _node(node: dict[str, Any]) -> Change:
    if node["kind"] == "resource":
        return Change("resource.put", {"key": node["id"]})
    record: dict[str, Any] = {"id": node["id"], "trust": 4}
    if "minimum_epoch" in node:
        record["minimum_epoch"] = node["minimum_epoch"]
    return Change("principal.put", record)


def _edge(edge: dict[str, Any], edges: list[dict[str, Any]]) -> list[Change]:
    record: dict[str, Any] = {"edge_id": edge["id"], "version": 1, "from": edge["from"], "to": edge["to"]}
    record |= {"edge": edge["type"], "epoch": edge["epoch"], "issuer": edge.get("issuer", ROOT)}
    record |= {name: parse_instant(edge[name]) for name in _WINDOW if name in edge}
    if "max_depth" in edge:
        record["max_depth"] = edge["max_depth"]
    if "scope" in edge:
        record["scope"] = _scope(edge["scope"])
    changes: list[Change] = []
    if edge["type"] == "OWNS":
        record["ownership_epoch"] = 1
    elif edge["type"] == "MAY_WRITE":
        owners = [each["id"] for each in edges if each["type"] == "OWNS" and overlap(each["to"], edge["to"])]
        record["rests_on"] = [{"edge_id": each, "ownership_epoch": 1} for each in owners]
    elif edge["type"] == "MAY_DELEGATE":
        right = {**record, "edge_id": f"right:{edge['id']}"}
        right.pop("max_depth", None)
        changes.append(Change("edge.begin", right))
        record |= {"edge": "DELEGATES", "under": f"right:{edge['id']}@1", "issuer": edge["from"]}
    changes.append(Change("edge.begin", record))
    if edge["revoked"]:
        ended = {"edges": [[edge["id"], 1]], "cause": "revoked", "code": "delegation_revoked"}
        changes.append(Change("edges.end", ended))
    return changes


def _scope(scope: dict[str, Any]) -> dict[str, Any]:
    """Carry a scope over, what is not understood included: it must cover nothing."""
    carried = {name: value for name, value in scope.items() if name != "environment"}
    if "environment" in scope:
        carried["where"] = {"environment": scope["environment"]}
    return carried


def _request(request: dict[str, Any]) -> dict[str, Any]:
    kind, _, name = request["subject"].partition(":")
    context: dict[str, Any] = {each: request[each] for each in ("environment", "on_behalf_of") if each in request}
    if "chain" in request:
        context["proof"] = request["chain"]
    subject: dict[str, Any] = {"type": kind, "id": name}
    if "claims" in request:
        subject["properties"] = request["claims"]
    return {
        "subject": subject,
        "action": {"name": request["action"]},
        "resource": {"type": "key", "id": request["resource"]},
        "context": context,
    }
