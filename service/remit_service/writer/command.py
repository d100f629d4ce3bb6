"""Commands on their way to the ledger: what is asked, how it is decided, what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.instant import Instant
from remit_graph.view.state import View

if TYPE_CHECKING:
    import asyncio

    from remit_graph.model.change import Change
    from remit_graph.view.beside import Beside
    from remit_graph.view.journal import Journal

_RENEWALS: Final = frozenset({"RENEW", "KEEP_WAITING"})
"""What keeps something that runs out; decided before all else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A decided command: what it changes and what its caller is told.

    Attributes:
        changes: Empty where the command is idempotent by content and found nothing to do: nothing is appended then.
        result: The answer, JSON values only; stored under the request id.
        made: The first of the changes made ready beside the view, where they are many.
        applied: How to take the changes back where they stand in the view already, as deciding them left them there;
            None where they do not.
    """

    changes: tuple[Change, ...]
    result: Mapping[str, Any]
    made: Beside | None = None
    applied: Journal | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A refused command: a value, not an error. Nothing is appended.

    Attributes:
        code: Reason code of the closed set.
        message: One plain sentence.
        facts: What else the answer names.
    """

    code: str
    message: str
    facts: Mapping[str, Any] = field(default_factory=dict)


Verdict = Accepted | Refused
Decide = Callable[[View, Instant], Verdict]
"""Decides a command on a view at an instant; must not keep the view, and is called again when the head has moved.

The view is as before afterwards, but for what the verdict says is applied: whoever calls takes that back.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A command as submitted.

    Attributes:
        action: What is asked, `GRAPH_APPLY`, `GRANT` …
        actor: The principal that asks.
        decide: How it is decided.
        request_id: Digest of (caller, Idempotency-Key), or None.
        fingerprint: Digest of the body, compared on a repeat.
        reason: Free text of the actor.
        is_first: Whether it is decided as the first of a batch: what it changes was found on the view itself, and to
            find it anew would hold up reads.
    """

    action: str
    actor: str
    decide: Decide
    request_id: str | None = None
    fingerprint: str | None = None
    reason: str | None = None
    is_first: bool = False

    @property
    def is_renewal(self) -> bool:
        """Whether it keeps a lease or a place in a queue."""
        return self.action in _RENEWALS


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What came of a command.

    Attributes:
        verdict: Accepted or refused.
        revision: At which it is visible, or at which it was refused.
        replayed: Whether this is the stored answer of an earlier submission.
    """

    verdict: Verdict
    revision: int
    replayed: bool = False


@dataclass(slots=True)
class Waiting:
    """A submission whose caller waits.

    Attributes:
        submission: What was submitted.
        done: What its caller waits for.
        is_stored: Whether its request id came by in the tail: another process was sent the same command.
        is_due: Whether it is a renewal that had to wait for a command that was the first of a batch.
    """

    submission: Submission
    done: asyncio.Future[Done]
    is_stored: bool = False
    is_due: bool = False

    def resolve(self, done: Done) -> None:
        """Tell the caller what came of it, once."""
        if not self.done.done():
            self.done.set_result(done)

    def fail(self, error: BaseException) -> None:
        """Tell the caller that nothing came of it, once; a caller that has gone needs not be told."""
        if not self.done.done():
            self.done.set_exception(error)
            # Looked at here, it is no error that nobody saw: whoever still waits is told all the same.
            self.done.exception()
