"""Batches: what an item inherits, and when a batch ends (AuthZEN 1.0, Access Evaluations).

- An entity of an item replaces the default as a whole; only a missing `type` or `id` is taken from the default, as the
  certification scenario asks.
- A default that no item inherits is not looked at. An item that is not well formed is denied; the others stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from remit_service.decision.request import RequestError

_ENTITIES: Final = ("subject", "resource")
_DEFAULTS: Final = ("subject", "action", "resource", "context")


class Semantic(StrEnum):
    """When a batch ends."""

    DENY_ON_FIRST_DENY = "deny_on_first_deny"
    EXECUTE_ALL = "execute_all"
    PERMIT_ON_FIRST_PERMIT = "permit_on_first_permit"

    def ends_with(self, *, permitted: bool) -> bool:
        """Whether nothing is asked after this answer."""
        if self is Semantic.EXECUTE_ALL:
            return False
        return permitted is (self is Semantic.PERMIT_ON_FIRST_PERMIT)


def items_of(body: Mapping[str, Any], *, limit: int) -> list[Any] | None:
    """Return the items, or None where the body is a single evaluation: absent, null and empty are the same.

    Raises:
        RequestError: `evaluations` is no list, or longer than `limit`.
    """
    items = body.get("evaluations")
    if items is None or items == []:
        return None
    if not isinstance(items, list):
        raise RequestError("`evaluations` is a list", pointer="/evaluations")
    if len(items) > limit:
        raise RequestError(f"{len(items)} evaluations are more than {limit}", pointer="/evaluations")
    return items


def semantic_of(body: Mapping[str, Any]) -> Semantic:
    """Return how the batch is evaluated.

    Raises:
        RequestError: `options` is no object, or names a semantic that does not exist.
    """
    options = body.get("options")
    if options is None:
        return Semantic.EXECUTE_ALL
    if not isinstance(options, Mapping):
        raise RequestError("`options` is an object", pointer="/options")
    value = options.get("evaluations_semantic")
    try:
        return Semantic.EXECUTE_ALL if value is None else Semantic(value)
    except ValueError:
        known = ", ".join(Semantic)
        raise RequestError(f"use one of {known}", pointer="/options/evaluations_semantic") from None


def with_defaults(item: object, body: Mapping[str, Any]) -> object:
    """Return the evaluation that an item stands for."""
    if not isinstance(item, Mapping):
        return item
    whole = {name: body[name] for name in _DEFAULTS if body.get(name) is not None}
    whole.update({name: value for name, value in item.items() if value is not None})
    for name in _ENTITIES:
        own, default = item.get(name), body.get(name)
        if isinstance(own, Mapping) and isinstance(default, Mapping):
            whole[name] = _completed(own, default)
    return whole


def _completed(own: Mapping[str, Any], default: Mapping[str, Any]) -> Mapping[str, Any]:
    missing = {name: default[name] for name in ("type", "id") if own.get(name) is None and name in default}
    return {**own, **missing} if missing else own
