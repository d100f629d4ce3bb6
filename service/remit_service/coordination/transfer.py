"""Transfer of ownership in seven steps, or an abort before authority has moved (coordination.md 6).

At no revision does a field have two owners. From `freeze` on nothing starts or renews under the old owner; a lease held
at the freeze may write until the deadline. A failed verification leaves the fields frozen for review.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from remit_graph.errors import ModelError
from remit_graph.model.builtin import Governance
from remit_graph.model.key import WILDCARD, parse_selector, segments_of
from remit_service.coordination.gate import lasting
from remit_service.coordination.governed import governed
from remit_service.coordination.move import dependencies, move_ownership, owned_by, remaining_grants, still_writing
from remit_service.coordination.resting import Found, decide_again
from remit_service.coordination.standing import acting_as
from remit_service.coordination.states import ABORTABLE, TRANSFER_STEPS, Cause, TransferState
from remit_service.coordination.touched import Touched
from remit_service.coordination.values import Answer, Ask, Refusal, Steps, Verdict
from remit_service.coordination.work import Work, refuse

if TYPE_CHECKING:
    from remit_service.coordination.command import ProposeTransfer, StepTransfer
    from remit_service.coordination.values import Record

ENDED: Final = frozenset({TransferState.RETIRED, TransferState.ABORTED})
OWNERS: Final = frozenset({"controller", "organization"})

Step = Generator["Ask", "Verdict", "dict[str, Any] | Refusal"]


def propose(work: Work, command: ProposeTransfer) -> Steps:
    """Carry out `ProposeTransfer`: by the owner or a root principal."""
    refusal = _unfit(work, command)
    if refusal is not None:
        return refusal
    owner = command.from_owner in acting_as(work.view, command.actor, work.at)
    refusal = yield from _law(work, command.actor, "propose", owner=owner)
    if refusal is not None:
        return refusal
    record = {
        "id": command.transfer_id,
        "transfer_id": command.transfer_id,
        "from_owner": command.from_owner,
        "to_owner": command.to_owner,
        "resource": command.resource,
        "fields": sorted(set(command.fields)),
        "reason": command.reason,
        "state": str(TransferState.PROPOSED),
        "freeze_us": work.tables.leases.freeze_us if command.freeze_us is None else command.freeze_us,
        "freeze_deadline": None,
        "steps": [_note(work, "propose", command.actor)],
    }
    work.change("transfer.put", record)
    return Answer(result=record)


def _law(
    work: Work, actor: str, step: str, transfer: Record | None = None, **facts: Any
) -> Generator[Ask, Verdict, Refusal | None]:
    """Put a step to the policy: its order, its conditions, and the actor's authority to TRANSFER.

    Every step is for the parties: the owner proposes, and whoever hands over or takes over goes on.
    """
    known = {
        "step": step,
        "state": None if transfer is None else transfer["state"],
        "owner": transfer is not None and _is_party(work, actor, transfer),
        "able": True,
        "live_leases": 0,
        "freeze_deadline": None if transfer is None else transfer["freeze_deadline"],
        "new_may": None,
        "old_may": None,
        **facts,
    }
    return (yield from governed(work, actor, Governance.TRANSFER, transfer=known))


def _is_party(work: Work, actor: str, transfer: Record) -> bool:
    """Whether an actor acts as the owner from before or the one to come; a root needs to be neither."""
    return bool({transfer["from_owner"], transfer["to_owner"]} & set(acting_as(work.view, actor, work.at)))


def _unfit(work: Work, command: ProposeTransfer) -> Refusal | None:
    if work.record("transfer", command.transfer_id) is not None:
        return refuse("already_exists", id=command.transfer_id)
    if not command.fields or command.from_owner == command.to_owner:
        return refuse("malformed_request", pointer="/fields", problem="fields move from one owner to another")
    try:
        parse_selector(command.resource)
    except ModelError as error:
        return refuse(error.code, key=command.resource, problem=error.message)
    if owned_by(work.view, command.from_owner, command.resource, command.fields, work.at) is None:
        return refuse("not_owner", field=command.fields[0], key=command.resource, owner=None, root=command.from_owner)
    for transfer in work.view.records.get("transfer", {}).values():
        open_still = TransferState(transfer["state"]) not in ENDED
        if (
            open_still
            and set(transfer["fields"]) & set(command.fields)
            and _meets(transfer["resource"], command.resource)
        ):
            return refuse("already_exists", id=transfer["transfer_id"])
    return None


def _meets(one: str, other: str) -> bool:
    pairs = zip(segments_of(one), segments_of(other), strict=False)
    return all(WILDCARD in (mine, theirs) or mine == theirs for mine, theirs in pairs)


def advance(work: Work, command: StepTransfer) -> Steps:
    """Carry out `StepTransfer`."""
    transfer = work.record("transfer", command.transfer_id)
    if transfer is None:
        return refuse("unknown_resource", key=command.transfer_id)
    arrow = TRANSFER_STEPS.get(command.step)
    leads = transfer["state"] in ABORTABLE if command.step == "abort" else arrow and transfer["state"] == arrow[0]
    if not leads:
        return refuse("invalid_transition", id=transfer["id"], state=transfer["state"], step=command.step)
    result = yield from _STEPS[command.step](work, transfer, command)
    return result if isinstance(result, Refusal) else Answer(result=result)


def _abort(work: Work, transfer: Record, command: StepTransfer) -> Step:
    """Nothing has moved yet, so that ending the freeze is all there is to do."""
    refusal = yield from _law(work, command.actor, "abort", transfer)
    return refusal or _move(work, transfer, command, TransferState.ABORTED)


def _move(work: Work, transfer: Record, command: StepTransfer, to: TransferState, **more: Any) -> dict[str, Any]:
    """Note a step; what is in `evidence` goes to the step, the rest to the transfer."""
    evidence = more.pop("evidence", None) or command.evidence
    steps = [*transfer["steps"], _note(work, command.step, command.actor, evidence)]
    record = {**transfer, **more, "state": str(to), "steps": steps}
    work.change("transfer.put", record)
    return record


def _note(work: Work, step: str, actor: str, evidence: Record | None = None) -> dict[str, Any]:
    note: dict[str, Any] = {"step": step, "at": work.at, "revision": work.revision, "actor": actor}
    return note if evidence is None else {**note, "evidence": dict(evidence)}


def _validate(work: Work, transfer: Record, command: StepTransfer) -> Step:
    """List what hangs on it, and refuse a new owner that is not able."""
    heir = work.view.principals.get(transfer["to_owner"])
    able = heir is not None and not heir.disabled and heir.kind in OWNERS
    refusal = yield from _law(work, command.actor, "validate", transfer, able=able)
    if refusal is not None:
        return refusal
    evidence = {"dependencies": dependencies(work.view, transfer)}
    return _move(work, transfer, command, TransferState.VALIDATED, evidence=evidence)


def _freeze(work: Work, transfer: Record, command: StepTransfer) -> Step:
    refusal = yield from _law(work, command.actor, "freeze", transfer)
    deadline = work.at + transfer["freeze_us"]
    return refusal or _move(work, transfer, command, TransferState.FROZEN, freeze_deadline=deadline)


def _transfer(work: Work, transfer: Record, command: StepTransfer) -> Step:
    """Move authority; refused while a lease from before may still write (rules.md 4)."""
    live = [each for each in still_writing(work.view, transfer) if work.lives(each)]
    refusal = yield from _law(work, command.actor, "transfer", transfer, live_leases=len(live))
    if refusal is not None:
        return _named(refusal, live[0], transfer) if live else refusal
    if owned_by(work.view, transfer["from_owner"], transfer["resource"], transfer["fields"], work.at) is None:
        return refuse(
            "not_owner", field=transfer["fields"][0], key=transfer["resource"], owner=None, root=transfer["from_owner"]
        )
    evidence = yield from move_ownership(work, transfer)
    return _move(work, transfer, command, TransferState.TRANSFERRED, evidence=evidence)


def _named(refusal: Refusal, lease: Record, transfer: Record) -> Refusal:
    """Say which lease a transfer waits for, and how long."""
    if refusal.code != "resource_busy":
        return refusal
    until = min(lease["expires_at"], transfer["freeze_deadline"])
    facts = {
        "holder": lease["holder"],
        "key": lease["resource_key"],
        "expires_at": until,
        "fencing_token": lease["lease_epoch"],
    }
    return replace(refusal, facts=facts, retry_at=until)


def _register(work: Work, transfer: Record, command: StepTransfer) -> Step:
    """Note what names the old owner still, and what was updated elsewhere."""
    refusal = yield from _law(work, command.actor, "register", transfer)
    named = [edge.position for edge in remaining_grants(work.view, transfer, partly=True)]
    evidence = {"names_old_owner": named, **(command.evidence or {})}
    return refusal or _move(work, transfer, command, TransferState.REGISTERED, evidence=evidence)


def _verify(work: Work, transfer: Record, command: StepTransfer) -> Step:
    """Probe: the new writer may, the old one may not. On failure it stays REGISTERED, and frozen."""
    probes = command.probes or _default_probes(work, transfer)
    if len(probes) != 2:  # noqa: PLR2004 - one of the new writer, one of the old
        return refuse("malformed_request", pointer="/probes", problem="one request of each writer is needed")
    # Judged as it will be: without the freeze that this very step ends.
    work.change("transfer.put", {**transfer, "state": str(TransferState.VERIFIED)})
    codes: list[str | None] = []
    for probe in probes:
        work.questions += 1
        verdict: Verdict = yield Ask(request=probe, phase="probe")
        codes.append(lasting(work.tables, verdict))
    work.change("transfer.put", transfer)
    may = {"new_may": codes[0] is None, "old_may": codes[1] is None}
    refusal = yield from _law(work, command.actor, "verify", transfer, **may)
    if refusal is not None and refusal.code != "not_verified":
        return refusal
    passed = refusal is None
    evidence = {"new_writer": codes[0] or "permit", "old_writer": codes[1] or "permit", "passed": passed}
    to = TransferState.VERIFIED if passed else TransferState.REGISTERED
    return _move(work, transfer, command, to, evidence=evidence)


def _default_probes(work: Work, transfer: Record) -> tuple[Record, ...]:
    """Both owners ask in person, for the first action that touches a transferred field."""
    if WILDCARD in segments_of(transfer["resource"]):
        return ()
    fields = set(transfer["fields"])
    names = sorted(
        each.name for each in work.view.actions.values() if each.writes and each.fields and set(each.fields) <= fields
    )
    if not names:
        return ()
    return tuple(
        {
            "subject": {"type": owner.partition(":")[0], "id": owner.partition(":")[2]},
            "action": {"name": names[0]},
            "resource": {"type": "key", "id": transfer["resource"]},
            "context": {},
        }
        for owner in (transfer["to_owner"], transfer["from_owner"])
    )


def _retire(work: Work, transfer: Record, command: StepTransfer) -> Step:
    """Close the old writer's remaining grants on what was transferred."""
    refusal = yield from _law(work, command.actor, "retire", transfer)
    if refusal is not None:
        return refusal
    grants = remaining_grants(work.view, transfer, partly=False)
    if grants:
        ended = [[edge.edge_id, edge.version] for edge in grants]
        work.change("edges.end", {"edges": ended, "cause": "transferred"})
        touched = Touched(
            positions=dict.fromkeys((edge.position for edge in grants), "not_owner"), cause=Cause.OWNERSHIP
        )
        yield from decide_again(work, touched, Found())
    evidence = {"closed": [edge.position for edge in grants]}
    return _move(work, transfer, command, TransferState.RETIRED, evidence=evidence)


_STEPS: Final[dict[str, Callable[[Work, Record, StepTransfer], Step]]] = {
    "validate": _validate,
    "freeze": _freeze,
    "transfer": _transfer,
    "register": _register,
    "verify": _verify,
    "retire": _retire,
    "abort": _abort,
}
