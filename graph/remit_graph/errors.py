"""Errors of the graph: bad data, and a ledger that cannot do what was asked.

```
GraphError
├── ModelError            a value breaks a rule of the model; carries the reason `code`
└── LedgerError           the store; nothing was changed unless the class says otherwise
    ├── HeadMoved         another writer appended first: catch up and decide again
    │   └── TurnTaken     another writer has the turn: ask for the next one
    ├── RequestReused     the request id is known with another fingerprint
    ├── ConstraintBroken  the store holds a row that the view did not know of
    ├── LedgerUnavailable the store cannot be reached, or is locked, read-only or full
    ├── OutcomeUnknown    the connection ended during the commit: look the request id up
    ├── ForeignStore      the store is not Remit's, is another realm's, or lacks its schema
    ├── SchemaTooNew      the store holds changes of a later version than this program
    ├── HistoryRemoved    a compaction removed what was asked for
    └── ChainBroken       the hash chain does not verify
```

A refusal is a value and no error: these are raised for what a caller of the graph did wrong or could not get.
"""

from __future__ import annotations


class GraphError(Exception):
    """The root of this package's errors; `code` is stable and `advice` says what to do next."""

    code: str = "internal"

    def __init__(self, message: str, *, code: str | None = None, advice: str = "", **facts: object) -> None:
        """Keep `message` as the sentence, and `facts` as the values it names."""
        super().__init__(message)
        self.message = message
        self.advice = advice
        self.facts = facts
        if code is not None:
            self.code = code


class ModelError(GraphError):
    """A value breaks a rule of the model; `code` is a reason code of decision.md section 5."""

    code = "malformed_request"


class LedgerError(GraphError):
    """The root of what a ledger may raise."""

    code = "authority_stale"


class HeadMoved(LedgerError):
    """The head is no longer where the writer decided; nothing was appended."""

    code = "stale_expected_revision"


class TurnTaken(HeadMoved):
    """Another writer has the turn, and appends alone until it has done so or the turn lapses; nothing was appended."""


class RequestReused(LedgerError):
    """The request id was used before with another fingerprint; nothing was appended."""

    code = "idempotency_mismatch"


class ConstraintBroken(LedgerError):
    """The store refused a row because of one that the view did not know of; nothing was appended."""

    code = "already_exists"


class LedgerUnavailable(LedgerError):
    """The store cannot be used now; nothing was appended."""


class OutcomeUnknown(LedgerError):
    """The connection ended while committing: the append happened, or it did not."""


class ForeignStore(LedgerError):
    """The store is not a ledger of this realm, or its schema is not installed."""

    code = "revision_foreign"


class SchemaTooNew(LedgerError):
    """A change was written by a later version; `facts['schema']` says which schema it needs."""


class HistoryRemoved(LedgerError):
    """What was asked for is older than the history that is left, which begins after revision `facts['base']`."""

    code = "history_removed"


class ChainBroken(LedgerError):
    """The hash chain does not verify; `facts` name the first broken link and both sides."""
