"""A refusal: why something may not be made, as a value (house-style 23)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remit_graph.errors import ModelError


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One broken law.

    Attributes:
        code: A reason code of decision.md 5.
        message: One sentence that names the edge and the law.
        dimension: What of the scope is concerned: `actions`, `fields`, `valid_until`, `max_depth` …
        offending: The values that lie outside.
        advice: What to do instead.
    """

    code: str
    message: str
    dimension: str | None = None
    offending: tuple[str, ...] = ()
    advice: str = ""

    def record(self) -> dict[str, object]:
        """Return the form of `reasons` in a problem document (http-api.md)."""
        record: dict[str, object] = {"code": self.code, "message": self.message}
        if self.dimension is not None:
            record["dimension"] = self.dimension
        if self.offending:
            record["offending"] = list(self.offending)
        return record


def refusal_of(error: ModelError) -> Refusal:
    """Turn what the model raised into a value."""
    return Refusal(code=error.code, message=error.message, advice=error.advice)
