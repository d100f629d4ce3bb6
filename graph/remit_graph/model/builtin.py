"""What every realm has without declaring it: the graph as a resource, and the actions that govern it.

`remit:graph` is decided about like any other resource: who may grant, delegate, revoke or apply a world holds a chain
to it for that action (interfaces.md 3, rules.md 5). A world can name both in its edges, and can redefine neither.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from remit_graph.model.registry import GRAPH_KEY
from remit_graph.model.resource_type import Action, Concurrency, ResourceType
from remit_graph.model.template import parse_template

if TYPE_CHECKING:
    from collections.abc import Mapping


class Governance(StrEnum):
    """Actions on the graph itself; `VERB` or `VERB_OBJECT`, alphabetical."""

    ACTIVATE_POLICY = "ACTIVATE_POLICY"
    AMEND = "AMEND"
    APPLY_WORLD = "APPLY_WORLD"
    APPROVE = "APPROVE"
    BREAK_GLASS = "BREAK_GLASS"
    BUMP_EPOCH = "BUMP_EPOCH"
    DECLARE_INCIDENT = "DECLARE_INCIDENT"
    DECLARE_WORK_SET = "DECLARE_WORK_SET"
    DELEGATE = "DELEGATE"
    END_LEASE = "END_LEASE"
    GRANT = "GRANT"
    MANAGE_KEYS = "MANAGE_KEYS"
    MINT_CAPABILITY = "MINT_CAPABILITY"
    READ_GRAPH = "READ_GRAPH"
    RENEW_EPOCH = "RENEW_EPOCH"
    REPORT_OBSERVATION = "REPORT_OBSERVATION"
    REVOKE = "REVOKE"
    SIGNAL_PRESENCE = "SIGNAL_PRESENCE"
    TRANSFER = "TRANSFER"


_READS: Final = frozenset({Governance.READ_GRAPH})
_APPROVALS: Final = frozenset({Governance.APPROVE})
_RISK: Final[Mapping[Governance, str]] = {
    Governance.ACTIVATE_POLICY: "HIGH",
    Governance.APPLY_WORLD: "HIGH",
    Governance.BREAK_GLASS: "HIGH",
    Governance.BUMP_EPOCH: "CRITICAL",
    Governance.MANAGE_KEYS: "HIGH",
    Governance.READ_GRAPH: "LOW",
    Governance.REPORT_OBSERVATION: "LOW",
    Governance.SIGNAL_PRESENCE: "LOW",
    Governance.TRANSFER: "HIGH",
}
_IRREVERSIBLE: Final = frozenset({Governance.BUMP_EPOCH})


def _action(name: Governance) -> Action:
    class_ = "read" if name in _READS else "approve" if name in _APPROVALS else "write"
    risk = _RISK.get(name, "MEDIUM")
    return Action(name=name.value, class_=class_, domain="PERMISSIONS", risk=risk, reversible=name not in _IRREVERSIBLE)


BUILTIN_ACTIONS: Final[Mapping[str, Action]] = MappingProxyType({each.value: _action(each) for each in Governance})
"""Governance actions by name."""

GRAPH_TYPE: Final = ResourceType(
    name=GRAPH_KEY, key=parse_template(GRAPH_KEY), concurrency=Concurrency.WRITE_OPTIMISTIC, lock_rank=0
)
"""The type that has one resource, `remit:graph`."""

BUILTIN_TYPES: Final[Mapping[str, ResourceType]] = MappingProxyType({GRAPH_TYPE.name: GRAPH_TYPE})
"""Resource types by name."""
