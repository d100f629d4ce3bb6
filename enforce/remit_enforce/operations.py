"""The routes of the write protocol, call by call (`/v1/operations`), as values: an answer, or a refusal.

A step whose first answer was lost may have been taken all the same; the decision point refuses its repeat and names the
state it is in, and that counts as taken.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from remit_enforce.client import Answer
from remit_enforce.refusal import Refusal, unreadable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from remit_enforce.client import AsyncClient

T = TypeVar("T")


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """A lease as its holder is told of it; only differences of its instants are used, for they are of another clock."""

    lease_id: str
    lease_epoch: int
    fencing_tokens: dict[str, int]
    renewed_at: datetime
    renew_before: datetime
    expires_at: datetime


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """An operation that may go on."""

    coordination_id: str
    lease_epoch: int
    decision: bool
    lease: Lease | None = None
    obligations: list[dict[str, Any]] = []


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A place in the queue."""

    waiter_id: str
    position: int


class Renewed(msgspec.Struct, frozen=True, kw_only=True):
    """The leases of an operation after a renewal."""

    lease: Lease


class Operations:
    """The write protocol of one decision point."""

    def __init__(self, client: AsyncClient) -> None:
        """Ask over `client`."""
        self.client = client

    async def begin(
        self, body: Mapping[str, Any], key: str, *, timeout_seconds: float | None = None
    ) -> Answer | Refusal:
        """Take steps 1 to 5: 201 with an operation, or 202 with a place in the queue."""
        return await self.client.call("POST", "/v1/operations", body, key=key, timeout_seconds=timeout_seconds)

    async def poll(self, waiter_id: str, seconds: int) -> Answer | Refusal:
        """Ask for what was queued for, and keep the place: 200 with the operation, or 202."""
        bound = seconds + self.client.settings.timeout_seconds
        return await self.client.call("GET", f"/v1/waiters/{waiter_id}?wait={seconds}", timeout_seconds=bound)

    async def leave(self, waiter_id: str) -> Answer | Refusal:
        """Leave the queue."""
        return await self.client.call("DELETE", f"/v1/waiters/{waiter_id}")

    async def precondition(self, operation: str, version: str) -> Answer | Refusal:
        """Take steps 6 and 7: the version that was read, compared with the planned one."""
        return await self._step(operation, "precondition", {"current_version": version}, "READ")

    async def renew(
        self, operation: str, epoch: int, progress: str | None, *, timeout_seconds: float | None = None
    ) -> Answer | Refusal:
        """Keep the leases once; whether it is tried again is for whoever knows how long they last."""
        path, body = f"/v1/operations/{operation}/renew", {"lease_epoch": epoch, "progress": progress}
        return await self.client.call("POST", path, body, timeout_seconds=timeout_seconds)

    async def executed(
        self, operation: str, epoch: int, result: str, evidence: Mapping[str, Any] | None
    ) -> Answer | Refusal:
        """Take step 8."""
        body = {"lease_epoch": epoch, "result": result, "evidence": evidence}
        return await self._step(operation, "executed", body, "EXECUTED")

    async def verified(
        self, operation: str, epoch: int, *, passed: bool, checks: Sequence[Mapping[str, Any]]
    ) -> Answer | Refusal:
        """Take step 9."""
        body = {"lease_epoch": epoch, "passed": passed, "checks": list(checks)}
        return await self._step(operation, "verified", body, "VERIFIED" if passed else "UNVERIFIED")

    async def complete(self, operation: str, epoch: int, final_version: str) -> Answer | Refusal:
        """Take steps 10 and 11 in one; a second time is answered with the receipt of the first."""
        body = {"lease_epoch": epoch, "final_version": final_version}
        return await self._step(operation, "complete", body, "ENDED")

    async def abort(self, operation: str, reason: str) -> Answer | Refusal:
        """Give it up; a second time is as good as once."""
        return await self._step(operation, "abort", {"reason": reason[:1_000]}, "ENDED")

    async def show(self, operation: str) -> Answer | Refusal:
        """Return the operation with its steps so far."""
        return await self.client.call("GET", f"/v1/operations/{operation}")

    async def receipt(self, operation: str) -> Answer | Refusal:
        """Return the receipt, however it ended."""
        return await self.client.call("GET", f"/v1/receipts/{operation}")

    async def _step(self, operation: str, name: str, body: Mapping[str, Any], state: str) -> Answer | Refusal:
        found = await self.client.call("POST", f"/v1/operations/{operation}/{name}", body, repeatable=True)
        is_there = found.document.get("state") == state
        if isinstance(found, Answer):
            problem = f"it does not say that the operation is {state}"
            return found if is_there else unreadable(problem, status=found.status, resent=found.resent)
        is_taken = is_there and found.resent and found.code == "invalid_transition"
        return Answer(status=200, document={}, replayed=True, resent=True, sent_at=0) if is_taken else found


def read_as(kind: type[T], answer: Answer) -> T | Refusal:
    """Return an answer as what it is, or the refusal of one that is not of this form."""
    try:
        return msgspec.convert(answer.document, kind)
    except msgspec.ValidationError as error:
        return unreadable(str(error), status=answer.status, resent=answer.resent)
