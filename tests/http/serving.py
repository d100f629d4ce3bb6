"""A real decision point behind a real uvicorn, in a thread of its own: what a client on this machine would meet."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from remit_service.bootstrap import coordinating, running_point
from remit_service.evidence.decision_log.compose import make_log
from remit_service.http.app import create_app
from remit_service.http.server import listen, make_server
from remit_service.identity.api_key import new_key
from remit_service.metrics import Metrics
from remit_service.settings import Settings

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Coroutine, Iterator
    from pathlib import Path

    import uvicorn

    from remit_service.coordinator.coordinator import Coordinator
    from remit_service.evidence.decision_log.ports import DecisionLog
    from remit_service.http.app import Application
    from remit_service.point import DecisionPoint

Value = TypeVar("Value")
STARTED_AT = 1_700_000_000_000_000


@dataclass
class Served:
    """A service that answers.

    Attributes:
        settings: With the port it found.
        keys: API key by name, for each identity `key:<name>` of the world.
        point, log, app, coordinator: The parts inside, for tests that look at or break them.
    """

    settings: Settings
    keys: dict[str, str]
    point: DecisionPoint = field(init=False)
    log: DecisionLog = field(init=False)
    app: Application = field(init=False)
    coordinator: Coordinator = field(init=False)
    _loop: asyncio.AbstractEventLoop = field(init=False)
    _server: uvicorn.Server = field(init=False)
    _thread: threading.Thread = field(init=False)
    _failure: BaseException | None = None
    _clients: dict[str | None, httpx.Client] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"http://{self.settings.listen}"

    def client(self, key: str | None = None) -> httpx.Client:
        """Return the client that shows the API key of this name, or none; it is closed with the service."""
        if key not in self._clients:
            headers = {"Authorization": f"Bearer {self.keys[key]}"} if key is not None else {}
            self._clients[key] = httpx.Client(base_url=self.url, headers=headers, timeout=30, verify=False)  # noqa: S501 - plain HTTP
        return self._clients[key]

    def run(self, work: Callable[[], Coroutine[Any, Any, Value]]) -> Value:
        """Run a coroutine in the loop of the service, and return its result."""
        return asyncio.run_coroutine_threadsafe(work(), self._loop).result(timeout=30)

    def start(self) -> None:
        """Start, and return when it answers."""
        is_up = threading.Event()
        listener = listen(self.settings)
        self.settings = replace(self.settings, listen=f"{self.settings.address[0]}:{listener.getsockname()[1]}")
        self._thread = threading.Thread(target=self._main, args=(listener, is_up), daemon=True)
        self._thread.start()
        is_up.wait(timeout=60)
        if self._failure is not None:
            raise self._failure

    def _main(self, listener: socket.socket, is_up: threading.Event) -> None:
        try:
            asyncio.run(self._serve(listener, is_up))
        except BaseException as error:  # noqa: BLE001 - told to whoever waits
            self._failure = error
            is_up.set()

    async def _serve(self, listener: socket.socket, is_up: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        metrics = Metrics()
        self.log = make_log(self.settings, metrics)
        await self.log.start()
        try:
            async with (
                running_point(self.settings, self.log) as self.point,
                coordinating(self.point) as self.coordinator,
            ):
                self.app = create_app(
                    self.point, self.settings, self.log, metrics=metrics, coordinator=self.coordinator
                )
                await self._answer(listener, is_up)
                await self.app.aclose()
        finally:
            await self.log.aclose()
            listener.close()

    async def _answer(self, listener: socket.socket, is_up: threading.Event) -> None:
        self._server = make_server(self.app, self.settings, log_level="critical")
        # Signals are for the test runner, and this is not its thread.
        task = asyncio.create_task(self._server._serve([listener]))
        # The socket listens already: who connects before the server is up waits a moment.
        is_up.set()
        await task

    def stop(self) -> None:
        """Stop, and wait until everything is given back."""
        for client in self._clients.values():
            client.close()
        self._loop.call_soon_threadsafe(setattr, self._server, "should_exit", True)
        self._thread.join(timeout=30)


def serve(folder: Path, world: Path | None, *, keys: tuple[str, ...] = (), **settings: Any) -> Served:
    """Start a service on `world`, or on what its store holds, with its store, log and keys in `folder`."""
    made = {name: new_key(name, at=STARTED_AT) for name in keys}
    file = folder / "keys.json"
    file.write_text(json.dumps({"keys": [record for _, record in made.values()]}))
    defaults: dict[str, Any] = {
        "store": f"sqlite:///{folder / 'remit.db'}",
        "world": world,
        "listen": "127.0.0.1:0",
        "keys_file": file,
        "decision_log": f"file:{folder / 'log'}",
    }
    served = Served(Settings(**{**defaults, **settings}), {name: key for name, (key, _) in made.items()})
    served.start()
    return served


def stopped_later(served: Served) -> Iterator[Served]:
    """Yield a service and stop it: the body of a fixture."""
    yield served
    served.stop()


def finish(client: httpx.Client, operation: dict[str, Any], read: str, final: str) -> dict[str, Any]:
    """Take an operation through the rest of the protocol, and return its receipt."""
    path, token = f"/v1/operations/{operation['coordination_id']}", {"lease_epoch": operation["lease_epoch"]}
    steps = (
        ("precondition", {"current_version": read}),
        ("executed", {**token, "result": "applied"}),
        ("verified", {**token, "passed": True}),
        ("complete", {**token, "final_version": final}),
    )
    replies = [client.post(f"{path}/{step}", json=body) for step, body in steps]
    assert [each.status_code for each in replies] == [200] * 4, replies[-1].text
    receipt: dict[str, Any] = replies[-1].json()["receipt"]
    return receipt
