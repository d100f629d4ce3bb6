"""A worker as a process of its own: begins an operation, then writes when it is told to.

    python -m tests.chaos.coordination_worker URL PAGE < orders

Orders and answers are lines of JSON. The page is a file, and its content the token it was written with; beside it lies
the guard of the enforcement kit, which takes a write only with a token that is not lower than the highest it has seen.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import httpx

from remit_enforce import SqliteGuard, StaleToken


def begun(client: httpx.Client, body: dict[str, Any]) -> dict[str, Any]:
    """Begin an operation, waiting in the queue to the end if that was asked for: a poll may end before the wait."""
    reply = client.post("/v1/operations", json=body)
    while reply.status_code == httpx.codes.ACCEPTED:
        reply = client.get(reply.json()["poll"])
    return {**reply.json(), "status": reply.status_code}


def guarded(page: Path, operation: dict[str, Any]) -> tuple[str, int]:
    """Write with the tokens of an operation; returns what the guard says, and the token of what is on the page."""
    lease = operation["lease"]
    try:
        with SqliteGuard(page.with_suffix(".guard")).admit(lease["resource_key"], lease["fencing_tokens"]):
            page.write_text(str(operation["lease_epoch"]))
    except StaleToken:
        return "refused", int(page.read_text())
    return "accepted", int(page.read_text())


def write(client: httpx.Client, page: Path, operation: dict[str, Any]) -> dict[str, Any]:
    """Read, write and record; each in its turn, whatever the one before came to, also where nobody answers."""
    path, token = f"/v1/operations/{operation['coordination_id']}", operation["lease_epoch"]
    called(client, f"{path}/precondition", {"current_version": "rev_1"})
    guard, on_page = guarded(page, operation)
    status, code = called(client, f"{path}/executed", {"lease_epoch": token, "result": "applied"})
    return {"guard": guard, "recorded": status, "code": code, "page": on_page}


def called(client: httpx.Client, path: str, body: dict[str, Any]) -> tuple[int | None, str | None]:
    """Return status and code of a call, or twice nothing where the decision point is not there."""
    try:
        reply = client.post(path, json=body)
    except httpx.TransportError:
        return None, None
    return reply.status_code, reply.json().get("code")


def main() -> None:
    """Begin with the first order; write at each further one."""
    with httpx.Client(base_url=sys.argv[1], timeout=30) as client:
        operation = begun(client, json.loads(sys.stdin.readline()))
        print(json.dumps(operation), flush=True)  # noqa: T201 - answers go over standard output
        for _ in sys.stdin:
            print(json.dumps(write(client, Path(sys.argv[2]), operation)), flush=True)  # noqa: T201 - the same


if __name__ == "__main__":
    main()
