"""A secret of the configuration, which no log, no error and no `repr` shows by accident."""

from __future__ import annotations

import hmac
from typing import Final

from remit_graph.errors import ModelError

MASK: Final = "********"


class Secret:
    """A text that has to be asked for by name: `reveal`."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Keep `text`, without the line end that editors add.

        Raises:
            ModelError: nothing is left, or it holds a control character, which no header could carry.
        """
        self._text = text.rstrip("\r\n")
        if not self._text or not self._text.isprintable():
            raise ModelError("a secret is one line of printable characters, and not empty")

    def reveal(self) -> str:
        """Return the text itself."""
        return self._text

    def __repr__(self) -> str:
        return MASK

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self._text.encode(), other._text.encode())

    def __hash__(self) -> int:
        return hash((Secret, self._text))
