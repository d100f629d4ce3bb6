"""Governance commands in a scenario: `{by: "instance:a", delegate: {…}}`, decided and appended like any other."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from remit_graph.errors import ModelError
from remit_service.governance.ending import Target, revoke
from remit_service.governance.law import Actor
from remit_service.governance.making import amend, make_delegation, make_grant
from remit_service.governance.spec import amended, delegation_spec, grant_spec
from remit_service.governance.standing import bump_epoch, bump_principal, set_disabled
from remit_service.writer.command import Refused, Submission

if TYPE_CHECKING:
    from collections.abc import Callable

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.point import DecisionPoint
    from remit_service.policy import Policy
    from remit_service.writer.command import Verdict

    Body = dict[str, Any]
    Decide = Callable[[Policy, Actor, Body, View, Instant], Verdict]


def submission_of(document: Body, point: DecisionPoint) -> Submission:
    """Return the submission of a command written as `{by, <verb>: body}`.

    Raises:
        ValueError: it has no verb, or one that is not known.
    """
    (verb, body), *more = ((name, value) for name, value in document.items() if name != "by")
    if more or verb not in _VERBS:
        raise ValueError(f"a command is `by` and one of {sorted(_VERBS)}, not {sorted(document)}")
    actor = Actor(principal=document["by"])
    decide = partial(_decided, _VERBS[verb], point.policy, actor, body)
    return Submission(action=verb.upper(), actor=actor.principal, decide=decide)


def _decided(verb: Decide, policy: Policy, actor: Actor, body: Body, view: View, at: Instant) -> Verdict:
    """Decide a command; a body that is not well formed is refused, which HTTP says with 400."""
    try:
        return verb(policy, actor, body, view, at)
    except ModelError as error:
        return Refused(code=error.code, message=error.message)


def _delegate(policy: Policy, actor: Actor, body: Body, view: View, at: Instant) -> Verdict:
    return make_delegation(policy, view, at, actor, delegation_spec(body))


def _grant(policy: Policy, actor: Actor, body: Body, view: View, at: Instant) -> Verdict:
    return make_grant(policy, view, at, actor, grant_spec(body, issuer=actor.principal))


def _amend(policy: Policy, actor: Actor, body: Body, view: View, at: Instant) -> Verdict:
    wanted = {name: value for name, value in body.items() if name != "edge_id"}
    return amend(policy, view, at, actor, amended(view.edges[body["edge_id"]], wanted), version=None)


def _revoke(policy: Policy, actor: Actor, body: Body, view: View, at: Instant) -> Verdict:
    return revoke(policy, view, at, actor, Target(**body))


def _bump(policy: Policy, actor: Actor, body: Body, view: View, at: Instant) -> Verdict:
    if "principal" in body:
        return bump_principal(policy, view, at, actor, **body)
    return bump_epoch(policy, view, at, actor, **body)


def _disable(policy: Policy, actor: Actor, body: Body, view: View, at: Instant) -> Verdict:
    return set_disabled(policy, view, at, actor, **body)


_VERBS: Final[dict[str, Decide]] = {
    "amend": _amend,
    "bump": _bump,
    "delegate": _delegate,
    "disable": _disable,
    "grant": _grant,
    "revoke": _revoke,
}
