"""Play the story against a running service, and say what was decided and why."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from remit_service.demo.act import Act, Beat, Chapter, at_path, filled
from remit_service.demo.story import STORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx
    from rich.console import Console

_PROBLEM: Final = 400
"""From this status on an answer is a problem."""


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
        self._kept: dict[str, Any] = {}
        self.score = Score()

    async def play(self, chapters: tuple[Chapter, ...] = STORY) -> Score:
        """Play all chapters and return the score."""
        for number, chapter in enumerate(chapters, 1):
            self._console.print(f"\n{number}. {chapter.title}", style="bold", markup=False)
            self._console.print(f"   {chapter.teaches}", style="dim", markup=False)
            for beat in chapter.beats:
                if isinstance(beat, Act):
                    await self._act(beat)
                else:
                    await self._beat(beat)
        return self.score

    async def _beat(self, beat: Beat) -> None:
        started = perf_counter()
        response = await self._client.post("/access/v1/evaluation", json=filled(body_of(beat), self._kept))
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

    async def _act(self, act: Act) -> None:
        method, _, path = act.call.partition(" ")
        started = perf_counter()
        response = await self._client.request(
            method, filled(path, self._kept), json=None if act.body is None else filled(act.body, self._kept)
        )
        took = perf_counter() - started
        self.score.asked += 1
        if "wait=" not in path:
            self.score.seconds += took
        answer = response.json() if response.content else {}
        problems = list(differences(act, response.status_code, answer))
        self._kept |= {name: at_path(answer, place) for name, place in act.keeps.items()}
        self._tell(act, answer, took, same=not problems)
        if problems:
            self.score.differing += 1
            self._console.print(f"     {'; '.join(problems)}: {response.text[:600]}", style="bold red", markup=False)

    def _tell(self, act: Act, answer: dict[str, Any], took: float, *, same: bool) -> None:
        self._console.print(f"   {'✓' if same else '✗'} {act.says}", markup=False)
        code = answer.get("code") if act.code is not None else None
        word = f"{code} ({answer.get('outcome')})" if code is not None else str(answer.get("outcome") or "done")
        self._console.print(
            f"     {word}", style=f"bold {'cyan' if code is not None else 'green'}", end="", markup=False
        )
        self._console.print(f"  {took * 1000:.1f} ms", style="dim", markup=False)
        if code is not None:
            back = answer.get("retry_after_seconds")
            again = f"; ask again in {back} s" if back is not None else ""
            self._console.print(f"     {answer.get('detail', '')}{again}", markup=False)
        shown = ((place, at_path(answer, place)) for place in act.shows)
        for place, value in shown:
            if value is not None:
                self._console.print(f"     {place.rpartition('.')[2]} {value}", style="dim", markup=False)

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


def differences(act: Act, status: int, answer: dict[str, Any]) -> Iterator[str]:
    """Iterate what in an answer is not as the story promises it."""
    if status != act.status:
        yield f"expected {act.status}, got {status}"
    code = answer.get("code") if status >= _PROBLEM else None
    if code != act.code:
        yield f"expected code {act.code}, got {code}"
    if act.outcome is not None and answer.get("outcome") != act.outcome:
        yield f"expected outcome {act.outcome}, got {answer.get('outcome')}"
    for place, value in act.holds.items():
        found = at_path(answer, place)
        if found != value:
            yield f"expected {place} {value}, got {found}"
