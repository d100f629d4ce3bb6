"""What a verb refuses by itself, before it asks anybody: a sentence and exit code 2, whichever verb it is."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from remit_service.cli.app import app
from remit_service.cli.exits import USAGE

REFUSED = {
    "adopt --impact": (["graph", "adopt", "--impact"], "--impact belongs to --dry-run"),
    "adopt --list EDIT": (["graph", "quarantine", "--list", "edit-1"], "--list shows what was set aside"),
    "grant --impact": (["grant", "MAY_READ", "role:a", "wp:post:1", "--id", "g", "--impact"], "belongs to --dry-run"),
    "grant --where": (
        ["grant", "MAY_READ", "role:a", "wp:post:1", "--id", "g", "--where", "here"],
        "`here` is no place",
    ),
    "revoke --impact": (["revoke", "g", "--impact"], "--impact belongs to --plan"),
    "as JSON": (["--json", "revoke", "g", "--impact"], "--impact belongs to --plan"),
    "decide SUBJECT": (["decide", "nobody", "READ", "wp:post:1"], "`nobody` is not a subject"),
}
"""Words of a call, and what the sentence holds."""


@pytest.mark.parametrize(("words", "sentence"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_is_a_sentence(words: list[str], sentence: str) -> None:
    """No traceback reaches a user, and a refusal of usage is not taken for a deny."""
    found = CliRunner().invoke(app, words)

    told = json.loads(found.stdout)["error"] if "--json" in words else found.stderr
    assert (found.exit_code, sentence in str(told)) == (USAGE, True)
    assert "Traceback" not in found.output


def test_with_debug_the_traceback_is_shown() -> None:
    """Whoever asks for it gets what was raised."""
    found = CliRunner().invoke(app, ["--debug", "graph", "adopt", "--impact"])

    assert "--impact belongs to --dry-run" in str(found.exception)
