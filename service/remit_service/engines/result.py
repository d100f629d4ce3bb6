"""From the decision document to a `PolicyResult`, strictly: what is not a well-formed permit never becomes one.

The agreed document is decision.md section 3: exactly these members, each of its type, with `effect` and `outcome` that
belong together, and reasons from the closed set. Everything else is `ResultMalformed`: `true`, `"permit"`, `{}`, `[]`,
`effect: null`, `"PERMIT"`, a permit without outcome, an unknown code, a fraction where digests allow none.

```python
read = DecisionReader(codes=frozenset(Reason), revision=engine.policy_revision)
result = read(await engine.evaluate(DECISION, policy_input))
```
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from remit_service.engines.errors import PolicyMismatch, ResultMalformed, ResultUndefined

if TYPE_CHECKING:
    from remit_service.engines.ports import Document

_T = TypeVar("_T")


class Effect(StrEnum):
    """Whether the policy allows."""

    DENY = "deny"
    PERMIT = "permit"


class Outcome(StrEnum):
    """What the caller does next (decision.md section 3)."""

    ACQUIRE = "acquire"
    DENY = "deny"
    ESCALATE = "escalate"
    EXECUTE = "execute"
    HOLD = "hold"
    MERGE_REQUIRED = "merge_required"
    ORDERED = "ordered"
    PREEMPT = "preempt"
    REBASE = "rebase"
    REJECT = "reject"
    REVIEW_REQUIRED = "review_required"
    SERIALIZE = "serialize"
    WAIT = "wait"


PERMITTING: Final = frozenset({Outcome.EXECUTE, Outcome.ACQUIRE, Outcome.PREEMPT})
"""The outcomes whose effect is permit; every other one denies (rules.md 7)."""


class Obligation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a permit demands of the enforcement point."""

    id: str
    type: str
    properties: dict[str, Any]


class SiteDenial(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule of the site that refuses, with the site's own code."""

    rule: str
    code: str
    message: str


class SiteError(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule of the site that could not be evaluated: what it reads at `pointer` is missing or of another type."""

    rule: str
    pointer: str
    expected: str
    found: str


class PolicyResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A decision document that has been checked; only `Outcome.EXECUTE` lets the caller act now.

    Its members are those of the document, as they are written; all but the site's are required.
    """

    effect: Effect
    outcome: Outcome
    reasons: tuple[str, ...]
    determining: tuple[str, ...]
    conflicts: tuple[dict[str, Any], ...]
    obligations: tuple[Obligation, ...]
    policy_revision: str
    approvals: tuple[dict[str, Any], ...] = ()
    """Which approvals the request needs and lacks, or had."""
    site: tuple[SiteDenial, ...] = ()
    """The facts behind `policy_denied`."""
    policy_errors: tuple[SiteError, ...] = ()
    """The facts behind `policy_error`."""

    def __bool__(self) -> bool:
        """Refuse: a permit may carry obligations, or only lead to a lease, and is no bare yes."""
        raise TypeError("a policy result is no boolean; match its outcome")


class DecisionReader:
    """Reads the documents of one bundle."""

    __slots__ = ("_codes", "_revision")

    def __init__(self, *, codes: frozenset[str], revision: str) -> None:
        """Accept only reasons in `codes`, and only documents of the bundle `revision`."""
        self._codes = codes
        self._revision = revision

    def __call__(self, document: Document) -> PolicyResult:
        """Return the result that `document` states.

        Raises:
            ResultMalformed: it states none.
            PolicyMismatch: it is the document of another bundle.
        """
        stated = _convert(document, PolicyResult)
        if ResultUndefined.code in stated.reasons:
            # The `default` of the entry point: something kept the decision from being made.
            raise ResultUndefined("the policy fell back to its default: a fact that it needs is missing from the input")
        if stated.policy_revision != self._revision:
            raise _mismatch(self._revision, stated.policy_revision)
        _refuse_contradiction(stated)
        if not self._codes.issuperset(stated.reasons):
            unknown = sorted(set(stated.reasons) - self._codes)
            raise ResultMalformed(f"reason `{unknown[0]}` is not of the closed set", unknown=unknown)
        # Every other member is made of texts, which `_convert` has seen to.
        for each in (*stated.conflicts, *stated.approvals, *(duty.properties for duty in stated.obligations)):
            _refuse_fractions(each)
        return stated


def revision_of(document: Document, *, expected: str) -> str:
    """Return the bundle that a decision document names.

    Raises:
        ResultMalformed: it names none.
        PolicyMismatch: it is not `expected`.
    """
    actual = document.get("policy_revision") if isinstance(document, dict) else None
    if not isinstance(actual, str):
        raise ResultMalformed("the decision names no `policy_revision`")
    if actual != expected:
        raise _mismatch(expected, actual)
    return actual


def _mismatch(expected: str, actual: str) -> PolicyMismatch:
    return PolicyMismatch(f"decided by bundle `{actual}`, expected `{expected}`", expected=expected, actual=actual)


def _convert(document: Document, kind: type[_T]) -> _T:
    try:
        return msgspec.convert(document, kind, strict=True)
    except msgspec.ValidationError as error:
        reason = str(error)
        raise ResultMalformed(f"the decision is malformed: {reason[:1].lower()}{reason[1:]}") from error


def _refuse_contradiction(stated: PolicyResult) -> None:
    """Refuse an effect that is not the outcome's, and a deny that gives no reason."""
    if (stated.effect is Effect.PERMIT) != (stated.outcome in PERMITTING):
        raise ResultMalformed(f"effect `{stated.effect}` contradicts outcome `{stated.outcome}`")
    if stated.effect is Effect.DENY and not stated.reasons:
        raise ResultMalformed(f"outcome `{stated.outcome}` comes without a reason")
    if stated.outcome is Outcome.EXECUTE and stated.reasons:
        raise ResultMalformed(f"outcome `execute` comes with reason `{stated.reasons[0]}`")


def _refuse_fractions(value: object) -> None:
    """Refuse floats: digests run over integers only, and the engines write fractions differently."""
    if isinstance(value, float):
        raise ResultMalformed(f"the number {value} is no integer")
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            _refuse_fractions(item)
