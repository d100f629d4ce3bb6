"""Where the lines of a stream go: the port between the log and a disk or a service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_service.evidence.decision_log.chain import Link


class Sink(Protocol):
    """Takes lines, all of a batch or none."""

    async def open(self) -> tuple[Link, int]:
        """Return where the stream stands, and how many bytes of a torn record were dropped from its end.

        Raises:
            SinkUnavailable: the stream cannot be begun or continued.
        """

    async def write(self, lines: Sequence[bytes], *, durably: bool) -> None:
        """Store `lines`; with `durably` they survive a loss of power when this returns.

        Raises:
            SinkUnavailable: none of them is stored; the same lines may be handed in again.
        """

    async def find(self, needle: bytes) -> bytes | None:
        """Return the newest line that holds `needle`, or None."""

    async def close(self) -> None:
        """Give the stream back."""
