"""Who speaks: whether a caller may act for the principal that a command is in the name of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_service.coordination.work import refuse
from remit_service.coordinator.reply import Reply, refused_reply

if TYPE_CHECKING:
    from remit_service.coordinator.coordinator import Coordinator
    from remit_service.decision.caller import Caller


class Proven:
    """What the faces of the coordinator share: proof of the speaker, and rates."""

    def __init__(self, coordinator: Coordinator) -> None:
        """Speak for one coordinator."""
        self._coordinator = coordinator

    def _stopped(self, caller: Caller, principal: str | None) -> Reply | None:
        """Return the refusal of a caller that may not speak, or speaks too often; None where it may go on."""
        if not caller.is_authenticated:
            return self._refused("unauthenticated")
        if principal is not None and not caller.may_speak_for(principal):
            return self._refused("identity_mismatch", enforcement_point=caller.name, subject=principal)
        return self._coordinator.over_rate(principal or caller.name, caller.name)

    def _holder(self, caller: Caller, noun: str, item: str, named: str | None) -> str | Reply:
        """Return the principal a record belongs to, if the caller may speak for it."""
        view = self._coordinator.view
        kept = {
            "lease": view.coordination.ended,
            "operation": view.coordination.closed,
            "waiter": view.coordination.left,
        }
        record = view.records.get(noun, {}).get(item) or kept[noun].get(item)
        member = "principal" if noun == "operation" else "holder"
        if record is None or (named is not None and record[member] != named):
            stopped = self._stopped(caller, named)
            return stopped or self._refused("lease_not_held", subject=named or caller.name, lease_id=item)
        return self._stopped(caller, record[member]) or str(record[member])

    def _refused(self, code: str, **facts: Any) -> Reply:
        point = self._coordinator.point
        return refused_reply(refuse(code, **facts), point.policy.reasons, point.view.revision)
