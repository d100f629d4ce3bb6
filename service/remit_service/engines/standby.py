"""OPA first, this process while OPA lags: rules.md 12.

Right after a bundle is activated, the servers still hold the one before, and a server that has just started holds none.
Their answers are refused as `PolicyMismatch`; this engine then evaluates the bundle in force itself, which gives the
verdict that OPA will give in a moment. No other fault is mended: a server that is down or slow is a deny (F056).
Without this class in between, the mismatch is a deny.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_service.engines.encoding import encoded
from remit_service.engines.errors import PolicyMismatch

if TYPE_CHECKING:
    from remit_service.engines.ports import Document, ImmediateEngine, Input, PolicyEngine


class StandbyEngine:
    """Asks `primary`; where that one holds another bundle, `standby` answers."""

    def __init__(self, primary: PolicyEngine, standby: ImmediateEngine) -> None:
        """Pair two engines of the same bundle."""
        if primary.policy_revision != standby.policy_revision:
            raise ValueError(f"the engines expect `{primary.policy_revision}` and `{standby.policy_revision}`")
        self._primary = primary
        self._standby = standby
        self.answered_by_standby = 0

    @property
    def policy_revision(self) -> str:
        """The bundle in force."""
        return self._standby.policy_revision

    async def evaluate(self, entrypoint: str, document: Input) -> Document:
        """Ask the primary, and the standby if the primary lags."""
        input_json = encoded(document)
        try:
            return await self._primary.evaluate(entrypoint, input_json)
        except PolicyMismatch:
            self.answered_by_standby += 1
            return self._standby.evaluate_now(entrypoint, input_json)

    async def check(self) -> None:
        """Ready if the primary answers at all, be it from the bundle before, and the standby does."""
        await self._standby.check()
        try:
            await self._primary.check()
        except PolicyMismatch:
            return

    async def aclose(self) -> None:
        """Close both."""
        await self._primary.aclose()
        await self._standby.aclose()
