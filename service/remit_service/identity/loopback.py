"""Callers of this machine who prove nothing, and when they are let in.

Only where the service listens on loopback alone, and either serves the demo world, whose world file names the
enforcement point they count as, or was started with `--anonymous-loopback`, where they may do everything.

A browser on this machine is not its user: a page of another origin can make it send requests here, and can give its
own name this address. So an unproven caller must name a loopback host, and no foreign origin; and what was forwarded
by a proxy does not come from here at all.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from remit_service.decision.caller import Caller
from remit_service.identity.errors import BadCredentials
from remit_service.identity.ports import address_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from remit_graph.view.state import View
    from remit_service.identity.ports import Presented
    from remit_service.settings import Settings

FORWARDED: Final = frozenset({b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip"})
_LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Loopback:
    """Decides about callers without credentials."""

    def __init__(self, settings: Settings, view: Callable[[], View]) -> None:
        """Follow `settings`; the demo's enforcement point is looked up in the view of the moment."""
        self._view = view
        self._trusts_all = settings.anonymous_loopback and settings.is_loopback
        self._is_demo = settings.demo and settings.is_loopback

    @property
    def is_open(self) -> bool:
        """Whether anybody on this machine is let in without credentials."""
        return self._trusts_all or self._is_demo

    def admit(self, presented: Presented) -> Caller:
        """Return the caller.

        Raises:
            BadCredentials: it has to authenticate.
        """
        if self.is_open and is_local(presented):
            if self._trusts_all:
                return Caller(point=None, trusts_all=True, address=presented.peer)
            point = next((each for _, each in sorted(self._view().points.items()) if each.loopback), None)
            if point is not None:
                return Caller(point=point, address=presented.peer)
        raise BadCredentials("authenticate with `Authorization: Bearer <API key or token>`")


def is_local(presented: Presented) -> bool:
    """Whether the call comes from a program on this machine, as far as its head can show."""
    headers = presented.headers
    return FORWARDED.isdisjoint(headers) and _names_loopback(
        presented.peer, headers.get(b"host"), headers.get(b"origin")
    )


@lru_cache(maxsize=1_024)
def _names_loopback(peer: str | None, host: bytes | None, origin: bytes | None) -> bool:
    address = address_of(peer)
    if address is None or not address.is_loopback or host is None:
        return False
    return _is_local_name(b"//" + host) and (origin is None or _is_local_name(origin))


def _is_local_name(address: bytes) -> bool:
    try:
        return urlsplit(address.decode("latin-1")).hostname in _LOCAL_NAMES
    except ValueError:
        return False
