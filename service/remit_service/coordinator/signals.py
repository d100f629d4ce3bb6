"""Presence, incidents, observations, work sets, transfers, notices: each a command or a look at the state."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from remit_service.coordination import command as commands
from remit_service.coordination.work import Work
from remit_service.coordination.work_set import conflict_map
from remit_service.coordinator.plain import in_ledger_form
from remit_service.coordinator.proven import Proven
from remit_service.decision.verdict import new_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from remit_graph.model.instant import Instant
    from remit_service.coordinator.reply import Key, Reply
    from remit_service.decision.caller import Caller
    from remit_service.decision.request import Entity, Evaluation


def _resource(entity: Entity) -> dict[str, str]:
    return {"type": entity.type, "id": entity.id}


class Signals(Proven):
    """Signals of one coordinator."""

    async def presence(
        self,
        resource: Entity,
        caller: Caller,
        *,
        actor: str,
        fields: Sequence[str],
        last_activity: Instant,
        ttl_us: int,
        interactive_editor: bool = True,
    ) -> Reply:
        """Say that somebody edits. Refusals: `identity_mismatch`, and what the actor lacks to write there."""
        trusted = caller.trusts("presence")
        stopped = self._stopped(caller, None if trusted else actor)
        if stopped is not None:
            return stopped
        command = commands.SignalPresence(
            resource=_resource(resource),
            actor=actor,
            interactive_editor=interactive_editor,
            fields=tuple(fields),
            last_activity=last_activity,
            ttl_us=ttl_us,
            point=caller.name,
            from_actor=not trusted,
        )
        return await self._coordinator.run(command, actor=actor, action="SIGNAL_PRESENCE")

    async def end_presence(self, presence_id: str, caller: Caller) -> Reply:
        """Say that somebody has stopped editing."""
        known = self._coordinator.view.records.get("presence", {}).get(presence_id)
        actor = None if known is None or caller.trusts("presence") else str(known["actor"])
        stopped = self._stopped(caller, actor)
        if stopped is not None:
            return stopped
        command = commands.EndPresence(presence_id=presence_id)
        return await self._coordinator.run(command, actor=actor or caller.name, action="END_PRESENCE")

    async def incident(
        self, evaluation: Evaluation, caller: Caller, *, incident_id: str, actor: str, severity: str, status: str
    ) -> Reply:
        """Open, change or close an incident; `evaluation` asks for DECLARE_INCIDENT on the resource.

        Refusals: what the actor lacks for DECLARE_INCIDENT there, `malformed_request` for severity and status.
        """
        stopped = self._stopped(caller, actor)
        if stopped is not None:
            return stopped
        command = commands.DeclareIncident(
            incident_id=incident_id,
            actor=actor,
            caller=caller,
            resource=evaluation.record(),
            severity=severity,
            status=status,
        )
        return await self._coordinator.run(command, actor=actor, action="DECLARE_INCIDENT")

    async def observe(
        self,
        resource: Entity,
        caller: Caller,
        *,
        reporter: str,
        fields: Sequence[str],
        seen_at: Instant,
        observed_version: str | None = None,
        actor: str | None = None,
    ) -> Reply:
        """Report a change seen at a resource; answers whether an operation explains it, and what it is if none does."""
        trusted = caller.trusts("observations")
        stopped = self._stopped(caller, None if trusted else reporter)
        if stopped is not None:
            return stopped
        command = commands.Observe(
            observation_id=new_id("obs"),
            resource=_resource(resource),
            fields=tuple(fields),
            observed_version=observed_version,
            actor=actor,
            seen_at=seen_at,
            reporter=reporter,
            is_trusted=trusted,
        )
        return await self._coordinator.run(command, actor=reporter, action="REPORT_OBSERVATION")

    async def declare_work_set(
        self, caller: Caller, *, run_id: str, actor: str, expires_at: Instant, key: Key | None = None, **options: Any
    ) -> Reply:
        """Declare what a run will read, write and delete; answers with the declared runs it would meet.

        Args:
            caller: Who asks.
            run_id: Of the run; operations name it as `work_set_id`.
            actor: Whose run it is.
            expires_at: When the record counts no longer.
            key: For repeats.
            options: `reads`, `writes`, `deletes` (keys), `operations` (actions), `exclusive`.
        """
        stopped = self._stopped(caller, actor)
        if stopped is not None:
            return stopped
        named = {name: tuple(options.get(name, ())) for name in ("reads", "writes", "deletes", "operations")}
        command = commands.DeclareWorkSet(
            run_id=run_id,
            actor=actor,
            expires_at=expires_at,
            point=caller.name,
            exclusive=bool(options.get("exclusive", False)),
            **named,
        )
        return await self._coordinator.run(command, actor=actor, action="DECLARE_WORK_SET", key=key)

    async def end_work_set(self, run_id: str, caller: Caller, *, actor: str) -> Reply:
        """Say that a run is over."""
        stopped = self._stopped(caller, actor)
        if stopped is not None:
            return stopped
        command = commands.EndWorkSet(run_id=run_id, actor=actor)
        return await self._coordinator.run(command, actor=actor, action="END_WORK_SET")

    def conflict_map(self) -> list[dict[str, Any]]:
        """Return the pairs of declared runs that would meet, before any of them starts."""
        point = self._coordinator.point
        return conflict_map(Work(point.view, self._coordinator.tables, point.now()))

    async def propose_transfer(self, caller: Caller, *, actor: str, key: Key | None = None, **options: Any) -> Reply:
        """Propose a transfer; `options` are members of `command.ProposeTransfer`, `transfer_id` among them or not."""
        stopped = self._stopped(caller, actor)
        if stopped is not None:
            return stopped
        command = commands.ProposeTransfer(actor=actor, **{"transfer_id": new_id("transfer"), **options})
        reason = command.reason
        return await self._coordinator.run(command, actor=actor, action="PROPOSE_TRANSFER", reason=reason, key=key)

    async def step_transfer(
        self,
        transfer_id: str,
        step: str,
        caller: Caller,
        *,
        actor: str,
        probes: Sequence[Evaluation] = (),
        evidence: Mapping[str, Any] | None = None,
        key: Key | None = None,
    ) -> Reply:
        """Take a transfer one step on, or abort it.

        Refusals: `invalid_transition`, `not_verified`, `resource_busy` while an operation from before may still write.
        """
        stopped = self._stopped(caller, actor)
        if stopped is not None:
            return stopped
        command = commands.StepTransfer(
            transfer_id=transfer_id,
            actor=actor,
            step=step,
            probes=tuple(each.record() for each in probes),
            evidence=in_ledger_form(evidence),
        )
        action = f"{step.upper()}_TRANSFER"
        return await self._coordinator.run(command, actor=actor, action=action, key=key)

    def all(self, noun: str) -> list[Mapping[str, Any]]:
        """Return the records at hand of incidents, observations or transfers, by id."""
        records = self._coordinator.view.records.get(noun, {})
        return [records[each] for each in sorted(records)]

    def live(self, noun: str) -> list[Mapping[str, Any]]:
        """Return those of presences or work sets that are not over, by id."""
        at = self._coordinator.point.now()
        return [each for each in self.all(noun) if each["expires_at"] > at]

    def transfer(self, transfer_id: str) -> Mapping[str, Any] | None:
        """Return a transfer with its steps."""
        return self._coordinator.view.records.get("transfer", {}).get(transfer_id)

    def notices(self, subject: str) -> list[Mapping[str, Any]]:
        """Return what a principal has to be told, oldest first."""
        tables = self._coordinator.view.coordination
        found = [tables.kept_records["notice"].get(each) for each in tables.notices_for.get(subject, ())]
        return sorted((each for each in found if each is not None), key=lambda each: (each["at"], each["id"]))

    def news(self, subject: str, after: str | None = None) -> list[Mapping[str, Any]]:
        """Return the notices of a principal after the one of this id; all of them where that is not known any more."""
        found = self.notices(subject)
        places = [place for place, each in enumerate(found) if each["id"] == after]
        return found[places[0] + 1 :] if places else found

    async def wait_for_news(
        self, subject: str, *, after: str | None = None, within_seconds: float = 0.0
    ) -> list[Mapping[str, Any]]:
        """Return the notices of a principal after the one of this id, as soon as there are any, or none in time."""
        point = self._coordinator.point
        deadline = point.clock.monotonic() + within_seconds
        while not (found := self.news(subject, after)):
            left = deadline - point.clock.monotonic()
            if left <= 0:
                break
            await point.replica.reached(point.view.revision + 1, timedelta(seconds=left))
        return found

    def conflicts(self, after: Instant = 0) -> list[Mapping[str, Any]]:
        """Return the conflict records at hand that were decided after an instant, oldest first."""
        found = self._coordinator.view.records["conflict"].values()
        return sorted((each for each in found if each["decided_at"] > after), key=lambda each: each["decided_at"])

    def coverage(self) -> dict[str, int]:
        """Return completed writes, and writes that no operation explains (S105)."""
        return dict(self._coordinator.view.coordination.counters)
