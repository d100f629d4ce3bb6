"""Who is calling: an enforcement point, and the subject its verified credential names, if it names one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remit_graph.model.realm import EnforcementPoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A caller whose identity was verified by an `IdentityVerifier`, or that was let in unverified on loopback.

    Attributes:
        point: The enforcement point, or None where the caller is not one.
        identity: The verified identity, `key:gateway`, or None for an unauthenticated caller.
        subject_identity: The end user's verified identity, where the gateway passed a token on.
        on_behalf_of: The verified identity for whom that user acts, where its token says so (RFC 8693, `act`).
        address: Remote address, for the record only.
        trusts_all: Local callers under `--anonymous-loopback`: speak for anyone, trusted for everything.
    """

    point: EnforcementPoint | None
    identity: str | None = None
    subject_identity: str | None = None
    on_behalf_of: str | None = None
    address: str | None = None
    trusts_all: bool = False

    @property
    def is_authenticated(self) -> bool:
        """Whether somebody vouches for this caller."""
        return self.point is not None or self.trusts_all

    def may_speak_for(self, principal: str) -> bool:
        """Whether it may name this subject."""
        return self.trusts_all or (self.point is not None and self.point.may_speak_for(principal))

    def trusts(self, attribute: str) -> bool:
        """Whether it is believed about an attribute: `risk`, `fields`, `action.soft`, `resource.ownerID`."""
        return self.trusts_all or (self.point is not None and attribute in self.point.trusted)

    @property
    def sees_graph(self) -> bool:
        """Whether answers may name holders, edges and tokens of others."""
        return self.trusts_all or (self.point is not None and self.point.visibility == "full")

    @property
    def response(self) -> str:
        """How much of the answer's context it wants: `full`, `reasons`, `decision`."""
        return "full" if self.point is None else self.point.response

    @property
    def name(self) -> str:
        """What records and metrics call it."""
        return self.point.id if self.point is not None else (self.identity or "anonymous")
