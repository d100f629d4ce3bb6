"""Conflict records: who met whom on what, what was decided, who won, and why (evidence.md 1, S56)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from remit_service.coordination.work import Work

TYPES: Final = ("OWNERSHIP", "PRESENCE", "READ_WRITE", "SEMANTIC", "SEQUENCE", "WRITE_WRITE")


def conflict_type(decision: str, relation: str | None, *, shared: bool) -> str:
    """Name the kind of a conflict by how it was met."""
    if decision == "hold":
        return "PRESENCE"
    if decision == "ordered":
        return "SEQUENCE"
    if relation in ("affects", "must_coordinate", "ancestor", "descendant"):
        return "SEMANTIC"
    return "READ_WRITE" if shared else "WRITE_WRITE"


def record_conflict(
    work: Work, resource: str, contenders: Sequence[str], keys: Sequence[str], how: Mapping[str, Any], **facts: Any
) -> str:
    """Write a conflict record, and return its id; only where a queue, lease or operation changes with it.

    Args:
        work: The step.
        resource: What they met on.
        contenders: Who met, the one who came last at the end.
        keys: The keys that overlapped.
        how: `decision`, `winner`, `reason_code`; and `relation` and `shared`, which tell the kind of the conflict.
        facts: What else is known: the lease or waiter, the cell of the matrix.
    """
    conflict_id = work.new_id("conf")
    body = {
        "id": conflict_id,
        "conflict_id": conflict_id,
        "resource": resource,
        "contenders": list(dict.fromkeys(contenders)),
        "conflict_type": conflict_type(how["decision"], how.get("relation"), shared=how.get("shared", False)),
        "decision": how["decision"],
        "winner": how["winner"],
        "reason_code": how["reason_code"],
        "policy_version": work.view.policy_revision,
        "policy_epoch": work.view.policy_epoch,
        "decided_at": work.at,
        "keys": list(dict.fromkeys(keys)),
        **{name: value for name, value in facts.items() if value is not None},
    }
    work.change("conflict.put", body)
    return conflict_id
