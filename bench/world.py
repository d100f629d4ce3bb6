"""The graphs that are measured, as changes in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.model.change import GENESIS, Change, Entry
from remit_graph.view.apply import apply
from remit_graph.view.state import View

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = 1_800_000_000_000_000
POST = {"canonical": "CANONICAL", "body": "CONTENT_BODY", "meta_description": "SEO_METADATA"}


def base() -> list[Change]:
    """Return the realm, its types and the resource that questions are about."""
    fields = {
        name: {"domain": domain, "merge": "exclusive", "managed": True, "independent": True}
        for name, domain in POST.items()
    }
    return [
        Change("realm.set", {"name": "bench", "root": ["organization:acme"], "max_delegation_depth": 16, "max_chain_hops": 20}),
        Change("principal.put", {"id": "organization:acme"}),
        Change("principal.put", {"id": "controller:seo", "trust": 4}),
        Change("resource_type.put", {"name": "site", "key": "site:{id}", "concurrency": "WRITE_EXCLUSIVE"}),
        Change("resource_type.put", {"name": "site:section", "key": "site:{id}:{section}", "concurrency": "WRITE_EXCLUSIVE"}),
        Change("resource_type.put", {"name": "wp:post", "key": "wp:post:{id}", "concurrency": "WRITE_OPTIMISTIC", "fields": fields}),
        Change("action.put", {"name": "UPDATE_CANONICAL", "class": "write", "fields": ["canonical"], "risk": "MEDIUM", "reversible": True}),
        Change("resource.put", {"key": "site:example.com", "attributes": {"environment": "production", "site": "example.com"}}),
        Change("resource.put", {"key": "site:example.com:product-pages", "attributes": {}}),
        Change("resource.put", {"key": "wp:post:1024", "attributes": {"resource_type": "product_page"}}),
        edge("part", "PART_OF", "wp:post:1024", "site:example.com:product-pages"),
        edge("own", "OWNS", "controller:seo", "wp:post:*", scope={"fields": sorted(POST)}, ownership_epoch=1),
    ]  # fmt: skip


def edge(edge_id: str, kind: str, from_: str, to: str, **more: object) -> Change:
    """Return the change that begins an edge."""
    record = {
        "edge_id": edge_id,
        "version": 1,
        "edge": kind,
        "from": from_,
        "to": to,
        "epoch": 1,
        "issuer": "organization:acme",
    }
    return Change("edge.begin", {**record, **more})


SCOPE = {
    "actions": ["UPDATE_CANONICAL"],
    "resources": ["wp:post:*"],
    "fields": ["canonical"],
    "where": {"environment": ["production"]},
    "conditions": [{"attribute": "risk", "at_most": "MEDIUM"}],
}


def chain(depth: int) -> list[Change]:
    """Return a chain of `depth` delegations from the owner down to the role of `instance:agent`."""
    changes: list[Change] = []
    above = "controller:seo"
    for level in range(1, depth + 1):
        below = f"role:level-{level}"
        changes.append(Change("principal.put", {"id": below, "trust": 2}))
        changes.append(edge(f"d{level}", "DELEGATES", above, below, scope=SCOPE, max_depth=depth - level))
        above = below
    changes.append(Change("principal.put", {"id": "instance:agent", "trust": 2}))
    changes.append(edge("acts", "ACTS_AS", "instance:agent", above))
    return changes


def beside(count: int) -> Iterator[Change]:
    """Iterate `count` edges that have nothing to do with the question: delegations, memberships and grants of others."""
    for index in range(count // 4):
        person, role = f"instance:other-{index}", f"role:other-{index % 1000}"
        if index < 1000:
            yield Change("principal.put", {"id": role, "trust": 2})
        yield Change("principal.put", {"id": person, "trust": 2})
        yield Change("resource.put", {"key": f"wp:post:9{index}", "attributes": {}})
        yield edge(f"ba{index}", "ACTS_AS", person, role)
        yield edge(f"bd{index}", "DELEGATES", role, person, scope=SCOPE, max_depth=1)
        yield edge(f"bg{index}", "MAY_WRITE", person, f"wp:post:9{index}", scope={"fields": ["body"]})
        yield edge(f"bp{index}", "PART_OF", f"wp:post:9{index}", "site:example.com:product-pages")


def fan_out(count: int) -> list[Change]:
    """Return `count` dead delegations to the subject's role, which a search has to look at and leave."""
    changes: list[Change] = []
    for index in range(count):
        changes.append(Change("principal.put", {"id": f"role:fan-{index}", "trust": 2}))
        changes.append(
            edge(f"f{index}", "DELEGATES", f"role:fan-{index}", "instance:agent", scope=SCOPE, valid_until=1)
        )
    return changes


def view_of(*parts: list[Change]) -> View:
    """Return the view of changes that are applied as one revision."""
    view = View()
    changes = tuple(change for part in parts for change in part)
    apply(view, Entry(revision=1, at=NOW - 1, action="BENCH", actor="system", changes=changes, hash=GENESIS))
    return view
