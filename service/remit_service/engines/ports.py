"""The port `PolicyEngine`: a question to the policy, and what an answer promises.

- An entry point is named as OPA names it, `remit/decision/decision`, without `data`.
- The input is a mapping, or the bytes of one JSON document. Bytes are handed on as they are: the caller who has them
  pays for no second encoding.
- The answer is decoded JSON, whole and unjudged. Whether it permits is read by `result.DecisionReader`.
- Only `EngineError` is raised. An engine answers for one bundle, `policy_revision`, from its first answer to its last.

An engine in process also has `evaluate_now`: no `await` stands between the facts and the verdict, so nothing can
change between them, and the writer decides its commands with it (rules.md 11).

```python
engine: PolicyEngine = EmbeddedEngine(bundle)
document = await engine.evaluate(DECISION, {"request": {...}})
```
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol, runtime_checkable

Document = dict[str, object] | list[object] | str | int | float | bool | None
"""Decoded JSON, as a rule yields it; a set of Rego arrives as a sorted list."""

Input = bytes | Mapping[str, object]

DECISION: Final = "remit/decision/decision"
"""The only entry point for decisions (decision.md section 3)."""


class PolicyEngine(Protocol):
    """Evaluates entry points of one policy bundle."""

    @property
    def policy_revision(self) -> str:
        """The digest of the bundle that every answer rests on."""

    async def evaluate(self, entrypoint: str, document: Input) -> Document:
        """Evaluate `entrypoint` on one input.

        Raises:
            EngineError: there is no answer that may be used; its `code` is the reason of the deny.
        """

    async def check(self) -> None:
        """Ask for a decision on an empty input: is this engine ready to answer?

        Raises:
            EngineError: it is not, and why.
        """

    async def aclose(self) -> None:
        """Give back connections and memory; every later question raises `EngineUnavailable`."""


@runtime_checkable
class ImmediateEngine(PolicyEngine, Protocol):
    """An engine in this process, which answers without waiting for anything."""

    def evaluate_now(self, entrypoint: str, input_json: bytes) -> Document:
        """Do what `evaluate` does, at once.

        Raises:
            EngineError: as `evaluate`.
        """


class PolicySource(Protocol):
    """What an engine in process needs of a bundle; `bundle.Bundle` is one."""

    @property
    def revision(self) -> str:
        """The digest of the bundle."""

    @property
    def modules(self) -> list[tuple[str, str]]:
        """Pairs of path and Rego source."""

    @property
    def data_json(self) -> str:
        """The data tree of the bundle as one JSON document."""

    @property
    def entrypoints(self) -> frozenset[str]:
        """The rules annotated with `entrypoint: true`, as `remit/decision/decision`."""

    @property
    def site_rules(self) -> frozenset[str]:
        """The names of the rules in the package `custom`."""

    @property
    def site_rules_can_fail(self) -> bool:
        """Whether a rule of the site uses an operation that may fail on a value of an unexpected type."""

    @property
    def site_rules_iterate(self) -> bool:
        """Whether a rule of the site loops over anything, so that its cost has no known bound."""
