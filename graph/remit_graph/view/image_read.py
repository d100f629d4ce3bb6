"""From the lines of an image back to its view: the same code as for changes of the ledger, and no code of its own.

Whatever is only looked up is made by the handlers of the changes, so a table that is added there needs nothing here.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from remit_graph.errors import GraphError, ModelError
from remit_graph.model.change import Change
from remit_graph.view.apply import apply_changes, link_edge, remember
from remit_graph.view.coordination.image import empty_outliving, restore_outliving
from remit_graph.view.image_edges import ScopesIn, edge_of
from remit_graph.view.image_write import FORMAT
from remit_graph.view.journal import Journal
from remit_graph.view.state import View

if TYPE_CHECKING:
    from collections.abc import Callable


class Restoring:
    """A view that is made line by line."""

    def __init__(self) -> None:
        """Start with an empty view."""
        self._view = View()
        self._journal = Journal(keep=False)
        self._scopes = ScopesIn()
        self._ended = False
        self._sections: dict[str, Callable[[Any], None]] = {
            "image": self._begin,
            "changes": self._apply,
            "identities": self._identify,
            "scopes": self._scopes.learn,
            "edges": self._link,
            "history": self._remember,
            "records_end": self._empty,
            "outliving": self._restore,
            "end": self._end,
        }

    def feed(self, line: bytes) -> None:
        """Take the next line.

        Raises:
            ModelError: it is no line of an image that this program reads.
        """
        try:
            section, content = json.loads(line)
            self._sections.get(section, self._unknown)(content)
        except ModelError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, GraphError) as error:
            raise ModelError(f"a line of the image cannot be read: {error!r}") from error

    def view(self) -> View:
        """Return the view.

        Raises:
            ModelError: the image has no end.
        """
        if not self._ended:
            raise ModelError("the image has no end")
        return self._view

    def _unknown(self, _content: Any) -> None:
        raise ModelError("the image has a section that this program does not know")

    def _begin(self, content: Any) -> None:
        if content["format"] != FORMAT:
            raise ModelError(f"the image has form {content['format']}, and this program reads form {FORMAT}")
        self._view.scalars.update(content["scalars"])

    def _apply(self, content: Any) -> None:
        view = self._view
        changes = [Change(kind, body) for kind, body in content]
        apply_changes(view, changes, self._journal, revision=view.revision, at=view.at)

    def _identify(self, content: Any) -> None:
        # As they stand: of two that name one identity, the one that was put last has it.
        self._view.identities, self._view.point_identities = content

    def _link(self, rows: Any) -> None:
        for row in rows:
            link_edge(self._view, edge_of(row, self._scopes), self._journal)

    def _remember(self, rows: Any) -> None:
        for row in rows:
            remember(self._view, edge_of(row, self._scopes), self._journal)

    def _empty(self, _content: Any) -> None:
        empty_outliving(self._view.coordination)

    def _restore(self, content: Any) -> None:
        name, pairs = content
        restore_outliving(self._view.coordination, name, pairs, self._journal)

    def _end(self, content: Any) -> None:
        view = self._view
        found = {"edges": len(view.edges), "hash": view.hash, "revision": view.revision}
        if content != found:
            raise ModelError(f"the image says at its end {content}, and it holds {found}")
        self._ended = True
