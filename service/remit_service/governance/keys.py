"""API keys made and ended by command; the secret itself never comes here, nor into the ledger.

Who holds a key named `<name>` is `key:<name>`: an enforcement point, or a principal. So MANAGE_KEYS hands out whatever
such a caller may do, and where that is to govern as a root, only a root may hand it out, or take it away. The keys of
an enforcement point that may speak for a root are made by a root too; whoever manages keys ends them, when one leaks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.builtin import Governance
from remit_graph.model.change import Change
from remit_graph.model.instant import format_instant
from remit_service.governance.law import Actor, permitted, refused_by_policy
from remit_service.governance.roots import governs, spoken_for, unless_root
from remit_service.writer.command import Accepted, Refused, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.policy import Policy

NOUN: Final = "api_key"
_TIMES: Final = ("created_at", "expires_at")


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key to be made: its record, which holds a hash and no secret."""

    record: Mapping[str, Any]

    def __call__(self, policy: Policy, view: View, at: Instant, actor: Actor) -> Verdict:
        """Decide it."""
        name = str(self.record["name"])
        if refused := _refused(policy, view, at, actor, name):
            return refused
        if refused := unless_root(_speaks(view, name), view, at, actor):
            return refused
        result = {**shown(self.record), "identity": f"key:{name}", "bound_to": bound_to(view, name)}
        return Accepted(changes=(Change("api_key.put", dict(self.record)),), result=result)


@dataclass(frozen=True, slots=True)
class EndedKey:
    """A key to be ended."""

    id: str

    def __call__(self, policy: Policy, view: View, at: Instant, actor: Actor) -> Verdict:
        """Decide it."""
        record = view.records.get(NOUN, {}).get(self.id)
        if record is None:
            message = f"there is no key `{self.id}` in the ledger"
            return Refused(code="not_found", message=message, facts={"id": self.id})
        if refused := _refused(policy, view, at, actor, str(record["name"])):
            return refused
        return Accepted(changes=(Change("api_key.end", {"id": self.id}),), result={**shown(record), "revoked": True})


def listed(view: View) -> list[dict[str, Any]]:
    """Return the keys of the ledger, without what proves them; those of a file are its reader's."""
    records = view.records.get(NOUN, {}).values()
    found = [{**shown(each), "bound_to": bound_to(view, str(each["name"]))} for each in records]
    return sorted(found, key=lambda each: (each["name"], each["id"]))


def shown(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what may be seen of a key: no hash and no salt."""
    document: dict[str, Any] = {"id": record["id"], "name": record["name"]}
    return document | {name: format_instant(record[name]) for name in _TIMES if record.get(name) is not None}


def bound_to(view: View, name: str) -> str | None:
    """Return the enforcement point or principal that lists the identity `key:<name>`, or None: it opens nothing."""
    identity = f"key:{name}"
    return view.point_identities.get(identity) or view.identities.get(identity)


def _refused(policy: Policy, view: View, at: Instant, actor: Actor, name: str) -> Refused | None:
    if refused := refused_by_policy(permitted(policy, view, at, actor, Governance.MANAGE_KEYS)):
        return refused
    bound = view.identities.get(f"key:{name}")
    if bound is None or not governs(view, bound):
        return None
    message = f"`key:{name}` governs as a root, by `{bound}`: only a root makes or ends keys of that name"
    return unless_root(message, view, at, actor)


def _speaks(view: View, name: str) -> str | None:
    """Return why a key of this name is made by a root alone, where an enforcement point would govern by it."""
    point = view.points.get(view.point_identities.get(f"key:{name}", ""))
    spoken = None if point is None else spoken_for(view, point)
    return spoken and f"`key:{name}` speaks for `{spoken}`, who governs as a root: only a root makes keys of that name"
