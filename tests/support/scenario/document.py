"""The form of a scenario file, read strictly: a misspelt key is an error and no silent pass.

```yaml
title: A delegation that ended is named
shows: [S22]
world: seo                     # a file of fixtures/worlds, or the text of a world
at: "2027-02-01T10:00:00Z"     # the manual clock starts here
policy: {custom/site/site.rego: "…"}       # files laid over the shipped bundle
steps:
  - ask: {as: service:gateway, subject: "instance:seo-agent-7", action: UPDATE_CANONICAL, resource: "wp:post:1024"}
    expect: {outcome: deny, reasons: [delegation_expired], says: ["`del_882@1` ended at …"]}
  - advance: 3600              # seconds
  - append: [{kind: edges.end, body: {…}}]     # straight into the ledger; no law of creation is asked
  - break: engine_unavailable  # see `faults`
  - mend: engine
```

`expect.reasons` is the whole list of codes, in order. `says` are whole messages that must be among the reasons'.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
SCENARIOS = ROOT / "fixtures" / "scenarios"
WORLDS = ROOT / "fixtures" / "worlds"

MEMBERS = {"title", "shows", "world", "at", "policy", "settings", "steps"}
STEPS = {"ask", "advance", "set_clock", "append", "break", "mend"}
EXPECTED = {"outcome", "reasons", "says", "determining", "obligations", "site", "not_after"}


@dataclass(frozen=True)
class Step:
    """One step: its verb, what it takes, and what is expected of it."""

    verb: str
    value: Any
    expect: dict[str, Any] | None
    number: int


@dataclass(frozen=True)
class Scenario:
    """One file."""

    name: str
    title: str
    shows: tuple[str, ...]
    world: str
    at: str
    steps: tuple[Step, ...]
    policy: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


def scenarios() -> list[Scenario]:
    """Return all scenarios, by name."""
    return [read(path) for path in sorted(SCENARIOS.rglob("*.yaml"))]


def read(path: Path) -> Scenario:
    """Read one file.

    Raises:
        ValueError: it holds what no scenario has.
    """
    document = yaml.safe_load(path.read_text())
    _refuse_unknown(path, document, MEMBERS)
    world = document["world"]
    return Scenario(
        name=str(path.relative_to(SCENARIOS).with_suffix("")),
        title=document["title"],
        shows=tuple(document.get("shows", ())),
        world=world if "\n" in world else (WORLDS / f"{world}.yaml").read_text(),
        at=document["at"],
        steps=tuple(_step(path, number, each) for number, each in enumerate(document["steps"], 1)),
        policy=document.get("policy", {}),
        settings=document.get("settings", {}),
    )


def _step(path: Path, number: int, document: dict[str, Any]) -> Step:
    _refuse_unknown(path, document, STEPS | {"expect"})
    verbs = sorted(document.keys() & STEPS)
    if len(verbs) != 1:
        raise ValueError(f"{path.name}: step {number} has the verbs {verbs}, and needs one")
    expect = document.get("expect")
    if (verbs[0] == "ask") != (expect is not None):
        raise ValueError(f"{path.name}: step {number}: an `ask` expects something, and nothing else does")
    _refuse_unknown(path, expect or {}, EXPECTED)
    return Step(verbs[0], document[verbs[0]], expect, number)


def _refuse_unknown(path: Path, document: dict[str, Any], known: set[str]) -> None:
    if unknown := document.keys() - known:
        raise ValueError(f"{path.name}: {sorted(unknown)} is none of {sorted(known)}")
