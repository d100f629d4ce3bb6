"""The form of a scenario file, read strictly: a misspelt key is an error and no silent pass.

`fixtures/scenarios/README.md` shows the form to those who write scenarios.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[3]
SCENARIOS: Final = ROOT / "fixtures" / "scenarios"
WORLDS: Final = ROOT / "fixtures" / "worlds"

MEMBERS: Final = frozenset({"title", "shows", "world", "at", "policy", "settings", "steps"})

ANSWER: Final = frozenset(
    {"outcome", "reasons", "says", "problem", "determining", "obligations", "site", "not_after", "epochs"}
)
EXPLANATION: Final = ANSWER | {"near", "chains", "changes", "fence", "ignored"}
COMMAND: Final = frozenset({"done", "refused", "says"})

VERBS: Final[dict[str, frozenset[str]]] = {
    "ask": ANSWER,
    "explain": EXPLANATION,
    "crowd": ANSWER,
    "command": COMMAND,
    "hold": COMMAND,
    "check": frozenset({"problems"}),
    "advance": frozenset(),
    "set_clock": frozenset(),
    "append": frozenset(),
    "edges": frozenset(),
    "end": frozenset(),
    "give_back": frozenset(),
    "break": frozenset(),
    "mend": frozenset(),
}
"""Each verb with what may be expected of it; a verb that expects nothing takes no `expect`."""


@dataclass(frozen=True)
class Step:
    """One step: its verb, what it takes, and what is expected of it."""

    verb: str
    value: Any
    expect: dict[str, Any]
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


@lru_cache(maxsize=1)
def scenarios() -> tuple[Scenario, ...]:
    """Return all scenarios, by name."""
    return tuple(read(path) for path in sorted(SCENARIOS.rglob("*.yaml")))


def read(path: Path) -> Scenario:
    """Read one file.

    Raises:
        ValueError: it holds what no scenario has, or lacks what each has.
    """
    name = str(path.relative_to(SCENARIOS).with_suffix("")) if path.is_relative_to(SCENARIOS) else path.stem
    document = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
    _refuse_unknown(name, document, MEMBERS)
    if missing := {"title", "world", "at", "steps"} - document.keys():
        raise ValueError(f"{name}: {sorted(missing)} is missing")
    return Scenario(
        name=name,
        title=document["title"],
        shows=tuple(document.get("shows", ())),
        world=_world(document["world"]),
        at=document["at"],
        steps=tuple(_step(name, number, each) for number, each in enumerate(document["steps"], 1)),
        policy=document.get("policy", {}),
        settings=document.get("settings", {}),
    )


def _world(world: str) -> str:
    """Return the text of a world that is named or written out."""
    if "\n" in world:
        return world
    own = SCENARIOS / f"{world}.world"
    return (own if own.exists() else WORLDS / f"{world}.yaml").read_text()


def _step(name: str, number: int, document: dict[str, Any]) -> Step:
    verbs = sorted(document.keys() & VERBS.keys())
    if len(verbs) != 1:
        raise ValueError(f"{name}: step {number} has the verbs {verbs}, and needs one of {sorted(VERBS)}")
    verb = verbs[0]
    _refuse_unknown(f"{name}: step {number}", document, frozenset({verb, "expect"}))
    expect = document.get("expect")
    if (expect is not None) != bool(VERBS[verb]):
        raise ValueError(f"{name}: step {number}: `{verb}` expects {sorted(VERBS[verb]) or 'nothing'}")
    _refuse_unknown(f"{name}: step {number}", expect or {}, VERBS[verb])
    return Step(verb, document[verb], expect or {}, number)


def _refuse_unknown(where: str, document: dict[str, Any], known: frozenset[str]) -> None:
    if unknown := document.keys() - known:
        raise ValueError(f"{where}: {sorted(unknown)} is none of {sorted(known)}")
