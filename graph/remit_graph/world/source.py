"""Where something stands in a world file, and what is wrong with it.

A file is judged as a whole: every fault is kept with its line, and they are raised together, so that an engineer mends
them in one go and nothing of a faulty file is ever applied (model.md 8).
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from remit_graph.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_graph.laws.refusal import Refusal

MAX_PROBLEMS = 200
"""Faults that are kept; a file with more is hardly a world file at all, and the message would help nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One fault of a world file.

    Attributes:
        file: As the caller named it.
        line: Counted from 1; 0 where the file as a whole is meant.
        code: A reason code of decision.md 5.
        message: The rule that is broken, and by what.
        advice: What to write instead; may be empty where the message says it.
    """

    file: str
    line: int
    code: str
    message: str
    advice: str = ""

    def __str__(self) -> str:
        """`file:line: message [code]; advice`."""
        tail = f"; {self.advice}" if self.advice else ""
        return f"{self.file}:{self.line}: {self.message} [{self.code}]{tail}"


class WorldRefused(ModelError):
    """A world file breaks rules; `problems` holds all of them in the order of the file."""

    code = "malformed_request"

    def __init__(self, problems: tuple[Problem, ...], *, dropped: int = 0) -> None:
        """Say all problems, one a line."""
        lines = [str(each) for each in problems]
        if dropped:
            lines.append(f"and {dropped} more")
        code = problems[0].code if problems else self.code
        super().__init__("\n".join(lines), code=code, advice="mend every line above; nothing was applied")
        self.problems = problems


class Problems:
    """Collects the faults of one file."""

    def __init__(self, file: str) -> None:
        """Start without faults."""
        self.file = file
        self._found: list[Problem] = []
        self._dropped = 0

    @property
    def found(self) -> tuple[Problem, ...]:
        """What was kept, in the order it was found."""
        return tuple(self._found)

    def __len__(self) -> int:
        """How many were found, kept or not."""
        return len(self._found) + self._dropped

    def add(self, line: int, message: str, *, code: str = "malformed_request", advice: str = "") -> None:
        """Keep one fault."""
        if len(self._found) < MAX_PROBLEMS:
            self._found.append(Problem(file=self.file, line=line, code=code, message=message, advice=advice))
        else:
            self._dropped += 1

    def add_refusal(self, line: int, refusal: Refusal) -> None:
        """Keep what a law refuses."""
        self.add(line, refusal.message, code=refusal.code, advice=refusal.advice)

    @contextmanager
    def at(self, line: int) -> Iterator[None]:
        """Keep what the model refuses inside the block, as a fault of `line`."""
        try:
            yield
        except ModelError as error:
            self.add(line, error.message, code=error.code, advice=error.advice)

    def refuse(self) -> None:
        """Raise if there was any fault.

        Raises:
            WorldRefused: with all of them.
        """
        if self._found:
            ordered = sorted(self._found, key=lambda each: each.line)
            raise WorldRefused(tuple(ordered), dropped=self._dropped)
