"""Concurrency classes, field merges and semantic impact: who waits for whom, and who does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.errors import ModelError
from remit_graph.model.resource_type import ALWAYS_LOCKS, Concurrency, parse_resource_type
from remit_service.decision.request import Entity
from tests.support.desk import codes, desk_on, question, sqlite_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.support.desk import Desk

POST = "wp:post:1024"


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A desk on a fresh embedded store."""
    async with desk_on(sqlite_in(tmp_path)) as opened:
        yield opened


@pytest.mark.feature("S46", "S69")
@pytest.mark.parametrize(
    ("subject", "action", "key", "reasons"),
    [
        ("instance:a", "READ_REPORT", "report:gsc", []),
        ("instance:a", "READ_INDEX", "index:1", ["lease_required"]),
        ("instance:a", "UPDATE_CANONICAL", POST, ["version_required"]),
        ("instance:a", "WORK", "queue:fifo:1", ["lease_required"]),
        ("instance:a", "APPEND_LOG", "log:1", []),
        ("instance:a", "RUN_JOB", "job:daily", ["lease_required"]),
        ("instance:a", "LABEL_TICKET", "ticket:1", []),
        ("instance:a", "NOTE_TICKET", "ticket:1", ["version_required"]),
        ("instance:a", "REBUILD_INDEX", "index:1", ["lease_required"]),
    ],
)
async def test_what_each_class_demands(desk: Desk, subject: str, action: str, key: str, reasons: list[str]) -> None:
    """The table of coordination.md 1: lease, version, both or neither."""
    decision = await desk.ask(subject, action, key)

    assert list(decision.codes) == reasons


@pytest.mark.feature("S46")
async def test_reads_never_wait_but_where_nothing_is_concurrent(desk: Desk) -> None:
    """Readers of a NON_CONCURRENT resource share it with each other, and exclude its writers."""
    first = (await desk.take("instance:a", "READ_INDEX", "index:1", mode="shared")).body["lease"]
    second = (await desk.take("instance:b", "READ_INDEX", "index:1", mode="shared")).body["lease"]
    writer = await desk.take("instance:c", "REBUILD_INDEX", "index:1")
    read = await desk.present(first, "READ_INDEX")
    carried = await desk.present(first, "REBUILD_INDEX")

    assert first["lease_epoch"] == second["lease_epoch"]
    assert writer.code == "resource_busy"
    assert read.outcome == "execute"
    assert "lease_required" in carried.codes


@pytest.mark.feature("S16", "S59", "S110")
async def test_one_runner_has_the_job_and_the_others_follow(desk: Desk) -> None:
    """Of simultaneous starts one runs; after its lease expires exactly one follower takes over."""
    starts = [await desk.take(f"instance:{name}", "RUN_JOB", "job:daily", ttl=30) for name in "abc"]
    follower = await desk.take("instance:d", "RUN_JOB", "job:daily", wait=60, keep_alive=60)
    await desk.to(30)
    await desk.sweep()

    assert [each.code for each in starts] == [None, "follower", "follower"]
    assert starts[1].message == "`instance:a` runs `job:daily`"
    assert follower.is_waiting
    assert desk.holders("job:daily") == ["instance:d"]


@pytest.mark.feature("S16")
async def test_a_leader_is_not_thereby_authorized(desk: Desk) -> None:
    """Holding the job gives no right to write elsewhere; whoever has that right writes there, and not the job."""
    await desk.take("instance:z", "RUN_JOB", "job:daily")
    follower = await desk.take("instance:a", "RUN_JOB", "job:daily")
    unrelated = await desk.ask("instance:a", "UPDATE_CANONICAL", POST, {"expected_version": "v1"})

    assert "no_authority" in (await desk.ask("instance:z", "UPDATE_CANONICAL", POST)).codes
    assert (follower.code, follower.outcome) == ("follower", "wait")
    assert unrelated.outcome == "execute"


@pytest.mark.feature("S79", "S92")
async def test_nobody_puts_a_whole_post_back(desk: Desk) -> None:
    """Two agents patch fields of their own side by side; the whole of it neither may write, whatever it holds."""
    patches = [
        await desk.begin(who, action, POST)
        for who, action in (("instance:a", "UPDATE_CANONICAL"), ("instance:d", "UPDATE_BODY"))
    ]
    for edge_id, who, issuer in (("w-a", "instance:a", "controller:seo"), ("w-d", "instance:d", "controller:content")):
        grant = {"edge": "MAY_WRITE", "edge_id": edge_id, "version": 1, "epoch": 1, "from": who, "to": "wp:post:*",
                 "issuer": issuer, "scope": {"actions": ["UPDATE_POST"]}}  # fmt: skip
        await desk.append(("edge.begin", grant))
    puts = [
        await desk.ask(who, "UPDATE_POST", POST, {"expected_version": "v1"}) for who in ("instance:a", "instance:d")
    ]

    assert [each.code for each in patches] == [None, None]
    assert [each.outcome for each in puts] == ["deny", "deny"]
    assert all("not_owner" in each.codes for each in puts)


@pytest.mark.feature("S91")
@pytest.mark.parametrize("concurrency", Concurrency)
def test_a_field_that_nobody_said_how_to_merge_is_refused(concurrency: Concurrency) -> None:
    """Nothing is ever merged by a guess: where writers can meet in a field, its type says what then, or is no type."""
    record = {"name": "gauge", "key": "gauge:{id}", "concurrency": str(concurrency), "fields": {"value": {}}}

    if concurrency in ALWAYS_LOCKS:
        assert parse_resource_type(record).fields["value"].merge is None
    else:
        with pytest.raises(ModelError, match="`value` has no `merge`: say exclusive, field_versioned or set_merge"):
            parse_resource_type(record)


BODY = ("instance:d", "UPDATE_BODY", None)
CANONICAL = ("instance:a", "UPDATE_CANONICAL", None)
META = ("instance:b", "UPDATE_META", None)
IMAGE = ("instance:c", "UPDATE_IMAGE", None)
SLUG = ("instance:e", "UPDATE_SLUG", None)


def tags(who: str, **operations: list[str]) -> tuple[str, str, dict[str, Any]]:
    """Return an operation on tags."""
    return (who, "UPDATE_TAGS", {"set_operations": {"add": [], "remove": [], **operations}})


@pytest.mark.feature("S04", "S05", "S49", "S90", "S92")
@pytest.mark.parametrize(
    ("held", "asked", "outcome"),
    [
        (CANONICAL, BODY, "execute"),
        (META, IMAGE, "execute"),
        (META, ("instance:c", "UPDATE_META", None), "serialize"),
        (CANONICAL, ("instance:b", "UPDATE_CANONICAL", None), "serialize"),
        (SLUG, CANONICAL, "review_required"),
        (CANONICAL, SLUG, "review_required"),
        (tags("instance:a", add=["Technical SEO"]), tags("instance:b", add=["GEO"]), "execute"),
        (tags("instance:a", add=["GEO"]), tags("instance:b", remove=["GEO"]), "merge_required"),
        (tags("instance:a", remove=["GEO"]), tags("instance:b", add=["GEO"]), "merge_required"),
        (("instance:a", "UPDATE_TAGS", None), tags("instance:b", add=["GEO"]), "merge_required"),
        (META, tags("instance:c", add=["GEO"]), "execute"),
    ],
)
async def test_fields_merge_as_their_policy_says(desk: Desk, held: Any, asked: Any, outcome: str) -> None:
    """Independent fields go side by side; one field, or one that locks the whole, one after the other."""
    first = await desk.take(held[0], held[1], POST, context=held[2])
    second = await desk.take(asked[0], asked[1], POST, context=asked[2])

    assert (first.outcome, second.outcome) == ("execute", outcome)
    assert second.is_refused == (outcome != "execute")


@pytest.mark.feature("S65", "S90")
async def test_what_shares_a_fence_shares_its_token(desk: Desk) -> None:
    """Commuting set operations have one token; nobody raises it past one that is live."""
    context = [{"set_operations": {"add": [name]}} for name in ("x", "y", "z")]
    one = (await desk.take("instance:a", "UPDATE_TAGS", POST, context=context[0], ttl=30)).body["lease"]
    two = (await desk.take("instance:b", "UPDATE_TAGS", POST, context=context[1], ttl=60)).body["lease"]
    await desk.revoke("del-a")
    three = await desk.take("instance:c", "UPDATE_TAGS", POST, context=context[2])
    still = await desk.present(two, "UPDATE_TAGS", expected_version="v1", set_operations=context[1]["set_operations"])
    await desk.leases.release(two["lease_id"], desk.caller, token=two["lease_epoch"])
    four = (await desk.take("instance:c", "UPDATE_TAGS", POST, context=context[2])).body["lease"]

    assert one["lease_epoch"] == two["lease_epoch"]
    assert still.outcome == "execute"
    assert (three.code, three.body["holder"]) == ("resource_busy", "instance:b")
    assert four["lease_epoch"] > two["lease_epoch"]


@pytest.mark.feature("S48")
async def test_two_spellings_meet_in_one_lease(desk: Desk) -> None:
    """Aliases are names of one key; what is registered nowhere is refused."""
    await desk.take("instance:a", "UPDATE_CANONICAL", "wordpress:article:1024")
    other = await desk.take("instance:b", "UPDATE_CANONICAL", "post:1024")
    unknown = await desk.take("instance:b", "UPDATE_CANONICAL", "blog:1024")

    assert desk.holders(POST) == ["instance:a"]
    assert (other.code, other.body["key"]) == ("resource_busy", POST)
    assert unknown.code == "unknown_resource"


@pytest.mark.feature("S50", "S52")
async def test_a_template_with_a_large_meaning_locks_what_it_changes(desk: Desk) -> None:
    """12,842 affected pages make their section a key of the operation; twelve do not."""
    large = (await desk.take("instance:d", "UPDATE_TEMPLATE", "wp:template:product")).body["lease"]
    page = await desk.take("instance:e", "UPDATE_BODY", POST)
    about = await desk.take("instance:e", "UPDATE_BODY", "wp:post:2001")
    await desk.leases.release(large["lease_id"], desk.caller, token=large["lease_epoch"])
    small = (await desk.take("instance:d", "UPDATE_TEMPLATE", "wp:template:small")).body["lease"]
    beside = await desk.take("instance:h", "UPDATE_META", POST)

    assert sorted(large["fencing_tokens"]) == ["site:102:product-pages#*", "wp:template:product#*"]
    assert (page.code, page.body["conflicts"][0]["relation"]) == ("resource_busy", "affects")
    assert about.code is None
    assert list(small["fencing_tokens"]) == ["wp:template:small#*"]
    assert beside.code is None


@pytest.mark.feature("S52")
async def test_a_deployment_that_writes_headers_meets_robots(desk: Desk) -> None:
    """MUST_COORDINATE_WITH: no common id, and yet one after the other, whoever comes first."""
    await desk.take("instance:a", "DEPLOY", "cf:worker:middleware:production")
    busy = await desk.take("instance:s-1", "UPDATE_SITE", "site:102:robots")

    assert (busy.code, busy.body["conflicts"][0]["relation"]) == ("resource_busy", "must_coordinate")


@pytest.mark.feature("S49", "S52")
async def test_a_site_and_its_pages_exclude_each_other(desk: Desk) -> None:
    """A lease above contains what is below it, over prefixes and over PART_OF, and the other way round."""
    bulk = (await desk.take("instance:s-1", "BULK_CANONICAL", "site:102:product-pages")).body["lease"]
    below = await desk.take("instance:a", "UPDATE_CANONICAL", POST)
    body = await desk.take("instance:d", "UPDATE_BODY", POST)
    await desk.leases.release(bulk["lease_id"], desk.caller, token=bulk["lease_epoch"])
    await desk.take("instance:a", "UPDATE_CANONICAL", POST)
    above = await desk.take("instance:s-1", "BULK_CANONICAL", "site:102:product-pages")

    assert (below.code, below.body["conflicts"][0]["relation"]) == ("resource_busy", "ancestor")
    assert body.code is None
    assert (above.code, above.body["conflicts"][0]["relation"]) == ("resource_busy", "descendant")


@pytest.mark.feature("S57")
async def test_code_is_concurrent_and_deployments_are_not(tmp_path: Path) -> None:
    """Two commits pass without lease; of two deployments one waits, and 41 after 42 is refused."""
    async with desk_on(sqlite_in(tmp_path), world="seo") as desk:
        commits = [
            await desk.ask(f"instance:{who}", "COMMIT_CODE", "git:repository:seo-workers")
            for who in ("gitops-1", "release-controller-a")
        ]
        worker = "cf:worker:seo-publisher:production"
        first = await desk.begin("instance:release-controller-a", "DEPLOY_WORKER", worker)
        second = await desk.begin("instance:release-controller-b", "DEPLOY_WORKER", worker)
        await desk.walk(first, final="release-42", version="release-40")
        late = await desk.begin(
            "instance:release-controller-b", "DEPLOY_WORKER", worker, context={"expected_version": "release-40"}
        )

    assert [each.outcome for each in commits] == ["execute", "execute"]
    assert (first.code, second.code) == (None, "resource_busy")
    assert late.code == "stale_resource_version"


@pytest.mark.feature("S58")
async def test_migrations_keep_their_order(desk: Desk) -> None:
    """104 before 103 is refused, 103 begins the line, and two runners cannot both hold the schema."""
    early = await desk.begin("instance:a", "MIGRATE", "db:schema:main", context=line(104, 103))
    unnamed = await desk.begin("instance:a", "MIGRATE", "db:schema:main")
    first = await desk.begin("instance:a", "MIGRATE", "db:schema:main", context=line(103))
    second = await desk.begin("instance:b", "MIGRATE", "db:schema:main", context=line(103))
    await desk.walk(first, final="schema-103", version="schema-102")
    next_one = await desk.begin("instance:b", "MIGRATE", "db:schema:main", context=line(104, 103))

    assert (early.code, early.outcome) == ("sequence_violated", "ordered")
    assert early.message == "number 104 of `migrations` is asked for, and 103 is next"
    assert unnamed.code == "sequence_violated"
    assert second.is_refused
    assert next_one.code is None
    assert desk.point.view.records["sequence"]["migrations"]["version"] == "schema-103"


def line(number: int, depends_on: int | None = None) -> dict[str, Any]:
    """Return the context of an operation of a line."""
    return {"sequence": {"number": number, "depends_on": depends_on}}


@pytest.mark.feature("S97")
async def test_a_reconciler_is_an_actor_too(desk: Desk) -> None:
    """It needs its edge, waits for a held lease like everybody, and overrides no human who is editing."""
    edited = await desk.signals.presence(
        Entity(type="key", id="wp:post:7"), desk.caller, actor="human:editor", fields=("canonical",),
        last_activity=desk.point.now(), ttl_us=60_000_000,
    )  # fmt: skip
    held = await desk.begin("service:reconciler", "RECONCILE", "wp:post:7")
    await desk.take("instance:a", "UPDATE_CANONICAL", POST)
    waits = await desk.begin("service:reconciler", "RECONCILE", POST)
    denied = await desk.ask("instance:a", "RECONCILE", POST, {"expected_version": "v1"})

    assert edited.code is None
    assert (held.code, held.outcome) == ("human_presence", "hold")
    assert waits.code == "resource_busy"
    assert "no_authority" in denied.codes or "scope_not_covered" in denied.codes


@pytest.mark.feature("S47", "S51")
async def test_an_unmapped_action_escalates(desk: Desk) -> None:
    """Where nothing says whether two kinds of state may change together, an owner decides."""
    await desk.append(("action.put", {"name": "MYSTERY", "class": "write"}))
    grant = {
        "edge_id": "g-mystery", "version": 1, "edge": "MAY_WRITE", "from": "team:site", "to": "site:*",
        "epoch": 1, "issuer": "organization:desk", "scope": {"actions": ["MYSTERY"]},
    }  # fmt: skip
    await desk.append(("edge.begin", grant))
    await desk.take("instance:s-1", "MYSTERY", "site:102:about-pages")
    other = await desk.take("instance:s-2", "UPDATE_SITE", "site:102:about-pages")

    assert (other.code, other.outcome) == ("conflict_unknown", "escalate")
    assert question("instance:s-1", "MYSTERY", "site:102").action == "MYSTERY"
    assert codes(other)[0] == "conflict_unknown"
