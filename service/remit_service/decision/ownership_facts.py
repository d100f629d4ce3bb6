"""The facts that sentences about ownership name: the field, its owner, and the epoch that was rested on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from remit_service.decision.case import Case


def ownership(code: str, case: Case) -> dict[str, Any]:
    """Return the first field of which a code is true, with its owner and what the chain rests on instead."""
    rows = [row for row in case.document["resource"]["ownership"] if row["managed"]]
    root = _root(case)
    wanted = OWNER_ROWS[code]
    row = next((each for each in rows if wanted(each, root)), rows[0] if rows else None)
    if row is None:
        return {}
    return {
        "field": row["field"],
        "owner": row["owner"],
        "owners": row["owners"] or None,
        "ownership_epoch": row["ownership_epoch"],
        "presented": _presented_epoch(case, row),
        "root": root.get("from"),
    }


Row = Mapping[str, Any]


def _is_of_another(row: Row, root: Row) -> bool:
    """Whether the owner of a field is another than the one that the root of the chain rests on."""
    if row["owner"] is None or _rests(root, row):
        return False
    if root.get("edge") == "OWNS":
        return bool(root["from"] != row["owner"])
    return row["field"] not in root.get("stamped_fields", ())


def _is_of_before(row: Row, root: Row) -> bool:
    """Whether the root of the chain rests on an earlier owner of a field."""
    if row["owner"] is None or _rests(root, row):
        return False
    return root.get("edge") == "OWNS" or row["field"] in root.get("stamped_fields", ())


def _rests(root: Row, row: Row) -> bool:
    stamp = {"edge_id": row["edge_id"], "ownership_epoch": row["ownership_epoch"]}
    if root.get("edge") == "OWNS":
        return all(root.get(name) == value for name, value in stamp.items())
    return stamp in root.get("rests_on", ())


OWNER_ROWS: Final[dict[str, Callable[[Row, Row], bool]]] = {
    "ownership_unresolved": lambda row, _root: row["owner"] is None,
    "ownership_conflict": lambda row, _root: len(row["owners"]) > 1,
    "not_owner": _is_of_another,
    "stale_ownership_epoch": _is_of_before,
    "owner_frozen": lambda row, _root: bool(row["frozen"]),
}


def _root(case: Case) -> Row:
    """The root of the first chain, or of the first that came near; empty where there is neither."""
    chains = case.document["chains"] or case.document["near_misses"]
    root: Row = chains[0]["hops"][0] if chains else {}
    return root


def _presented_epoch(case: Case, row: Row) -> int | None:
    said = case.document["request"]["context"].get("ownership_epoch")
    if said is not None and row["ownership_epoch"] is not None and said < row["ownership_epoch"]:
        return int(said)
    for chain in case.document["chains"] or case.document["near_misses"]:
        root = chain["hops"][0]
        stamps = [each["ownership_epoch"] for each in root.get("rests_on") or ()]
        if root.get("ownership_epoch") is not None:
            stamps.append(root["ownership_epoch"])
        if stamps:
            return int(max(stamps))
    return None


def transfer(code: str, case: Case) -> dict[str, Any]:
    """Return the frozen field, and the transfer that froze it."""
    return {
        **ownership(code, case),
        "transfer_id": (case.document["coordination"]["transfer"] or {}).get("transfer_id"),
    }
