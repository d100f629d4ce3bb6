"""Real server processes: started in a folder of their own, waited for by a condition, ended by their own id.

Rules:
- a server listens on 127.0.0.1 only, on a port that was free a moment before;
- readiness is an answer of the server, never a pause;
- what a server prints goes to `output.log` in its folder, and its end is quoted when it does not start.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


class NotReadyError(Exception):
    """A server ended or stayed silent instead of answering."""


def free_port() -> int:
    """Return a TCP port of 127.0.0.1 that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def answers(port: int) -> bool:
    """Tell whether something accepts connections on `port`."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Process:
    """One program that runs until it is stopped, killed or ends by itself."""

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.log = folder / "output.log"
        self._command = list(command)
        self._environment = {**os.environ, **(environment or {})}
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The id of the running process."""
        if self._child is None:
            message = f"`{self._command[0]}` was not started"
            raise NotReadyError(message)
        return self._child.pid

    @property
    def running(self) -> bool:
        """Whether the process was started and has not ended."""
        return self._child is not None and self._child.poll() is None

    def start(self, ready: Callable[[], bool], *, within_seconds: float = 60) -> None:
        """Start the program and return once `ready` says yes.

        Raises:
            NotReadyError: The program ended, or `ready` said no for `within_seconds`.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                self._command,
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C at the terminal is for the test runner, which then stops its servers in order.
                start_new_session=True,
            )
        try:
            wait_until(ready, within_seconds=within_seconds, gone=lambda: not self.running)
        except NotReadyError as error:
            self.kill()
            message = f"`{self._command[0]}` {error}: {self._last_words()}"
            raise NotReadyError(message) from None

    def kill(self) -> None:
        """End the process at once, as a crash would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ask the process to end, and insist after ten seconds."""
        self._end(signal.SIGTERM)

    def pause(self) -> None:
        """Freeze the process: it holds its connections and answers nothing."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let a frozen process go on."""
        os.kill(self.pid, signal.SIGCONT)

    def _end(self, how: signal.Signals) -> None:
        if self._child is None or self._child.poll() is not None:
            return
        self._child.send_signal(how)
        self._child.send_signal(signal.SIGCONT)
        try:
            self._child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def _last_words(self) -> str:
        return " | ".join(self.log.read_text(errors="replace").splitlines()[-8:])


def wait_until(
    condition: Callable[[], bool],
    *,
    within_seconds: float = 10,
    gone: Callable[[], bool] = lambda: False,
) -> None:
    """Return as soon as `condition` holds.

    Raises:
        NotReadyError: `gone` said that it cannot hold any more, or the time is up.
    """
    deadline = time.monotonic() + within_seconds
    while not condition():
        if gone():
            message = "ended before it was ready"
            raise NotReadyError(message)
        if time.monotonic() > deadline:
            message = f"was not ready within {within_seconds} s"
            raise NotReadyError(message)
        time.sleep(0.02)
