"""The `opa` program, where it is installed: strict checks and formatting of a policy.

Nothing here is needed to decide. Without the program, `check` still parses and compiles the policy with the engine in
process, and says that the strict check was not made.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from remit_service.bundle.capabilities import opa_capabilities
from remit_service.bundle.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TIMEOUT_SECONDS: Final = 60
"""The shipped policy takes under a second; this bounds a program that hangs."""


@dataclass(frozen=True, slots=True)
class OpaProgram:
    """One installed `opa`."""

    path: str

    @classmethod
    def find(cls) -> Self | None:
        """Return the program on the search path, or in Go's folder for programs."""
        path = shutil.which("opa") or shutil.which(Path.home() / "go" / "bin" / "opa")
        return cls(path) if path else None

    def problems(self, files: Mapping[str, bytes], schemas: Path | None = None) -> list[Problem]:
        """Run `opa check --strict` and `opa fmt --list` over `files`; `schemas` is a folder of input schemas."""
        with tempfile.TemporaryDirectory(prefix="remit-policy-") as name:
            folder = Path(name).resolve()
            policy = folder / "policy"
            for path, content in files.items():
                target = policy / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            capabilities = folder / "capabilities.json"
            capabilities.write_text(json.dumps(opa_capabilities(json.loads(self._run("capabilities", "--current")[1]))))
            return [*self._check(policy, capabilities, schemas), *self._format(policy)]

    def _check(self, policy: Path, capabilities: Path, schemas: Path | None) -> Iterator[Problem]:
        arguments = ["check", "--strict", "--format", "json", "--capabilities", str(capabilities)]
        if schemas is not None:
            arguments += ["--schema", str(schemas)]
        code, out, err = self._run(*arguments, str(policy))
        if code == 0:
            return
        try:
            errors = json.loads(out or err)["errors"]
        except (ValueError, KeyError):
            yield Problem("policy", 0, f"`opa check` failed: {(err or out).strip()}")
            return
        for error in errors:
            yield _problem(error, policy)

    def _format(self, policy: Path) -> Iterator[Problem]:
        _, out, _ = self._run("fmt", "--list", str(policy))
        for line in out.splitlines():
            yield Problem(_relative(line.strip(), policy), 0, "is not formatted: run `opa fmt --write`")

    def _run(self, *arguments: str) -> tuple[int, str, str]:
        done = subprocess.run(  # noqa: S603 - the program that was found, no shell
            [self.path, *arguments], capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
        )
        return done.returncode, done.stdout, done.stderr


def _problem(error: dict[str, Any], policy: Path) -> Problem:
    location = error.get("location") or {}
    return Problem(
        _relative(location.get("file", ""), policy), location.get("row", 0), f"{error['code']}: {error['message']}"
    )


def _relative(path: str, policy: Path) -> str:
    return Path(path).relative_to(policy).as_posix() if Path(path).is_relative_to(policy) else path or "policy"
