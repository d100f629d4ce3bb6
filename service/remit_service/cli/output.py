"""What a command prints: one document, as JSON for programs or as text for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

Document = Mapping[str, Any]


class Output:
    """Where results and errors go; results to standard output, all else to standard error."""

    def __init__(self, *, as_json: bool) -> None:
        """Choose the form once for the whole command."""
        self.as_json = as_json
        self.console = Console(highlight=False, soft_wrap=True)
        self.errors = Console(stderr=True, highlight=False, soft_wrap=True)

    def show(self, document: Document, text: Callable[[Console], None] | str | None = None) -> None:
        """Print a result."""
        if self.as_json:
            sys.stdout.write(json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
        elif callable(text):
            text(self.console)
        elif text is not None:
            self.console.print(text, markup=False)

    def raw(self, text: str) -> None:
        """Print a text as it is: a world, a drawing."""
        sys.stdout.write(text if text.endswith("\n") else text + "\n")

    def tell(self, message: str) -> None:
        """Say something about the work itself."""
        if not self.as_json:
            self.errors.print(message, markup=False)

    def fail(self, code: int, lines: Sequence[str]) -> None:
        """Print why a command ends without success."""
        if self.as_json:
            sys.stdout.write(json.dumps({"error": {"exit_code": code, "messages": list(lines)}}, indent=2) + "\n")
            return
        for index, line in enumerate(lines):
            prefix = "remit: " if index == 0 else "       "
            self.errors.print(f"{prefix}{line}", markup=False, style="red" if index == 0 else None)

    @contextmanager
    def progress(self, what: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """Show a bar while something long is done; yields what tells how far it is."""
        if self.as_json or not self.errors.is_terminal:
            yield lambda _done: None
            return
        columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self.errors, transient=True) as bar:
            task = bar.add_task(what, total=total)
            yield lambda done: bar.update(task, completed=done)


def table(title: str | None, columns: Iterable[str], rows: Iterable[Sequence[object]]) -> Table:
    """Return a table of plain cells."""
    made = Table(title=title, box=None, pad_edge=False, title_justify="left", header_style="bold")
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in rows:
        made.add_row(*("" if cell is None else str(cell) for cell in row))
    return made
