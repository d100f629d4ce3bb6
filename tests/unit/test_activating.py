"""One bundle in force for all decision points on a store: who activates it, how the others get it, who does not."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from remit_graph.model.change import Change, Command
from remit_graph.view.image import compressor, lines_of
from remit_graph.view.image_read import Restoring
from remit_graph.view.image_write import Snapshot
from remit_service.activating import PolicyNotTaken, bundle_of_history
from remit_service.bootstrap import running_point
from remit_service.cli.app import app
from remit_service.decision.caller import Caller
from remit_service.decision.request import parse_evaluation
from remit_service.opening import shipped_world
from remit_service.settings import Settings
from remit_service.writer.command import Accepted, Submission
from tests.http.questions import PERMITTED
from tests.support.scenario.stage import Recorder
from tests.support.site_policy import policy_that_refuses

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from remit_service.point import DecisionPoint

CALLER = Caller(point=None, trusts_all=True)
SOON = timedelta(seconds=10)


@asynccontextmanager
async def a_point(folder: Path, name: str, policy: Path | None = None) -> AsyncIterator[DecisionPoint]:
    """Run the decision point `name` on the store in `folder`, with the files of `policy` or the shipped ones."""
    settings = Settings(
        store=f"sqlite:///{folder / 'remit.db'}", world=shipped_world("seo"), replica=name, policy_dir=policy
    )
    async with running_point(settings, Recorder()) as point:
        yield point


async def codes(point: DecisionPoint) -> tuple[str, ...]:
    """Return the reasons of a question that the shipped policy permits; none for a permit."""
    decision = await point.evaluate(parse_evaluation(PERMITTED), CALLER)
    return () if decision.effect == "permit" else tuple(decision.codes)


async def is_at(point: DecisionPoint, other: DecisionPoint) -> bool:
    """Wait until `point` has whatever `other` has."""
    return await point.replica.reached(other.view.revision, SOON)


@pytest.fixture
def frozen(tmp_path: Path) -> Path:
    """A policy that refuses what the shipped one permits."""
    return policy_that_refuses("UPDATE_CANONICAL", tmp_path / "frozen")


async def test_a_bundle_activated_on_one_decision_point_is_in_force_on_the_other(tmp_path: Path, frozen: Path) -> None:
    """The one that runs gets it from the ledger, decides by it from that revision on, and publishes it to its OPA."""
    async with a_point(tmp_path, "one") as one:
        assert await codes(one) == ()
        tag, before = one.bundle_archive()[0], one.policy_revision
        waiting = asyncio.create_task(one.wait_for_bundle(tag, SOON))
        async with a_point(tmp_path, "two", frozen) as two:
            assert await is_at(one, two)

            assert one.policy_revision == two.policy_revision != before
            assert await codes(one) == await codes(two) == ("policy_denied",)
            assert await waiting
            assert one.bundle_archive() == two.bundle_archive()
            assert (one.view.policy_epoch, one.view.policy_revision) == (2, two.policy_revision)


async def test_no_revision_is_answered_by_the_policy_of_another(tmp_path: Path, frozen: Path) -> None:
    """Whenever the event loop runs, the policy that decides is the one that the view names."""
    async with a_point(tmp_path, "one") as one:
        pairs: set[tuple[str | None, str]] = set()

        async def look() -> None:
            while True:
                pairs.add((one.view.policy_revision, one.policy_revision))
                await asyncio.sleep(0)

        looking = asyncio.create_task(look())
        async with a_point(tmp_path, "two", frozen) as two:
            assert await is_at(one, two)
        looking.cancel()

        assert len(pairs) == 2
        assert {named for named, _ in pairs} == {active for _, active in pairs}
        assert all(named == active for named, active in pairs)


async def test_a_restart_among_newer_ones_does_not_take_their_policy_back(tmp_path: Path, frozen: Path) -> None:
    """What a replica offered before is no news, nor what another one did; changed files are (F002)."""
    async with a_point(tmp_path, "one") as one:
        shipped = one.policy_revision
    async with a_point(tmp_path, "two", frozen) as two:
        active = two.policy_revision
        assert two.view.policy_offers == {"one": shipped, "two": active}
    async with a_point(tmp_path, "one") as again:
        assert (again.policy_revision, again.view.policy_epoch) == (active, 2)
    async with a_point(tmp_path, "three") as of_an_old_image:
        assert (of_an_old_image.policy_revision, of_an_old_image.view.policy_epoch) == (active, 2)
    async with a_point(tmp_path, "two") as changed:
        assert (changed.policy_revision, changed.view.policy_epoch) == (shipped, 3)
    async with a_point(tmp_path, "two") as same:
        assert same.view.policy_epoch == 3


async def test_whoever_comes_to_the_policy_in_force_has_offered_it(tmp_path: Path, frozen: Path) -> None:
    """An upgraded replica that finds its bundle active is later not taken for one that brings it anew."""
    async with a_point(tmp_path, "one"), a_point(tmp_path, "two", frozen):
        pass
    async with a_point(tmp_path, "one", frozen) as upgraded:
        newer = policy_that_refuses("UPDATE_TITLE", tmp_path / "newer")
        async with a_point(tmp_path, "two", newer) as two:
            assert await is_at(upgraded, two)
    async with a_point(tmp_path, "one", frozen) as restarted:
        assert (restarted.view.policy_epoch, restarted.policy_revision) == (3, two.policy_revision)


async def activate_unreadable(point: DecisionPoint, **body: Any) -> None:
    """Append the activation of a bundle that no decision point can evaluate."""
    await point.replica.catch_up()
    head = point.replica.head
    assert head is not None
    change = Change("policy.activate", {"policy_epoch": point.view.policy_epoch + 1, **body})
    await point.ledger.append(head, [Command(action="TEST", actor="system", at=point.now(), changes=(change,))])
    await point.replica.catch_up()


@pytest.mark.parametrize(
    ("archive", "says"),
    [
        (None, "without holding it"),
        ("bm8gYXJjaGl2ZQ==", "cannot be read"),
        ("no base64", "cannot be read"),
        ("another", "where it says"),
    ],
)
async def test_a_policy_that_cannot_be_evaluated_permits_nothing(
    tmp_path: Path, frozen: Path, archive: str | None, says: str
) -> None:
    """It is not there, no archive, or another bundle: all is denied, nothing is taken, until a sound one comes."""
    async with a_point(tmp_path, "one") as one:
        shipped, carried = one.policy_revision, one.view.policy_archive
        revision = "sha256:" + "7" * 64
        body = {"archive": carried if archive == "another" else archive} if archive is not None else {}

        await activate_unreadable(one, policy_revision=revision, **body)

        assert await codes(one) == ("policy_mismatch",)
        problems = one.readiness().problems
        assert len(problems) == 1
        assert says in problems[0]
        with pytest.raises(PolicyNotTaken, match=says):
            await one.submit(
                Submission(action="TEST", actor="x", decide=lambda _view, _at: Accepted(changes=(), result={}))
            )
        async with a_point(tmp_path, "two", frozen) as two:
            assert await is_at(one, two)
            assert await codes(one) == ("policy_denied",)
            assert one.readiness().ready
        assert shipped != one.policy_revision


async def test_the_change_carries_the_bundle_for_whoever_comes_later(tmp_path: Path, frozen: Path) -> None:
    """It is in the view, in the image of a checkpoint, and in the history when another one is in force."""
    async with a_point(tmp_path, "one") as one:
        shipped = one.policy
    async with a_point(tmp_path, "one", frozen) as again:
        carried = again.view.policy_archive
        assert carried is not None
        assert b64decode(carried) == again.policy.archive.body
        stream = compressor()
        image = stream.compress(b"".join(Snapshot(again.view).lines())) + stream.flush()
        restoring = Restoring()
        for line in lines_of(image):
            restoring.feed(line)
        restored = restoring.view()

        assert (restored.policy_archive, restored.policy_offers) == (carried, again.view.policy_offers)
        earlier = await bundle_of_history(again.ledger, shipped.revision)
        assert earlier == shipped.bundle
        assert await bundle_of_history(again.ledger, "sha256:" + "0" * 64) is None


def remit(folder: Path, *arguments: str) -> dict[str, Any]:
    """Run the command line on the store in `folder` and return its document."""
    store = f"sqlite:///{folder / 'remit.db'}"
    result = CliRunner().invoke(app, ["--json", "--store", store, *arguments])
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_a_policy_is_activated_by_command(tmp_path: Path, frozen: Path) -> None:
    """From a folder, or by the digest of one that was in force before; decision points that run follow."""
    remit(tmp_path, "store", "init", "--world", str(shipped_world("seo")))

    first = remit(tmp_path, "policy", "activate")
    second = remit(tmp_path, "policy", "activate", str(frozen))
    repeated = remit(tmp_path, "policy", "activate", str(frozen), "--reason", "again")
    back = remit(tmp_path, "policy", "activate", "--revision", first["policy_revision"])

    assert [each["policy_epoch"] for each in (first, second, repeated, back)] == [1, 2, 2, 3]
    assert back["policy_revision"] == first["policy_revision"] != second["policy_revision"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--revision", "sha256:" + "0" * 64], "was never in force in this store"),
        (["--revision", "sha256:" + "0" * 64, "FOLDER"], "name two policies"),
    ],
)
def test_a_policy_that_is_not_there_is_not_activated(
    tmp_path: Path, frozen: Path, arguments: list[str], says: str
) -> None:
    """It is told, and nothing changes."""
    remit(tmp_path, "store", "init", "--world", str(shipped_world("seo")))
    store = f"sqlite:///{tmp_path / 'remit.db'}"
    told = [str(frozen) if each == "FOLDER" else each for each in arguments]

    result = CliRunner().invoke(app, ["--store", store, "policy", "activate", *told])

    assert result.exit_code == 2
    assert says in result.stderr
    assert remit(tmp_path, "policy", "activate")["policy_epoch"] == 1


def test_an_earlier_policy_is_recovered_with_a_record_in_the_chain(tmp_path: Path, frozen: Path) -> None:
    """Whoever may open the store brings it back, whatever the policy in force says; who and why stay in the chain."""
    remit(tmp_path, "store", "init", "--world", str(shipped_world("seo")))
    first = remit(tmp_path, "policy", "activate")["policy_revision"]
    second = remit(tmp_path, "policy", "activate", str(frozen))["policy_revision"]

    done = remit(tmp_path, "recover", "--policy", first, "--reason", "nobody can govern")

    assert (done["policy_revision"], done["policy_epoch"]) == (first, 3)
    records, changes = asyncio.run(recoveries(tmp_path))
    assert [(each["policy_revision"], each["was"], each["reason"]) for each in records] == [
        (first, second, "nobody can govern")
    ]
    assert [each for each in changes if "recovery.put" in each] == [["command", "recovery.put", "policy.activate"]]


async def recoveries(folder: Path) -> tuple[list[Any], list[list[str]]]:
    """Return the records of recoveries, and the kinds of the changes of each revision."""
    async with a_point(folder, "reader") as point:
        kinds: dict[int, list[str]] = {}
        async for row in point.ledger.rows():
            kinds.setdefault(row.revision, []).append(json.loads(row.body)["kind"])
        return list(point.view.records["recovery"].values()), list(kinds.values())


async def test_a_policy_that_cannot_be_evaluated_is_recovered_from(tmp_path: Path) -> None:
    """Everything is denied and no command is taken; the way back works all the same, and decisions go on."""
    async with a_point(tmp_path, "one") as one:
        sound = one.policy_revision
        broken = {"policy_epoch": one.view.policy_epoch + 1, "policy_revision": "sha256:" + "1" * 64}
        assert one.replica.head is not None
        change = Change("policy.activate", broken)
        command = Command(action="ACTIVATE_POLICY", actor="system", at=one.now(), changes=(change,))
        await one.ledger.append(one.replica.head, [command])
        await one.replica.catch_up()
        assert await codes(one) == ("policy_mismatch",)

        done = await asyncio.to_thread(remit, tmp_path, "recover", "--policy", sound, "--reason", "a broken bundle")

        assert await one.replica.reached(done["revision"], SOON)
        assert await codes(one) == ()


@pytest.mark.parametrize(
    ("arguments", "says", "code"),
    [
        (["--policy", "sha256:" + "0" * 64], "was never in force in this store", 1),
        (["--policy", "FIRST"], "is in force", 1),
        ([], "name a principal or a --policy", 2),
        (["human:security", "--policy", "FIRST"], "name a principal or a --policy", 2),
    ],
)
def test_a_recovery_that_makes_no_sense_changes_nothing(
    tmp_path: Path, arguments: list[str], says: str, code: int
) -> None:
    """It is told what is wrong, and the ledger stays as it is."""
    remit(tmp_path, "store", "init", "--world", str(shipped_world("seo")))
    first = remit(tmp_path, "policy", "activate")["policy_revision"]
    before = remit(tmp_path, "graph", "show")["revision"]
    told = [first if each == "FIRST" else each for each in arguments]

    store = f"sqlite:///{tmp_path / 'remit.db'}"
    result = CliRunner().invoke(app, ["--store", store, "recover", *told, "--reason", "x"])

    assert result.exit_code == code
    assert says in result.stderr
    assert remit(tmp_path, "graph", "show")["revision"] == before
