"""What a command works against: a running service (`--url`), or the store itself.

Both answer with the documents of the HTTP API, so that a command renders one form. On the store itself the caller is
whoever may read the file: it speaks for anyone and is trusted for everything, and decisions are not recorded.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol

import httpx

from remit_graph.model.instant import parse_instant
from remit_service.bootstrap import running_point
from remit_service.cli.client import answer_of
from remit_service.cli.exits import Failure
from remit_service.decision.caller import Caller
from remit_service.decision.request import parse_evaluation
from remit_service.http.answer import render
from remit_service.library.reach import service
from remit_service.point import DecisionPoint
from remit_service.settings import Settings


class Target(Protocol):
    """Answers a command's questions."""

    async def evaluate(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to an AuthZEN evaluation."""

    async def explain(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer with its explanation, also `at_revision` or `as_of`."""


class Unrecorded:
    """Records nothing: trials on the store itself are no decisions of the service."""

    async def record(self, *_: object) -> None:
        """Do nothing."""


class StoreTarget:
    """The store itself, through a decision point in this process."""

    def __init__(self, point: DecisionPoint, enforcement_point: str | None) -> None:
        """Ask as `enforcement_point`, or as somebody trusted for everything."""
        self.point = point
        self._caller = self._caller_of(enforcement_point)

    def _caller_of(self, name: str | None) -> Caller:
        if name is None:
            return Caller(point=None, identity="cli", trusts_all=True)
        point = self.point.view.points.get(name)
        if point is None:
            known = ", ".join(sorted(self.point.view.points)) or "none"
            raise Failure(f"`{name}` is no enforcement point of this realm", advice=f"known are: {known}")
        return Caller(point=point, identity=name)

    async def evaluate(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to an AuthZEN evaluation."""
        decision = await self.point.evaluate(parse_evaluation(body), self._caller)
        return render(decision, self._caller, self.point)

    async def explain(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer with its explanation."""
        as_of = body.get("as_of")
        decision = await self.point.explain(
            parse_evaluation(body),
            self._caller,
            at_revision=body.get("at_revision"),
            as_of=None if as_of is None else parse_instant(as_of),
        )
        return render(decision, self._caller, self.point)


class ServiceTarget:
    """A running service, over HTTP."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        """Ask through `client`."""
        self.client = client

    async def evaluate(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to an AuthZEN evaluation."""
        return await self.post("/access/v1/evaluation", body)

    async def explain(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer with its explanation."""
        return await self.post("/v1/explain", body)

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a body and return the answer's document.

        Raises:
            Failure: the service refuses or fails, with its own sentence.
        """
        return answer_of(await self.client.post(path, json=dict(body)))


@asynccontextmanager
async def target_of(settings: Settings, *, enforcement_point: str | None = None) -> AsyncIterator[Target]:
    """Open the service that `--url` names, or the store."""
    if settings.url is None:
        async with running_point(settings, Unrecorded(), activate=False) as point:
            yield StoreTarget(point, enforcement_point)
        return
    if enforcement_point is not None:
        advice = "a running service takes the caller from its key: set REMIT_KEY, and leave --as out"
        raise Failure("--as works on the store itself", advice=advice)
    async with service(settings) as client:
        yield ServiceTarget(client)
