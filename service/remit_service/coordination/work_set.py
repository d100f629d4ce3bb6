"""Work sets: what a run will read, write and delete, declared before it starts (S42-S45, coordination.md 8).

A run that declared its work is held to it: a late request whose record has expired is denied, whatever token it shows,
and so is a write outside the declared set. Two declared runs *meet* where both write one thing, or one changes what the
other reads; impacts over AFFECTS count as written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_graph.errors import ModelError
from remit_graph.model.builtin import Governance
from remit_graph.model.edge import EdgeType
from remit_graph.view.ground import ground_of
from remit_service.coordination.compare import place
from remit_service.coordination.governed import governed
from remit_service.coordination.values import Answer, Refusal, Steps
from remit_service.coordination.work import Work, refuse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from remit_service.coordination.command import DeclareWorkSet, EndWorkSet
    from remit_service.coordination.values import Claim, Record


def declare(work: Work, command: DeclareWorkSet) -> Steps:
    """Carry out `DeclareWorkSet`; answers with the other declared runs that it would meet."""
    refusal = yield from governed(work, command.actor, Governance.DECLARE_WORK_SET)
    if refusal is not None:
        return refusal
    if command.expires_at <= work.at:
        return refuse("capability_expired", capability_id=command.run_id, expires_at=command.expires_at)
    known = work.record("work_set", command.run_id)
    if known is not None and known["actor"] != command.actor and work.lives(known):
        return refuse("already_exists", id=command.run_id)
    record = _record_of(work, command)
    if isinstance(record, Refusal):
        return record
    met = list(_meeting(work, record))
    if met and command.exclusive:
        return Refusal(
            code="conflicting_operation", outcome="reject", facts={**met[0], "result": "reject"}, conflicts=tuple(met)
        )
    work.change("work_set.put", record)
    return Answer(result={"work_set_id": command.run_id, "expires_at": command.expires_at, "conflicts": met})


def end(work: Work, command: EndWorkSet) -> Answer | Refusal:
    """Carry out `EndWorkSet`."""
    known = work.record("work_set", command.run_id)
    if known is None:
        return Answer(result={"work_set_id": command.run_id, "ended": False})
    if known["actor"] != command.actor:
        return refuse("lease_not_held", subject=command.actor, lease_id=command.run_id)
    work.change("work_set.end", {"id": command.run_id, "ended_at": work.at})
    return Answer(result={"work_set_id": command.run_id, "ended": True})


def _record_of(work: Work, command: DeclareWorkSet) -> dict[str, Any] | Refusal:
    keys: dict[str, list[str]] = {}
    for name in ("reads", "writes", "deletes"):
        resolved = [_key(work, each) for each in getattr(command, name)]
        refused = next((each for each in resolved if isinstance(each, Refusal)), None)
        if refused is not None:
            return refused
        keys[name] = sorted({each for each in resolved if isinstance(each, str)})
    affected = {
        edge.to
        for key in (*keys["writes"], *keys["deletes"])
        for edge in work.view.outgoing(EdgeType.AFFECTS, key)
        if edge.is_live(work.at)
    }
    return {
        "id": command.run_id,
        "work_set_id": command.run_id,
        "run_id": command.run_id,
        "actor": command.actor,
        "point": command.point,
        **keys,
        "affects": sorted(affected),
        "operations": sorted(command.operations),
        "expires_at": command.expires_at,
        "declared_at": work.at,
    }


def _key(work: Work, name: str) -> str | Refusal:
    """A registered resource by its canonical key; a label without an id is refused (S42)."""
    try:
        resolved = work.view.registry.resolve_key(name)
    except ModelError as error:
        return refuse(error.code, key=name, problem=error.message)
    if resolved is None:
        return refuse("unknown_resource", key=name)
    if not resolved.type.key.names:
        return refuse("key_too_broad", key=name)
    return resolved.key


def conflict_map(work: Work) -> list[dict[str, Any]]:
    """Return the pairs of declared runs that would meet, each once."""
    found: list[dict[str, Any]] = []
    for run_id in sorted(work.view.records.get("work_set", {})):
        record = work.view.records["work_set"][run_id]
        if work.lives(record):
            found.extend(each for each in _meeting(work, record) if run_id < each["run_id"])
    return found


def _meeting(work: Work, mine: Record) -> Iterator[dict[str, Any]]:
    sets = work.view.records.get("work_set", {})
    index = work.view.coordination.work_sets
    keys = [*mine["reads"], *mine["writes"], *mine["deletes"], *mine["affects"]]
    near = {each for key in keys for each in index.near(ground_of(work.view, key, work.at).keys)} if index else set()
    for run_id in sorted(near - {mine["id"]}):
        theirs = sets[run_id]
        if not work.lives(theirs):
            continue
        pairs = [*_pairs(work, mine, theirs, "WRITE_WRITE"), *_pairs(work, mine, theirs, "READ_WRITE")]
        if pairs:
            first = pairs[0]
            yield {
                "run_id": run_id, "with": mine["id"], "holder": theirs["actor"], "conflict_type": first[0],
                "key": first[1], "other_key": first[2], "pairs": [list(each) for each in pairs],
            }  # fmt: skip


def _pairs(work: Work, mine: Record, theirs: Record, kind: str) -> Iterator[tuple[str, str, str]]:
    """Iterate the keys by which two runs meet; `READ_WRITE` where one changes what the other reads."""
    if kind == "WRITE_WRITE":
        sides = [(_changed(mine), _changed(theirs))]
    else:
        sides = [(mine["reads"], _changed(theirs)), (_changed(mine), theirs["reads"])]
    for one, other in sides:
        for key in one:
            for each in other:
                if place(work.view, key, each, work.at) is not None:
                    yield kind, key, each


def _changed(record: Record) -> list[str]:
    return [*record["writes"], *record["deletes"], *record["affects"]]


def work_set_refusal(work: Work, work_set_id: str | None, claims: Sequence[Claim]) -> Refusal | None:
    """Refuse what a run did not declare, or declared for a time that is over (S43, S44)."""
    if work_set_id is None:
        return None
    record = work.record("work_set", work_set_id)
    if record is None:
        return refuse("run_id_required", key=claims[0].key)
    if not work.lives(record):
        return refuse("capability_expired", capability_id=work_set_id, expires_at=record["expires_at"])
    for claim in claims:
        if record["actor"] != claim.subject or not _declares(work, record, claim):
            return refuse("capability_mismatch", capability_id=work_set_id)
    return None


def _declares(work: Work, record: Record, claim: Claim) -> bool:
    if record["operations"] and claim.action.name not in record["operations"]:
        return False
    declared: Iterable[str] = (*record["writes"], *record["deletes"])
    if not claim.action.writes:
        declared = (*declared, *record["reads"])
    return any(place(work.view, claim.key, each, work.at) in ("same", "ancestor") for each in declared)
