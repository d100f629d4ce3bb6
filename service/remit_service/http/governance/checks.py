"""`/v1/graph/check`, `/v1/store/check`: whether graph and ledger are sound. They read all there is, so few at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Request, Response

from remit_graph.world.check import check_world
from remit_graph.world.of_view import world_of
from remit_service.governance.adopting import shown
from remit_service.http.documented import answers
from remit_service.http.governance.described import GRAPH, READ
from remit_service.http.replies import json

if TYPE_CHECKING:
    from remit_service.http.governance.desk import Desk

Quick = Annotated[bool, Query(description="Compare counts and sums alone, not each element and the whole chain.")]


def add_routes(router: APIRouter, desk: Desk) -> None:
    """Add the routes of checks."""

    @router.get("/v1/graph/check", tags=GRAPH, responses=answers("GraphCheck", problems=READ))
    async def graph(request: Request, quick: Quick = False) -> Response:  # noqa: FBT002 - a query parameter
        """The graph against its laws, the ledger against itself, and a store's graph against the ledger."""
        await desk.reader(request)
        with desk.service.readings:
            # The copy is of one revision; judging it takes longer than a decision may wait.
            world, scales = world_of(desk.point.view), desk.point.policy.scales
            token = desk.point.revision_token()
            findings = await asyncio.to_thread(check_world, world, scales=scales)
            edits = await desk.point.drift.look(everything=not quick)
            store = await desk.point.ledger.check(full=not quick, graph=False)
        return json(
            {
                "problems": [*(each.sentence for each in edits), *store, *(each.message for each in findings)],
                "edits": [shown(each) for each in edits],
                "findings": [each.record() for each in findings],
                "quick": quick,
                "revision": token,
            }
        )

    @router.get("/v1/store/check", tags=GRAPH, responses=answers("StoreCheck", problems=READ))
    async def store(request: Request) -> Response:
        """The ledger against itself: its tables, and the hash chain from where its history begins up to its head."""
        await desk.reader(request)
        with desk.service.readings:
            problems = list(await desk.point.ledger.check())
            head = await desk.point.ledger.head()
        told = {"revision": head.revision, "hash": head.hash, "history_after": head.base}
        return json({"problems": problems, **told})
