"""What the driver reports, in the words of the ledger port: no exception of `neo4j` leaves this package.

Each fault says what to do next. Which fault it is comes from the server's status code; where no server answered, the
cause below the driver's exception is asked: a refused connection, a name that is not known, TLS on one side only.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from neo4j._exceptions import BoltSecurityError
from neo4j.exceptions import (
    AuthError,
    ConfigurationError,
    ConnectionAcquisitionTimeoutError,
    ConstraintError,
    DriverError,
    IncompleteCommit,
    Neo4jError,
    UnsupportedServerProduct,
)

from remit_graph.errors import ConstraintBroken, ForeignStore, LedgerError, LedgerUnavailable, OutcomeUnknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TOLD: Final = 500
"""Characters of the driver's own words that a message repeats."""


OLDEST: Final = (5, 26)
"""The first Neo4j that takes a label or type from a parameter in every clause that Remit uses one in."""

OLDEST_TEXT: Final = ".".join(map(str, OLDEST))


class _Fault(NamedTuple):
    error: type[LedgerError]
    sentence: str
    advice: str


_READ_ONLY: Final = _Fault(
    LedgerUnavailable,
    "takes no writes",
    "connect to the member that does, with a `neo4j://` address, or lift `server.databases.read_only`",
)
_BUSY: Final = _Fault(
    LedgerUnavailable,
    "was too busy",
    "it is tried again by itself; if it lasts, look for long transactions with SHOW TRANSACTIONS",
)
_ANOTHER: Final = _Fault(
    LedgerUnavailable,
    "answers like Neo4j and is none, or hides what it is",
    "name a Neo4j server, and let the user call dbms.components()",
)
_FAULTS: Final[Mapping[str, _Fault]] = {
    "Neo.ClientError.Security.Unauthorized": _Fault(
        LedgerUnavailable, "refused user and password", "check `REMIT_STORE` and the password that it is given"
    ),
    "Neo.ClientError.Security.AuthenticationRateLimit": _Fault(
        LedgerUnavailable, "refused user and password too often", "correct the password, wait, and start again"
    ),
    "Neo.ClientError.Security.CredentialsExpired": _Fault(
        LedgerUnavailable,
        "wants the initial password changed first",
        "log in once and run ALTER CURRENT USER SET PASSWORD FROM … TO …",
    ),
    "Neo.ClientError.Security.Forbidden": _Fault(
        LedgerUnavailable, "does not let this user do that", "give the user a role that reads, writes and makes indexes"
    ),
    "Neo.ClientError.Database.DatabaseNotFound": _Fault(
        ForeignStore,
        "has no database of that name",
        "name one that SHOW DATABASES lists; Neo4j Community has `neo4j` alone",
    ),
    "Neo.ClientError.Procedure.ProcedureNotFound": _ANOTHER,
    "Neo.DatabaseError.Schema.ConstraintCreationFailed": _Fault(
        ForeignStore,
        "holds what a constraint of the ledger forbids",
        "remove one of the two nodes or relationships that the message names, then run `remit store migrate`",
    ),
    "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase": _READ_ONLY,
    "Neo.ClientError.General.WriteOnReadOnlyAccessDatabase": _READ_ONLY,
    "Neo.ClientError.Cluster.NotALeader": _READ_ONLY,
    "Neo.ClientError.Transaction.LockClientStopped": _BUSY,
    "Neo.ClientError.Transaction.TransactionTimedOut": _BUSY,
    "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration": _BUSY,
    "Neo.TransientError.Transaction.DeadlockDetected": _BUSY,
    "Neo.TransientError.Transaction.LockAcquisitionTimeout": _BUSY,
}
_OLD: Final = "not supported for the Bolt Protocol"
"""What the driver says of a server that lacks something which later ones have."""

_COMMIT_FAILED: Final = "Neo.DatabaseError.Transaction.TransactionCommitFailed"


@contextmanager
def translated(url: str) -> Iterator[None]:
    """Turn the driver's exceptions of the block into the port's."""
    try:
        yield
    except (DriverError, Neo4jError) as error:
        raise translate(error, url) from error


def translate(error: DriverError | Neo4jError, url: str) -> LedgerError:
    """Return what `error`, met at `url`, is called at the port."""
    if isinstance(error, IncompleteCommit) or code_of(error) == _COMMIT_FAILED:
        return OutcomeUnknown(
            f"the connection to `{url}` ended while committing: {error}",
            advice="look the request ids up, or the head",
            url=url,
        )
    if isinstance(error, ConstraintError):
        return ConstraintBroken(f"`{url}` refused what is there already: {_told(error)}")
    fault = _FAULTS.get(code_of(error))
    if isinstance(error, Neo4jError) and not code_of(error).startswith("Neo."):
        fault = _ANOTHER
    if fault is None and isinstance(error, AuthError):
        fault = _FAULTS["Neo.ClientError.Security.Unauthorized"]
    if fault is not None:
        return fault.error(f"`{url}` {fault.sentence}: {_told(error)}", advice=fault.advice, url=url)
    sentence, advice = _unreachable(error)
    return LedgerUnavailable(f"`{url}` {sentence}: {_told(error)}", advice=advice, url=url)


def silent(url: str, *, committing: bool = False) -> LedgerError:
    """Return the error for a database that said nothing for as long as it may."""
    if committing:
        return OutcomeUnknown(
            f"`{url}` was asked to commit and does not answer",
            advice="look the request ids up, or the head",
            url=url,
        )
    return LedgerUnavailable(
        f"`{url}` does not answer",
        advice="check that Neo4j runs and has not hung; writing goes on by itself when it does",
        url=url,
    )


def code_of(error: BaseException) -> str:
    """Return the server's status code, or an empty text if the error did not come from a server."""
    return getattr(error, "code", None) or ""


def _misconfigured(error: ConfigurationError) -> tuple[str, str]:
    if isinstance(error, UnsupportedServerProduct) or _OLD in str(error):
        return "is older than the ledger needs", f"upgrade Neo4j to {OLDEST_TEXT} or later, or check the address"
    return "is no address of a Neo4j", "write neo4j://host:7687, or neo4j+s://host:7687 for TLS"


def _unreachable(error: DriverError | Neo4jError) -> tuple[str, str]:
    if isinstance(error, ConfigurationError):
        return _misconfigured(error)
    if isinstance(error, ConnectionAcquisitionTimeoutError):
        return "had no free connection", "raise the size of the pool, or look for long transactions"
    causes = list(_causes(error))
    for kinds, sentence, advice in _CAUSES:
        if any(isinstance(each, kinds) for each in causes):
            return sentence, advice
    if any(hint in str(each) for each in causes for hint in ("HTTP", "handshake")):
        return (
            "answers, but not as Neo4j",
            "7687 is usual, 7474 is its web page; with TLS write neo4j+s:// or bolt+s://",
        )
    if isinstance(error, DriverError):
        return "cannot be reached", "check that Neo4j runs and answers; writing goes on by itself when it does"
    return "failed", "look into the log of Neo4j; this is not expected"


_CAUSES: Final[tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str, str], ...]] = (
    (
        ssl.SSLCertVerificationError,
        "shows a certificate that nobody known has signed, or of another name",
        "write +ssc for a certificate of your own, or have the authority that signed it trusted here, and use its name",
    ),
    (
        (ssl.SSLError, BoltSecurityError),
        "does not speak TLS as this address wants it",
        "for a server without TLS write neo4j:// or bolt://, for a certificate of your own +ssc",
    ),
    (socket.gaierror, "has a name that is not known", "check the host in `REMIT_STORE` and the name service"),
    (
        ConnectionRefusedError,
        "refused the connection",
        "start Neo4j, or check host and port; 7687 is usual, 7474 is its web page",
    ),
    (TimeoutError, "does not answer", "check that Neo4j runs and has not hung; writing goes on by itself when it does"),
)
"""Kinds of exceptions below the driver's own, with what they mean; the first that is met counts."""


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and everything below it; a `neo4j://` address hides the cause in a group."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for each in error.exceptions:
                yield from _causes(each)
        error = error.__cause__


def _told(error: BaseException) -> str:
    """Return what was said in one line; what is in the way stands at the end of it, where it does."""
    # The driver gives errors of its own a `message` that says nothing.
    message = str(error.message if isinstance(error, Neo4jError) and error.message else error)
    return " ".join(message.split())[:TOLD]
