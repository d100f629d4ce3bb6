"""Real nginx, Caddy and HAProxy for the tests, each started with the text of a whole configuration file.

The test writes the configuration, since it is what the test is about; only what keeps a server in its folder and in the
foreground is added here. Ports come from `free_port`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.support.process import Process, answers
from tests.support.programs import program

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS: Final = {
    "nginx": ("-p", "{folder}", "-c", "{file}", "-e", "stderr", "-g", "daemon off; pid {folder}/nginx.pid;"),
    "caddy": ("run", "--config", "{file}", "--adapter", "caddyfile"),
    "haproxy": ("-db", "-f", "{file}"),
}


def gateway(name: str, configuration: str, *, port: int, folder: Path) -> Process:
    """Return the gateway `name`, running with `configuration` and accepting connections on `port`.

    Raises:
        Missing: The program is not installed.
        NotReadyError: It refused the configuration; the message quotes it.
    """
    command = program(name)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "gateway.conf"
    file.write_text(configuration)
    options = [option.format(folder=folder, file=file) for option in COMMANDS[name]]
    # Caddy keeps state under HOME unless it is told otherwise.
    home = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    process = Process([str(command), *options], folder, home)
    process.start(lambda: answers(port), within_seconds=60)
    return process
