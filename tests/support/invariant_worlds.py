"""Generated worlds for the safety invariants (S116): in each of them nothing is missing, until a test takes it away.

    part = await settle(desk, shape)
    await desk.ask(part.subject, "EDIT", part.page, READ)      # execute

A desk opens with what never changes: types, actions, an enforcement point. Each drawn `Shape` adds, in one revision and
under names of its own, who acts, over what chain, on which resources, and who else is about.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any, Final

from hypothesis import strategies as st

from remit_service.bundle.folder import shipped_policy
from tests.support.desk import desk_on, sqlite_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from tests.support.desk import Desk

Body = dict[str, Any]

WORLD: Final = """\
realm: invariants
root: ["organization:root"]
dimensions: [environment]
resource_types:
  site:   {key: "site:{id}", concurrency: READ_SHARED}
  page:   {key: "page:{id}", concurrency: WRITE_OPTIMISTIC,
           fields: {body: {domain: CONTENT_BODY, merge: exclusive, managed: true, independent: true},
                    title: {domain: CONTENT_BODY, merge: exclusive, managed: true, independent: true}}}
  doc:    {key: "doc:{id}", concurrency: WRITE_OPTIMISTIC}
  robots: {key: "robots:{id}", concurrency: WRITE_EXCLUSIVE}
actions:
  EDIT:    {class: write, fields: [body], risk: LOW, reversible: true}
  RENAME:  {class: write, fields: [title], risk: LOW, reversible: true}
  EXPAND:  {class: write, domain: CONTENT_BODY, risk: LOW, reversible: true}
  PUBLISH: {class: write, domain: CONTENT_BODY, risk: HIGH, reversible: true}
  DELETE:  {class: write, domain: CONTENT_BODY, risk: CRITICAL, reversible: false}
  APPROVE_IT: {class: approve}
  REWRITE: {class: write, domain: INDEXING_CONTROL, risk: LOW, reversible: true}
principals:
  - {id: "organization:root"}
resources:
  - {key: "site:production", attributes: {environment: production}}
enforcement_points:
  - {id: "service:gateway", identities: ["key:gateway"], speaks_for: ["*:*"], visibility: full,
     trusted: [resource_version, release_gate, baseline, drift]}
"""
SITE: Final = "custom/site.rego"
ROOT: Final = "organization:root"
ACTIONS: Final = ("DELETE", "EDIT", "EXPAND", "PUBLISH", "RENAME", "REWRITE")
_NUMBERS = count(1)


def without(*packages: str) -> dict[str, str]:
    """Return the files of packages of rules that give no reason any more."""
    files = {}
    for name in packages:
        path = f"remit/{name}/{name}.rego"
        text = (shipped_policy() / path).read_text()
        assert "reasons contains" in text
        files[path] = text.replace("reasons contains", "given_up contains") + "\nreasons := set()\n"
    return files


def site_rule(attribute: str, wanted: str) -> dict[str, str]:
    """Return a rule of a site: nothing is expanded unless an attribute that the gateway is believed about says so."""
    return {
        SITE: f"""package custom

requires[rule] := {{"/action/name": "string", "/request/context/{attribute}": "string"}} if rule := "gate"

deny contains {{"rule": "gate", "code": "gate_closed", "message": "{attribute} is not {wanted}"}} if {{
	input.action.name == "EXPAND"
	input.request.context.{attribute} != "{wanted}"
}}
"""
    }


@asynccontextmanager
async def world(folder: Path, policy: Mapping[str, str] | None = None) -> AsyncIterator[Desk]:
    """Open a desk in the world of the invariants."""
    (folder / "invariants.yaml").write_text(WORLD)
    async with desk_on(sqlite_in(folder), world=str(folder / "invariants"), policy=policy) as desk:
        yield desk


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How a part of a world is made.

    Attributes:
        kinds: Of who acts, and of another who may do the same.
        hops: Delegations between the grant and who acts.
        by_role: Whether who acts does so as a role.
        by_site: Whether the document is in production because its site is.
        bystanders: What else there is: relations and rights of others, which count for nothing here.
    """

    kinds: tuple[str, str]
    hops: int
    by_role: bool
    by_site: bool
    bystanders: tuple[str, ...]


SHAPES: Final = st.builds(
    Shape,
    kinds=st.tuples(*[st.sampled_from(["human", "instance", "service"])] * 2),
    hops=st.integers(0, 2),
    by_role=st.booleans(),
    by_site=st.booleans(),
    bystanders=st.lists(
        st.sampled_from(["reports", "reads", "writes elsewhere", "owns elsewhere", "joins", "affects"]), max_size=4
    ).map(tuple),
)
VERSIONS: Final = st.text("abcdef0123456789.-", min_size=1, max_size=12)


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a world, with names of its own.

    Attributes:
        number: Tells its names from those of all others.
        subject, other: Both may do everything on the resources.
        owner: Of the page's fields.
        approver: May approve what is done to the document.
        grant: The edge that both rest on.
    """

    number: int
    subject: str
    other: str
    owner: str
    approver: str
    grant: str

    @property
    def page(self) -> str:
        """A resource with managed fields."""
        return f"page:p{self.number}"

    @property
    def doc(self) -> str:
        """A resource in production."""
        return f"doc:d{self.number}"

    @property
    def robots(self) -> str:
        """A resource that is written by one at a time."""
        return f"robots:r{self.number}"

    @property
    def own(self) -> str:
        """The edge by which the page's fields are owned."""
        return f"own-{self.number}"


async def settle(desk: Desk, shape: Shape) -> Part:
    """Add a part of this shape to a world."""
    number = next(_NUMBERS)
    names = [f"{kind}:{letter}{number}" for kind, letter in zip(shape.kinds, "ab", strict=True)]
    part = Part(
        number=number, subject=names[0], other=names[1], owner=f"controller:o{number}", approver=f"human:e{number}",
        grant=f"grant-{number}",
    )  # fmt: skip
    hands = [*(f"service:h{number}x{place}" for place in range(shape.hops)), f"role:r{number}"]
    await desk.append(
        *(("principal.put", {"id": each, "trust": 4}) for each in [*names, part.owner, part.approver, *hands]),
        ("resource.put", _document(part, shape)),
        *([("edge.begin", _edge(f"in-{number}", "PART_OF", part.doc, "site:production"))] if shape.by_site else []),
        ("edge.begin", _owns(part.own, part.owner, part.page, ["body", "title"])),
        *(("edge.begin", each) for each in _rights(part, hands, shape)),
        ("edge.begin", _edge(f"approve-{number}", "MAY_APPROVE", part.approver, part.doc)),
        *(change for place, each in enumerate(shape.bystanders) for change in _bystander(part, each, place)),
    )
    return part


def _document(part: Part, shape: Shape) -> Body:
    return {"key": part.doc} if shape.by_site else {"key": part.doc, "attributes": {"environment": "production"}}


def _edge(edge_id: str, kind: str, from_: str, to: str, **more: Any) -> Body:
    named = {"edge_id": edge_id, "version": 1, "edge": kind, "from": from_, "to": to}
    return {**named, "epoch": 1, "issuer": ROOT, **more}


def _owns(edge_id: str, owner: str, page: str, fields: list[str]) -> Body:
    return _edge(edge_id, "OWNS", owner, page, ownership_epoch=1, scope={"fields": fields})


def _rights(part: Part, hands: list[str], shape: Shape) -> list[Body]:
    """Return one grant a resource, the delegations below it, and who acts at their end."""
    *passing, role = hands
    ends = [role] if shape.by_role else [part.subject, part.other]
    edges = [_edge(f"as-{part.number}-{each}", "ACTS_AS", each, role) for each in (part.subject, part.other)]
    for name, key, scope in (
        ("page", part.page, {"actions": ["EDIT"], "fields": ["body"]}),
        ("doc", part.doc, {"actions": ["DELETE", "EXPAND", "PUBLISH"]}),
        ("robots", part.robots, {"actions": ["REWRITE"]}),
    ):
        issuer = part.owner if name == "page" else ROOT
        rests = {"rests_on": [{"edge_id": part.own, "ownership_epoch": 1}]} if name == "page" else {}
        top = f"{part.grant}-{name}"
        for place, holder in enumerate([passing[0]] if passing else ends):
            edges.append(
                _edge(f"{top}{place}", "MAY_WRITE", holder, key, issuer=issuer, max_depth=9, scope=scope, **rests)
            )
        under = f"{top}0@1"
        for place, (upper, lower) in enumerate(pairwise(passing)):
            edges.append(_delegates(f"{top}-d{place}", upper, lower, under, scope | {"resources": [key]}, 8 - place))
            under = f"{top}-d{place}@1"
        if passing:
            edges += [
                _delegates(f"{top}-e{place}", passing[-1], each, under, scope | {"resources": [key]}, 1)
                for place, each in enumerate(ends)
            ]
    return edges


def _delegates(edge_id: str, upper: str, lower: str, under: str, scope: Body, depth: int) -> Body:
    return _edge(edge_id, "DELEGATES", upper, lower, issuer=upper, under=under, max_depth=depth, scope=scope)


def _bystander(part: Part, what: str, place: int) -> list[tuple[str, Body]]:
    name, who = f"by-{part.number}-{place}", f"controller:by{part.number}x{place}"
    edge = {
        "reports": _edge(name, "REPORTS_TO", part.subject, who),
        "reads": _edge(name, "MAY_READ", who, "page:*"),
        "writes elsewhere": _edge(name, "MAY_WRITE", who, f"robots:{name}", scope={"actions": ["REWRITE"]}),
        "owns elsewhere": _owns(name, who, f"page:{name}", ["body"]),
        "joins": _edge(name, "MEMBER_OF", part.subject, f"team:{name}"),
        "affects": _edge(name, "AFFECTS", part.doc, f"page:{name}", count=3, domains=["CONTENT_BODY"]),
    }[what]
    known = [("principal.put", {"id": who, "trust": 1})]
    known += [("principal.put", {"id": f"team:{name}", "trust": 1})] if what == "joins" else []
    return [*known, ("edge.begin", edge)]
