"""`remit doctor` names every way in which a store cannot be used, with what to do; the service's start says the same.

Each fault is provoked on the real thing: a file, the Neo4j of this run, one with TLS that is read-only; where a server
cannot be had here, an old one or another product, by a tiny one that speaks as it would.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
import json
import socket
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from typer.testing import CliRunner

from remit_graph.errors import LedgerError
from remit_graph.head import Beginning
from remit_graph.model.change import SCHEMA
from remit_graph.sqlite.statements import LAYOUTS
from remit_graph.sqlite.store_file import LAYOUT
from remit_service.cli.app import app
from remit_service.cli.exits import told as lines_of
from remit_service.secret import Secret
from remit_service.settings import Settings
from remit_service.stores import make_store, open_store
from tests.contract.backups import CLOCK, place_of
from tests.contract.ledgers import REALM
from tests.support.bolt import BOLT_4_4, NO_VERSION, speaks_bolt
from tests.support.neo4j_server import neo4j_in
from tests.support.process import free_port
from tests.support.services import require_service

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.neo4j_server import Neo4jServer

GIVEN = "pass-w0rd"


def told(store: str, password: str | None = GIVEN) -> tuple[bool, str]:
    """Return what `remit doctor` finds of a store, after making sure that whoever opens it is told the same."""
    environment = {} if password is None else {"REMIT_STORE_PASSWORD": password}
    where = ["--json", "--store", store]
    looked = CliRunner().invoke(app, [*where, "doctor"], env=environment)
    findings = {each["what"]: each for each in json.loads(looked.stdout)["findings"]}
    found = findings["store"]
    assert (looked.exit_code == 0) == all(each["good"] for each in findings.values())
    assert password is None or password not in looked.stdout
    if not found["good"]:
        secret = None if password is None else Secret(password)
        with pytest.raises(LedgerError) as caught:
            asyncio.run(open_store(Settings(store=store, store_password=secret), CLOCK))
        assert "\n".join(lines_of(caught.value)[1]) == found["detail"]
    return found["good"], found["detail"]


def expects(store: str, *parts: str, password: str | None = GIVEN) -> None:
    """Expect a fault whose sentence and advice hold these parts."""
    good, detail = told(store, password)
    assert not good
    assert [each for each in parts if each not in detail] == [], detail
    assert "\n→ " in detail


def _folder(path: Path) -> None:
    path.mkdir()


def _another_programs(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE customer (id INTEGER)")


def _text(path: Path) -> None:
    path.write_text("not a database at all, however long this is " * 100)


def _nothing(path: Path) -> None:
    path.touch()


def _layout(number: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            for statement in LAYOUTS[0]:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")

    return make


SQLITE: list[tuple[str, Callable[[Path], None], list[str]]] = [
    ("a folder", _folder, ["is a folder", "name a file in it"]),
    ("another program's file", _another_programs, ["of another program", "name another file"]),
    ("no database", _text, ["is not a SQLite file", "remit store init"]),
    ("an empty file", _nothing, ["is empty", "remit store init"]),
    ("an older layout", _layout(1), [f"needs layout {LAYOUT}", "remit store migrate"]),
    ("a later layout", _layout(LAYOUT + 1), [f"knows layouts up to {LAYOUT}", "install the version"]),
]


@pytest.mark.parametrize(("make", "parts"), [each[1:] for each in SQLITE], ids=[each[0] for each in SQLITE])
def test_a_file_that_is_no_ledger_is_explained(make: Callable[[Path], None], parts: list[str], tmp_path: Path) -> None:
    """Whatever stands at the place of an embedded store."""
    make(tmp_path / "remit.db")

    expects(f"sqlite:///{tmp_path / 'remit.db'}", str(tmp_path / "remit.db"), *parts)


def test_a_store_that_is_not_ready_is_explained(tmp_path: Path) -> None:
    """Not made yet is no fault; unfinished, of a later schema and held by somebody are."""
    path = tmp_path / "remit.db"
    assert told(f"sqlite:///{path}") == (
        True, f"sqlite:///{path} is not made yet: `remit store init` or `remit serve --world FILE` makes it",
    )  # fmt: skip
    settings = Settings(store=f"sqlite:///{path}")
    asyncio.run(_made(settings))
    good, detail = told(settings.store)
    assert good
    assert "revision 0" in detail
    assert "holds no world yet" in detail

    _execute(path, "UPDATE head SET schema = schema + 1, needs = '9.9.9'")
    expects(settings.store, f"rows of schema {SCHEMA + 1}", "install Remit 9.9.9 or later")
    _execute(path, "UPDATE head SET schema = schema - 1, state = 'moved', note = 'neo4j://db'")
    expects(settings.store, "went on at `neo4j://db`", "use that one")
    _execute(path, "UPDATE head SET state = 'unfinished', note = 'a restore of acme.backup'")
    expects(settings.store, "is unfinished: a restore of acme.backup", "begin it again")


async def _made(settings: Settings, beginning: Beginning | None = None) -> None:
    await (await make_store(settings, CLOCK, realm=REALM, beginning=beginning)).aclose()


def _execute(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def test_a_server_that_cannot_be_reached_is_explained() -> None:
    """Nobody listens, nobody is known, nothing is answered, no password is given, the address is none."""
    expects(f"neo4j://127.0.0.1:{free_port()}", "refused the connection", "start Neo4j")
    expects("neo4j://neo4j.invalid:7687", "has a name that is not known", "name service")
    expects("neo4j://127.0.0.1:1", "there is no password", "REMIT_STORE_PASSWORD", password=None)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        expects(f"bolt://127.0.0.1:{silent.getsockname()[1]}", "does not answer", "has not hung")


OLD = {"version": "4.4.41", "edition": "enterprise"}
UNKNOWN = {"code": "Neo.ClientError.Procedure.ProcedureNotFound", "message": "There is no procedure of that name"}
ANOTHER = {"code": "Memgraph.ClientError.MemgraphError.MemgraphError", "message": "There is no procedure of that name"}


def _refusal(name: str) -> dict[str, str]:
    return {"code": f"Neo.ClientError.Security.{name}", "message": "No."}


@pytest.mark.parametrize(
    ("speaks", "parts"),
    [
        ({"row": OLD}, ["is Neo4j 4.4.41, and the ledger needs 5.26 or later", "upgrade Neo4j"]),
        ({"version": BOLT_4_4}, ["is older than the ledger needs", "upgrade Neo4j to 5.26"]),
        ({"version": NO_VERSION}, ["is older than the ledger needs", "upgrade Neo4j to 5.26"]),
        ({"failure": UNKNOWN}, ["answers like Neo4j and is none", "name a Neo4j server"]),
        ({"failure": ANOTHER}, ["answers like Neo4j and is none", "name a Neo4j server"]),
        ({"failure": _refusal("AuthenticationRateLimit")}, ["refused user and password too often", "wait"]),
        ({"failure": _refusal("CredentialsExpired")}, ["wants the initial password changed", "ALTER CURRENT USER"]),
        ({"failure": _refusal("Forbidden")}, ["does not let this user do that", "give the user a role"]),
    ],
    ids=[
        "an old version",
        "an old protocol",
        "a protocol without common version",
        "no procedures",
        "another product",
        "too many attempts",
        "an initial password",
        "no rights",
    ],
)
async def test_a_server_of_another_version_or_make_is_explained(speaks: dict[str, Any], parts: list[str]) -> None:
    """Old Neo4j and what only speaks its protocol."""
    async with speaks_bolt(**speaks) as port:
        await asyncio.to_thread(expects, f"bolt://127.0.0.1:{port}", *parts)


@pytest.mark.neo4j
@pytest.mark.timeout(400)
async def test_a_server_that_is_not_for_us_is_explained(request: pytest.FixtureRequest) -> None:
    """Another password, another database, nothing in it, something else in it, a constraint less, no TLS."""
    place = await place_of("neo4j", "store", request)
    server: Neo4jServer = request.getfixturevalue("neo4j_of_this_run")

    def says(*parts: str, store: str = place.store, password: str = server.password) -> None:
        expects(store, *parts, password=password)

    await asyncio.to_thread(says, "holds nothing", "remit store init")
    server.query("CREATE (:Customer)")
    await asyncio.to_thread(says, "holds something, but no ledger", "name another database")
    server.query("MATCH (node) DELETE node")
    beginning = Beginning(store_id="5", incarnation=2, schema=SCHEMA, needs="", note="a restore of acme.backup")
    await _made(place, beginning)
    await asyncio.to_thread(says, "is unfinished: a restore of acme.backup", "begin it again")
    server.query("MATCH (head:Head) SET head.state = 'ready'")
    assert (await asyncio.to_thread(told, place.store, server.password))[0]
    server.query("MATCH (head:Head) SET head.schema = head.schema + 1")
    await asyncio.to_thread(says, f"rows of schema {SCHEMA + 1}", "install the version of Remit")
    server.query("MATCH (head:Head) SET head.schema = head.schema - 1")
    server.query("DROP CONSTRAINT constraint_unique_Principal_id")
    await asyncio.to_thread(says, "lacks the uniqueness constraint on Principal(id)", "remit store migrate")
    await asyncio.to_thread(says, "refused user and password", "REMIT_STORE", password="wr0ng-one")
    await asyncio.to_thread(says, "has no database of that name", "Community", store=f"{place.store}/other")
    secure = place.store.replace("neo4j://", "bolt+ssc://")
    await asyncio.to_thread(says, "does not speak TLS as this address wants it", "without TLS write", store=secure)


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neo4jServer]:
    """A Neo4j that speaks TLS only, with a certificate of its own, and takes no writes."""
    folder = tmp_path_factory.mktemp("closed")
    certificates = folder / "certificates" / "bolt"
    certificates.mkdir(parents=True)
    key, certificate = self_signed()
    (certificates / "private.key").write_bytes(key)
    (certificates / "public.crt").write_bytes(certificate)
    settings = {
        "server.bolt.tls_level": "REQUIRED",
        "dbms.ssl.policy.bolt.enabled": "true",
        "dbms.ssl.policy.bolt.base_directory": "certificates/bolt",
        "dbms.ssl.policy.bolt.client_auth": "NONE",
    }
    server = require_service(lambda: neo4j_in(folder, settings, "bolt+ssc"))
    # A database is made at the first start, which it could not be if it took no writes from the first on.
    server.configure({"server.databases.default_to_read_only": "true"})
    server.restart()
    yield server
    server.stop()


def self_signed() -> tuple[bytes, bytes]:
    """Return a key and a certificate for this host that no authority has signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    hosts = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        .sign(key, hashes.SHA256())
    )
    form = serialization.PrivateFormat.PKCS8
    spelled = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    return spelled, certificate.public_bytes(serialization.Encoding.PEM)


@pytest.mark.neo4j
@pytest.mark.timeout(500)
@pytest.mark.parametrize(
    ("scheme", "parts"),
    [
        ("bolt", ["TLS", "bolt+s"]),
        ("neo4j", ["TLS", "neo4j+s"]),
        ("bolt+s", ["certificate", "+ssc"]),
        ("neo4j+s", ["certificate", "+ssc"]),
        ("bolt+ssc", ["takes no writes: its access is read-only", "server.databases.read_only"]),
    ],
)
def test_a_server_with_tls_that_takes_no_writes_is_explained(
    closed: Neo4jServer, scheme: str, parts: list[str]
) -> None:
    """An address without TLS, a certificate that nobody known has signed, and a member that only reads."""
    expects(f"{scheme}://127.0.0.1:{closed.port}", *parts, password=closed.password)


def test_the_service_starts_with_the_same_words(tmp_path: Path) -> None:
    """What keeps `remit serve` from starting is what the doctor says, and it ends with the code of a fault."""
    _another_programs(tmp_path / "remit.db")
    where = ["--json", "--store", f"sqlite:///{tmp_path / 'remit.db'}"]

    started = CliRunner().invoke(app, [*where, "serve", "--listen", "127.0.0.1:0"])

    assert started.exit_code == 3
    assert "\n".join(json.loads(started.stdout)["error"]["messages"]) == told(where[-1])[1]


def test_a_password_is_no_part_of_what_is_told() -> None:
    """Settings are shown with secrets masked."""
    assert "hunter2" not in str(Settings(store_password=Secret("hunter2")).describe())
