"""Looking after an OPA server: is it there, is it ready, which bundle does it hold? For `remit doctor` and readiness.

Built on `opa-python-client`, which knows OPA's administrative routes. Its errors are of several libraries and some of
its answers hide one (`check_health` is False for a server that is down), so each call is wrapped, and what is found is
a value. Nothing here decides, and nothing here is on the way of a decision; that is `opa.OpaEngine`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlsplit

import aiohttp
from opa_client import AsyncOpaClient
from opa_client.errors import PolicyNotFoundError

from remit_service.engines.errors import EngineUnavailable

if TYPE_CHECKING:
    from types import TracebackType

_BUNDLES: Final = "system/bundles"
_REVISION: Final = "remit/revision/policy_revision"
_READY: Final = {"bundles": "true", "plugins": "true"}
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaReport:
    """What a server says about itself."""

    version: str
    is_ready: bool
    """All bundles are activated and all plugins run."""
    bundles: dict[str, str]
    """Name of each bundle -> revision in its manifest."""
    policy_revision: str | None
    """What `data.remit.revision` holds; None if no bundle of Remit is active."""
    policies: int
    """How many modules are loaded."""


class OpaAdmin:
    """An administrative connection to one server; use as an asynchronous context manager."""

    def __init__(self, url: str, *, token: str | None = None, timeout_seconds: float = 2.0) -> None:
        """Name the server by its address, such as `http://127.0.0.1:8181`."""
        parts = urlsplit(url)
        if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
            raise ValueError(f"`{url}` is no address of an OPA server, such as `http://127.0.0.1:8181`")
        self._url = url
        self._client = AsyncOpaClient(
            host=parts.hostname if ":" not in parts.hostname else f"[{parts.hostname}]",
            port=parts.port or _DEFAULT_PORTS[parts.scheme],
            ssl=parts.scheme == "https",
            token=token,
            retries=0,
            timeout=timeout_seconds,
        )

    async def __aenter__(self) -> Self:
        """Open the connection."""
        # The client has no session before its own context is entered.
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        await self._client.close_connection()

    async def report(self) -> OpaReport:
        """Ask the server for everything that an operator wants to know.

        Raises:
            EngineUnavailable: it does not answer, or not as OPA does.
        """
        try:
            configuration = await self._client.get_config()
            bundles = await self._value(_BUNDLES)
            revision = await self._value(_REVISION)
            return OpaReport(
                version=configuration["result"]["labels"]["version"],
                is_ready=await self._client.check_health(query=_READY),
                bundles=_revisions(bundles),
                policy_revision=revision if isinstance(revision, str) else None,
                policies=len(await self._client.get_policies_list()),
            )
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError, KeyError, TypeError) as error:
            reason = str(error) or type(error).__name__
            raise EngineUnavailable(f"`{self._url}` does not answer as an OPA server: {reason}") from error

    async def _value(self, path: str) -> object:
        """Return the value at `path`; the client raises for one that is undefined, and for a false one."""
        try:
            answer = await self._client.get_data(path)
        except PolicyNotFoundError:
            return None
        value: object = answer["result"]
        return value


def _revisions(bundles: object) -> dict[str, str]:
    if not isinstance(bundles, dict):
        return {}
    return {name: str(bundle.get("manifest", {}).get("revision", "")) for name, bundle in bundles.items()}
