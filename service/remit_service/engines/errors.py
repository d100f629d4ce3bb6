"""Errors of a policy engine: why a question to the policy got no usable answer.

```
EngineError
├── EngineUnavailable  no answer: refused connection, 5xx of the server, engine closed
├── EngineTimeout      no answer in time, or the bound on evaluation steps was reached
├── ResultUndefined    the entry point is missing or has no value for this input
├── ResultMalformed    an answer of another shape than the one agreed on
├── PolicyMismatch     the answer comes from another bundle than the one in force
└── PolicyError        the policy cannot be evaluated for this input, or not be compiled
```

Each `code` is a fault code of decision.md section 5, and each of them is a deny. Nothing else crosses the port: an
exception of the Rego interpreter or of the HTTP client that escapes an adapter is a bug of that adapter.
"""

from __future__ import annotations

from typing import ClassVar


class EngineError(Exception):
    """The root of what an engine may raise; never raised itself."""

    code: ClassVar[str] = "engine_unavailable"
    advice: ClassVar[str] = "run `remit doctor`"

    def __init__(self, message: str, **facts: object) -> None:
        """Keep `message` as the sentence, and `facts` as the values it names."""
        super().__init__(message)
        self.message = message
        self.facts = facts


class EngineUnavailable(EngineError):
    """The engine gave no answer, and asking it again at once would not help."""

    code = "engine_unavailable"
    advice = "start the policy engine, or correct `REMIT_ENGINE`"


class EngineTimeout(EngineError):
    """The engine was still evaluating when its time, or its number of steps, was up."""

    code = "engine_timeout"
    advice = "look for a rule that loops over large data; `remit policy test` shows the time of each test"


class ResultUndefined(EngineError):
    """The entry point is absent, misspelt, or undefined for this input."""

    code = "result_undefined"
    advice = "give the entry point a `default`, and check that the bundle holds its package"


class ResultMalformed(EngineError):
    """The answer is there, but it is no document of the agreed shape."""

    code = "result_malformed"
    advice = "compare the rule with the output in `policy/README.md`"


class PolicyMismatch(EngineError):
    """The answer rests on another bundle; `facts` hold the `expected` and the `actual` revision."""

    code = "policy_mismatch"
    advice = "wait until the policy engine has fetched the bundle in force, or restart it"


class PolicyError(EngineError):
    """A rule failed: a built-in error, two values for one rule, input that is no JSON; or the Rego does not compile."""

    code = "policy_error"
    advice = "run `remit policy check`"
