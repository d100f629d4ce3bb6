"""`decide`, `explain`, `why-not`: one question, and how much of the answer is wanted."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer
from rich.console import Console

from remit_service.cli.context import call_of, run
from remit_service.cli.exits import DONE, REFUSED, Failure
from remit_service.cli.output import Output, table
from remit_service.cli.target import target_of
from remit_service.decision.request import TEXTS
from remit_service.drawing.chains import figure_of
from remit_service.drawing.formats import Format, drawn

Subject = Annotated[str, typer.Argument(help="Who asks: <kind>:<name>, such as instance:seo-agent-7.")]
ActionName = Annotated[str, typer.Argument(help="The action, such as UPDATE_CANONICAL.")]
ResourceKey = Annotated[str, typer.Argument(help="A full key, such as wp:post:1024.")]
ContextOption = Annotated[
    list[str] | None, typer.Option("--context", "-c", help="An attribute, name=value; the value is JSON, or else text.")
]
As = Annotated[str | None, typer.Option("--as", help="Ask as this enforcement point (on the store itself).")]
FormatOption = Annotated[Format | None, typer.Option("--format", help="A document or a drawing instead of text.")]
Printer = Callable[[Console, Mapping[str, Any]], None]


def decide(
    context: typer.Context, subject: Subject, action: ActionName, resource: ResourceKey,
    attributes: ContextOption = None, as_: As = None,
) -> None:  # fmt: skip
    """Decide one question: exit 0 for permit, 1 for deny."""
    call = call_of(context)

    async def work() -> int:
        body = question(subject, action, resource, attributes)
        async with target_of(call.settings(), enforcement_point=as_) as target:
            answer = await target.evaluate(body)
        call.output.show(answer, lambda console: print_answer(console, answer))
        return DONE if answer["decision"] else REFUSED

    run(call, work)


def explain(  # noqa: PLR0913, PLR0917 - each is an option
    context: typer.Context, subject: Subject, action: ActionName, resource: ResourceKey,
    attributes: ContextOption = None, as_: As = None,
    at_revision: Annotated[int | None, typer.Option(help="Explain as the graph was at this revision.")] = None,
    as_of: Annotated[str | None, typer.Option(help="Explain as of this instant, RFC 3339.")] = None,
    form: FormatOption = None,
) -> None:  # fmt: skip
    """Decide and explain: the proof, what came near, what would change the verdict."""
    call = call_of(context)

    async def work() -> int:
        body = question(subject, action, resource, attributes)
        body |= {name: value for name, value in (("at_revision", at_revision), ("as_of", as_of)) if value is not None}
        async with target_of(call.settings(), enforcement_point=as_) as target:
            answer = await target.explain(body)
        show_answer(call.output, body, answer, form, print_explanation)
        return DONE

    run(call, work)


def why_not(
    context: typer.Context, subject: Subject, action: ActionName, resource: ResourceKey,
    attributes: ContextOption = None, as_: As = None, form: FormatOption = None,
) -> None:  # fmt: skip
    """Say what stands in the way, and what would change it: exit 0 where nothing does."""
    call = call_of(context)

    async def work() -> int:
        body = question(subject, action, resource, attributes)
        async with target_of(call.settings(), enforcement_point=as_) as target:
            answer = await target.explain(body)
        show_answer(call.output, body, answer, form, print_why_not)
        return DONE if answer["decision"] else REFUSED

    run(call, work)


def show_answer(
    output: Output, body: Mapping[str, Any], answer: Mapping[str, Any], form: Format | None, text: Printer
) -> None:
    """Print an answer as text, as a document, or drawn.

    Raises:
        Failure: a drawing is asked for together with `--json`.
    """
    if form is None:
        output.show(answer, lambda console: text(console, answer))
    elif form is Format.JSON:
        Output(as_json=True).show(answer)
    elif output.as_json:
        raise Failure(f"--json and --format {form} are two forms", advice="leave one of them out")
    else:
        output.raw(drawn(figure_of(body, answer), form))


def question(subject: str, action: str, resource: str, attributes: list[str] | None) -> dict[str, Any]:
    """Return the AuthZEN body of a question given as words.

    Raises:
        Failure: the subject is no `<kind>:<name>`, or an attribute no `name=value`.
    """
    kind, colon, name = subject.partition(":")
    if "://" in subject:
        kind, name = "instance", subject
    elif not colon or not name:
        raise Failure(f"`{subject}` is not a subject: write <kind>:<name>, such as instance:seo-agent-7")
    return {
        "subject": {"type": kind, "id": name},
        "action": {"name": action},
        "resource": {"type": "key", "id": resource},
        "context": dict(attribute(each) for each in attributes or ()),
    }


def attribute(text: str) -> tuple[str, Any]:
    """Return name and value of `name=value`; the value is JSON, or else text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise Failure(f"`{text}` is not an attribute: write name=value, such as risk=LOW")
    if name in TEXTS:
        return name, value
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def print_answer(console: Console, answer: Mapping[str, Any]) -> None:
    """Print a verdict with its reasons and obligations."""
    details = answer.get("context", {})
    permitted = answer["decision"]
    console.print("permit" if permitted else "deny", style="bold green" if permitted else "bold red", end="")
    console.print(f"  {details.get('outcome', '')}", markup=False)
    for reason in details.get("reasons", ()):
        console.print(f"  {reason['code']}: {reason['message']}", markup=False)
    for duty in details.get("obligations", ()):
        console.print(f"  must {duty['type']} {json.dumps(duty['properties'], ensure_ascii=False)}", markup=False)
    if details.get("determining"):
        console.print(f"  by {' → '.join(details['determining'])}", markup=False)
    if details.get("not_after"):
        console.print(f"  not after {details['not_after']}", markup=False)


def print_explanation(console: Console, answer: Mapping[str, Any]) -> None:
    """Print the proof, the near misses, what would change the verdict, and the sixteen questions."""
    print_answer(console, answer)
    explanation = answer.get("context", {}).get("explanation")
    if explanation is None:
        return
    for chain in explanation["chains"]:
        _print_chain(console, "proof", chain)
    print_why_not(console, answer, verdict=False)
    rows = [(each["number"], each["question"], _short(each)) for each in explanation["questions"]]
    console.print(table("\nSixteen questions", ("", "question", "answer"), rows))


def print_why_not(console: Console, answer: Mapping[str, Any], *, verdict: bool = True) -> None:
    """Print what came near and what would change the verdict."""
    if verdict:
        print_answer(console, answer)
    explanation = answer.get("context", {}).get("explanation") or {}
    for miss in explanation.get("near_misses", ()):
        _print_chain(console, f"near miss, fails at {miss['failed']}: {miss['reason']}", miss)
    changes = explanation.get("would_change", ())
    if changes:
        console.print("\nWhat would change it", style="bold")
    for each in changes:
        console.print(f"  {each['code']} ({each['resolver']}): {each['change']}", markup=False)


def _print_chain(console: Console, title: str, chain: Mapping[str, Any]) -> None:
    console.print(f"\n{title}", style="bold", markup=False)
    for hop in chain["hops"]:
        window = " ".join(f"{name} {hop[name]}" for name in ("valid_from", "valid_until", "ended_at") if name in hop)
        console.print(f"  {hop['edge']}  {hop['from']} -{hop['type']}-> {hop['to']}  {window}", markup=False)


def _short(each: Mapping[str, Any]) -> str:
    if not each["answered"]:
        return "not known"
    return ", ".join(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in each["answer"].items())
