"""The verbs of governance: an engineer's day against a running service, and the same verbs on the store itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from remit_service.cli.app import app
from tests.http.serving import serve, stopped_later

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.http.serving import Served

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"
POST = "wp:post:1024"
NEW = "instance:seo-agent-9"
READ = ("-c", "risk=LOW", "-c", "expected_version=rev_1", "-c", "resource_version=rev_1")
TITLE = ("UPDATE_SEO_METADATA", POST, *READ)
CANONICAL = ("UPDATE_CANONICAL", POST, *READ)


NARROW = (
    "--action", "UPDATE_CANONICAL", "--field", "canonical", "--resource", "wp:post:7",
    "--where", "environment=production", "--where", "site=example.com", "--actor", "controller:seo-control-plane",
)  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The content platform, for callers of this machine."""
    yield from stopped_later(serve(tmp_path_factory.mktemp("day"), SEO, demo=True))


def remit(place: tuple[str, str], *words: str) -> tuple[int, dict[str, Any]]:
    """Run a command with `--json`; returns its exit code and document."""
    result = CliRunner().invoke(app, [*place, "--json", *words])
    return result.exit_code, json.loads(result.stdout)


def codes(document: dict[str, Any]) -> list[str]:
    """Return the reason codes of an answer."""
    return [each["code"] for each in document["context"]["reasons"]]


@pytest.mark.feature("S25", "S26", "S27", "S28", "S30", "S33")
def test_an_engineers_day(served: Served) -> None:
    """A new agent gets a narrow authority and works; its parent is narrowed and it shrinks; revoked, all of it stops.

    Why not is told by name, the rest of the platform is untouched, and the state before can still be read.
    """
    at = ("--url", served.url)
    seo = ("--actor", "controller:seo-control-plane")

    # In the morning a new agent is declared, and handed a narrow authority over two fields of one post.
    assert remit(at, "principal", "declare", NEW, "--trust", "2")[0] == 0
    parent = ("delegate", "controller:seo-control-plane", "role:seo-agent", "--id", "day-parent", "--depth", "2")
    scope = ("--action", "UPDATE_CANONICAL", "--action", "UPDATE_SEO_METADATA", "--where", "environment=production")
    fields = ("--field", "canonical", "--field", "meta_description", "--resource", POST)
    code, made = remit(at, *parent, *scope, *fields)
    assert (code, made["under"]) == (0, "d-seo@1")
    child = ("delegate", "role:seo-agent", NEW, "--id", "day-child", "--under", "day-parent", "--depth", "1")
    code, made = remit(at, *child, "--actor", "instance:seo-agent-7")
    assert (code, made["under"], made["scope"]["fields"]) == (0, "day-parent@1", ["canonical", "meta_description"])
    code, wide = remit(at, "delegate", "role:seo-agent", NEW, "--id", "day-wide", "--field", "body",
                       "--actor", "instance:seo-agent-7")  # fmt: skip
    assert (code, wide["problem"]["code"], wide["problem"]["reasons"][0]["offending"]) == (
        1, "attenuation_violated", ["body"],
    )  # fmt: skip

    # It works.
    assert [remit(at, "decide", NEW, *each)[0] for each in (CANONICAL, TITLE)] == [0, 0]
    before = served.point.view.revision
    morning = remit(at, "explain", NEW, *TITLE)[1]["at"]

    # At noon the parent is narrowed to one action, and the child shrinks with it in the same revision.
    code, narrowed = remit(at, "amend", "day-parent", "--version", "1", *seo, "--action", "UPDATE_CANONICAL",
                           "--field", "canonical", "--resource", POST, "--where", "environment=production")  # fmt: skip
    assert code == 0, narrowed
    assert narrowed["narrowed"] == [{"delegation_id": "day-child", "version": 2, "under": "day-parent@2"}]
    assert remit(at, "decide", NEW, *CANONICAL)[0] == 0
    code, denied = remit(at, "decide", NEW, *TITLE)
    assert (code, codes(denied)) == (1, ["scope_not_covered"])

    # In the evening it is planned, then revoked, with everything below.
    code, plan = remit(at, "revoke", "day-parent", "--plan", "--impact")
    assert (code, plan["ended"]["delegations"]) == (0, ["day-child", "day-parent"])
    assert [each["after"]["effect"] for each in plan["impact"]["would_change"]] == ["deny"]
    assert remit(at, "decide", NEW, *CANONICAL)[0] == 0
    code, done = remit(at, "revoke", "day-parent", "--reason", "end of the day")
    assert (code, done["ended"]["delegations"]) == (0, ["day-child", "day-parent"])
    code, denied = remit(at, "decide", NEW, *CANONICAL)
    assert (code, codes(denied)) == (1, ["delegation_revoked"])

    # Why not, why the others still may, and how it was.
    code, why = remit(at, "why-not", NEW, *CANONICAL)
    assert (code, why["context"]["explanation"]["near_misses"][0]["failed"]) == (1, "day-parent@2")
    code, still = remit(at, "why-still", "del_882")
    assert (code, [each["edge_id"] for each in still["carried_by"]]) == (0, ["d-seo"])
    assert remit(at, "decide", "instance:seo-agent-7", *CANONICAL)[0] == 0
    for moment in (("--at-revision", str(before)), ("--as-of", morning)):
        code, then = remit(at, "explain", NEW, *TITLE, *moment)
        assert (code, then["decision"], then["enforceable"]) == (0, True, False)
    exported = CliRunner().invoke(app, [*at, "graph", "export", "--at-revision", str(before)])
    assert (exported.exit_code, "day-child" in exported.stdout) == (0, True)


@pytest.mark.feature("S15", "S34")
def test_the_same_verbs_on_the_store_itself(tmp_path: Path) -> None:
    """Whoever may open the store acts as the first root; a floor, a review of what it left, and a renewal."""
    at = ("--store", f"sqlite:///{tmp_path / 'remit.db'}")
    remit(at, "store", "init", "--world", str(SEO))

    code, bumped = remit(at, "epoch", "bump", "--floor", "writes", "--reason", "an incident")
    assert (code, bumped["authority"]) == (0, 2)
    code, report = remit(at, "review")
    stale = {f"{each['edge_id']}@{each['version']}" for each in report["stale"]["edges"]}
    assert {"own-seo@1", "del_882@1"} <= stale
    acting = {each["principal"]: each for each in report["acting_for_others"]}
    assert acting["service:gateway"]["speaks_for"] == ["human:*", "instance:*", "service:*"]
    code, renewed = remit(at, "epoch", "renew", "own-seo@1", "del_882@1")
    assert (code, renewed["renewed"]) == (0, ["own-seo@2", "del_882@2"])
    code, refused = remit(at, "revoke", "nothing-of-this-name")
    assert (code, refused["problem"]["code"]) == (1, "not_found")


@pytest.mark.feature("S34")
def test_a_recovery_makes_a_root_and_stays_in_the_chain(tmp_path: Path) -> None:
    """It prints a key once, works on the store alone, and leaves a record of who was let in and why."""
    at = ("--store", f"sqlite:///{tmp_path / 'remit.db'}")
    remit(at, "store", "init", "--world", str(SEO))

    code, done = remit(at, "recover", "human:security", "--reason", "the last root left")
    elsewhere = CliRunner().invoke(app, ["--url", "http://127.0.0.1:1", "recover", "human:security", "--reason", "x"])
    unknown = CliRunner().invoke(app, [*at, "recover", "human:nobody", "--reason", "x"])
    code_of_review, report = remit(at, "review")

    assert (code, done["principal"], done["key"][:4]) == (0, "human:security", "rmk_")
    assert done["identity"] == f"key:recovery-{done['revision']}"
    assert (elsewhere.exit_code, unknown.exit_code) == (2, 1)
    assert code_of_review == 0
    assert "human:security" in report["who_governs"]


@pytest.mark.parametrize(
    ("command", "loses"),
    [
        (("amend", "del_882", "--version", "1", *NARROW), True),
        (("epoch", "bump", "--floor", "writes"), True),
        (("principal", "disable", "instance:seo-agent-7"), True),
        (("member", "instance:seo-agent-7", "role:content-agent"), False),
        (("principal", "declare", "instance:nobody-yet"), False),
    ],
)
def test_a_dry_run_says_which_recent_verdicts_would_change(
    served: Served, command: tuple[str, ...], *, loses: bool
) -> None:
    """Recorded decisions are decided again on the graph as it would be: told by name, and nothing is changed."""
    at = ("--url", served.url)
    assert remit(at, "decide", "instance:seo-agent-7", *CANONICAL)[0] == 0
    before = served.point.view.revision

    code, plan = remit(at, *command, "--dry-run", "--impact")

    assert (code, plan["dry_run"], served.point.view.revision) == (0, True, before)
    assert plan["impact"]["decisions"] >= 1
    mine = [each for each in plan["impact"]["would_change"] if each["subject"]["id"] == "seo-agent-7"]
    assert [(each["before"]["effect"], each["after"]["effect"]) for each in mine] == [("permit", "deny")] * loses


def test_impact_belongs_to_a_dry_run(served: Served) -> None:
    """Without one the command is not given at all."""
    before = served.point.view.revision

    result = CliRunner().invoke(app, ["--url", served.url, "epoch", "bump", "--floor", "none", "--impact"])

    assert result.exit_code == 2
    assert "--impact belongs to --dry-run" in result.stderr
    assert served.point.view.revision == before


def test_people_read_which_verdicts_an_adoption_would_change(served: Served) -> None:
    """What is asked for with `--impact` is printed, not only in the document."""
    at = ("--url", served.url)
    assert remit(at, "decide", "instance:seo-agent-7", *CANONICAL)[0] == 0

    result = CliRunner().invoke(app, [*at, "graph", "adopt", "--dry-run", "--impact"])

    assert result.exit_code == 0, result.output
    first, last = result.stdout.splitlines()
    assert (first, last.startswith("0 of ")) == ("nothing was edited past the ledger", True)
    assert "recent verdicts would change" in last
