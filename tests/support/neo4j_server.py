"""A real Neo4j for the tests: with authentication, on a free port, in a folder that is thrown away.

Where a Docker engine answers it runs in a container (`InContainer`), otherwise from the jars of Maven Central on the
local Java (`FromJars`). Both promise the same, and the contract test `test_services.py` holds them to it: ready means
that a query was answered, `kill` loses nothing that was committed, `restart` comes back on the same URL.
"""

from __future__ import annotations

import secrets
import subprocess
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final, LiteralString

from neo4j import GraphDatabase
from neo4j.exceptions import DriverError, Neo4jError
from typing_extensions import override

from tests.support.process import NotReadyError, Process, answers, free_port, wait_until
from tests.support.programs import java, neo4j_jars, neo4j_version

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from neo4j import Driver

# Without these the page cache runs in a slower mode, and the server says so.
OPENED_TO_NEO4J: Final = ("java.nio", "java.io", "sun.nio.ch", "java.lang")
# Unlike settings of the heap in `neo4j.conf`, which have no effect in this form of start, these count.
MEMORY: Final = ("-Xms512m", "-Xmx512m", "-XX:+UseSerialGC")
HOME_IN_CONTAINER: Final = "/var/lib/neo4j"
START_SECONDS: Final = 180
SETTINGS: Final = {
    "server.http.enabled": "false",
    "server.https.enabled": "false",
    "server.memory.pagecache.size": "128m",
    "dbms.usage_report.enabled": "false",
    "db.lock.acquisition.timeout": "2s",
}
"""What both forms are started with."""

REMOVED: Final = 2_000
"""Nodes that are removed at once: all that a long test left do not fit into the memory of one transaction."""


class Neo4jServer(ABC):
    """A running Neo4j, its address and its credentials."""

    user: Final = "neo4j"
    scheme: str = "bolt"
    """How drivers connect: `bolt+ssc` to a server with a certificate of its own."""

    def __init__(self) -> None:
        # Hexadecimal: a password that began with a dash would be taken for an option of the tool that sets it.
        self.password: Final = secrets.token_hex(12)
        self.port: Final = free_port()
        self._driver: Driver | None = None

    @property
    def url(self) -> str:
        """Where drivers connect."""
        return f"neo4j://127.0.0.1:{self.port}"

    @property
    def _direct(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def auth(self) -> tuple[str, str]:
        """User and password, as drivers take them."""
        return self.user, self.password

    @abstractmethod
    def start(self) -> None:
        """Start, and return when a query was answered."""

    @abstractmethod
    def kill(self) -> None:
        """End without warning, as a crash would."""

    @abstractmethod
    def pause(self) -> None:
        """Freeze: connections stay open, nothing is answered."""

    @abstractmethod
    def resume(self) -> None:
        """Go on after `pause`."""

    @abstractmethod
    def stop(self) -> None:
        """End for good and remove what was stored."""

    @abstractmethod
    def configure(self, settings: Mapping[str, str]) -> None:
        """Add to `neo4j.conf`, for the next start."""

    @property
    @abstractmethod
    def running(self) -> bool:
        """Whether the server runs, frozen or not."""

    def restart(self) -> None:
        """Start again on what is stored, after `kill` or from running."""
        self.kill()
        self.start()

    def revive(self) -> None:
        """Undo a `kill` or `pause`; nothing to do for a server that is well."""
        if self.running:
            self.resume()
        else:
            self.start()

    def query(self, text: LiteralString, **parameters: Any) -> list[dict[str, Any]]:
        """Run one query as its own transaction and return its rows."""
        if self._driver is None:
            self._driver = GraphDatabase.driver(self.url, auth=self.auth, notifications_min_severity="OFF")
        records, _, _ = self._driver.execute_query(text, parameters)
        return [record.data() for record in records]

    def system(self, text: LiteralString) -> None:
        """Run a command of administration, which the system database takes."""
        with GraphDatabase.driver(self.url, auth=self.auth) as driver:
            driver.execute_query(text, database_="system")

    def empty(self) -> None:
        """Remove all nodes and relationships, some at a time; the schema stays, and making it takes ten seconds."""
        query: LiteralString = "MATCH (node) WITH node LIMIT $some DETACH DELETE node RETURN count(*) AS gone"
        while self.query(query, some=REMOVED)[0]["gone"]:
            pass

    def clear(self) -> None:
        """Remove all constraints, indexes, relationships and nodes."""
        # The schema first, so that nothing is taken out of an index entry by entry.
        for row in self.query("SHOW CONSTRAINTS YIELD name"):
            self._drop("CONSTRAINT", row["name"])
        for row in self.query("SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP' RETURN name"):
            self._drop("INDEX", row["name"])
        self.empty()

    def _drop(self, kind: str, name: str) -> None:
        # Names of schema cannot be parameters of a DROP before Cypher 25, so they are quoted here.
        quoted = name.replace("`", "``")
        self.query(f"DROP {kind} `{quoted}` IF EXISTS")

    def _forget_connections(self) -> None:
        if self._driver is not None:
            self._driver.close()
            self._driver = None

    def _answers(self) -> bool:
        """Tell whether a query is answered, which begins a second or two after the port opens."""
        if not answers(self.port):
            return False
        try:
            with (
                GraphDatabase.driver(self._direct, auth=self.auth, connection_timeout=2) as driver,
                driver.session() as session,
            ):
                session.run("RETURN 1").consume()
        except (DriverError, Neo4jError):
            return False
        return True


class FromJars(Neo4jServer):
    """Neo4j on the Java of this machine."""

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None, scheme: str = "bolt") -> None:
        super().__init__()
        self.scheme = scheme
        self._home = folder
        self._java = [str(java()), "-cp", f"{neo4j_jars()}/*"]
        (folder / "conf").mkdir(parents=True)
        (folder / "conf" / "neo4j.conf").write_text(
            "\n".join(
                [
                    "server.default_listen_address=127.0.0.1",
                    f"server.bolt.listen_address=127.0.0.1:{self.port}",
                    f"server.bolt.advertised_address=127.0.0.1:{self.port}",
                ]
            )
        )
        self.configure({**SETTINGS, **(settings or {})})
        self._set_password()
        opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED_TO_NEO4J]
        entry = ["org.neo4j.server.CommunityEntryPoint", f"--home-dir={folder}", f"--config-dir={folder}/conf"]
        self._process = Process([*self._java, *MEMORY, *opened, *entry], folder)

    @override
    def start(self) -> None:
        self._process.start(self._answers, within_seconds=START_SECONDS)

    @override
    def kill(self) -> None:
        self._process.kill()
        self._forget_connections()

    @override
    def pause(self) -> None:
        self._process.pause()

    @override
    def resume(self) -> None:
        self._process.resume()

    @override
    def stop(self) -> None:
        # A graceful end takes ten seconds and would save a store that nobody needs.
        self.kill()

    @property
    @override
    def running(self) -> bool:
        return self._process.running

    @override
    def configure(self, settings: Mapping[str, str]) -> None:
        with (self._home / "conf" / "neo4j.conf").open("a") as file:
            file.writelines(f"\n{name}={value}" for name, value in settings.items())

    def _set_password(self) -> None:
        """Set the first password; it takes effect because the server has not been started yet."""
        environment = {"NEO4J_HOME": str(self._home), "NEO4J_CONF": str(self._home / "conf")}
        command = [*self._java, "org.neo4j.cli.AdminTool", "dbms", "set-initial-password", self.password]
        subprocess.run(command, env=environment, check=True, capture_output=True)


class InContainer(Neo4jServer):
    """Neo4j in a container, on a fixed port so that a restart keeps the URL."""

    def __init__(
        self, settings: Mapping[str, str] | None = None, scheme: str = "bolt", certificates: Path | None = None
    ) -> None:
        super().__init__()
        self.scheme = scheme
        from testcontainers.core.container import DockerContainer

        self._container = (
            DockerContainer(f"neo4j:{neo4j_version()}-community")
            .with_env("NEO4J_AUTH", f"{self.user}/{self.password}")
            .with_env("NEO4J_server_bolt_advertised__address", f"127.0.0.1:{self.port}")
            .with_env("NEO4J_server_memory_heap_max__size", "512m")
        )
        # `with_bind_ports` takes no address, and would open the port to other machines.
        ports: Any = self._container.ports
        ports["7687"] = ("127.0.0.1", self.port)
        for name, value in {**SETTINGS, **(settings or {})}.items():
            self._container.with_env(f"NEO4J_{name.replace('_', '__').replace('.', '_')}", value)
        if certificates is not None:
            # Copied, not mounted: the image gives all that is in its home to the user of the server as it starts.
            self._container.with_copy_into_container(certificates, HOME_IN_CONTAINER)
        self._created = False

    @override
    def start(self) -> None:
        end = self.kill if self._created else self.stop
        if self._created:
            self._container.get_wrapped_container().start()
        else:
            self._container.start()
            self._created = True
        try:
            wait_until(self._answers, within_seconds=START_SECONDS, gone=lambda: not self.running)
        except NotReadyError as error:
            last = self._container.get_wrapped_container().logs(tail=8).decode(errors="replace")
            end()
            message = f"`{self._container.image}` {error}: {' | '.join(last.splitlines())}"
            raise NotReadyError(message) from None

    @override
    def kill(self) -> None:
        if self.running:
            self._container.get_wrapped_container().kill()
        self._forget_connections()

    @override
    def pause(self) -> None:
        self._container.get_wrapped_container().pause()

    @override
    def resume(self) -> None:
        if self._status() == "paused":
            self._container.get_wrapped_container().unpause()

    @override
    def stop(self) -> None:
        self._forget_connections()
        self._container.stop()

    @property
    @override
    def running(self) -> bool:
        return self._status() in {"running", "paused"}

    @override
    def configure(self, settings: Mapping[str, str]) -> None:
        lines = "\n".join(f"{name}={value}" for name, value in settings.items())
        command = ["sh", "-c", 'printf "\n%s\n" "$1" >> "$2"', "sh", lines, f"{HOME_IN_CONTAINER}/conf/neo4j.conf"]
        code, said = self._container.get_wrapped_container().exec_run(command)
        assert code == 0, said

    def _status(self) -> str:
        container = self._container.get_wrapped_container()
        container.reload()
        return str(container.status)


def docker_answers() -> bool:
    """Tell whether a Docker engine can start containers here; the client alone cannot."""
    try:
        done = subprocess.run(["docker", "version"], capture_output=True, check=False, timeout=10)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def neo4j_in(folder: Path, settings: Mapping[str, str] | None = None, scheme: str = "bolt") -> Neo4jServer:
    """Return a started Neo4j that keeps its data in `folder`, or in a container.

    Args:
        folder: Its home; a `certificates` folder in it is the server's.
        settings: More of `neo4j.conf`.
        scheme: How it is reached.

    Raises:
        Missing: Neither a Docker engine nor Java with the jars is here.
    """
    certificates = folder / "certificates"
    server: Neo4jServer = (
        InContainer(settings, scheme, certificates if certificates.is_dir() else None)
        if docker_answers()
        else FromJars(folder, settings, scheme)
    )
    server.start()
    return server
