"""What a caller hands in to be kept: checked before it reaches a batch, where it would stop the commands beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from remit_graph.model.change import canonical

T = TypeVar("T", bound=Mapping[str, Any] | None)


def in_ledger_form(value: T) -> T:
    """Return evidence as it is, if the ledger can hold it.

    Raises:
        ModelError: it holds a fraction, or what JSON has no form for.
    """
    if value is not None:
        canonical(value)
    return value
