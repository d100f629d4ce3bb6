"""A TCP proxy that can stop passing anything on, as a network does that loses every packet and tells nobody."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOK_SECONDS: Final = 0.02
PIECE: Final = 65_536


class TcpProxy:
    """Carries connections to a port of this host, from a port of its own, in a thread.

    Attributes:
        port: Where to connect.
        is_frozen: While true nothing passes, and connections stay open.
    """

    def __init__(self, target: int) -> None:
        self.is_frozen = False
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._other: dict[socket.socket, socket.socket] = {}
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin to carry."""
        self._thread.start()

    def stop(self) -> None:
        """End every connection."""
        self._ending.set()
        self._thread.join()
        for each in (self._listener, *self._other):
            each.close()

    def _run(self) -> None:
        while not self._ending.is_set():
            if self.is_frozen:
                self._ending.wait(LOOK_SECONDS)
                continue
            ready, _, _ = select.select([self._listener, *self._other], [], [], LOOK_SECONDS)
            for each in ready:
                if each is self._listener:
                    self._join()
                elif each in self._other:
                    self._carry(each)

    def _join(self) -> None:
        client, _ = self._listener.accept()
        try:
            server = socket.create_connection(("127.0.0.1", self._target))
        except OSError:
            client.close()
            return
        self._other |= {client: server, server: client}

    def _carry(self, source: socket.socket) -> None:
        target = self._other[source]
        data = b""
        with suppress(OSError):
            data = source.recv(PIECE)
            if data:
                target.sendall(data)
                return
        for each in (source, target):
            del self._other[each]
            each.close()


@contextmanager
def tcp_proxy_to(port: int) -> Iterator[TcpProxy]:
    """Run a proxy to a port of this host for as long as the block runs."""
    proxy = TcpProxy(port)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.stop()
