"""An explanation drawn: what is in the picture, and that no name can be anything but a name."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit_service.drawing.chains import figure_of, paths_figure
from remit_service.drawing.figure import Arrow, Box, Figure, Lane
from remit_service.drawing.formats import Format, drawn
from remit_service.drawing.svg import wrapped

SVG = "{http://www.w3.org/2000/svg}"
QUESTION = {
    "subject": {"type": "instance", "id": "seo-agent-7"},
    "action": {"name": "UPDATE_CANONICAL"},
    "resource": {"type": "key", "id": "wp:post:1024"},
}
HOPS = [
    {"edge": "own-seo@1", "type": "OWNS", "from": "controller:seo", "to": "wp:post:*"},
    {
        "edge": "del_882@3", "type": "DELEGATES", "from": "controller:seo", "to": "role:seo-agent",
        "valid_until": "2027-06-01T00:00:00Z",
    },
    {"edge": "acts-7@1", "type": "ACTS_AS", "from": "instance:seo-agent-7", "to": "role:seo-agent"},
]  # fmt: skip
CHAIN = {"root": "controller:seo", "subject": "instance:seo-agent-7", "hops": HOPS}


def answer(*, decision: bool, **explanation: Any) -> dict[str, Any]:
    """Return an AuthZEN answer with an explanation."""
    reasons = [] if decision else [{"code": "delegation_expired", "message": "`del_882@3` ended"}]
    context = {"outcome": "execute" if decision else "deny", "reasons": reasons, "explanation": explanation}
    return {"decision": decision, "context": context}


def texts(document: str) -> list[str]:
    """Return every text an SVG shows, parsed as XML."""
    return [each.text or "" for each in ET.fromstring(document).iter(f"{SVG}text")]  # noqa: S314 - made here


# What may stand in a label: plain text, codes, and the breaks between lines.
LABEL = r'"(?:[\w .,:@+=-]|\#\d+;|<br/>)*"'
LINE = re.compile(
    rf"""%%[^\n]*|flowchart\ LR
      |\s+subgraph\ c\d+\[{LABEL}\]|\s+direction\ LR|\s+end
      |\s+c\d+n\d+\[{LABEL}\]:::(?:target|root|principal|subject)
      |\s+c\d+n\d+\ -->\|{LABEL}\|\ c\d+n\d+
      |\s+note\d+>{LABEL}\]|\s+classDef\ [\w:,\#\ -]+|\s+linkStyle\ [\d,]+\ [\w:,\#\ -]+""",
    re.ASCII | re.VERBOSE,
)


def lines_of(document: str) -> list[str]:
    """Return the lines of a flowchart, each of which is one statement of the part of the grammar used here."""
    lines = document.splitlines()
    assert [each for each in lines if LINE.fullmatch(each) is None] == []
    return lines


def test_a_proof_is_a_lane_from_the_target_to_the_subject() -> None:
    """The grant points to what it covers, delegations down the chain, a membership up to what it acts as."""
    figure = figure_of(QUESTION, answer(decision=True, chains=[CHAIN]))

    (lane,) = figure.lanes
    assert figure.title == "instance:seo-agent-7 UPDATE_CANONICAL wp:post:1024: permit, execute"
    assert [each.name for each in lane.boxes] == [
        "wp:post:*", "controller:seo", "role:seo-agent", "instance:seo-agent-7",
    ]  # fmt: skip
    assert [each.role for each in lane.boxes] == ["target", "root", "principal", "subject"]
    assert [each.back for each in lane.arrows] == [True, False, True]
    assert lane.arrows[1].lines == ("del_882@3", "DELEGATES", "until 2027-06-01T00:00:00Z")
    lines = lines_of(drawn(figure, Format.MERMAID))
    assert '    c1n1 -->|"own-seo@1<br/>OWNS"| c1n0' in lines
    assert '    c1n1 -->|"del_882@3<br/>DELEGATES<br/>until 2027-06-01T00:00:00Z"| c1n2' in lines


def test_a_near_miss_shows_where_it_fails_and_what_would_change_it() -> None:
    """The failing hop is marked in both formats, and the remedy stands below."""
    miss = {**CHAIN, "reason": "delegation_expired", "failed": "del_882@3"}
    change = {"code": "delegation_expired", "resolver": "delegator", "change": "amend `del_882@3` to end later"}
    figure = figure_of(QUESTION, answer(decision=False, near_misses=[miss], would_change=[change]))

    shown = drawn(figure, Format.SVG)
    failed = ET.fromstring(shown).findall(f".//{SVG}path[@class='f']")  # noqa: S314 - made here
    assert len(failed) == 1
    assert "near miss: delegation_expired at del_882@3" in texts(shown)
    assert "to change it (delegator): amend `del_882@3` to end later" in texts(shown)
    assert "  linkStyle 1 stroke:#b3261e,color:#b3261e,stroke-dasharray:6 4" in lines_of(drawn(figure, Format.MERMAID))


def test_whoever_may_not_see_the_graph_sees_the_question() -> None:
    """A redacted answer has no explanation: the drawing shows what was asked, the verdict and its codes."""
    redacted = {
        "decision": False,
        "context": {"outcome": "deny", "reasons": [{"code": "no_authority", "message": "m"}]},
    }

    (lane,) = figure_of(QUESTION, redacted).lanes
    bare = figure_of(QUESTION, {"decision": False})

    assert [each.name for each in lane.boxes] == ["instance:seo-agent-7", "wp:post:1024"]
    assert lane.arrows == (Arrow(("UPDATE_CANONICAL", "no_authority"), failed=True),)
    assert bare.title.endswith(": deny")


def test_no_path_is_a_picture_too() -> None:
    """Where nothing comes near there is one lane that says so."""
    figure = paths_figure("instance:a READ_POST wp:post:1", "deny", {"chains": [], "near_misses": []})

    assert figure.lanes[0].title == "no chain, and none that comes near"
    lines_of(drawn(figure, Format.MERMAID))


HOSTILE = [
    'instance:a"]-->b["x',
    "instance:<script>alert(1)</script>",
    "wp:post:</text></svg><script/>",
    "role:`**bold**`",
    "role:a|b|c",
    "team:#quot;",
    "team:&lt;b&gt;&amp;",
    "instance:end",
    "instance:%%{init:{}}%%",
    "instance:é中文",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_stays_a_name(name: str) -> None:
    """Nothing in a name ends a label, opens an element or begins a directive, and none of it is lost."""
    hops = [{**HOPS[0], "from": name, "to": name, "edge": f"{name}@1"}, {**HOPS[1], "to": name}]
    figure = figure_of(QUESTION, answer(decision=True, chains=[{"hops": hops}]))

    shown = drawn(figure, Format.SVG)
    lines = lines_of(drawn(figure, Format.MERMAID))

    assert name in "".join(texts(shown))
    assert {each.tag for each in ET.fromstring(shown).iter()} <= {  # noqa: S314 - made here
        f"{SVG}{each}" for each in ("svg", "title", "style", "defs", "marker", "path", "rect", "text")
    }
    plain = re.sub(r"#(\d+);", lambda found: chr(int(found[1])), "\n".join(lines))
    assert f'    c1n0["{name}"]:::target' in plain


@given(st.text(min_size=1))
def test_any_text_at_all_can_be_drawn(text: str) -> None:
    """Control characters and halves of characters too: the SVG is XML, the flowchart keeps its grammar."""
    lane = Lane(title=text, boxes=(Box(text), Box(text)), arrows=(Arrow((text, text)),))
    figure = Figure(title=text, lanes=(lane,), notes=(text,))

    ET.fromstring(drawn(figure, Format.SVG).encode())  # noqa: S314 - made here
    lines_of(drawn(figure, Format.MERMAID))


@given(st.text(alphabet=st.characters(categories=["L", "N", "P"]), max_size=80), st.integers(2, 30))
def test_a_long_name_is_cut_into_lines_and_never_shortened(text: str, columns: int) -> None:
    """Everything stands there, in order."""
    lines = wrapped(text, columns)

    assert "".join(lines) == text


def test_a_lane_has_an_arrow_between_each_two_boxes() -> None:
    """What cannot be drawn is refused when it is made."""
    with pytest.raises(ValueError, match="2 boxes are joined by 1 arrows"):
        Lane(title="", boxes=(Box("a"), Box("b")), arrows=())
