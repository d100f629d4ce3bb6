"""What the web face needs of a decision point; `remit_service.point.DecisionPoint` is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from remit_service.search.ports import Naming, Searchable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    from remit_graph.model.instant import Instant
    from remit_service.decision.caller import Caller
    from remit_service.decision.decision import Decision
    from remit_service.decision.reasons import ReasonTable
    from remit_service.decision.request import Evaluation


class PolicyInForce(Naming, Protocol):
    """The bundle that decides now."""

    @property
    def data(self) -> Mapping[str, Any]:
        """The data tree of the bundle."""

    @property
    def reasons(self) -> ReasonTable:
        """Codes with their sentences, statuses and resolvers."""


class Readiness(Protocol):
    """Whether this process should be asked."""

    @property
    def ready(self) -> bool:
        """Whether nothing is wrong."""

    @property
    def problems(self) -> tuple[str, ...]:
        """One sentence each."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What somebody should look at, one sentence each."""

    @property
    def details(self) -> Mapping[str, Any]:
        """Revision, epochs, staleness and the like."""


class Point(Searchable, Protocol):
    """Answers questions for one realm."""

    @property
    def policy(self) -> PolicyInForce:
        """The policy in force."""

    @property
    def policy_revision(self) -> str:
        """Digest of the bundle in force."""

    async def evaluate(
        self, evaluation: Evaluation, caller: Caller, *, labels: Mapping[str, Any] | None = None
    ) -> Decision:
        """Decide and record; raises `RequestError` alone."""

    async def explain(
        self,
        evaluation: Evaluation,
        caller: Caller,
        *,
        at_revision: int | None = None,
        as_of: Instant | None = None,
        labels: Mapping[str, Any] | None = None,
    ) -> Decision:
        """Decide and explain, now or as it was; raises `RequestError` and `LedgerError`."""

    def readiness(self) -> Readiness:
        """Say whether this process should be asked."""

    def revision_token(self, revision: int | None = None) -> str:
        """Return the token of a revision."""

    def bundle_archive(self) -> tuple[str, bytes]:
        """Return entity tag and bytes of the bundle."""

    async def wait_for_bundle(self, etag: str, within: timedelta) -> bool:
        """Wait until the bundle in force has another tag."""
