"""Several decision points on one store: no answer of a revision rests on an older one (faults of freshness)."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.model.change import Change
from remit_service import slices
from remit_service.bootstrap import running_point
from remit_service.decision.caller import Caller
from remit_service.decision.request import parse_evaluation
from remit_service.governance.governor import Governor, Order
from remit_service.opening import shipped_world
from remit_service.settings import Settings
from remit_service.writer.command import Accepted, Submission
from tests.support.scenario.stage import Recorder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from remit_service.decision.decision import Decision
    from remit_service.point import DecisionPoint

CALLER = Caller(point=None, trusts_all=True)
ROOT = Order(actor="organization:acme")
SOON = timedelta(seconds=30)
SCOPE = {"actions": ["UPDATE_CANONICAL"], "resources": ["wp:post:1024"], "fields": ["canonical"]}


@asynccontextmanager
async def points(folder: Path, count: int) -> AsyncIterator[list[DecisionPoint]]:
    """Run so many decision points on one store."""
    async with AsyncExitStack() as stack:
        settings = [
            Settings(store=f"sqlite:///{folder / 'remit.db'}", world=shipped_world("seo"), replica=f"point-{number}")
            for number in range(count)
        ]
        yield [await stack.enter_async_context(running_point(each, Recorder())) for each in settings]


async def ask(point: DecisionPoint, subject: str, **consistency: Any) -> Decision:
    """Ask whether an instance may set the canonical link of a post."""
    context = {"environment": "production", "risk": "LOW", "expected_version": "rev_331", **consistency}
    body = {
        "subject": {"type": "instance", "id": subject}, "action": {"name": "UPDATE_CANONICAL"},
        "resource": {"type": "wp:post", "id": "1024"}, "context": context,
    }  # fmt: skip
    return await point.evaluate(parse_evaluation(body), CALLER)


async def govern(point: DecisionPoint, verb: str, body: dict[str, Any]) -> int:
    """Carry a governance command out in the name of the root; returns its revision."""
    outcome = await Governor(point).carry_out(verb, body, ROOT)
    assert outcome.refused is None, outcome.refused
    return outcome.revision


async def put(point: DecisionPoint, *changes: Change) -> None:
    """Append changes as one command, past the laws."""
    done = await point.submit(
        Submission(action="TEST", actor="system", decide=lambda *_: Accepted(changes=changes, result={}))
    )
    assert isinstance(done.verdict, Accepted)


@pytest.mark.timeout(300)
async def test_f001_a_minimum_revision_is_waited_for_everywhere(tmp_path: Path) -> None:
    """1,000 questions over four decision points with the token of a grant: 1,000 permits, none from before it."""
    async with points(tmp_path, 4) as all_points:
        await govern(all_points[0], "declare", {"id": "instance:new-1", "trust": 2})
        grant = {"edge_id": "g-new", "edge": "ACTS_AS", "from": "instance:new-1", "to": "role:seo-agent"}
        revision = await govern(all_points[0], "member", grant)
        token = {"consistency": {"at_least_as_fresh": all_points[0].revision_token(revision)}}

        answers: list[Decision] = []
        for first in range(0, 1_000, 8):
            some = (ask(all_points[number % 4], "new-1", **token) for number in range(first, first + 8))
            answers.extend(await asyncio.gather(*some))

        denied = {each.codes for each in answers if each.outcome != "execute"}
        assert denied <= {("revision_not_reached",)}
        assert min(each.revision for each in answers if each.outcome == "execute") >= revision
        assert [(await ask(each, "new-1", **token)).outcome for each in all_points] == ["execute"] * 4


@pytest.mark.feature("S33")
@pytest.mark.timeout(300)
async def test_f003_and_f004_one_question_after_a_revocation_is_enough(tmp_path: Path) -> None:
    """At once on the point that acknowledged it; elsewhere a permit names an older revision, and the next one none."""
    async with points(tmp_path, 2) as (here, there):
        assert (await ask(here, "seo-agent-7")).outcome == (await ask(there, "seo-agent-7")).outcome == "execute"

        revision = await govern(here, "revoke", {"target": {"edge_id": "del_882"}})
        once = await ask(here, "seo-agent-7")
        meanwhile = await ask(there, "seo-agent-7")
        assert await there.replica.reached(revision, SOON)
        after = [await ask(there, "seo-agent-7") for _ in range(2)]

        assert (once.effect, once.revision >= revision) == ("deny", True)
        assert meanwhile.effect == "deny" or meanwhile.revision < revision
        assert [each.effect for each in after] == ["deny", "deny"]
        assert "delegation_revoked" in after[0].codes


@pytest.mark.timeout(300)
async def test_f009_a_plan_is_seen_by_nobody(tmp_path: Path) -> None:
    """While a grant is tried again and again, the one it would be for is denied as ever, and nothing is appended."""
    async with points(tmp_path, 1) as (point,):
        await govern(point, "declare", {"id": "instance:new-1", "trust": 2})
        before = point.view.revision
        plan = {
            "edge_id": "g-new",
            "edge": "ACTS_AS",
            "from": "instance:new-1",
            "to": "role:seo-agent",
            "dry_run": True,
        }

        trying = asyncio.gather(*(Governor(point).carry_out("member", plan, ROOT) for _ in range(20)))
        found = await asyncio.gather(*(ask(point, "new-1") for _ in range(20)))
        tried = await trying

        assert {each.dry_run for each in tried} == {True}
        assert {(each.effect, each.codes[0]) for each in found} == {("deny", "no_authority")}
        assert point.view.revision == before


def line(name: str, from_: str, to: str, under: str, depth: int) -> list[Change]:
    """Return the changes that declare somebody and delegate to it."""
    edge = {
        "edge_id": name, "version": 1, "edge": "DELEGATES", "from": from_, "to": to, "epoch": 1, "issuer": from_,
        "under": under, "max_depth": depth, "scope": SCOPE,
    }  # fmt: skip
    return [Change("principal.put", {"id": to, "trust": 2}), Change("edge.begin", edge)]


@pytest.mark.feature("S33")
@pytest.mark.timeout(300)
async def test_a_large_revocation_lets_others_be_answered_all_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While 1,500 delegations end, here and on a second point, decisions go on, each as its own revision has it."""
    # With slices of no length every pause lets others in, however fast this machine is.
    monkeypatch.setattr(slices, "SLICE_SECONDS", 0.0)
    async with points(tmp_path, 2) as (here, there):
        leaves = [f"leaf-{number}" for number in range(1_500)]
        await put(
            here,
            *line("to-2", "role:seo-agent", "instance:a2", "del_882@1", 1),
            *line("beside", "role:seo-agent", "instance:beside", "del_882@1", 1),
            *(each for name in leaves for each in line(name, "instance:a2", f"instance:{name}", "to-2@1", 0)),
        )
        assert await there.replica.reached(here.view.revision, SOON)
        first = here.view.revision
        answers: dict[DecisionPoint, list[tuple[str, Decision]]] = {here: [], there: []}
        is_over = asyncio.Event()

        async def load(point: DecisionPoint) -> None:
            number = 0
            while not is_over.is_set():
                for each in (leaves[number % len(leaves)], "beside"):
                    answers[point].append((each, await ask(point, each)))
                number += 17
                await asyncio.sleep(0)

        asking = [asyncio.create_task(load(each)) for each in (here, there)]
        revision = await govern(here, "revoke", {"target": {"edge_id": "to-2"}})
        asked_by_then = len(answers[here])
        assert await there.replica.reached(revision, SOON)
        is_over.set()
        await asyncio.gather(*asking)

        said = [each for point in answers for each in answers[point]]
        assert revision == first + 1
        assert {one.outcome for name, one in said if name == "beside"} == {"execute"}
        assert {one.revision < revision for name, one in said if name != "beside" and one.effect == "permit"} == {True}
        assert {one.codes for name, one in said if name != "beside" and one.effect == "deny"} <= {
            ("delegation_revoked",)
        }
        # A pause each 256 delegations looked at, and each 64 ended: in every one of them somebody was answered.
        assert asked_by_then > 1_500 / 64


@pytest.mark.feature("S33")
@pytest.mark.timeout(300)
async def test_f025_a_middle_link_takes_its_whole_subtree_under_load(tmp_path: Path) -> None:
    """One revision ends 1,002 below it; no later answer permits any of them, and who hangs beside it always may."""
    async with points(tmp_path, 1) as (point,):
        await put(
            point,
            *line("top", "controller:seo-control-plane", "role:top", "d-seo@1", 5),
            *line("to-1", "role:top", "instance:a1", "top@1", 4),
            *line("to-2", "instance:a1", "instance:a2", "to-1@1", 3),
            *line("to-2b", "instance:a1", "instance:a2b", "to-1@1", 3),
            *line("to-3", "instance:a2", "instance:a3", "to-2@1", 2),
            *(
                each
                for n in range(1_000)
                for each in line(f"leaf-{n}", "instance:a3", f"instance:leaf-{n}", "to-3@1", 0)
            ),
        )
        below = ["a2", "a3", *(f"leaf-{number}" for number in range(1_000))]
        assert {(await ask(point, each)).outcome for each in (*below[:4], below[-1], "a2b")} == {"execute"}
        answers: list[tuple[str, Decision]] = []
        is_over = asyncio.Event()

        async def load() -> None:
            number = 0
            while not is_over.is_set() or number < 60:
                answers.extend([(each, await ask(point, each)) for each in (below[number % len(below)], "a2b")])
                number += 17
                await asyncio.sleep(0)

        asking = asyncio.create_task(load())
        revision = await govern(point, "revoke", {"target": {"edge_id": "to-2"}, "reason": "ticket 9"})
        is_over.set()
        await asking
        last = [(each, await ask(point, each)) for each in (*below[::50], "a2b")]
        (entry,) = await point.ledger.read(revision - 1, 1)

        wrong = [each for each, said in (*answers, *last) if each != "a2b" and said.revision >= revision
                 and said.effect == "permit"]  # fmt: skip
        beside = {said.outcome for each, said in (*answers, *last) if each == "a2b"}
        ended = {edge for change in entry.changes if change.kind == "edges.end" for edge, _ in change.body["edges"]}
        assert (wrong, beside) == ([], {"execute"})
        assert ended == {"to-2", "to-3", *(f"leaf-{number}" for number in range(1_000))}
        assert (entry.actor, entry.reason, point.view.revision) == ("organization:acme", "ticket 9", revision)
