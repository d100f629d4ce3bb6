"""How a scenario's questions reach the decision point: in process, or as bytes over HTTP; both give one form of answer.

In process nothing is between the question and the decision point but the parser and the renderer that HTTP uses too, so
that a scenario says what its answer is once, and not how it came.
"""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import httpx
import uvicorn

from remit_graph.errors import GraphError
from remit_graph.model.instant import parse_instant
from remit_service.decision.caller import Caller
from remit_service.decision.request import parse_evaluation
from remit_service.evidence.decision_log.compose import make_log
from remit_service.http.answer import render
from remit_service.http.app import create_app
from remit_service.identity.api_key import new_key
from remit_service.metrics import Metrics
from remit_service.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from remit_graph.model.realm import EnforcementPoint
    from remit_service.http.app import Application
    from remit_service.point import DecisionPoint

Body = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """What a caller got: a decision's document, or a problem with its code."""

    status: int
    document: Body

    @property
    def problem(self) -> str | None:
        """Code of the problem, or None where a decision was given."""
        return None if self.status == httpx.codes.OK else str(self.document["code"])


class Wire(Protocol):
    """Puts questions as an enforcement point; None is a caller that proves nothing."""

    async def evaluate(self, body: Body, as_: str | None) -> Answer:
        """Ask for a decision."""

    async def explain(self, body: Body, as_: str | None) -> Answer:
        """Ask for a decision with its explanation, also at an earlier moment."""

    async def crowd(self, body: Body, as_: str | None) -> Answer | None:
        """Ask while as many requests are in flight as there may be; None where there is no such bound."""


@dataclass
class InProcess:
    """No wire at all."""

    point: DecisionPoint

    async def evaluate(self, body: Body, as_: str | None) -> Answer:
        """Ask the decision point itself."""
        caller = self._caller(as_)
        return await self._answer(caller, lambda: self.point.evaluate(parse_evaluation(body), caller))

    async def explain(self, body: Body, as_: str | None) -> Answer:
        """Ask the decision point itself."""
        caller = self._caller(as_)
        revision, text = body.get("at_revision"), body.get("as_of")
        as_of = None if text is None else parse_instant(text)
        return await self._answer(
            caller, lambda: self.point.explain(parse_evaluation(body), caller, at_revision=revision, as_of=as_of)
        )

    async def crowd(self, _body: Body, _as: str | None) -> None:
        """Nothing bounds calls within one process."""

    def _caller(self, name: str | None) -> Caller:
        return Caller(point=None if name is None else self.point.view.points[name], identity=name)

    async def _answer(self, caller: Caller, ask: Callable[[], Awaitable[Any]]) -> Answer:
        try:
            return Answer(200, render(await ask(), caller, self.point))
        except GraphError as error:
            return Answer(400, {"code": error.code, "detail": error.message})


@asynccontextmanager
async def in_process(point: DecisionPoint) -> AsyncIterator[Wire]:
    """Ask without a wire."""
    yield InProcess(point)


class Server:
    """One uvicorn in the loop of the tests, on a free port; what it serves changes from scenario to scenario."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        """Serve nothing yet; `client` is connected to it."""
        self.client = client
        self.app: Application | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Hand a request to the web face of the scenario that is played."""
        assert self.app is not None
        await self.app(scope, receive, send)


@asynccontextmanager
async def a_server() -> AsyncIterator[Server]:
    """Start uvicorn, and yield what is served."""
    # With the protocol named, asyncio turns Nagle's delay off for each connection.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    async with httpx.AsyncClient(base_url=address, trust_env=False, timeout=30) as client:
        serves = Server(client)
        config = uvicorn.Config(serves, log_level="critical", access_log=False, lifespan="off", ws="none")
        server = uvicorn.Server(config)
        task = asyncio.create_task(server._serve([listener]))
        yield serves
    server.should_exit = True
    await task
    listener.close()


@dataclass
class OverHttp:
    """Bytes to a real server and back."""

    app: Application
    client: httpx.AsyncClient
    keys: dict[str, str]

    async def evaluate(self, body: Body, as_: str | None) -> Answer:
        """Post an AuthZEN evaluation."""
        return await self._post("/access/v1/evaluation", body, as_)

    async def explain(self, body: Body, as_: str | None) -> Answer:
        """Post to the route for explanations."""
        return await self._post("/v1/explain", body, as_)

    async def crowd(self, body: Body, as_: str | None) -> Answer:
        """Post while every place is taken."""
        bound = self.app.service.in_flight
        bound.count = bound.limit
        try:
            return await self.evaluate(body, as_)
        finally:
            bound.count = 0

    async def _post(self, path: str, body: Body, as_: str | None) -> Answer:
        headers = {} if as_ is None else {"Authorization": f"Bearer {self.keys[as_]}"}
        reply = await self.client.post(path, json=body, headers=headers)
        return Answer(reply.status_code, reply.json())


def over_http(serves: Server, folder: Path) -> Callable[[DecisionPoint], AbstractAsyncContextManager[Wire]]:
    """Return what puts a scenario behind a server, with an API key for each of its enforcement points."""

    @asynccontextmanager
    async def wire(point: DecisionPoint) -> AsyncIterator[Wire]:
        keys, file = _keys(point, folder)
        settings = Settings(decision_log="none", keys_file=file)
        metrics = Metrics()
        log = make_log(settings, metrics)
        await log.start()
        serves.app = create_app(point, settings, log, metrics=metrics)
        yield OverHttp(serves.app, serves.client, keys)
        await serves.app.aclose()
        await log.aclose()

    return wire


def _keys(point: DecisionPoint, folder: Path) -> tuple[dict[str, str], Path]:
    made = {each.id: new_key(_key_name(each), at=0) for each in point.view.points.values() if _key_name(each)}
    file = folder / "keys.json"
    file.write_text(json.dumps({"keys": [record for _, record in made.values()]}))
    return {name: key for name, (key, _) in made.items()}, file


def _key_name(point: EnforcementPoint) -> str:
    return next((each.removeprefix("key:") for each in point.identities if each.startswith("key:")), "")
