"""Capabilities over one decision point: give out, look at, introspect, verify.

capabilities = Capabilities(point, signer, issuer="https://remit.example.com")
given = await capabilities.mint(minting, key=None)
given.token
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from remit_service.capability.mint import Minting, mint
from remit_service.capability.presented import find, is_its_token, shown_id, state_code
from remit_service.capability.record import KIND, claims_of, token_digest
from remit_service.writer.command import Accepted, Refused, Submission, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.coordinator.judge import Decided
    from remit_service.coordinator.reply import Key
    from remit_service.point import DecisionPoint
    from remit_service.signing import Signer

ACTION = "MINT_CAPABILITY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What came of asking for a capability.

    Attributes:
        revision: At which it is there, or at which it was refused.
        record: As it is in the ledger, or None.
        token: The signed document, or None where the key that made it is not here any more.
        refused: Why there is none, or None.
        replayed: Whether it is the one of an earlier call.
    """

    revision: int
    record: Mapping[str, Any] | None = None
    token: str | None = None
    refused: Refused | None = None
    replayed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What is known of a capability now.

    Attributes:
        active: Whether it counts.
        record: The record, or None where nothing is known.
        code: Why it does not count, or None.
    """

    active: bool
    record: Mapping[str, Any] | None = None
    code: str | None = None


class Capabilities:
    """Gives capabilities out and says what became of them."""

    def __init__(self, point: DecisionPoint, signer: Callable[[], Signer], *, issuer: str) -> None:
        """Stand beside a decision point.

        Args:
            point: The decision point.
            signer: Says who signs; asked only when something is signed or published.
            issuer: How this service calls itself.
        """
        self._point = point
        self._signer = signer
        self.issuer = issuer

    async def mint(self, asked: Minting, *, key: Key | None = None, labels: Mapping[str, Any] | None = None) -> Given:
        """Give a capability out.

        Raises:
            SigningError: there is no key to sign with.
            RequestError: what it is to be bound to is nothing known.
            LedgerError: nothing was appended, or (`OutcomeUnknown`) send it again with the same key.
        """
        signer, decided = self._signer(), list[Any]()

        def decide(view: View, at: Instant) -> Verdict:
            decided.clear()
            return mint(self._point.policy, view, at, asked, signer, decided)

        submission = Submission(
            action=ACTION,
            actor=asked.minter or f"{asked.evaluation.subject.type}:{asked.evaluation.subject.id}",
            decide=decide,
            request_id=key.request_id if key is not None else None,
            fingerprint=key.fingerprint if key is not None else None,
            reason=asked.purpose,
        )
        done = await self._point.submit(submission)
        await self._record(decided, labels or {})
        if not isinstance(done.verdict, Accepted):
            return Given(revision=done.revision, refused=done.verdict)
        record, ended = find(self._point.view, str(done.verdict.result["capability_id"]))
        found = record or ended
        token = None if found is None else self.token_of(found)
        return Given(revision=done.revision, record=found, token=token, replayed=done.replayed)

    async def _record(self, decided: list[Decided], labels: Mapping[str, Any]) -> None:
        for each in decided:
            told = {**labels, "path": ACTION, "phase": each.phase}
            await self._point.recorder.record(each.decision, each.evaluation, each.caller, told)

    def token_of(self, record: Mapping[str, Any]) -> str | None:
        """Make the token of a record again; None where another key would sign it now."""
        token = self._signer().sign(claims_of(record), kind=KIND)
        return token if token_digest(token) == record["token_digest"] else None

    def state(self, presented: Mapping[str, Any]) -> State:
        """Say whether a capability counts now, named by its id or shown as a token."""
        view, token = self._point.view, presented.get("token")
        record, ended = find(view, str(shown_id(presented)))
        known = record or ended
        if known is None or (isinstance(token, str) and not is_its_token(known, token)):
            return State(active=False)
        code = state_code(view, record, ended, self._point.now())
        return State(active=record is not None and code is None, record=known, code=code)

    def key_set(self) -> dict[str, Any]:
        """Return the public keys that verify tokens."""
        return self._signer().public()
