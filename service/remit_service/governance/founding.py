"""The first root of a realm, and the ways back when nobody can govern any more: another root, or an earlier policy.

Both are done on the store itself, by whoever may open it; neither can be asked for over HTTP. A key is shown once and
stored as a hash. A recovery leaves a record in the chain, so that nobody can say later that the root was always there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.change import Change
from remit_graph.model.principal import Principal
from remit_service.activating import bundle_of_history, put_policy_in_force
from remit_service.governance.names import unknown_principal
from remit_service.identity.api_key import new_key
from remit_service.policy import policy_of
from remit_service.writer.command import Accepted, Refused, Submission, Verdict

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.point import DecisionPoint

KEY_NAME: Final = "root"
BOOTSTRAP: Final = "BOOTSTRAP"
RECOVER: Final = "RECOVER"


async def found_root(point: DecisionPoint, *, realm: str, reason: str = "store init") -> dict[str, Any] | None:
    """Bind an identity to the first root and return its key, or None where a root has one already.

    A store that begins without a world gets a root of its own: the organization that is named like the realm.

    Raises:
        LedgerError: nothing was appended.
    """
    made: list[str] = []

    def decide(view: View, at: Instant) -> Verdict:
        made.clear()
        if any(view.principals[each].identities for each in view.realm.root if each in view.principals):
            return Accepted(changes=(), result={})
        changes, root = _first_root(view, realm)
        key, bound = _bound(root, at, KEY_NAME)
        made.append(key)
        return Accepted(changes=(*changes, *bound), result={"principal": root.id, "identity": f"key:{KEY_NAME}"})

    done = await point.submit(Submission(action=BOOTSTRAP, actor="system", decide=decide, reason=reason))
    if not made or not isinstance(done.verdict, Accepted):
        return None
    return {**done.verdict.result, "key": made[0], "revision": done.revision}


def _first_root(view: View, realm: str) -> tuple[list[Change], Principal]:
    for each in view.realm.root:
        if each in view.principals:
            return [], view.principals[each]
    root = Principal(id=f"organization:{realm}")
    return [Change("realm.set", replace(view.realm, name=realm, root=(root.id,)).record())], root


def _bound(root: Principal, at: Instant, name: str) -> tuple[str, list[Change]]:
    key, record = new_key(name, at=at)
    identities = tuple(sorted({*root.identities, f"key:{name}"}))
    return key, [
        Change("principal.put", replace(root, identities=identities, disabled=False).record()),
        Change("api_key.put", record),
    ]


async def recover_policy(point: DecisionPoint, *, revision: str, reason: str) -> dict[str, Any] | Refused:
    """Put a policy in force again that was before, whatever the one in force says; the chain keeps that and why.

    A policy that refuses everything, or that no decision point can evaluate, cannot be asked to let itself be replaced.

    Raises:
        LedgerError: nothing was appended, or the history cannot be read.
        PolicyNotTaken: what the history holds is not that bundle.
        BundleRefused, EngineError, ModelError: this program cannot evaluate it.
    """
    bundle = await bundle_of_history(point.ledger, revision)
    if bundle is None:
        message = f"the policy `{revision}` was never in force in this store, as far back as its history goes"
        return Refused(code="not_found", message=message, facts={"id": revision})
    if point.view.policy_revision == revision:
        message = f"the policy `{revision}` is in force"
        return Refused(code="already_exists", message=message, facts={"id": revision})
    point.policy = policy_of(bundle)

    def record(view: View, at: Instant) -> Change:
        name = f"recovery-{view.revision + 1}"
        was = view.policy_revision
        return Change("recovery.put", {"id": name, "policy_revision": revision, "was": was, "reason": reason, "at": at})

    epoch = await put_policy_in_force(point, reason=reason, action=RECOVER, beside=record)
    return {"policy_revision": revision, "policy_epoch": epoch, "revision": point.view.revision}


async def recover(point: DecisionPoint, *, principal: str, reason: str) -> dict[str, Any] | Refused:
    """Let a principal be a root with a new key, whatever the graph says; the chain keeps who did it and why.

    Raises:
        LedgerError: nothing was appended.
    """
    made: list[str] = []

    def decide(view: View, at: Instant) -> Verdict:
        made.clear()
        known = view.principals.get(principal)
        if known is None:
            return unknown_principal(principal)
        name = f"recovery-{view.revision + 1}"
        key, bound = _bound(known, at, name)
        made.append(key)
        roots = view.realm.root if principal in view.realm.root else (*view.realm.root, principal)
        record = {"id": name, "principal": principal, "identity": f"key:{name}", "reason": reason, "at": at}
        changes = (
            Change("recovery.put", record),
            Change("realm.set", replace(view.realm, root=roots).record()),
            *bound,
        )
        return Accepted(changes=changes, result={"principal": principal, "identity": f"key:{name}"})

    done = await point.submit(Submission(action=RECOVER, actor="system", decide=decide, reason=reason))
    if isinstance(done.verdict, Refused):
        return done.verdict
    return {**done.verdict.result, "key": made[0], "revision": done.revision}
