"""From what a caller presents to the enforcement point it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from remit_service.decision.caller import Caller
from remit_service.identity.errors import BadCredentials, UnknownCaller

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from remit_graph.view.state import View
    from remit_service.identity.loopback import Loopback
    from remit_service.identity.ports import IdentityVerifier, Presented, Verified

SUBJECT_TOKEN: Final = b"remit-subject-token"
"""Header in which a gateway hands on the token of the user it calls for, as `Bearer <token>`."""


class Identifier:
    """Asks each verifier in turn, and lets nobody in whom none of them knows."""

    def __init__(
        self,
        verifiers: Sequence[IdentityVerifier],
        loopback: Loopback,
        view: Callable[[], View],
        subjects: IdentityVerifier | None = None,
    ) -> None:
        """Use `verifiers` for the caller itself, and `subjects` for the token of `SUBJECT_TOKEN`."""
        self._verifiers = tuple(verifiers)
        self._subjects = subjects
        self._view = view
        self.loopback = loopback

    async def identify(self, presented: Presented, *, principals: bool = False) -> Caller:
        """Return who is calling.

        Args:
            presented: What the caller presents.
            principals: Whether an identity of a principal that is no enforcement point will do: who governs speaks for
                itself.

        Raises:
            BadCredentials: nothing is presented where something is needed, or it proves nothing.
            UnknownCaller: the identity belongs to no enforcement point.
        """
        for verifier in self._verifiers:
            verified = await verifier.verify(presented)
            if verified is not None:
                return await self._caller(verified, presented, principals=principals)
        if b"authorization" in presented.headers:
            # Credentials of a kind that is not configured here are wrong ones, also on loopback.
            raise BadCredentials("the credentials are not of a kind that is accepted here")
        return self.loopback.admit(presented)

    async def _caller(self, verified: Verified, presented: Presented, *, principals: bool) -> Caller:
        view = self._view()
        names = (verified.actor,) if verified.actor is not None else verified.names
        for name in names:
            point = view.points.get(view.point_identities.get(name, ""))
            if point is not None:
                subject, behalf = await self._subject(presented)
                if subject is None and verified.actor is not None:
                    subject = verified.names[0]
                return Caller(
                    point=point, identity=name, subject_identity=subject, on_behalf_of=behalf, address=presented.peer
                )
        known = next((name for name in names if name in view.identities), None)
        if principals and known is not None:
            return Caller(point=None, identity=known, subject_identity=known, address=presented.peer)
        raise UnknownCaller(f"`{names[0]}` belongs to no enforcement point of this realm")

    async def _subject(self, presented: Presented) -> tuple[str | None, str | None]:
        """Return who acts by the token that was passed on, and for whom where it is somebody else (RFC 8693, 4.1)."""
        if SUBJECT_TOKEN not in presented.headers:
            return None, None
        verified = await self._subjects.verify(presented) if self._subjects is not None else None
        if verified is None:
            raise BadCredentials("the subject token proves nothing here: no issuer of tokens is configured for it")
        return (verified.names[0], None) if verified.actor is None else (verified.actor, verified.names[0])

    async def aclose(self) -> None:
        """Close every verifier."""
        for each in (*self._verifiers, *([self._subjects] if self._subjects else ())):
            await each.aclose()
