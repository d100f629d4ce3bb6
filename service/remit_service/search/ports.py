"""What a search needs of a decision point; `remit_service.point.DecisionPoint` is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from remit_graph.head import Head
    from remit_graph.model.change import Entry
    from remit_graph.model.instant import Instant
    from remit_graph.ports import Ledger
    from remit_graph.view.state import View
    from remit_service.decision.caller import Caller
    from remit_service.decision.decide import Prepared
    from remit_service.decision.decision import Decision
    from remit_service.decision.request import Evaluation
    from remit_service.replica.past import Past


class Replica(Protocol):
    """What follows the ledger."""

    @property
    def past(self) -> Past:
        """The last minute of the view."""

    @property
    def head(self) -> Head | None:
        """Where the ledger stands, as far as this process knows."""

    def subscribe(self, listener: Callable[[Entry], None]) -> None:
        """Call `listener` with every entry right after the view has it."""


class Naming(Protocol):
    """What a search asks of the policy in force itself."""

    @property
    def revision(self) -> str:
        """Digest of the bundle."""

    @property
    def tells_names_apart(self) -> bool:
        """Whether a rule may do more with a name than to compare it with another one."""


class Searchable(Protocol):
    """Decides single questions, and says on which view."""

    @property
    def view(self) -> View:
        """The graph at the newest revision this process has."""

    @property
    def replica(self) -> Replica:
        """What follows the ledger."""

    @property
    def ledger(self) -> Ledger:
        """The history."""

    def now(self) -> Instant:
        """The instant of whatever is decided now."""

    @property
    def policy(self) -> Naming:
        """The policy in force."""

    def prepare_now(self, evaluation: Evaluation, caller: Caller, *, view: View, at: Instant) -> Prepared:
        """Collect the facts of a question, without awaiting."""

    def judge(self, prepared: Prepared) -> Decision:
        """Decide what was prepared in this process, without recording and without awaiting."""

    async def deny_if_stale(self, evaluation: Evaluation, *, fully: bool = False) -> Decision | None:
        """Bring the view to the freshness that is asked for; the deny where it cannot be had."""
