"""rules.md 14: every verb has one route, every route one verb, and both lists of exceptions say why."""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
import typer
from typer.testing import CliRunner

from remit_service.cli.app import app
from remit_service.cli.routes import LOCAL, ROUTES, WITHOUT_VERB

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.http.serving import Served

SAMPLES = {
    "subject": "instance:a", "principal": "instance:a", "who": "instance:a", "holder": "role:r", "delegator": "role:r",
    "delegate": "instance:a", "actor": "human:h", "from_": "controller:a", "to": "controller:b", "of": "team:t",
    "resource": "wp:post:1", "key": "wp:post:1", "action": "READ", "edge": "MAY_READ", "token": "1", "version": "1",
    "result": "applied", "severity": "SEV1", "field": "body", "decision_id": "dec_1", "name": "gateway",
}  # fmt: skip
"""Words for parameters, by name; any other gets `x`."""

FILES = ("after", "before", "jwks", "terms", "world")
"""Parameters that name a file which is read."""

FORMS: dict[str, list[list[str]]] = {
    "epoch bump": [["--floor", "none"]],
    "graph quarantine": [[], ["--list"]],
    "graph show": [[], ["instance:a"], ["wp:post:1"], ["edge"]],
    "principal change": [["instance:a", "--trust", "2"]],
    "operation outcome": [["coord_1", "--context", "rows=12"]],
    "rehearse": [["instance:a", "instance:b", "READ", "wp:post:1"]],
    "revoke": [["edge"]],
}
"""Verbs whose arguments choose the route, or that need more than what is required."""


def verbs() -> dict[str, Any]:
    """Return every verb of the command line with its command."""
    found: dict[str, Any] = {}

    def walk(command: Any, words: tuple[str, ...]) -> None:
        if hasattr(command, "commands"):
            for name, each in command.commands.items():
                walk(each, (*words, name))
        else:
            found[" ".join(words)] = command

    walk(typer.main.get_command(app), ())
    return found


VERBS = verbs()


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a file that any parameter which reads one may name."""
    (tmp_path / "file.json").write_text("{}")
    return tmp_path


def arguments(verb: str, folder: Path) -> list[str]:
    """Return words for the parameters that a verb requires."""
    words: list[str] = []
    for each in VERBS[verb].params:
        if each.required:
            word = str(folder / "file.json") if each.name in FILES else SAMPLES.get(each.name, "x")
            words += [each.opts[0], word] if each.param_type_name == "option" else [word]
    return words


class Heard(BaseHTTPRequestHandler):
    """Notes what is asked, and has nothing."""

    calls: list[str]
    status = 404
    body = json.dumps({"code": "not_found", "detail": "nothing is here"}).encode()

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.calls.append(f"{self.command} {self.path.partition('?')[0]}")
        body = self.body
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 - names of the base class

    def log_message(self, *_: object) -> None:
        """Be silent."""


@pytest.fixture
def service() -> Iterator[tuple[str, list[str]]]:
    """A service that answers nothing: its address, and what it was asked."""
    with heard() as found:
        yield found


@contextmanager
def heard(**answer: Any) -> Iterator[tuple[str, list[str]]]:
    """Run a service that gives one answer, by default that nothing is there."""
    calls: list[str] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Here", (Heard,), {"calls": calls, **answer}))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", calls
    finally:
        server.shutdown()
        thread.join(timeout=30)
        server.server_close()


def called(template: str) -> re.Pattern[str]:
    """Return what matches a call of a route."""
    return re.compile("[^/]+".join(re.escape(part) for part in re.split(r"\{[^}]*\}", template)))


def test_every_verb_has_a_route_or_says_why_not() -> None:
    """The table and the command line name the same verbs, each once."""
    assert not ROUTES.keys() & LOCAL.keys()
    assert sorted(VERBS) == sorted([*ROUTES, *LOCAL])
    assert all(each.reason for each in LOCAL.values())


def test_every_route_has_a_verb_or_says_why_not(seo: Served) -> None:
    """The table and the OpenAPI document name the same routes."""
    paths = seo.client().get("/openapi.json").json()["paths"]
    served = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    asked = {route for routes in ROUTES.values() for route in routes}

    assert not asked & WITHOUT_VERB.keys()
    assert sorted(served) == sorted(asked | WITHOUT_VERB.keys())
    assert all(WITHOUT_VERB.values())


@pytest.mark.parametrize("verb", sorted(ROUTES))
def test_a_verb_asks_its_route(verb: str, service: tuple[str, list[str]], files: Path) -> None:
    """With `--url`, a verb asks each route the table names for it and no other; what it cannot find is exit 1."""
    url, calls = service
    for words in FORMS.get(verb) or [arguments(verb, files)]:
        result = CliRunner().invoke(app, ["--url", url, *verb.split(), *words])
        assert result.exit_code in ((1, 3) if verb == "store check" else (1,)), result.output

    assert calls
    for call in calls:
        assert any(called(route).fullmatch(call) for route in ROUTES[verb]), call
    for route in ROUTES[verb]:
        assert any(called(route).fullmatch(call) for call in calls), route


@pytest.mark.parametrize(("status", "code"), [(200, 3), (302, 1), (404, 1), (400, 2), (502, 3)])
@pytest.mark.parametrize("verb", ["decide", "operation begin", "revoke"])
def test_what_is_not_remit_does_nothing(verb: str, status: int, code: int, files: Path) -> None:
    """A page of somebody else, as a login proxy gives it, is never a permit and never a thing done."""
    words = FORMS.get(verb, [[]])[0] or arguments(verb, files)
    with heard(status=status, body=b"<html>sign in</html>") as (url, _):
        result = CliRunner().invoke(app, ["--url", url, *verb.split(), *words])

    assert result.exit_code == code
    assert "no JSON: is --url one of Remit?" in result.stderr.replace("\n", " ")


@pytest.mark.parametrize("verb", sorted(LOCAL))
def test_a_local_verb_refuses_a_service(verb: str, service: tuple[str, list[str]], files: Path) -> None:
    """`--url` is an error that says why, and nobody is asked."""
    url, calls = service
    result = CliRunner().invoke(app, ["--url", url, *verb.split(), *arguments(verb, files)])

    assert result.exit_code == 2
    assert f"`{verb}` asks no service: {LOCAL[verb].reason}" in result.stderr.replace("\n", " ")
    assert "leave --url out" in result.stderr
    assert calls == []


@pytest.mark.parametrize(
    ("options", "verb", "said"),
    [
        (["--url", "http://127.0.0.1:1", "--store", "sqlite:///x.db"], "graph check", "leave --store out"),
        (["--url", "http://127.0.0.1:1", "--policy-dir", "."], "decide", "leave --policy-dir out"),
        (["--store", "sqlite:///x.db"], "policy check", "`policy check` has no use for --store"),
        (["--store", "sqlite:///x.db"], "graph diff", "`graph diff` has no use for --store"),
        (["--policy-dir", "."], "capability verify", "`capability verify` has no use for --policy-dir"),
    ],
)
def test_no_option_is_passed_over(options: list[str], verb: str, said: str, files: Path) -> None:
    """An option of every command that a verb could not heed is refused, and nothing is made."""
    result = CliRunner().invoke(app, [*options, *verb.split(), *arguments(verb, files)])

    assert result.exit_code == 2
    assert said in result.stderr.replace("\n", " ")
    assert not (files / "x.db").exists()
