"""FM-035, configuration oscillation: two principals write one field in turn, each believing it is theirs (S41)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from remit_service.coordination.work import Work

MODE = "FM-035"


def oscillates(writers: tuple[str, ...]) -> bool:
    """Whether the last writers of a field are A, B, A, B."""
    match writers:
        case (first, second, third, fourth):
            return first == third and second == fourth and first != second
    return False


def note_oscillation(work: Work, fence_keys: Iterable[str]) -> None:
    """Tell both writers of every field that goes back and forth between them."""
    for fence_key in fence_keys:
        writers = work.view.coordination.writers.get(fence_key) or ()
        if oscillates(writers):
            for subject in sorted(set(writers)):
                body = {
                    "id": work.new_id("note"),
                    "subject": subject,
                    "code": "ownership_conflict",
                    "failure_mode": MODE,
                    "fence_key": fence_key,
                    "contenders": sorted(set(writers)),
                    "at": work.at,
                }
                work.change("notice.put", body)
