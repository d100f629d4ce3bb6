"""Errors of a bundle: why a policy is not taken, with every problem that was found.

```
BundleError
├── BundleRefused    the policy or the archive breaks a rule; `problems` lists all that was found
└── BundleNotFound   no bundle of this revision is archived here
```

A refusal changes nothing: the bundle in force stays in force (F052).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing wrong with a policy, where it is, and what it is."""

    path: str
    line: int
    """Counted from 1; 0 for the file as a whole."""
    message: str

    def __str__(self) -> str:
        """Render as compilers do, so that editors find the place."""
        return f"{self.path}:{self.line}: {self.message}" if self.line else f"{self.path}: {self.message}"


class BundleError(Exception):
    """The root of this package's errors; never raised itself."""

    code: ClassVar[str] = "bundle_refused"
    advice: ClassVar[str] = "run `remit policy check`"


class BundleRefused(BundleError):
    """The policy is not taken."""

    def __init__(self, *problems: Problem) -> None:
        """Keep all `problems`; the message is the first, and how many more there are."""
        more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
        super().__init__(f"{problems[0]}{more}")
        self.problems = problems


class BundleNotFound(BundleError):
    """No bundle of this revision is archived here."""

    code = "bundle_refused"
    advice = "activate the bundle again, or copy it from the archive of the machine that decided with it"
