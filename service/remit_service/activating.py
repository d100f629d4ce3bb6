"""Which bundle is in force: the ledger says, and every decision point on it follows.

The change that activates a bundle carries it, as the archive that OPA gets too. So whoever reads the ledger has the
bundle: another replica, one that starts later, a restored backup, a replay of a decision of last year. Another replica
builds it anew from the archive and compares the digest, so an archive that was tampered with is never evaluated.

- A replica compiles a bundle before its view has the revision that activates it, and both change in one step: no
  answer at a revision rests on another policy than that revision's.
- A replica that cannot evaluate the bundle denies everything as `policy_mismatch` from that revision on, takes no
  command and is not ready, until a bundle comes that it can evaluate.
- A start offers the bundle it was given. It is activated if it is news: not what this replica offered last, and where
  it offered nothing yet, not what another one has. So a process that is restarted among newer ones does not take their
  policy back (F002), and whoever changes the files and starts again gets what they wrote.
"""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any, Final, cast

import structlog

from remit_graph.errors import LedgerUnavailable, ModelError
from remit_graph.model.change import Change
from remit_service.bundle.archive import unpack
from remit_service.bundle.errors import BundleRefused
from remit_service.engines.errors import EngineError
from remit_service.replica.loading import from_base
from remit_service.writer.command import Accepted, Submission
from remit_service.writer.patience import submit_patiently

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from remit_graph.model.change import Entry
    from remit_graph.model.instant import Instant
    from remit_graph.ports import Ledger
    from remit_graph.view.state import View
    from remit_service.bundle.model import Bundle
    from remit_service.point import DecisionPoint
    from remit_service.policy import Policy

ACTIVATE: Final = "ACTIVATE_POLICY"
KIND: Final = "policy.activate"

ARCHIVE_BYTES: Final = 4 << 20
"""The largest bundle that a change carries; the shipped one has 25 KiB packed."""

KEPT: Final = 4
"""Policies that stay compiled, so that going back and forth costs nothing."""

_log = structlog.get_logger(__name__)


class PolicyNotTaken(LedgerUnavailable):
    """The bundle that the ledger puts in force cannot be evaluated here."""

    code = "policy_mismatch"


async def put_policy_in_force(
    point: DecisionPoint,
    *,
    offered_by: str | None = None,
    actor: str = "system",
    reason: str = "start",
    action: str = ACTIVATE,
    beside: Callable[[View, Instant], Change] | None = None,
) -> int:
    """Activate the point's bundle and return the policy epoch; the one that is active already stays so (F002).

    Args:
        point: The started decision point.
        offered_by: The replica that starts, if this is a start: what it offered before is not activated again.
        actor: Who does it.
        reason: Why; it stays in the chain.
        action: What the ledger calls it.
        beside: Makes a change that goes with it, if anything changes.

    Raises:
        LedgerError: nothing was appended.
        PolicyNotTaken: the bundle is larger than a change may be.
    """
    policy = point.policy
    archive = policy.archive.body
    if len(archive) > ARCHIVE_BYTES:
        raise PolicyNotTaken(
            f"the policy has {len(archive)} bytes packed, and the ledger takes {ARCHIVE_BYTES}",
            advice="move large data out of the bundle and into the graph",
        )

    def decide(view: View, at: Instant) -> Accepted:
        body = _activation(view, policy.revision, offered_by)
        if body and not _holds(view, policy.revision):
            body["archive"] = b64encode(archive).decode()
        changes = (Change(KIND, body),) if body else ()
        if body and beside is not None:
            changes = (beside(view, at), *changes)
        return Accepted(changes=changes, result={"policy_epoch": body.get("policy_epoch", view.policy_epoch)})

    submission = Submission(action=action, actor=actor, decide=decide, reason=reason)
    done = await submit_patiently(point, submission)
    verdict = cast("Accepted", done.verdict)
    return int(verdict.result["policy_epoch"])


def _activation(view: View, revision: str, offered_by: str | None) -> dict[str, Any]:
    """Return what the change says, without the archive; nothing where nothing changes."""
    last = None if offered_by is None else view.policy_offers.get(offered_by)
    offer = {} if offered_by is None else {"offered_by": offered_by}
    if view.policy_revision == revision:
        is_known = _holds(view, revision) and (offered_by is None or last == revision)
        return {} if is_known else {"policy_epoch": view.policy_epoch, "policy_revision": revision, **offer}
    if offered_by is not None and view.policy_revision is not None:
        is_news = last != revision if last is not None else revision not in view.policy_offers.values()
        if not is_news:
            return {}
    return {"policy_epoch": view.policy_epoch + 1, "policy_revision": revision, **offer}


def _holds(view: View, revision: str) -> bool:
    return view.policy_revision == revision and view.policy_archive is not None


class Following:
    """Keeps a decision point's policy what its ledger says; a companion of its replica."""

    def __init__(self, point: DecisionPoint, make: Callable[[Bundle], Policy]) -> None:
        """Follow for `point`; `make` compiles a bundle for it."""
        self._point = point
        self._make = make
        self._own = point.policy.revision
        self._ready = {self._own: point.policy}
        self._refused: dict[str, PolicyNotTaken] = {}
        self._lock = asyncio.Lock()

    async def prepare(self, entries: Sequence[Entry]) -> None:
        """Compile what the last activation among `entries` puts in force."""
        bodies = [change.body for entry in entries for change in entry.changes if change.kind == KIND]
        if bodies:
            revision = bodies[-1]["policy_revision"]
            archives = [each["archive"] for each in bodies if each["policy_revision"] == revision and "archive" in each]
            await self._compile(revision, archives[-1] if archives else self._known_archive(revision))

    async def prepare_for(self, view: View) -> None:
        """Compile what `view` says is in force."""
        if view.policy_revision is not None:
            await self._compile(view.policy_revision, view.policy_archive)

    def settle(self, view: View) -> None:
        """Put in force what `view` says; where that cannot be evaluated, nothing is permitted."""
        revision, point = view.policy_revision, self._point
        if revision is None or (revision == point.policy.revision and point.policy_fault is None):
            return
        if revision in self._ready:
            point.activate(self._ready[revision])
            _log.info("policy in force", policy_revision=revision, policy_epoch=view.policy_epoch)
        else:
            point.policy_fault = self._refused[revision]
            _log.error("no policy in force", reason=point.policy_fault.message, advice=point.policy_fault.advice)

    def _known_archive(self, revision: str) -> str | None:
        view = self._point.view
        return view.policy_archive if view.policy_revision == revision else None

    async def _compile(self, revision: str, archive: str | None) -> None:
        async with self._lock:
            if revision in self._ready or revision in self._refused:
                return
            try:
                made = await asyncio.to_thread(self._made, revision, archive)
            except PolicyNotTaken as error:
                self._refused[revision] = error
                return
            stays = (self._own, self._point.policy.revision)
            old = [each for each in self._ready if each not in stays][:-KEPT]
            self._ready = {name: each for name, each in self._ready.items() if name not in old} | {revision: made}

    def _made(self, revision: str, archive: str | None) -> Policy:
        bundle = bundle_in(archive, revision)
        try:
            return self._make(bundle)
        except (EngineError, ModelError) as error:
            raise PolicyNotTaken(
                f"the policy `{revision}` that is in force cannot be evaluated here: {error}", advice=_ADVICE
            ) from error


_ADVICE: Final = (
    "install the version of Remit that activated it, or activate another policy with `remit policy activate`"
)


def bundle_in(archive: str | None, revision: str) -> Bundle:
    """Return the bundle of an activation, built and checked anew.

    Args:
        archive: What the change carried, base64, or None if it carried nothing.
        revision: The digest that it must have.

    Raises:
        PolicyNotTaken: it is not there, is not that bundle, or is refused.
    """
    if archive is None:
        raise PolicyNotTaken(f"the ledger puts the policy `{revision}` in force without holding it", advice=_ADVICE)
    try:
        bundle = unpack(b64decode(archive, validate=True))
    except (BundleRefused, ValueError) as error:
        raise PolicyNotTaken(
            f"the policy `{revision}` in the ledger cannot be read: {error}", advice=_ADVICE
        ) from error
    if bundle.revision != revision:
        raise PolicyNotTaken(
            f"the ledger holds `{bundle.revision}` where it says `{revision}`", advice="run `remit store check`"
        )
    return bundle


async def bundle_of_history(ledger: Ledger, revision: str) -> Bundle | None:
    """Return a bundle that was activated at any time, as the ledger's history holds it; None if it does not.

    Where history was cut, that is the one that was in force there and those that came after.

    Raises:
        LedgerError: the history cannot be read.
        PolicyNotTaken: what it holds is not that bundle.
    """
    async for row in ledger.rows():
        if KIND in row.body and revision in row.body:
            change = json.loads(row.body)
            body = change.get("body", {})
            if change["kind"] == KIND and body["policy_revision"] == revision and "archive" in body:
                return bundle_in(body["archive"], revision)
    first = await from_base(ledger)
    if first.policy_revision == revision and first.policy_archive is not None:
        return bundle_in(first.policy_archive, revision)
    return None
