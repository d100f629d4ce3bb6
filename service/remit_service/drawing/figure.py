"""A picture of chains as values: lanes of boxes, each joined to the one before by a labelled arrow.

Lane(title="proof", boxes=(Box("wp:post:*"), Box("controller:seo")), arrows=(Arrow(("own-seo@1", "OWNS"), back=True),))
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Box:
    """A principal, a selector or a resource.

    Attributes:
        name: What it is called.
        role: Its place in the lane: `target`, `root`, `principal` or `subject`.
    """

    name: str
    role: str = "principal"


@dataclass(frozen=True, slots=True)
class Arrow:
    """What joins two neighbours of a lane.

    Attributes:
        lines: What is written at it, a line each.
        back: Whether it points from the later box to the earlier one, as a grant points to its target.
        failed: Whether this is where the chain fails.
    """

    lines: tuple[str, ...]
    back: bool = False
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One chain, root first.

    Raises:
        ValueError: there is not one arrow between each two neighbours.
    """

    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn."""
        if len(self.arrows) != len(self.boxes) - 1:
            raise ValueError(f"{len(self.boxes)} boxes are joined by {len(self.boxes) - 1} arrows")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A whole picture.

    Attributes:
        title: The question and its verdict, in one line.
        lanes: The chains, from top to bottom.
        notes: Sentences below them.
    """

    title: str
    lanes: tuple[Lane, ...]
    notes: tuple[str, ...] = ()
