"""Play the story against a running service, and say what was decided and why."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from remit_service.demo.story import STORY, Beat, Chapter

if TYPE_CHECKING:
    import httpx
    from rich.console import Console


@dataclass(slots=True)
class Score:
    """How the demo went."""

    asked: int = 0
    differing: int = 0
    seconds: float = 0.0


class Player:
    """Asks over HTTP and compares."""

    def __init__(self, client: httpx.AsyncClient, console: Console) -> None:
        """Ask through `client`, print on `console`."""
        self._client = client
        self._console = console
        self.score = Score()

    async def play(self, chapters: tuple[Chapter, ...] = STORY) -> Score:
        """Play all chapters and return the score."""
        for number, chapter in enumerate(chapters, 1):
            self._console.print(f"\n{number}. {chapter.title}", style="bold", markup=False)
            self._console.print(f"   {chapter.teaches}", style="dim", markup=False)
            if chapter.not_yet:
                self._console.print(f"   not yet: {chapter.not_yet}", style="yellow", markup=False)
            for beat in chapter.beats:
                await self._beat(beat)
        return self.score

    async def _beat(self, beat: Beat) -> None:
        started = perf_counter()
        response = await self._client.post("/access/v1/evaluation", json=body_of(beat))
        took = perf_counter() - started
        self.score.asked += 1
        self.score.seconds += took
        answer = response.json() if response.is_success else {}
        context = answer.get("context", {})
        actual = (context.get("outcome"), tuple(each["code"] for each in context.get("reasons", ())))
        same = actual == (beat.outcome, beat.reasons)
        self._print(beat, answer, took, same=same)
        if not same:
            self.score.differing += 1
            expected = f"expected {beat.outcome} {list(beat.reasons)}, got {response.status_code} {response.text[:300]}"
            self._console.print(f"     {expected}", style="bold red", markup=False)

    def _print(self, beat: Beat, answer: dict[str, Any], took: float, *, same: bool) -> None:
        context = answer.get("context", {})
        outcome = str(context.get("outcome", "?"))
        colour = "green" if answer.get("decision") else "cyan" if outcome not in ("deny", "?") else "red"
        mark = "✓" if same else "✗"
        self._console.print(f"   {mark} {beat.says}", markup=False)
        self._console.print(f"     {outcome}", style=f"bold {colour}", end="", markup=False)
        self._console.print(f"  {took * 1000:.1f} ms", style="dim", markup=False)
        for reason in context.get("reasons", ()):
            self._console.print(f"     {reason['code']}: {reason['message']}", markup=False)
        for duty in context.get("obligations", ()):
            values = ", ".join(f"{name} {value}" for name, value in duty["properties"].items())
            self._console.print(f"     must {duty['type']}: {values}", style="dim", markup=False)
        if context.get("determining"):
            self._console.print(f"     by {' → '.join(context['determining'])}", style="dim", markup=False)


def body_of(beat: Beat) -> dict[str, Any]:
    """Return the AuthZEN evaluation of a beat."""
    kind, _, name = beat.subject.partition(":")
    if "://" in beat.subject:
        kind, name = "instance", beat.subject
    return {
        "subject": {"type": kind, "id": name},
        "action": {"name": beat.action},
        "resource": {"type": "key", "id": beat.resource},
        "context": beat.context,
    }
