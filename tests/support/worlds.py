"""Small worlds for tests: a head that declares enough to write edges against, and how faults are read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from remit_graph.world import WorldRefused, load_world

if TYPE_CHECKING:
    from remit_graph.model.condition import Scales
    from remit_graph.world import Problem, World

WORLDS: Final = Path(__file__).resolve().parents[2] / "fixtures" / "worlds"
SCALES: Final[Scales] = {"risk": ("LOW", "MEDIUM", "HIGH", "CRITICAL"), "severity": ("SEV4", "SEV3", "SEV2", "SEV1")}

HEAD: Final = """\
realm: acme
root: ["organization:acme"]
resource_types:
  site: {key: "site:{id}", concurrency: WRITE_EXCLUSIVE}
  post:
    key: "post:{id}"
    concurrency: WRITE_OPTIMISTIC
    fields:
      body: {domain: CONTENT_BODY, merge: exclusive, managed: true}
      canonical: {domain: CANONICAL, merge: exclusive, managed: true}
actions:
  READ: {class: read}
  UPDATE_BODY: {class: write, fields: [body]}
  UPDATE_CANONICAL: {class: write, fields: [canonical]}
principals:
  - {id: "organization:acme"}
  - {id: "team:seo"}
  - {id: "controller:seo"}
  - {id: "controller:content"}
  - {id: "role:agent"}
  - {id: "role:editor"}
  - {id: "instance:a", acts_as: ["role:agent"]}
  - {id: "instance:b", member_of: ["team:seo"]}
  - {id: "instance:c"}
  - {id: "human:editor"}
resources:
  - {key: "site:a"}
  - {key: "post:1", part_of: ["site:a"]}
"""
"""Declares no edges of authority; ends with the section `resources`."""

HEAD_LINES: Final = HEAD.count("\n")


def world(tail: str = "", *, scales: Scales | None = SCALES) -> World:
    """Load `HEAD` with more sections."""
    return load_world(HEAD + tail, scales=scales)


def problems_of(text: str, *, scales: Scales | None = SCALES) -> tuple[Problem, ...]:
    """Return the faults of a whole file, which must have some."""
    with pytest.raises(WorldRefused) as refused:
        load_world(text, file="w.yaml", scales=scales)
    return refused.value.problems


def faults(tail: str, *, scales: Scales | None = SCALES) -> list[tuple[int, str]]:
    """Return the faults of `HEAD` with more sections as (line of the tail, code), lines counted from 1."""
    return [(each.line - HEAD_LINES, each.code) for each in problems_of(HEAD + tail, scales=scales)]


def messages(tail: str, *, scales: Scales | None = SCALES) -> list[str]:
    """Return the messages of the faults of `HEAD` with more sections."""
    return [each.message for each in problems_of(HEAD + tail, scales=scales)]
