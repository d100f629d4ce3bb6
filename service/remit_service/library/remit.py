"""`Remit`: every command of governance as a method, named as its verb: `remit epoch bump` is `epoch_bump`.

    async with connected("http://127.0.0.1:8180", key=Secret("rmk_…")) as remit:     # a running service
        tried = await remit.delegate(delegation, actor="instance:seo-agent-7", dry_run=True)
        made = await remit.delegate(delegation, actor="instance:seo-agent-7", idempotency_key="ticket-4711")
        if made.refused:
            print(made.code, made.document["detail"])

    async with opened("sqlite:///remit.db") as remit:                                # the store itself
        plan = await remit.revoke({"delegation_id": "del_882"}, dry_run=True)

- What a command takes and answers is the document of HTTP (`/openapi.json`); a test holds each method to its route.
- Every command takes a `Manner`. With `dry_run` it is decided like any other, refused like any other, and done by
  nobody; the answer says what it would bring about.
- On the store itself the caller speaks for anyone, and acts for the first root unless `actor` says otherwise.
"""

from __future__ import annotations

import secrets
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack
from urllib.parse import quote

import httpx

from remit_service.library.reach import in_process, service
from remit_service.library.reply import CallFailed, Reply, reply_of
from remit_service.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from remit_service.secret import Secret

    Document = Mapping[str, Any]


class Terms(TypedDict, total=False):
    """On what terms something is done; every member may be left out.

    Members:
        actor: In whose name: `<kind>:<name>`.
        reason: Why, for the ledger.
        approval_id: An approval of this very command.
        dry_run: Decide and tell, and change nothing.
    """

    actor: str
    reason: str
    approval_id: str
    dry_run: bool


class Manner(Terms, total=False):
    """How a command is given.

    Members:
        idempotency_key: A repeat with this key is answered as before.
        impact: In a dry run, which recent verdicts would change.
    """

    idempotency_key: str
    impact: bool


class Remit:
    """The commands of governance, and the questions that go with them."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        """Call the HTTP API through `client`; `connected` and `opened` make one."""
        self._client = client

    async def call(
        self, method: str, path: str, body: Document | None = None, *, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Make any call of the HTTP API.

        Raises:
            CallFailed: there was no answer, or a fault.
        """
        try:
            response = await self._client.request(method, path, json=body, headers=headers)
        except httpx.TransportError as error:
            raise CallFailed(f"no answer from {self._client.base_url}: {str(error) or type(error).__name__}") from error
        return reply_of(response)

    async def _command(
        self, method: str, path: str, body: Document, manner: Manner, headers: Mapping[str, str] | None = None
    ) -> Reply:
        said: dict[str, Any] = dict(manner)
        key = said.pop("idempotency_key", None)
        more = {} if key is None else {"Idempotency-Key": key}
        return await self.call(method, path, {**body, **said}, headers={**(headers or {}), **more})

    async def grant(self, grant: Document, **manner: Unpack[Manner]) -> Reply:
        """Grant a right on resources, or make an owner, or a right to delegate, to preempt, to revoke."""
        return await self._command("POST", "/v1/grants", grant, manner)

    async def delegate(self, delegation: Document, **manner: Unpack[Manner]) -> Reply:
        """Hand authority on, the same or less: what is left open is filled in from what it rests on."""
        return await self._command("POST", "/v1/delegations", delegation, manner)

    async def member(self, membership: Document, **manner: Unpack[Manner]) -> Reply:
        """Let a principal act as a role, or belong to a team: `from` and `to`. `revoke` ends it by its edge id."""
        return await self._command("POST", "/v1/memberships", membership, manner)

    async def amend(self, edge_id: str, version: int, changes: Document, **manner: Unpack[Manner]) -> Reply:
        """Amend an edge at the version you have seen: what is named replaces what it has."""
        return await self._command("PATCH", _path("grants", edge_id), changes, manner, {"If-Match": f'"{version}"'})

    async def revoke(self, target: Mapping[str, str], **manner: Unpack[Manner]) -> Reply:
        """End one thing and everything that rests on it alone: a dry run is the plan.

        Args:
            target: One of `edge_id`, `delegation_id`, `principal`, `resource`, `capability_id`, `lease_id`.
            manner: How it is given.
        """
        return await self._command("POST", "/v1/revocations", {"target": target}, manner)

    async def epoch_bump(
        self, *, floor: str | None = None, principal: str | None = None, **manner: Unpack[Manner]
    ) -> Reply:
        """Raise the authority epoch with a floor (none, writes, all), or that of one principal."""
        body = {"epoch": "authority", "floor": floor, "principal": principal}
        # A repeat of one call is one command; who calls again means it again.
        return await self._command("POST", "/v1/epochs", body, {"idempotency_key": secrets.token_hex(16), **manner})

    async def epoch_renew(self, edges: Sequence[str], **manner: Unpack[Manner]) -> Reply:
        """Issue a reviewed selection of edges, `edge_id@version`, again under the epoch of now."""
        return await self._command("POST", "/v1/epochs/renewals", {"edges": list(edges)}, manner)

    async def principal_declare(self, principal: Document, **manner: Unpack[Manner]) -> Reply:
        """Declare a principal; one of the same name from earlier leaves it nothing."""
        return await self._command("POST", "/v1/principals", principal, manner)

    async def principal_change(self, principal: str, changes: Document, **manner: Unpack[Manner]) -> Reply:
        """Change what is known of a principal: trust, display_name, attributes, identities; what is named replaces."""
        return await self._command("PATCH", _path("principals", principal), changes, manner)

    async def principal_disable(self, principal: str, **manner: Unpack[Manner]) -> Reply:
        """Let a principal do nothing until it is enabled again."""
        return await self._command("PATCH", _path("principals", principal), {"disabled": True}, manner)

    async def principal_enable(self, principal: str, **manner: Unpack[Manner]) -> Reply:
        """Let a principal act again, by the edges it still has."""
        return await self._command("PATCH", _path("principals", principal), {"disabled": False}, manner)

    async def break_glass_open(self, grant: Document, **manner: Unpack[Manner]) -> Reply:
        """Grant for minutes, in an emergency; it raises an alarm and has to be reviewed."""
        return await self._command("POST", "/v1/break-glass", grant, manner)

    async def break_glass_review(self, break_glass_id: str, finding: str, **manner: Unpack[Manner]) -> Reply:
        """Note that the use of a break-glass grant was looked at, by nobody who made or used it."""
        path = f"{_path('break-glass', break_glass_id)}/review"
        return await self._command("POST", path, {"finding": finding}, manner)

    async def key_create(self, name: str, *, days: int | None = None, **manner: Unpack[Manner]) -> Reply:
        """Make an API key for the identity `key:<name>`; the answer has it this once."""
        return await self._command("POST", "/v1/keys", {"name": name, "days": days}, manner)

    async def key_revoke(self, key_id: str, **manner: Unpack[Manner]) -> Reply:
        """End an API key at once."""
        said: dict[str, Any] = dict(manner)
        key = said.pop("idempotency_key", None)
        query = "&".join(f"{name}={quote(_text(value), safe='')}" for name, value in said.items())
        headers = {} if key is None else {"Idempotency-Key": str(key)}
        return await self.call("DELETE", f"{_path('keys', key_id)}?{query}".rstrip("?"), headers=headers)

    async def graph_apply(self, world: str, **manner: Unpack[Manner]) -> Reply:
        """Make the graph what a world file says, all of it or nothing."""
        return await self._command("POST", "/v1/graph/apply", {"world": world}, manner)

    async def graph_plan(self, world: str, **manner: Unpack[Manner]) -> Reply:
        """Say what applying a world file would change, and change nothing."""
        tried: Manner = {**manner, "dry_run": True}
        return await self.graph_apply(world, **tried)

    async def graph_check(self, *, quick: bool = False) -> Reply:
        """Say what is wrong with graph and store; `edits` are those made past the ledger, each with its `edit_id`."""
        return await self.call("GET", f"/v1/graph/check?quick={_text(quick)}")

    async def graph_adopt(
        self,
        edits: Sequence[str] | None = None,
        *,
        only: Sequence[str] | None = None,
        impact: bool = False,
        **terms: Unpack[Terms],
    ) -> Reply:
        """Make edits past the ledger proper changes, laws checked; a repeat does nothing twice, and needs no key.

        Args:
            edits: Ids as `graph_check` gives them; all where none are named.
            only: Kinds, such as `MAY_WRITE`.
            impact: In a dry run, which recent verdicts would change.
            terms: On what terms.
        """
        body = {**_chosen(edits, only), "impact": impact, **terms}
        return await self.call("POST", "/v1/graph/adopt", body)

    async def graph_quarantine(
        self, edits: Sequence[str] | None = None, *, only: Sequence[str] | None = None, **terms: Unpack[Terms]
    ) -> Reply:
        """Take edits past the ledger out of the graph and keep them; `edits` and `only` as in `graph_adopt`."""
        return await self.call("POST", "/v1/graph/quarantine", {**_chosen(edits, only), **terms})

    async def review(self, *, within_days: int = 14) -> Reply:
        """Return what somebody should look at: unused, expiring, over-wide and orphaned grants, who governs."""
        return await self.call("GET", f"/v1/graph/review?within_days={within_days}")

    async def why_still(self, edge_id: str) -> Reply:
        """Say what carries an edge, up to its root, and what else could."""
        return await self.call("GET", _path("graph", "why-still", edge_id))

    async def decide(self, question: Document) -> Reply:
        """Decide one AuthZEN evaluation; a deny is an answer and no refusal."""
        return await self.call("POST", "/access/v1/evaluation", question)

    async def explain(self, question: Document) -> Reply:
        """Decide and explain, now or `at_revision` or `as_of`."""
        return await self.call("POST", "/v1/explain", question)

    async def search(self, question: Document) -> Reply:
        """List subjects, resources or actions with what a decision on each comes to."""
        return await self.call("POST", "/v1/search", question)


def _chosen(edits: Sequence[str] | None, only: Sequence[str] | None) -> dict[str, Any]:
    given = (("edits", edits), ("only", only))
    return {name: list(values) for name, values in given if values is not None}


def _path(*parts: str) -> str:
    """Return a path below `/v1` in which each part is one segment, whatever it holds."""
    return "/".join(("/v1", *(quote(each, safe="") for each in parts)))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@asynccontextmanager
async def connected(url: str, *, key: Secret | None = None) -> AsyncIterator[Remit]:
    """Yield the commands of a running service, as whoever the API key belongs to."""
    async with service(replace(Settings(), url=url, key=key)) as client:
        yield Remit(client)


@asynccontextmanager
async def opened(store: str | Settings) -> AsyncIterator[Remit]:
    """Yield the commands of the store itself, or of the one that settings name; no service has to run.

    Raises:
        LedgerError, BundleRefused, SettingsError: it cannot be opened, with what to do.
    """
    settings = store if isinstance(store, Settings) else replace(Settings(), store=store)
    async with in_process(settings) as client:
        yield Remit(client)
