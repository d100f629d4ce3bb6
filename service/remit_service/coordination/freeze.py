"""What a transfer of ownership freezes, as decisions see it (rules.md 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_graph.view.ground import ground_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.coordination.values import Record


def transfer_facts(view: View, key: str, fields: tuple[str, ...], at: Instant) -> dict[str, Any] | None:
    """Return the fact `coordination.transfer`, or None where none freezes what a request touches.

    It names the first such transfer, every field of the resource that is frozen, and the earliest deadline.
    """
    over = list(_over(view, key, at))
    touching = [each for each in over if not fields or set(fields) & set(each["fields"])]
    if not touching:
        return None
    first = {name: touching[0][name] for name in ("transfer_id", "state", "from_owner", "to_owner")}
    frozen = sorted({name for transfer in over for name in transfer["fields"]})
    return {**first, "fields": frozen, "freeze_deadline": min(each["freeze_deadline"] for each in touching)}


def _over(view: View, key: str, at: Instant) -> Iterator[Record]:
    if view.coordination.frozen:
        ground = ground_of(view, key, at)
        for transfer_id in sorted(view.coordination.frozen):
            transfer = view.records["transfer"][transfer_id]
            if ground.under(transfer["resource"]):
                yield transfer
