"""A small reference model of coordination: told what happened, it says which law was broken.

It follows the log by its changes alone, and judges each grant, each end and each answer by rules of its own. It calls
nothing of the machine.

    reference.take(revision, at, changes)             # one revision of the log
    reference.may_begin(holder, ops, until, number)   # what a caller must be told, at the present state

`take` raises `Broken`, which names the law of coordination.md 9.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.model import rules
from tests.model.rules import Op, any_collide, collide, fence_of, op_of
from tests.model.state import Body, Broken, Fence, Held, State, Step, Wait

if TYPE_CHECKING:
    from collections.abc import Iterable

    from remit_graph.model.change import Change


class Reference(State):
    """The judge of one history."""

    # What happened.

    def take(self, revision: int, at: int, changes: Iterable[Change]) -> None:
        """Take one revision."""
        if revision != self.revision + 1 or at < self.at:
            raise Broken("linearizability", f"revision {revision} at {at} follows {self.revision} at {self.at}")
        self.revision, self.at, self.step = revision, at, Step()
        for change in changes:
            handler = getattr(self, "_" + change.kind.replace(".", "_"), None)
            if handler is not None:
                handler(change.body)
        self._after()
        if self.step.moved:
            self.require_no_cycle()

    def _lease_put(self, body: Body) -> None:
        known = self.leases.get(body["id"])
        if known is None:
            self._grant(body)
            return
        if known.expires <= self.at or known.holder in self.disabled:
            raise Broken("no_grant_to_the_dead", f"{known.id} of {known.holder} was renewed after its end")
        if body["fencing_tokens"] != known.tokens or body["expires_at"] > known.until:
            raise Broken("tokens_only_grow", f"the renewal of {known.id} moved its token or passed its bound")
        known.expires = body["expires_at"]

    def _grant(self, body: Body) -> None:
        holder, op = body["holder"], op_of(body["request"])
        held = Held(
            body["id"], holder, op, body["expires_at"], self.at + rules.HOLD, dict(body["fencing_tokens"]),
            body["coordination_id"],
        )  # fmt: skip
        what = f"{held.id} of {holder} for {op.verb} on {op.key}"
        if holder in self.disabled:
            raise Broken("no_permit_after_acknowledged_revocation", f"{what} was granted after a revocation")
        if held.expires <= self.at or held.expires > held.until:
            raise Broken("no_grant_to_the_dead", f"{what} ends at {held.expires}")
        if held.id in self.ended:
            raise Broken("linearizability", f"{what} was granted a second time")
        for other in self.in_the_way(holder, (op,)):
            raise Broken("at_most_one_exclusive_holder", f"{what} was granted beside {other.id} of {other.holder}")
        waited = self.step.served.get(held.id)
        if waited is not None and not waited.asks(self.at):
            raise Broken("no_grant_to_the_dead", f"{what} was granted to somebody who had stopped asking")
        if waited is None:
            asked = self._as_asked(holder, op)
            if holder not in self.step.preempts:
                self._in_order(asked, what)
        if (present := self.editor(holder, op)) is not None:
            raise Broken("at_most_one_exclusive_holder", f"{what} was granted while {present} edits")
        if self.frozen(op):
            raise Broken("one_owner_at_every_revision", f"{what} was granted during a freeze")
        self._fence(held, what)
        self.leases[held.id] = held
        self.step.moved = True

    def _in_order(self, wait: Wait, what: str) -> None:
        for ahead in self.ahead(wait):
            raise Broken("queue_order_is_deterministic", f"{what} overtook {ahead.id} of {ahead.holder}")

    def _as_asked(self, holder: str, op: Op) -> Wait:
        asked = self.asked
        if asked is None or asked.holder != holder or op not in asked.ops:
            raise Broken("linearizability", f"{op.verb} on {op.key} was granted to {holder}, who did not ask for it")
        return self.newcomer(holder, asked.ops, asked.until - asked.since + self.at)

    def _fence(self, held: Held, what: str) -> None:
        fence_key = fence_of(held.op)
        token = held.tokens.get(fence_key)
        if set(held.tokens) != {fence_key}:
            raise Broken("tokens_only_grow", f"{what} has the tokens {held.tokens}")
        fence = self.fences.setdefault(fence_key, Fence())
        expected = self.token_due(fence_key, held.op, held.holder)
        if token is None or token != expected:
            raise Broken("tokens_only_grow", f"{what} has token {token} where {expected} is due")
        if any(
            self.step.raised_by.get(each.id, held.operation) != held.operation and collide(each.op, held.op)
            for each in self.leases.values()
        ):
            raise Broken("tokens_only_grow", f"{what} shares the token of another grant it conflicts with")
        self.step.raised_by[held.id] = held.operation
        # A revocation may have raised the token to this one already; whoever is under an older one shares nothing.
        if all(token > older for older, _ in fence.members.values()):
            fence.members.clear()
        fence.last = token
        fence.members[held.id] = (token, held.op)

    def _lease_end(self, body: Body) -> None:
        held = self.leases.pop(body["id"], None)
        if held is None:
            raise Broken("release_is_idempotent", f"{body['id']} ended twice")
        state = body["state"]
        if state == "EXPIRED" and held.expires > self.at:
            raise Broken("no_grant_to_the_dead", f"{held.id} expired before its end")
        self.ended[held.id] = state
        self.step.left.append((held.holder, (held.op,)))
        for fence_key, token in held.tokens.items():
            fence = self.fences[fence_key]
            if state == "REVOKED":
                fence.last = max(fence.last, body["raised"][fence_key])
                if body["raised"][fence_key] <= token and held.id not in self.step.raised_by:
                    raise Broken("tokens_only_grow", f"the revocation of {held.id} raised nothing")
            if held.id not in fence.members:
                continue
            if not any(each in self.leases for each in fence.members):
                fence.members.clear()
            elif state != "EXPIRED":
                del fence.members[held.id]
        if body.get("cause") == "preemption":
            self._preempted(held, body["by"])

    def _preempted(self, held: Held, winner: str) -> None:
        self.step.preempts.add(winner)
        if self.priority(winner, held.op.key) <= self.priority(held.holder, held.op.key):
            raise Broken("queue_order_is_deterministic", f"{winner} took over from {held.holder}, which is no lower")
        if self.cooldowns.get(winner, 0) > self.at:
            raise Broken("queue_order_is_deterministic", f"{winner} took over in its cooldown")
        self.cooldowns[held.holder] = self.at + rules.COOLDOWN

    def _waiter_put(self, body: Body) -> None:
        known = self.waits.get(body["id"])
        if known is not None:
            if not known.asks(self.at):
                raise Broken("no_grant_to_the_dead", f"{known.id} was kept after its end")
            known.alive = body["alive_until"]
            return
        requests = [claim["request"] for claim in body["claims"]]
        ops = tuple(op_of(each) for each in requests)
        wait = replace(
            self.newcomer(body["holder"], ops),
            id=body["id"], alive=body["alive_until"], until=body["wait_until"], leases=tuple(body["lease_ids"]),
            number=(requests[0].get("sequence") or {}).get("number"),
        )  # fmt: skip
        self.waits[wait.id] = wait
        self.step.moved = True

    def _waiter_end(self, body: Body) -> None:
        state, wait = body["state"], self.waits.get(body["id"])
        if body.get("code") == "deadlock_avoided" and wait is not None and not self.is_in_cycle(wait):
            raise Broken("no_cycle_of_waits", f"{wait.id} was refused, and closed no cycle")
        self.waits.pop(body["id"], None)
        if wait is None or state not in ("GRANTED", "TIMEOUT", "REFUSED", "LEFT"):
            raise Broken("every_waiter_is_served_or_told_within_its_bound", f"{body['id']} ended {state} twice")
        if state == "TIMEOUT" and wait.asks(self.at):
            raise Broken("every_waiter_is_served_or_told_within_its_bound", f"{wait.id} was told too early")
        if state != "GRANTED":
            self.step.left.append((wait.holder, wait.ops))
        else:
            # Its place is what it was before its class was served.
            self._in_order(wait, wait.id)
            self.step.served.update(dict.fromkeys(wait.leases, wait))
            if rules.order_of(wait.ops[0].key) == "fair":
                times = self.fair.setdefault(wait.ops[0].key, {})
                name = self.class_of(wait.holder)
                times[name] = max(times.get(name, 0), wait.floor) + (333_333 if name == "heavy" else 1_000_000)
        for op in wait.ops:
            if not any(op.key == each.key for other in self.waits.values() for each in other.ops):
                self.fair.pop(op.key, None)

    def _operation_put(self, body: Body) -> None:
        self.operations[body["id"]] = body

    def _operation_end(self, body: Body) -> None:
        self.step.closed.add(body["id"])
        operation = self.operations.pop(body["id"], None)
        if operation is None or any(each in self.leases for each in operation["lease_ids"]):
            raise Broken("every_operation_ends_with_a_receipt", f"{body['id']} ended with its leases held")

    def _receipt_put(self, body: Body) -> None:
        if body["record"] == "coordination":
            self.step.receipts.add(body["id"])

    def _sequence_put(self, body: Body) -> None:
        if body["line"] in self.lines and body["last"] != self.lines[body["line"]] + 1:
            raise Broken("queue_order_is_deterministic", f"{body['line']} went from {self.lines} to {body['last']}")
        self.lines[body["line"]] = body["last"]

    def _presence_put(self, body: Body) -> None:
        self.presences[body["id"]] = body

    def _presence_end(self, body: Body) -> None:
        self.presences.pop(body["id"], None)

    def _incident_put(self, body: Body) -> None:
        self.incidents[body["id"]] = body
        self.step.moved = True

    def _principal_put(self, body: Body) -> None:
        (self.disabled.add if body.get("disabled") else self.disabled.discard)(body["id"])

    def _backlog_put(self, body: Body) -> None:
        self.backlog.add(body["id"])

    def _backlog_end(self, body: Body) -> None:
        self.backlog.discard(body["id"])

    def _edge_begin(self, body: Body) -> None:
        if body["edge"] == "OWNS":
            self.owners[body["edge_id"]] = body

    def _edges_end(self, body: Body) -> None:
        for edge_id, _ in body["edges"]:
            self.owners.pop(edge_id, None)

    def _transfer_put(self, body: Body) -> None:
        if body["id"] not in self.transfers:
            self.before_transfer[body["id"]] = dict(self.owners)
        self.transfers[body["id"]] = body
        if body["state"] == "ABORTED" and self.owners != self.before_transfer[body["id"]]:
            raise Broken("transfer_aborts_cleanly", f"{body['id']} left {self.owners}")

    # What must hold after it.

    def _after(self) -> None:
        if early := self.step.receipts & self.operations.keys():
            raise Broken("every_operation_ends_with_a_receipt", f"{early} have a receipt and go on")
        if missing := self.step.closed - self.step.receipts:
            raise Broken("every_operation_ends_with_a_receipt", f"{missing} ended without a receipt")
        self._one_owner()
        for held in self.leases.values():
            if held.holder in self.disabled:
                raise Broken("no_permit_after_acknowledged_revocation", f"{held.id} outlived {held.holder}")
        for wait in self.waits.values():
            if wait.holder in self.disabled:
                raise Broken("no_permit_after_acknowledged_revocation", f"{wait.id} outlived {wait.holder}")
        if self.step.left and not self.backlog:
            for wait in self.waits.values():
                met = any(who != wait.holder and any_collide(wait.ops, ops) for who, ops in self.step.left)
                if met and self.may_go(wait):
                    raise Broken("every_waiter_is_served_or_told_within_its_bound", f"{wait.id} was forgotten")

    def _one_owner(self) -> None:
        seen: set[tuple[str, str]] = set()
        for edge in self.owners.values():
            for name in edge["scope"]["fields"]:
                if (edge["to"], name) in seen:
                    raise Broken("one_owner_at_every_revision", f"{edge['to']}#{name} has two owners")
                seen.add((edge["to"], name))

    def swept(self) -> None:
        """Judge the state after a sweep that has nothing left to do."""
        self.require_no_cycle()
        if self.backlog:
            raise Broken("every_waiter_is_served_or_told_within_its_bound", "a sweep left something over")
        for held in self.leases.values():
            if held.expires <= self.at:
                raise Broken("no_grant_to_the_dead", f"{held.id} is not noticed to have ended")
        for wait in self.waits.values():
            if not wait.asks(self.at):
                raise Broken("every_waiter_is_served_or_told_within_its_bound", f"{wait.id} is not told")
            if self.may_go(wait) and not self._met(wait):
                raise Broken("disjoint_operations_never_wait", f"{wait.id} waits for nobody")

    def _met(self, wait: Wait) -> bool:
        return any(other.holder != wait.holder and any_collide(wait.ops, other.ops) for other in self.waits.values())

    # What callers are told.

    def asks(self, holder: str, ops: tuple[Op, ...], within: int) -> None:
        """Note the request that the next revision carries out, if it is one."""
        self.asked = self.newcomer(holder, ops, self.at + within) if ops else None

    def may_begin(self, holder: str, ops: tuple[Op, ...], until: int, number: int | None) -> bool:
        """Whether a request that is just being made has to be granted at once."""
        return not self.is_late(ops) and self.may_go(replace(self.newcomer(holder, ops, until), number=number))

    def is_late(self, ops: tuple[Op, ...]) -> bool:
        """Whether somebody could have gone before a request came, and goes first whatever its place."""
        return any(any_collide(ops, each.ops) and self.may_go(each) for each in self.waits.values())

    def closes_cycle(self, holder: str, ops: tuple[Op, ...], until: int) -> bool:
        """Whether a request would close a cycle, by waiting, or by being granted and letting others wait."""
        trial = self.newcomer(holder, ops, until)
        self.waits[trial.id] = trial
        waiting = self.has_cycle()
        del self.waits[trial.id]
        kept = dict(self.leases)
        for each in list(self.in_the_way(holder, ops)):
            del self.leases[each.id]
        for place, op in enumerate(ops):
            self.leases[f"~{place}"] = Held(f"~{place}", holder, op, self.at + 1, self.at + 1, {}, "~")
        granted = self.has_cycle()
        self.leases = kept
        return waiting or granted
