"""From a proven identity to the enforcement point it is, and how a process refuses to be open to everybody."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from remit_graph.model.realm import EnforcementPoint
from remit_graph.view.state import View
from remit_service.identity.compose import make_identifier
from remit_service.identity.errors import BadCredentials, UnknownCaller
from remit_service.identity.identifier import Identifier
from remit_service.identity.loopback import Loopback
from remit_service.identity.ports import Presented, Verified
from remit_service.settings import Settings, SettingsError

if TYPE_CHECKING:
    from remit_service.decision.caller import Caller

GATEWAY = EnforcementPoint(id="service:gateway", identities=("spiffe://acme.test/gw", "jwt:i#planner"))
LOCAL = EnforcementPoint(id="service:local", loopback=True)


class Says:
    """A verifier that always says the same."""

    def __init__(self, verified: Verified | Exception | None) -> None:
        self._verified = verified

    async def verify(self, _presented: Presented) -> Verified | None:
        """Say it."""
        if isinstance(self._verified, Exception):
            raise self._verified
        return self._verified

    async def aclose(self) -> None:
        """Hold nothing."""


def view() -> View:
    """A graph with two enforcement points."""
    made = View()
    made.points = {each.id: each for each in (GATEWAY, LOCAL)}
    made.point_identities = dict.fromkeys(GATEWAY.identities, GATEWAY.id)
    return made


async def identify(
    *verified: Verified | Exception | None,
    headers: dict[bytes, bytes] | None = None,
    subjects: Verified | Exception | None = None,
    settings: Settings | None = None,
) -> Caller:
    """Identify a call from this machine with verifiers that say `verified`."""
    graph = view()
    loopback = Loopback(settings or Settings(), lambda: graph)
    identifier = Identifier([Says(each) for each in verified], loopback, lambda: graph, Says(subjects))
    return await identifier.identify(Presented({b"host": b"127.0.0.1", **(headers or {})}, "127.0.0.1"))


async def test_the_first_name_that_is_known_decides() -> None:
    """An X.509-SVID is found under its plain SPIFFE id where the world lists that."""
    caller = await identify(None, Verified(names=("x509:spiffe://acme.test/gw", "spiffe://acme.test/gw")))

    assert (caller.point, caller.identity, caller.subject_identity) == (GATEWAY, "spiffe://acme.test/gw", None)
    assert (caller.address, caller.is_authenticated, caller.trusts_all) == ("127.0.0.1", True, False)


async def test_the_actor_calls_and_the_subject_is_passed_on() -> None:
    """A token that was exchanged for somebody: the enforcement point is the actor, the end user the subject."""
    caller = await identify(Verified(names=("jwt:i#ana",), actor="jwt:i#planner"))

    assert (caller.point, caller.identity, caller.subject_identity) == (GATEWAY, "jwt:i#planner", "jwt:i#ana")


async def test_an_actor_nobody_knows_gets_nothing_from_its_subject() -> None:
    """The subject's own enforcement point does not stand in for an unknown actor."""
    with pytest.raises(UnknownCaller):
        await identify(Verified(names=("jwt:i#planner",), actor="jwt:i#stranger"))


async def test_a_gateway_passes_a_user_s_token_on() -> None:
    """The token of the extra header names the subject; its actor, where it has one, acts."""
    header = {b"remit-subject-token": b"Bearer x"}
    gateway = Verified(names=("spiffe://acme.test/gw",))

    plain = await identify(gateway, headers=header, subjects=Verified(names=("jwt:i#ana",)))
    acting = await identify(gateway, headers=header, subjects=Verified(names=("jwt:i#ana",), actor="jwt:i#bot"))

    assert (plain.subject_identity, plain.on_behalf_of) == ("jwt:i#ana", None)
    assert (acting.subject_identity, acting.on_behalf_of) == ("jwt:i#bot", "jwt:i#ana")


@pytest.mark.parametrize("subjects", [None, BadCredentials("no")])
async def test_a_subject_token_that_proves_nothing_is_refused(subjects: Exception | None) -> None:
    """A gateway cannot pass on what nobody can check."""
    with pytest.raises(BadCredentials):
        await identify(
            Verified(names=("spiffe://acme.test/gw",)), headers={b"remit-subject-token": b"Bearer x"}, subjects=subjects
        )


async def test_credentials_of_an_unknown_kind_are_wrong_ones() -> None:
    """What no verifier takes is not the same as nothing, also in the demo."""
    with pytest.raises(BadCredentials):
        await identify(None, headers={b"authorization": b"Negotiate x"}, settings=Settings(demo=True))


async def test_a_bad_key_does_not_fall_through() -> None:
    """The first verifier's refusal is the answer, though a later one would say yes."""
    with pytest.raises(BadCredentials):
        await identify(BadCredentials("no"), Verified(names=("spiffe://acme.test/gw",)))


async def test_nobody_local_is_let_in_by_default() -> None:
    """A loopback enforcement point in the world opens nothing outside of the demo."""
    with pytest.raises(BadCredentials):
        await identify(None)
    assert (await identify(None, settings=Settings(demo=True))).point == LOCAL
    assert (await identify(None, settings=Settings(anonymous_loopback=True))).trusts_all


def test_a_service_that_nobody_could_authenticate_to_stays_at_home() -> None:
    """On another address than loopback a way to authenticate is needed before the first call."""
    exposed = Settings(listen="0.0.0.0:8180", demo=True, origins={"listen": "--listen"})
    graph = view()

    with pytest.raises(SettingsError) as refused:
        make_identifier(exposed, lambda: graph, lambda: 0, lambda: 0.0)
    assert refused.value.facts["places"] == ["--listen"]

    graph.records["api_key"] = {"a": {"id": "a", "name": "gateway", "salt": "", "hash": ""}}
    identifier = make_identifier(exposed, lambda: graph, lambda: 0, lambda: 0.0)
    assert not identifier.loopback.is_open
