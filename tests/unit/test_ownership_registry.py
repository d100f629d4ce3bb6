"""The registry of owners, field by field (S38): who governs which state, since when, and what nobody governs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from remit_service.governance import reading
from tests.support.desk import desk_on, sqlite_in

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.desk import Desk

REGISTRY = [
    ("wp:post:1024", "canonical", "controller:seo-control-plane", "own-seo", "instance:seo-agent-7",
     "UPDATE_CANONICAL"),
    ("wp:post:1024", "body", "controller:content-control-plane", "own-body", "instance:content-agent-1",
     "UPDATE_POST_BODY"),
    ("cf:worker:seo-publisher:production", "source", "controller:git-control-plane", "own-source", "instance:gitops-1",
     "UPDATE_WORKER_SOURCE"),
    ("site:example.com:freeze", "state", "controller:incident-control-plane", "own-freeze", "human:commander",
     "FREEZE_SITE"),
]  # fmt: skip
"""Key, field, owner, its edge, and who may write there by doing what."""

CONTEXT = {"risk": "LOW", "environment": "production", "expected_version": "v1", "resource_version": "v1"}


def owners(desk: Desk, key: str, field: str) -> list[tuple[str, int]]:
    """Look up who owns a field of a resource, with the epoch."""
    found = reading.resource(desk.point.view, key, desk.point.now())
    assert found is not None
    rows: list[dict[str, Any]] = [each for each in found["owners"] if field in each["scope"]["fields"]]
    return [(each["from"], each["ownership_epoch"]) for each in rows]


@pytest.mark.feature("S38")
async def test_each_field_has_its_owner_and_without_one_it_is_written_by_nobody(tmp_path: Path) -> None:
    """The four lookups of the ledger give owner and epoch; each owner gone, the field can be written no more."""
    async with desk_on(sqlite_in(tmp_path), world="seo") as desk:
        found = {(key, field): owners(desk, key, field) for key, field, *_ in REGISTRY}
        before, after = [], []
        for key, field, _, own, who, action in REGISTRY:
            before.append(await desk.ask(who, action, key, CONTEXT))
            await desk.append(("edges.end", {"edges": [[own, 1]], "cause": "removed"}))
            after.append(await desk.ask(who, action, key, CONTEXT))
            assert owners(desk, key, field) == []

    assert found == {(key, field): [(owner, 1)] for key, field, owner, *_ in REGISTRY}
    for row, decision in zip(REGISTRY, before, strict=True):
        assert decision.outcome in ("execute", "acquire"), row
        assert decision.epochs["ownership"] == {row[1]: 1}, row
    assert [each.effect for each in after] == ["deny"] * len(REGISTRY)
    assert all("ownership_unresolved" in each.codes for each in after)


@pytest.mark.feature("S38", "S36")
async def test_a_new_owner_has_the_next_epoch(tmp_path: Path) -> None:
    """Removed and given to another, canonical is looked up as the other's, one epoch on; body stays as it was."""
    async with desk_on(sqlite_in(tmp_path), world="seo") as desk:
        edge = desk.point.view.edges["own-seo"]
        moved = {
            "edge": "OWNS", "edge_id": "own-moved", "version": 1, "epoch": 1, "issuer": "organization:acme",
            "from": "controller:wordpress-plugin-control", "to": edge.to, "ownership_epoch": 2,
            "scope": {"fields": ["canonical"]},
        }  # fmt: skip
        await desk.append(("edges.end", {"edges": [["own-seo", 1]], "cause": "removed"}), ("edge.begin", moved))
        canonical, body = owners(desk, "wp:post:1024", "canonical"), owners(desk, "wp:post:1024", "body")
        write = await desk.ask("instance:seo-agent-7", "UPDATE_CANONICAL", "wp:post:1024", CONTEXT)

    assert canonical == [("controller:wordpress-plugin-control", 2)]
    assert body == [("controller:content-control-plane", 1)]
    assert write.effect == "deny"
