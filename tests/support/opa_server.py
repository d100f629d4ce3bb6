"""A real OPA server for the tests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx

from tests.support.process import Process, free_port
from tests.support.programs import opa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class OpaServer:
    """`opa run --server` with what it is given: folders or files to load, and a configuration, e.g. for bundles."""

    def __init__(
        self,
        folder: Path,
        *,
        load: Sequence[Path] = (),
        configuration: Mapping[str, Any] | None = None,
        port: int | None = None,
    ) -> None:
        """Prepare a server.

        Args:
            folder: Its own folder; the log is in it.
            load: Policy and data to start with. Loaded as a bundle where it is a folder with a `.manifest`.
            configuration: What would stand in OPA's configuration file.
            port: Where it listens, if someone has to know before it is made.

        Raises:
            Missing: OPA is not here.
        """
        self.port = port or free_port()
        self._bundles = bool((configuration or {}).get("bundles"))
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "configuration.json"
        file.write_text(json.dumps(configuration or {}))
        options = ["--server", f"--addr=127.0.0.1:{self.port}", f"--config-file={file}", "--skip-version-check"]
        if any((path / ".manifest").exists() for path in load):
            options.append("--bundle")
        self._process = Process(
            [str(opa()), "run", *options, "--log-level=error", *(str(path.resolve()) for path in load)], folder
        )

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def running(self) -> bool:
        """Whether the server runs, frozen or not."""
        return self._process.running

    def start(self, *, within_seconds: float = 30) -> None:
        """Start, and return when the health route says that the policy is active."""
        self._process.start(self._healthy, within_seconds=within_seconds)

    def kill(self) -> None:
        """End without warning. Loaded policy comes back with `restart`, policy put over HTTP does not."""
        self._process.kill()

    def restart(self) -> None:
        """Start again on the same port, after `kill` or from running."""
        self.kill()
        self.start()

    def revive(self) -> None:
        """Undo a `kill` or `pause`; nothing to do for a server that is well."""
        if self.running:
            self.resume()
        else:
            self.start()

    def pause(self) -> None:
        """Freeze: connections stay open, nothing is answered."""
        self._process.pause()

    def resume(self) -> None:
        """Go on after `pause`."""
        self._process.resume()

    def stop(self) -> None:
        """End for good: at once, since OPA waits for its long polls before a graceful end, and keeps nothing."""
        self._process.kill()

    def clear(self) -> None:
        """Remove policy and data that were put over HTTP."""
        with httpx.Client(base_url=self.url) as client:
            for policy in client.get("/v1/policies").raise_for_status().json()["result"]:
                client.delete(f"/v1/policies/{policy['id']}").raise_for_status()
            client.put("/v1/data", json={}).raise_for_status()

    def _healthy(self) -> bool:
        try:
            question = "/health?bundles" if self._bundles else "/health"
            return httpx.get(self.url + question, timeout=2).status_code == httpx.codes.OK
        except httpx.TransportError:
            return False
