"""Every verb with the route it asks, and why some have none (rules.md 14); a test holds the lists to verbs and routes.

A verb with a route works against a running service (`--url`) and on the store in this process, by the same route. A
verb without one is local by nature: `--url` is an error that says so, and so is each of the other options that every
command has, where the verb has no use for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

BOTH: Final = frozenset({"store", "policy_dir"})
POLICY: Final = frozenset({"policy_dir"})


@dataclass(frozen=True, slots=True)
class Local:
    """Why a verb works here and asks no service.

    Attributes:
        reason: Said where `--url` is given.
        takes: Those of `--store` and `--policy-dir` that it heeds.
    """

    reason: str
    takes: frozenset[str] = BOTH


LOCAL: Final[Mapping[str, Local]] = {
    "capability key": Local("it makes a file that decision points are started with", frozenset()),
    "capability verify": Local("it verifies a token offline, with the keys of a file", frozenset()),
    "demo": Local("it starts a decision point of its own and ends it again"),
    "doctor": Local("it tests the configuration of this machine and what that names"),
    "graph diff": Local("it compares two files; `graph plan` compares one with the graph", POLICY),
    "policy activate": Local("who may open the store may do it, and nobody over HTTP"),
    "policy build": Local("it works on the files of a policy", POLICY),
    "policy check": Local("it works on the files of a policy", POLICY),
    "policy impact": Local("it works on the files of a policy and of a decision log, beside the store"),
    "policy test": Local("it works on the files of a policy", POLICY),
    "recover": Local("who may open the store may do it, and nobody over HTTP"),
    "serve": Local("it is the service"),
    "store backup": Local("it copies the store into a file of this host"),
    "store checkpoint": Local("a running service keeps checkpoints by itself"),
    "store compact": Local("who may open the store may do it; a service does it by itself where `history_days` is set"),
    "store init": Local("it makes a store, which no service has yet"),
    "store migrate": Local("it changes the layout of a store, or moves it, which no service that uses it may do"),
    "store reopen": Local("a closed store serves nobody who could be asked"),
    "store restore": Local("it makes a store of a backup, which no service has yet"),
}
"""Verbs without a route."""

ROUTES: Final[Mapping[str, tuple[str, ...]]] = {
    "amend": ("PATCH /v1/grants/{edge_id}",),
    "approval ask": ("POST /v1/approvals",),
    "approval give": ("POST /v1/approvals",),
    "approval list": ("GET /v1/approvals",),
    "approval show": ("GET /v1/approvals/{approval_id}",),
    "approval vote": ("POST /v1/approvals/{approval_id}/votes",),
    "approval withdraw": ("POST /v1/approvals/{approval_id}/withdrawals",),
    "break-glass list": ("GET /v1/break-glass",),
    "break-glass open": ("POST /v1/break-glass",),
    "break-glass report": ("GET /v1/break-glass/{break_glass_id}",),
    "break-glass review": ("POST /v1/break-glass/{break_glass_id}/review",),
    "capability introspect": ("POST /v1/capabilities/introspect",),
    "capability keys": ("GET /.well-known/jwks.json",),
    "capability mint": ("POST /v1/capabilities",),
    "capability show": ("GET /v1/capabilities/{capability_id}",),
    "changes": ("GET /v1/changes",),
    "conflicts list": ("GET /v1/conflicts",),
    "conflicts map": ("GET /v1/conflicts/map",),
    "decide": ("POST /access/v1/evaluation",),
    "decision explain": ("GET /v1/decisions/{decision_id}/explanation",),
    "decision list": ("GET /v1/decisions",),
    "decision show": ("GET /v1/decisions/{decision_id}",),
    "delegate": ("POST /v1/delegations",),
    "epoch bump": ("POST /v1/epochs",),
    "epoch renew": ("POST /v1/epochs/renewals",),
    "explain": ("POST /v1/explain",),
    "grant": ("POST /v1/grants",),
    "graph adopt": ("POST /v1/graph/adopt",),
    "graph apply": ("POST /v1/graph/apply",),
    "graph check": ("GET /v1/graph/check",),
    "graph export": ("GET /v1/graph/export",),
    "graph path": ("POST /v1/explain",),
    "graph plan": ("POST /v1/graph/apply",),
    "graph quarantine": ("GET /v1/graph/quarantine", "POST /v1/graph/quarantine"),
    "graph show": (
        "GET /v1/graph/summary",
        "GET /v1/graph/principals/{principal}",
        "GET /v1/graph/resources/{key}",
        "GET /v1/graph/edges/{edge_id}",
    ),
    "incident close": ("POST /v1/incidents",),
    "incident list": ("GET /v1/incidents",),
    "incident open": ("POST /v1/incidents",),
    "key create": ("POST /v1/keys",),
    "key list": ("GET /v1/keys",),
    "key revoke": ("DELETE /v1/keys/{key_id}",),
    "lease acquire": ("POST /v1/leases",),
    "lease list": ("GET /v1/leases",),
    "lease preempt": ("POST /v1/leases/{lease_id}/preempt",),
    "lease release": ("DELETE /v1/leases/{lease_id}",),
    "lease renew": ("PUT /v1/leases/{lease_id}",),
    "lease show": ("GET /v1/leases/{lease_id}",),
    "limits": ("GET /v1/limits",),
    "member": ("POST /v1/memberships",),
    "notices": ("GET /v1/notices",),
    "observation list": ("GET /v1/observations",),
    "observation report": ("POST /v1/observations",),
    "operation abort": ("POST /v1/operations/{coordination_id}/abort",),
    "operation begin": ("POST /v1/operations",),
    "operation complete": ("POST /v1/operations/{coordination_id}/complete",),
    "operation executed": ("POST /v1/operations/{coordination_id}/executed",),
    "operation outcome": ("POST /v1/operations/{coordination_id}/outcome",),
    "operation precondition": ("POST /v1/operations/{coordination_id}/precondition",),
    "operation renew": ("POST /v1/operations/{coordination_id}/renew",),
    "operation show": ("GET /v1/operations/{coordination_id}",),
    "operation verified": ("POST /v1/operations/{coordination_id}/verified",),
    "presence leave": ("DELETE /v1/presence/{presence_id}",),
    "presence list": ("GET /v1/presence",),
    "presence signal": ("POST /v1/presence",),
    "principal change": ("PATCH /v1/principals/{principal}",),
    "principal declare": ("POST /v1/principals",),
    "principal disable": ("PATCH /v1/principals/{principal}",),
    "principal enable": ("PATCH /v1/principals/{principal}",),
    "principal show": ("GET /v1/graph/principals/{principal}",),
    "queue": ("GET /v1/queues/{key}",),
    "receipt": ("GET /v1/receipts/{coordination_id}",),
    "rehearse": ("POST /v1/operations",),
    "review": ("GET /v1/graph/review",),
    "revoke": ("POST /v1/revocations",),
    "search action": ("POST /v1/search",),
    "search resource": ("POST /v1/search",),
    "search subject": ("POST /v1/search",),
    "store check": ("GET /v1/store/check",),
    "transfer abort": ("POST /v1/transfers/{transfer_id}/{step}",),
    "transfer freeze": ("POST /v1/transfers/{transfer_id}/{step}",),
    "transfer list": ("GET /v1/transfers",),
    "transfer propose": ("POST /v1/transfers",),
    "transfer register": ("POST /v1/transfers/{transfer_id}/{step}",),
    "transfer retire": ("POST /v1/transfers/{transfer_id}/{step}",),
    "transfer show": ("GET /v1/transfers/{transfer_id}",),
    "transfer transfer": ("POST /v1/transfers/{transfer_id}/{step}",),
    "transfer validate": ("POST /v1/transfers/{transfer_id}/{step}",),
    "transfer verify": ("POST /v1/transfers/{transfer_id}/{step}",),
    "waiter leave": ("DELETE /v1/waiters/{waiter_id}",),
    "waiter show": ("GET /v1/waiters/{waiter_id}",),
    "why-not": ("POST /v1/explain",),
    "why-still": ("GET /v1/graph/why-still/{edge_id}",),
    "work-set declare": ("POST /v1/work-sets",),
    "work-set end": ("DELETE /v1/work-sets/{run_id}",),
    "work-set list": ("GET /v1/work-sets",),
}
"""Verb -> the routes it asks: one, or one for each form of its argument."""

_AUTHZEN: Final = "AuthZEN's own form, for clients of that standard"
_PROBE: Final = "for those who watch the service"
WITHOUT_VERB: Final[Mapping[str, str]] = {
    "GET /.well-known/authzen-configuration": _AUTHZEN,
    "POST /access/v1/evaluations": f"{_AUTHZEN}; `decide` asks one question",
    "POST /access/v1/search/action": f"{_AUTHZEN}; `search action` asks POST /v1/search",
    "POST /access/v1/search/resource": f"{_AUTHZEN}; `search resource` asks POST /v1/search",
    "POST /access/v1/search/subject": f"{_AUTHZEN}; `search subject` asks POST /v1/search",
    "GET /bundles/remit.tar.gz": "for OPA",
    "GET /health/live": _PROBE,
    "GET /health/ready": _PROBE,
    "GET /metrics": _PROBE,
    "GET /problems/{code}": "where a problem's type leads; for people with a browser",
    "PATCH /v1/delegations/{delegation_id}": "`amend` asks PATCH /v1/grants/{edge_id} for any edge",
    "GET /v1/graph/paths": "the chains alone; `graph path` asks POST /v1/explain, which takes a context",
}
"""Routes without a verb, and why."""
