"""A page that is really there: a file with a version and a text, a guard before it, and the callbacks that write it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from remit_enforce import GoalMet, Plan, Seen, SqliteGuard, StalePlan, Turn, Verified

if TYPE_CHECKING:
    from pathlib import Path


class Page:
    """One page of the content platform.

    Attributes:
        key: Its resource key.
        calls: The callbacks that were called, in their order.
    """

    def __init__(self, folder: Path, key: str) -> None:
        """Begin at `rev_1` with the canonical `/old`."""
        self.key = key
        self.guard = SqliteGuard(folder / "guard.db")
        self.calls: list[str] = []
        self._file = folder / "page.json"
        self.put("rev_1", "/old")

    @property
    def state(self) -> tuple[str, str]:
        """Return version and canonical."""
        found = json.loads(self._file.read_text())
        return found["version"], found["canonical"]

    def put(self, version: str, canonical: str) -> None:
        """Write past everything, as a plugin would."""
        self._file.write_text(json.dumps({"version": version, "canonical": canonical}))

    async def read(self, _: Turn) -> Seen | GoalMet:
        """Read it."""
        self.calls.append("read")
        version, canonical = self.state
        return GoalMet(version=version) if canonical == "/new" else Seen(version=version, value=canonical)

    async def execute(self, turn: Turn) -> dict[str, Any]:
        """Write `/new` behind the guard, if the version is still the one that was read."""
        self.calls.append("execute")
        with self.guard.admit(self.key, turn.fencing_tokens):
            version = self.state[0]
            if version != turn.expected_version:
                raise StalePlan.moved(turn.expected_version, version)
            self.put(f"rev_{int(version.removeprefix('rev_')) + 1}", "/new")
        return {"status": 200}

    async def verify(self, _: Turn) -> Verified:
        """Look again."""
        self.calls.append("verify")
        version, canonical = self.state
        return Verified(passed=canonical == "/new", final_version=version, checks=[{"check": "canonical"}])

    def plan(self, **more: Any) -> Plan:
        """Return the plan of an SEO agent on it."""
        plan: dict[str, Any] = {
            "subject": "instance:seo-agent-7", "action": "UPDATE_CANONICAL", "resource": self.key,
            "context": {"risk": "LOW"}, "expected_version": "rev_1",
            "read": self.read, "execute": self.execute, "verify": self.verify,
        }  # fmt: skip
        return Plan(**{**plan, **more})
