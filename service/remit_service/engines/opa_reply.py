"""What an OPA server's reply to a question means; pure, so that every reply can be tested without a server.

| reply | meaning |
|---|---|
| 200 with `result` | the document, if it rests on the expected bundle, else `PolicyMismatch` |
| 200 without `result` | `ResultUndefined`: OPA says undefined with a success (reference/opa.md 1.1) |
| the same, where OPA names its bundles and ours is not among them | `PolicyMismatch`: it has not fetched it yet |
| 400, 500 with an evaluation error | `PolicyError`: the rule failed under strict built-in errors, or has two values |
| any other status | `EngineUnavailable` |
| no JSON object | `ResultMalformed` |

A document that names its `policy_revision` was evaluated in the same transaction as that name, so the name decides.
Other documents are judged by the provenance, which OPA reads just after: a document of the old bundle can carry the new
revision while a bundle is being activated. Decisions, the only thing OPA is asked for in production, name it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from remit_service.engines.errors import (
    EngineError,
    EngineUnavailable,
    PolicyError,
    PolicyMismatch,
    ResultMalformed,
    ResultUndefined,
)

if TYPE_CHECKING:
    from remit_service.engines.ports import Document

_OK: Final = 200
_BAD_REQUEST: Final = 400
_SERVER_ERROR: Final = 500


class _Bundle(msgspec.Struct):
    revision: str = ""


class _Provenance(msgspec.Struct):
    bundles: dict[str, _Bundle] = {}
    revision: str = ""


class _Answer(msgspec.Struct):
    result: Any = msgspec.UNSET
    provenance: _Provenance | None = None


class _EvaluationError(msgspec.Struct):
    code: str = ""
    message: str = ""


class _Failure(msgspec.Struct):
    code: str = ""
    message: str = ""
    errors: list[_EvaluationError] = []


_answers: Final = msgspec.json.Decoder(_Answer)
_failures: Final = msgspec.json.Decoder(_Failure)


def document_in(status: int, body: bytes, *, entrypoint: str, revision: str, server: str) -> Document:
    """Return the document in a reply of `server`.

    Raises:
        EngineError: the reply holds none that may be used.
    """
    if status != _OK:
        raise _failed(status, body, server)
    try:
        answer = _answers.decode(body)
    except msgspec.DecodeError as error:
        raise ResultMalformed(f"the reply of OPA is malformed: {error}") from error
    document: Document = None if answer.result is msgspec.UNSET else answer.result
    actual = _stated_revision(document) or _provenance_revision(answer.provenance)
    if answer.result is msgspec.UNSET and (answer.provenance is None or actual == revision):
        raise ResultUndefined(f"`{entrypoint}` is undefined", entrypoint=entrypoint)
    if actual != revision:
        raise PolicyMismatch(f"decided by bundle `{actual}`, expected `{revision}`", expected=revision, actual=actual)
    return document


def _stated_revision(document: Document) -> str | None:
    stated = document.get("policy_revision") if isinstance(document, dict) else None
    return stated if isinstance(stated, str) else None


def _provenance_revision(provenance: _Provenance | None) -> str:
    """Return the revision of the only bundle; with several, none speaks for the document."""
    if provenance is None:
        return ""
    revisions = {bundle.revision for bundle in provenance.bundles.values()} or {provenance.revision}
    return revisions.pop() if len(revisions) == 1 else ""


def _failed(status: int, body: bytes, server: str) -> EngineError:
    try:
        failure = _failures.decode(body)
    except msgspec.DecodeError:
        failure = _Failure()
    if status == _BAD_REQUEST:
        return PolicyError(f"{server} refused the question: {failure.message or failure.code}")
    if status == _SERVER_ERROR and any(error.code.startswith("eval_") for error in failure.errors):
        first = failure.errors[0]
        return PolicyError(f"{first.code}: {first.message}")
    return EngineUnavailable(f"{server} answered {status}: {failure.code or 'no reason given'}", status=status)
