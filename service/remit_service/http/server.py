"""How uvicorn is run: the settings that safety and speed rest on, in one place.

- The peer is who is connected. uvicorn would take it from `X-Forwarded-For` where the connection comes from this
  machine, and then anybody behind a local proxy could pass for a trusted one.
- Whoever waits is answered as soon as a stop is asked for: uvicorn would wait for long polls as for any work.
- A listening socket names its protocol: asyncio turns Nagle's delay off only where it is TCP by name, and 40 ms a
  request is what it costs otherwise.
"""

from __future__ import annotations

import socket
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

import uvicorn

if TYPE_CHECKING:
    from remit_service.http.app import Application
    from remit_service.settings import Settings

KEEP_ALIVE_SECONDS: Final = 75
"""Longer than gateways keep idle connections, so that the side that asks is the one that closes."""

BACKLOG: Final = 2_048


class Server(uvicorn.Server):
    """A server that does not wait for those who wait."""

    def __init__(self, app: Application, config: uvicorn.Config) -> None:
        """Serve `app`."""
        super().__init__(config)
        self._application = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer long polls and end event streams, then let what is worked on finish."""
        self._application.stop_waiting()
        await super().shutdown(sockets)


def make_server(app: Application, settings: Settings, **changes: Any) -> Server:
    """Return a server for `app`; `changes` go to uvicorn as they are."""
    host, port = settings.address
    options: dict[str, Any] = {
        "host": host,
        "port": port,
        "proxy_headers": False,
        "lifespan": "off",
        "ws": "none",
        "access_log": False,
        "server_header": False,
        "date_header": False,
        "log_level": "warning",
        "timeout_keep_alive": KEEP_ALIVE_SECONDS,
        "timeout_graceful_shutdown": int(settings.shutdown_grace_seconds) or 1,
    }
    return Server(app, uvicorn.Config(app, **{**options, **changes}))


def listen(settings: Settings) -> socket.socket:
    """Return a socket that listens where the settings say, on a free port for port 0.

    Raises:
        OSError: the address is taken, or is not one of this machine.
    """
    host, port = settings.address
    family = socket.AF_INET6 if _is_ipv6(host) else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _is_ipv6(host: str) -> bool:
    try:
        return ip_address(host).version == 6  # noqa: PLR2004 - the version
    except ValueError:
        return False
