"""The bench with everything in it: roles, incidents, presence, a line of migrations, owners and their transfers.

Its policy adds to the bench's what the shipped one knows beside conflicts; who is disabled stands in the graph, so that
several replicas judge alike.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from remit_graph.model.change import Change
from remit_graph.model.edge import EdgeType
from remit_service.coordination.freeze import transfer_facts
from remit_service.coordination.machine import Walk
from remit_service.coordination.resting import end_what_rests_on
from remit_service.coordination.sequence import is_turn
from remit_service.coordination.values import Ask, Changed, Refusal, Verdict
from tests.model.machine import FIELDS, GROUPS, TABLES, WORLD, Bench

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.view.state import View
    from remit_service.coordination.values import Claim

OWNERS = ("organization:o1", "organization:o2")
TOWN_TABLES = replace(
    TABLES,
    groups={**GROUPS, "owner_frozen": "ownership", "human_editing": "coordination", "out_of_order": "coordination"},
    incident_priority={"SEV1": 95},
)


def _edge(edge_id: str, kind: str, from_: str, to: str, **more: Any) -> Change:
    named = {"edge_id": edge_id, "version": 1, "edge": kind, "from": from_, "to": to, "epoch": 1}
    return Change("edge.begin", {**named, "issuer": "organization:root", **more})


TOWN = [
    *WORLD,
    Change("resource_type.put", {"name": "db", "key": "db:{id}", "concurrency": "WRITE_EXCLUSIVE"}),
    Change("action.put", {"name": "MIGRATE", "class": "write", "domain": "BODY", "sequence": "main"}),
    *(Change("principal.put", {"id": each}) for each in OWNERS),
    _edge("a-high", "ACTS_AS", "instance:a", "role:high"),
    _edge("b-middle", "ACTS_AS", "instance:b", "role:middle"),
    _edge(
        "f-responds", "MAY_PREEMPT", "instance:f", "role:middle",
        scope={"conditions": [{"attribute": "incident.severity", "equals": "SEV1"}]},
    ),
    _edge("own-2", "OWNS", OWNERS[0], "doc:2", scope={"fields": sorted(FIELDS)}, ownership_epoch=1),
]  # fmt: skip


class Town(Bench):
    """A bench in this town; `view` may be a replica's."""

    def __init__(self, view: View | None = None) -> None:
        """Begin with a view of its own, or look at another's."""
        super().__init__(TOWN_TABLES, TOWN if view is None else ())
        if view is not None:
            self.view = view

    def decide(self, play: Any, at: int) -> Changed | Refusal:
        """Decide a command, or one of the operators' plays `("revoke", who)` and `("allow", who)`; nothing is kept."""
        if not isinstance(play, tuple):
            with Walk(self.view, self.tables, at) as walk:
                outcome = walk.start(play)
                while isinstance(outcome, Ask):
                    outcome = walk.send(self.judge(outcome, at))
            return outcome
        verb, who = play
        known = self.view.principals[who]
        if known.disabled == (verb == "revoke"):
            return Changed((), {})
        own = [Change("principal.put", {"id": who, **({"disabled": True} if verb == "revoke" else {})})]
        more = end_what_rests_on(self.view, own, at, tables=self.tables, ask=lambda _view, ask: self.judge(ask, at))
        return Changed((*own, *more.changes), {})

    def judge(self, ask: Ask, at: int) -> Verdict:
        """Answer a question of the machine."""
        if ask.governance is not None:
            return _governed(ask.governance, at)
        request = _plain(ask.request)
        claim = self.claim(request)
        forbidden = self._forbids(ask, claim, at)
        if forbidden is not None:
            code, outcome = forbidden
            return Verdict(effect="deny", outcome=outcome, codes=(code,), claim=claim, proof=(f"{claim.subject}@1",))
        return super().judge(replace(ask, request=request), at)

    def _forbids(self, ask: Ask, claim: Claim, at: int) -> tuple[str, str] | None:
        if not self.view.alive(claim.subject) or (claim.subject in OWNERS and not self._owns(claim)):
            return "no_authority", "deny"
        if ask.phase in ("begin", "renew") and transfer_facts(self.view, claim.key, claim.fields, at) is not None:
            return "owner_frozen", "deny"
        if ask.phase == "begin" and self._edited(claim, at):
            return "human_editing", "hold"
        if ask.phase == "begin" and claim.action.sequence is not None and not is_turn(self.view, claim):
            return "out_of_order", "ordered"
        return None

    def _owns(self, claim: Claim) -> bool:
        edges = self.view.outgoing(EdgeType.OWNS, claim.subject)
        return any(each.to == claim.key and set(claim.fields) <= set(each.scope.fields or ()) for each in edges)

    def _edited(self, claim: Claim, at: int) -> bool:
        presences = self.view.records.get("presence", {})
        here = [presences[each] for each in self.view.coordination.present.get(claim.key, ())]
        whole = [name for name in claim.fields if claim.type.fields[name].independent] != list(claim.fields)
        touched = set() if whole else set(claim.fields)
        return any(
            each["actor"] != claim.subject
            and each["expires_at"] > at
            and (not touched or not each["fields"] or touched & set(each["fields"]))
            for each in here
        )

    def claim(self, request: Mapping[str, Any]) -> Claim:
        """Resolve a request, with the number of its line."""
        claim = super().claim(request)
        return replace(claim, context={"sequence": request["sequence"]}) if "sequence" in request else claim


def _plain(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a request of the bench for one in AuthZEN's form, as the machine makes some itself."""
    if "key" in request:
        return request
    subject = request["subject"]
    named = {"subject": f"{subject['type']}:{subject['id']}", "action": request["action"]["name"]}
    tags = {"set_operations": {"add": ["t"]}} if named["action"] == "TAGS" else {}
    return {**named, "key": request["resource"]["id"], **tags}


def _governed(governance: Mapping[str, Any], at: int) -> Verdict:
    transfer = governance.get("transfer") or {}
    busy = transfer.get("step") == "transfer" and transfer["live_leases"] and at < transfer["freeze_deadline"]
    unproven = transfer.get("step") == "verify" and not (transfer["new_may"] and not transfer["old_may"])
    if busy or unproven:
        return Verdict(effect="deny", outcome="deny", codes=("resource_busy" if busy else "not_verified",))
    return Verdict(effect="permit", outcome="execute", proof=("law@1",))
