"""Explanations drawn: over HTTP and by the command line, for whoever may see the graph and for whoever may not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from remit_service.cli.app import app
from tests.http.questions import DENIED, PERMITTED

if TYPE_CHECKING:
    from tests.http.serving import Served

WORLD = str(Path("fixtures/worlds/seo.yaml").resolve())
PERMIT = ("instance:seo-agent-7", "UPDATE_CANONICAL", "wp:post:1024", "-c", "expected_version=rev_331")
DENY = ("instance:seo-agent-7", "UPDATE_POST_BODY", "wp:post:1024", "-c", "expected_version=rev_331")
MARKS = {"mermaid": "flowchart LR", "svg": "<svg xmlns="}
MEDIA = {"mermaid": "text/vnd.mermaid", "svg": "image/svg+xml"}


def texts(svg: str) -> str:
    """Return what an SVG shows, parsed as XML."""
    return "".join(each.text or "" for each in ET.fromstring(svg).iter() if each.tag.endswith("text"))  # noqa: S314 - of our own service


@pytest.mark.parametrize("form", MARKS)
def test_an_explanation_is_drawn(seo: Served, form: str) -> None:
    """The proof stands in the picture with the edges it rests on, and the picture can do nothing but be looked at."""
    reply = seo.client("gateway").post("/v1/explain", params={"format": form}, json=PERMITTED)

    assert reply.status_code == 200
    assert reply.headers["Content-Type"].startswith(MEDIA[form])
    assert reply.headers["Content-Security-Policy"] == "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    assert MARKS[form] in reply.text
    shown = texts(reply.text) if form == "svg" else reply.text
    assert "del_882@1" in shown
    assert "controller:seo-control-plane" in shown


def test_the_document_is_what_is_asked_for_without_a_format(seo: Served) -> None:
    """`format=json` is the answer itself; another name is refused with the ones there are."""
    client = seo.client("gateway")

    plain = client.post("/v1/explain", json=PERMITTED).json()
    named = client.post("/v1/explain", params={"format": "json"}, json=PERMITTED).json()
    other = client.post("/v1/explain", params={"format": "png"}, json=PERMITTED)

    assert named["context"]["explanation"]["chains"] == plain["context"]["explanation"]["chains"]
    assert (other.status_code, other.json()["code"]) == (400, "malformed_request")
    assert "'json', 'mermaid' or 'svg'" in other.json()["detail"]


@pytest.mark.parametrize("name", ["edge", "strict"])
@pytest.mark.parametrize("form", MARKS)
def test_a_drawing_shows_no_more_than_the_answer(seo: Served, name: str, form: str) -> None:
    """Whoever may not see the graph gets the question and the verdict: no edge, no holder, no owner."""
    for question in (PERMITTED, DENIED):
        reply = seo.client(name).post("/v1/explain", params={"format": form}, json=question)

        assert reply.status_code == 200
        assert "seo-agent-7" in reply.text
        for hidden in ("del_882", "own-", "control-plane", "role:", "near miss"):
            assert hidden not in reply.text


@pytest.mark.parametrize("form", MARKS)
def test_paths_are_drawn_for_whoever_may_read_the_graph(seo: Served, form: str) -> None:
    """The chains of `remit graph path` as a picture; others are refused as they are without a format."""
    asked = {"subject": "instance:seo-agent-7", "action": "UPDATE_CANONICAL", "resource": "wp:post:1024"}

    drawn = seo.client("gateway").get("/v1/graph/paths", params={**asked, "format": form})
    refused = seo.client("edge").get("/v1/graph/paths", params={**asked, "format": form})

    assert drawn.headers["Content-Type"].startswith(MEDIA[form])
    assert "del_882@1" in drawn.text
    assert refused.status_code == 403


def test_the_command_line_draws_what_it_explains(tmp_path: Path) -> None:
    """`explain`, `why-not` and `graph path` take the same formats, and keep their exit codes."""
    at = ("--store", f"sqlite:///{tmp_path / 'remit.db'}")
    assert CliRunner().invoke(app, [*at, "store", "init", "--world", WORLD]).exit_code == 0
    for words, code in ((("explain", *DENY), 0), (("why-not", *DENY), 1), (("graph", "path", *PERMIT), 0)):
        flow = CliRunner().invoke(app, [*at, *words, "--format", "mermaid"])
        picture = CliRunner().invoke(app, [*at, *words, "--format", "svg"])

        assert (flow.exit_code, picture.exit_code) == (code, code), flow.output
        assert flow.stdout.startswith("%% instance:seo-agent-7")
        assert "instance:seo-agent-7" in texts(picture.stdout)

    both = CliRunner().invoke(app, [*at, "--json", "explain", *PERMIT, "--format", "svg"])
    assert both.exit_code != 0
    assert "two forms" in both.stdout


def test_the_command_line_draws_what_a_service_tells_it(seo: Served) -> None:
    """Over `--url` the picture is of the redacted answer."""
    shown = {"REMIT_KEY": seo.keys["edge"]}

    drawn = CliRunner().invoke(app, ["--url", seo.url, "explain", *PERMIT, "--format", "svg"], env=shown)

    assert drawn.exit_code == 0, drawn.output
    assert "no chain is shown" in texts(drawn.stdout)
    assert "del_882" not in drawn.stdout
