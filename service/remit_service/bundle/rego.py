"""What can be read off a Rego module without evaluating it: its rules, what they refer to, what they call.

The parser is the one of the embedded engine, so no program is needed. `Scan` flattens a syntax tree into references and
calls, which is all that the checks of this package ask for.

- A reference is its root and the constant part of its path: `input.chains[_].hops` is `input`, (`chains`,), cut.
- A call is named as written, `startswith` or `lib.f`, with the import that `lib` stands for put in its place.
- An operation is an infix operator that fails on operands of another type, such as `+`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Self

from remit_service.bundle.errors import BundleRefused, Problem
from remit_service.engines.errors import PolicyError
from remit_service.engines.regorus import syntax_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Node = Any
"""A part of a syntax tree: an object with one member, named for its kind, or a list of such."""

_STEPS: Final = frozenset({"RefDot", "RefBrack"})


@dataclass(frozen=True, slots=True)
class Reference:
    """A value that a rule reads: `root`, then `path` up to the first part that is no constant."""

    root: str
    path: tuple[str, ...]
    is_cut: bool
    """Whether more follows that is only known when the rule runs."""
    line: int

    @property
    def pointer(self) -> str:
        """The path as a JSON pointer."""
        return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in self.path)

    def below(self, origin: tuple[str, ...]) -> Self:
        """Return this reference with its root, an imported name, written out as `origin`."""
        return replace(self, root=origin[0], path=(*origin[1:], *self.path))


@dataclass(frozen=True, slots=True)
class Call:
    """A function that a rule calls, by its name as written."""

    name: str
    arguments: tuple[str | None, ...]
    """The arguments that are string literals; None stands for any other."""
    line: int


@dataclass(slots=True)
class Scan:
    """All that one rule, or a part of it, refers to, calls and computes."""

    references: list[Reference] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    operations: list[str] = field(default_factory=list)
    iterates: bool = False
    """Whether it loops over something that is not written out in place."""

    @classmethod
    def of(cls, node: Node) -> Self:
        """Read a syntax tree."""
        scan = cls()
        scan._visit(node)
        return scan

    def _visit(self, node: Node) -> None:
        if isinstance(node, list):
            for item in node:
                self._visit(item)
        elif isinstance(node, dict):
            for kind, body in node.items():
                self._visit_kind(kind, body)

    def _visit_kind(self, kind: str, body: Node) -> None:
        match kind:
            case "RefDot" | "RefBrack" | "Var":
                self._visit_reference({kind: body})
            case "Call":
                arguments = tuple(_literal(parameter) for parameter in body["params"])
                self.calls.append(Call(_dotted(body["fcn"]), arguments, _line(body)))
                self._visit(body["params"])
            case "SomeIn":
                self.iterates |= not _is_written_out(body["collection"])
                self._visit(body)
            case "Every" | "ArrayCompr" | "SetCompr" | "ObjectCompr":
                self.iterates = True
                self._visit(body)
            case "ArithExpr" | "BinExpr" | "UnaryExpr":
                self.operations.append(body.get("op", "Minus"))
                self._visit(body)
            case _:
                self._visit(body)

    def _visit_reference(self, node: Node) -> None:
        root, steps = _unfolded(node)
        constant = _constant_part(steps)
        if root is not None:
            cut = len(constant) < len(steps)
            self.references.append(Reference(root["value"], constant, cut, _line(root)))
        for step in steps:
            if not isinstance(step, str):
                self.iterates |= "Var" in step
                self._visit(step)
        if root is None:
            self._visit(_bottom(node))


@dataclass(frozen=True, slots=True)
class Rule:
    """One definition of a rule, and what it reads."""

    name: str
    label: str | None
    """The constant member `rule` of the object it yields, as in `deny contains {"rule": "freeze", ...} if ...`."""
    key: str | None
    """The constant in a head such as `requires["freeze"]`, which the VM does not compile."""
    is_function: bool
    line: int
    scan: Scan


@dataclass(frozen=True, slots=True)
class Module:
    """One parsed file."""

    path: str
    package: tuple[str, ...]
    imports: Mapping[str, tuple[str, ...]]
    """Name in this file -> path from `data` or `input`."""
    rules: tuple[Rule, ...]

    @property
    def is_site(self) -> bool:
        """Whether the file holds rules of the site, which may only restrict."""
        return self.package[0] == "custom"

    def resolved(self, name: str) -> str:
        """Return `name` with an imported first part written out."""
        head, dot, rest = name.partition(".")
        return ".".join(self.imports[head]) + dot + rest if head in self.imports else name


def parse_module(path: str, source: str) -> Module:
    """Parse one file.

    Raises:
        BundleRefused: it is not Rego; the problem names the line.
    """
    try:
        tree = syntax_tree(path, source)
    except PolicyError as error:
        reason = error.message.rpartition("error: ")[2]
        raise BundleRefused(Problem(path, _line_in(error.message), f"does not parse: {reason}")) from error
    root, steps = _unfolded(tree["package"]["refr"])
    return Module(
        path=path,
        package=(root["value"], *_constant_part(steps)),
        imports=dict(_import(item, source.encode()) for item in tree["imports"]),
        rules=tuple(_rules(tree["rules"])),
    )


def _rules(nodes: list[Node]) -> Iterator[Rule]:
    for node in nodes:
        kind, body = next(iter(node.items()))
        if kind == "Default":
            name = _unfolded(body["refr"])[0]["value"]
            yield Rule(name, _label(body["value"]), None, bool(body["args"]), _line(body), Scan.of(body["value"]))
        else:
            head_kind, head = next(iter(body["head"].items()))
            root, steps = _unfolded(head["refr"])
            value = head.get("key") or (head.get("assign") or {}).get("value") or {}
            read = [head.get("args", []), [step for step in steps if not isinstance(step, str)], value, body["bodies"]]
            key = next((step for step in steps if isinstance(step, str)), None)
            yield Rule(root["value"], _label(value), key, head_kind == "Func", _line(body), Scan.of(read))


def _label(value: Node) -> str | None:
    fields = value["Object"]["fields"] if "Object" in value else []
    return next((_literal(item) for _, key, item in fields if _literal(key) == "rule"), None)


def _import(node: Node, source: bytes) -> tuple[str, tuple[str, ...]]:
    root, steps = _unfolded(node["refr"])
    path = (root["value"], *_constant_part(steps))
    alias = node.get("as")
    return (source[alias["start"] : alias["end"]].decode() if alias else path[-1]), path


def _unfolded(node: Node) -> tuple[Node, list[Node]]:
    """Take a reference apart into its root variable, or None, and its steps; a constant step is a `str`."""
    steps: list[Node] = []
    while (kind := next(iter(node))) in _STEPS:
        body = node[kind]
        steps.append(_step(kind, body))
        node = body["refr"]
    steps.reverse()
    return node.get("Var"), steps


def _step(kind: str, body: Node) -> Node:
    if kind == "RefDot":
        return body["field"][1]
    literal = _literal(body["index"])
    return body["index"] if literal is None else literal


def _literal(node: Node) -> str | None:
    kind, body = next(iter(node.items()))
    return body["value"] if kind in {"String", "RawString"} else None


def _is_written_out(node: Node) -> bool:
    """Whether a collection stands in the rule itself, as in `some name in ["a", "b"]`."""
    return not node.keys().isdisjoint({"Array", "Set", "Object"})


def _constant_part(steps: list[Node]) -> tuple[str, ...]:
    constant = []
    for step in steps:
        if not isinstance(step, str):
            break
        constant.append(step)
    return tuple(constant)


def _bottom(node: Node) -> Node:
    while (kind := next(iter(node))) in _STEPS:
        node = node[kind]["refr"]
    return node


def _dotted(node: Node) -> str:
    root, steps = _unfolded(node)
    return ".".join([root["value"], *_constant_part(steps)]) if root else ""


def _line(node: Node) -> int:
    line: int = node["span"]["line"]
    return line


def _line_in(message: str) -> int:
    """Return the line that a message of the parser names, `--> file:LINE:column`."""
    first = message.removeprefix("-->").strip().splitlines()[0].rsplit(":", 2)
    return int(first[1]) if len(first) == 3 and first[1].isdigit() else 0  # noqa: PLR2004 - path, line, column
