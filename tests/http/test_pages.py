"""The page, the problem pages and the operating routes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families

from remit_graph.errors import LedgerUnavailable
from remit_service.http.problem_pages import RESOLVERS
from remit_service.http.problems import HTTP_ROWS
from tests.http.questions import DENIED, EVALUATION, EVALUATIONS, PERMITTED

if TYPE_CHECKING:
    from tests.http.serving import Served


@pytest.mark.parametrize("path", ["/", "/console.js", "/console.css", "/problems/not_owner"])
def test_nothing_foreign_runs_on_a_page(seo: Served, path: str) -> None:
    """Every page and file allows scripts, styles and connections of this origin only, and no frame around it."""
    reply = seo.client().get(path, headers={"Accept": "text/html"})

    assert reply.status_code == 200
    assert reply.headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["x-frame-options"] == "DENY"


def test_the_page_holds_no_code_or_style_of_its_own(seo: Served) -> None:
    """No inline script, handler or style, which the policy would forbid; no text of others becomes HTML."""
    page, script = seo.client().get("/").text, seo.client().get("/console.js").text

    assert re.findall(r"<script(?![^>]*src=)|\son\w+=|\sstyle=", page) == []
    assert "innerHTML" not in script
    assert "localStorage" not in script


def test_every_control_of_the_page_has_a_name(seo: Served) -> None:
    """Each field has a label, each section a heading, and the page a language and a title."""
    page = seo.client().get("/").text

    fields = set(re.findall(r'<(?:input|textarea)[^>]* id="([^"]+)"', page))
    sections = re.findall(r'<section aria-labelledby="([^"]+)"', page)
    assert fields == set(re.findall(r'<label for="([^"]+)"', page))
    assert all(f'id="{each}"' in page for each in sections)
    assert '<html lang="en">' in page
    assert "<title>Remit</title>" in page


def test_every_code_has_a_page(seo: Served) -> None:
    """Each reason code, and each problem of HTTP, is explained to programs, with who can settle it."""
    codes = [*sorted(seo.point.policy.reasons.codes), *HTTP_ROWS]

    pages = [seo.client().get(f"/problems/{code}").json() for code in codes]

    assert [page["code"] for page in pages] == codes
    assert all(page["advice"] == RESOLVERS[page["resolver"]] and page["title"] for page in pages)


def test_a_code_is_explained_to_people(seo: Served) -> None:
    """A browser gets a page with the sentence of the code."""
    reply = seo.client().get("/problems/not_owner", headers={"Accept": "text/html,*/*"})

    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert "The authority does not come from the owner." in reply.text


@pytest.mark.parametrize("code", ["unheard_of", "<script>", "..%2f", "A", "x" * 65])
def test_an_unknown_code_has_no_page(seo: Served, code: str) -> None:
    """What is no code is refused, and not shown back as HTML."""
    reply = seo.client().get(f"/problems/{code}", headers={"Accept": "text/html"})

    assert reply.status_code in (400, 404)
    assert reply.headers["content-type"] == "application/problem+json"


def test_health(seo: Served) -> None:
    """Live says that the process answers, ready that it should be asked and where it stands."""
    client = seo.client()

    assert client.get("/health/live").json() == {"status": "live"}
    ready = client.get("/health/ready")
    assert (ready.status_code, ready.json()["ready"], ready.json()["problems"]) == (200, True, [])
    assert ready.json()["policy_revision"] == seo.point.policy_revision


def test_not_ready_is_told_with_the_reason(seo: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process whose view is too old says 503 and why, and goes on living."""
    monkeypatch.setattr(seo.point.replica, "staleness_seconds", lambda: 9.9)

    reply = seo.client().get("/health/ready")

    assert (reply.status_code, reply.json()["problems"]) == (503, ["the view was last confirmed 9.9 s ago"])
    assert seo.client().get("/health/live").status_code == 200


def test_why_the_ledger_cannot_be_followed_is_told(seo: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the view is stale; a failure that passes before makes nothing unready."""
    trouble = LedgerUnavailable("the ledger does not answer", advice="it is tried again by itself")
    monkeypatch.setattr(seo.point.replica, "trouble", trouble)
    assert seo.client().get("/health/ready").json()["problems"] == []

    monkeypatch.setattr(seo.point.replica, "staleness_seconds", lambda: 9.9)

    problems = seo.client().get("/health/ready").json()["problems"]
    assert problems[1:] == ["the ledger cannot be followed: the ledger does not answer; it is tried again by itself"]


def test_metrics_count_without_naming_anybody(seo: Served) -> None:
    """Decisions, batches, problems, stages and states are there; no id of a subject or resource is a label."""
    client = seo.client("gateway")
    client.post(EVALUATION, json=PERMITTED)
    client.post(EVALUATIONS, json={**DENIED, "evaluations": [{}, {}]})
    client.post(EVALUATION, json={})

    text = client.get("/metrics").text

    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert {
        "remit_decisions", "remit_decision_duration_seconds", "remit_batch_size", "remit_errors",
        "remit_graph_revision", "remit_graph_epoch", "remit_graph_staleness_seconds", "remit_policy_bundle_info",
        "remit_decision_log_dropped", "http_server_request_duration_seconds",
    } <= set(families)  # fmt: skip
    denied = [
        sample.value
        for sample in families["remit_decisions"].samples
        if sample.name.endswith("_total")
        and sample.labels["reason"] == "scope_not_covered"
        and sample.labels["semantic"] == "execute_all"
    ]
    assert denied
    assert denied[0] >= 2
    assert families["remit_graph_revision"].samples[0].value == seo.point.view.revision
    assert "seo-agent-7" not in text
    assert "1024" not in re.sub(r'le="[^"]*"|\d+\.\d+', "", text)
