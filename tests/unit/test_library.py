"""Remit from Python: the methods have the names and routes of the verbs, and a fault is never taken for an answer."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from remit_service.cli.routes import ROUTES
from remit_service.library import CallFailed, Remit, Reply, connected, opened
from remit_service.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"
ARGUMENTS: dict[str, Any] = {
    "amend": ("edge", 1, {}),
    "break_glass_open": ({},),
    "break_glass_review": ("glass", "fine"),
    "decide": ({},),
    "delegate": ({},),
    "epoch_bump": (),
    "epoch_renew": ([],),
    "explain": ({},),
    "grant": ({},),
    "graph_apply": ("realm: x",),
    "graph_plan": ("realm: x",),
    "key_create": ("gateway",),
    "key_revoke": ("0",),
    "member": ({},),
    "principal_change": ("human:a", {"trust": 2}),
    "principal_declare": ({},),
    "principal_disable": ("human:a",),
    "principal_enable": ("human:a",),
    "review": (),
    "revoke": ({},),
    "graph_adopt": (["edit-1"],),
    "graph_check": (),
    "graph_quarantine": (),
    "search": ({},),
    "why_still": ("edge",),
}
NOT_VERBS = {"call", "search"}
"""Any call; and one method for the three verbs of search."""


def answering(answer: Callable[[httpx.Request], httpx.Response]) -> Remit:
    """Return the commands of a service that answers like this."""
    return Remit(httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://remit.test"))


def test_the_methods_are_those_that_are_tried_here() -> None:
    """A method that is added is held to its verb below."""
    methods = {name for name, _ in inspect.getmembers(Remit, inspect.iscoroutinefunction) if not name.startswith("_")}

    assert methods == {*ARGUMENTS, "call"}


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
async def test_a_method_asks_the_route_of_its_verb(name: str) -> None:
    """`epoch_bump` asks what `remit epoch bump` asks."""
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(f"{request.method} {request.url.path}")
        return httpx.Response(200, json={})

    await getattr(answering(answer), name)(*ARGUMENTS[name])

    verb = next((each for each in ROUTES if each.replace("-", "_").replace(" ", "_") == name), "search subject")
    assert (name in NOT_VERBS) == (verb == "search subject")
    shapes = [[part if part[:1] != "{" else "*" for part in route.split("/")] for route in ROUTES[verb]]
    found = asked[0].split("/")
    assert len(asked) == 1
    assert any(
        len(shape) == len(found) and all(a in ("*", b) for a, b in zip(shape, found, strict=True)) for shape in shapes
    )


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (httpx.Response(200, text="<html>sign in</html>"), "no JSON"),
        (httpx.Response(200, json=["a", "list"]), "no JSON object"),
        (httpx.Response(503, json={"code": "authority_stale", "detail": "the ledger is gone"}), "the ledger is gone"),
        (httpx.Response(502, text="bad gateway"), "no JSON"),
    ],
)
async def test_what_is_no_answer_is_a_failure(response: httpx.Response, said: str) -> None:
    """Neither a page of somebody else nor a fault is a reply, so that nobody takes it for a thing done."""
    with pytest.raises(CallFailed, match=said) as failed:
        await answering(lambda _: response).grant({})

    assert failed.value.status == response.status_code


async def test_nobody_at_the_address_is_a_failure() -> None:
    """It names the address."""
    async with connected("http://127.0.0.1:9") as remit:
        with pytest.raises(CallFailed, match=r"no answer from http://127\.0\.0\.1:9"):
            await remit.review()


def test_a_reply_is_no_bare_yes() -> None:
    """`if reply:` would take a refusal for a success; it raises."""
    refused = Reply(status=403, document={"code": "no_authority"})

    assert (refused.refused, refused.code) == (True, "no_authority")
    assert Reply(status=201, document={}).code is None
    with pytest.raises(TypeError, match="look at `refused`"):
        bool(refused)


async def test_the_store_itself_is_governed_without_a_service(tmp_path: Path) -> None:
    """A grant is tried, made and repeated; what is refused says why; the next who opens the store finds it."""
    store = f"sqlite:///{tmp_path / 'remit.db'}"
    grant = {"edge_id": "g-new", "edge": "MAY_READ", "from": "role:analyst", "to": "wp:post:1024"}

    async with opened(Settings(store=store, world=SEO)) as remit:
        tried = await remit.grant(grant, dry_run=True)
        made = await remit.grant(grant, idempotency_key="once", reason="a report")
        again = await remit.grant(grant, idempotency_key="once", reason="a report")
        refused = await remit.grant({**grant, "edge_id": "g-2"}, actor="human:analyst")
    async with opened(store) as remit:
        still = await remit.why_still("g-new")

    assert (tried.document["dry_run"], tried.document["edge_id"]) == (True, "g-new")
    assert (made.status, made.document["version"], made.replayed) == (201, 1, False)
    assert (again.document["revision"], again.replayed) == (made.document["revision"], True)
    assert (refused.refused, refused.code) == (True, "not_owner")
    assert not still.refused
