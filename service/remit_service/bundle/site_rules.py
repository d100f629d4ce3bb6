"""What a site's own rules may do: read declared input, and nothing that the two engines would see differently.

- Every input pointer that a deny rule reads, itself or through other rules of the site, is declared under its name in
  `custom.requires` (rules.md 12). A value that is missing or of another type then is `policy_error` naming rule
  and pointer, where plain Rego would leave the rule undefined and the request allowed.
- A rule that reads the input as a whole, or by a name that is only known when it runs, cannot be declared: refused.
- Members of the elements of a list are not declared one by one; what the service puts into its lists is complete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from remit_service.bundle.capabilities import ITERATING, TOTAL
from remit_service.bundle.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from remit_service.bundle.rego import Module, Reference, Rule

DENY: Final = "deny"
NAMES: Final = (
    "/request/resource/id",
    "/resource/key",
    "/resource/coordination_key",
    "/resource/ancestors",
    "/chains",
    "/near_misses",
)
"""Where the input has names of the resource and of edges that say nothing about them (`search.likeness`)."""

_SHIPPED: Final = "data.remit."

INSTANT: Final = "/request/at"
"""A site rule that reads it makes decisions depend on time, so they are not cached (rules.md 13)."""


class SiteRules:
    """The rules of the packages `custom` and `custom.*`, and how they reach each other."""

    def __init__(self, modules: Sequence[Module]) -> None:
        self._modules = [module for module in modules if module.is_site]
        self._rules: dict[str, list[tuple[Module, Rule]]] = {}
        for module in self._modules:
            for rule in module.rules:
                self._rules.setdefault(_name(module, rule), []).append((module, rule))

    def undeclared(self, requires: Mapping[str, Collection[str]]) -> Iterator[Problem]:
        """Yield what deny rules read without declaring it; `requires` has the declared pointers of each rule."""
        for module, rule in self._all():
            if rule.name != DENY or rule.is_function:
                continue
            if rule.label is None:
                # Without a name nothing can be declared, which is no harm where nothing is read.
                if any(True for place, current in self._reached(module, rule) for _ in _input(place, current)):
                    yield Problem(module.path, rule.line, 'a deny rule yields an object with its name, `"rule": "..."`')
                continue
            for place, reference, problem in self._objections(module, rule, requires.get(rule.label, ())):
                yield Problem(place.path, reference.line, f"the deny rule `{rule.label}` {problem}")

    def names(self) -> frozenset[str]:
        """Return the names of the rules in the package `custom` itself."""
        return frozenset(rule.name for module, rule in self._all() if len(module.package) == 1 and not rule.is_function)

    def is_time_dependent(self) -> bool:
        """Whether a site rule reads the instant of the request, or may read it."""
        return any(_may_read(reference, INSTANT) for reference in self._input_references())

    def reads_names(self) -> bool:
        """Whether a site rule reads the name of a resource or of an edge, or may read it through a shipped rule."""
        for module, rule in self._all():
            named = [each.name for each in rule.scan.calls]
            named += [".".join((each.root, *each.path)) for each in rule.scan.references]
            reached = (module.resolved(each) for each in named)
            # `data` alone is what goes on with a name that is only known when the rule runs.
            if any(each == "data" or f"{each}.".startswith(_SHIPPED) for each in reached):
                return True
        return any(
            _may_read(reference, name) or reference.pointer.startswith(f"{name}/")
            for reference in self._input_references()
            for name in NAMES
        )

    def can_fail(self) -> bool:
        """Whether a site rule uses an operation that fails on a value of an unexpected type."""
        return any(
            rule.scan.operations or any(not self._is_total(module, call.name) for call in rule.scan.calls)
            for module, rule in self._all()
        )

    def iterates(self) -> bool:
        """Whether a site rule loops over anything that is not written out in the rule."""
        return any(
            rule.scan.iterates or any(call.name in ITERATING for call in rule.scan.calls) for _, rule in self._all()
        )

    def _all(self) -> Iterator[tuple[Module, Rule]]:
        for definitions in self._rules.values():
            yield from definitions

    def _input_references(self) -> Iterator[Reference]:
        for module, rule in self._all():
            yield from _input(module, rule)

    def _is_total(self, module: Module, name: str) -> bool:
        # A function of the site is judged where it is defined.
        return name in TOTAL or self._target(module, name) is not None

    def _objections(
        self, module: Module, rule: Rule, declared: Collection[str]
    ) -> Iterator[tuple[Module, Reference, str]]:
        for place, current in self._reached(module, rule):
            for reference in _input(place, current):
                if not reference.path:
                    yield place, reference, "reads the input as a whole: read the members that it needs"
                elif reference.pointer not in declared:
                    yield place, reference, f"reads `{reference.pointer}`, which `custom.requires` does not declare"

    def _reached(self, module: Module, rule: Rule) -> list[tuple[Module, Rule]]:
        """Return a rule and the site rules that it uses, directly or through others."""
        reached, seen = [(module, rule)], {id(rule)}
        for here, current in reached:
            for target in self._targets(here, current):
                fresh = [pair for pair in self._rules[target] if id(pair[1]) not in seen]
                seen.update(id(pair[1]) for pair in fresh)
                reached.extend(fresh)
        return reached

    def _targets(self, module: Module, rule: Rule) -> Iterator[str]:
        for reference in rule.scan.references:
            yield from filter(None, [self._target(module, ".".join((reference.root, *reference.path)))])
        for call in rule.scan.calls:
            yield from filter(None, [self._target(module, call.name)])

    def _target(self, module: Module, name: str) -> str | None:
        """Return the site rule that `name` means in `module`, if it means one."""
        written_out = module.resolved(name)
        parts = (written_out if written_out.startswith("data.") else ".".join((*_home(module), name))).split(".")
        return next((path for end in range(len(parts), 2, -1) if (path := ".".join(parts[:end])) in self._rules), None)


def _home(module: Module) -> tuple[str, ...]:
    return ("data", *module.package)


def _name(module: Module, rule: Rule) -> str:
    return ".".join((*_home(module), rule.name))


def _input(module: Module, rule: Rule) -> Iterator[Reference]:
    """Yield the references of a rule to the input, those through an import of `input.x` included."""
    for reference in rule.scan.references:
        origin = module.imports.get(reference.root, (reference.root,))
        if origin[0] == "input":
            yield reference if reference.root == "input" else reference.below(origin)


def _may_read(reference: Reference, pointer: str) -> bool:
    """Whether the value at `pointer` is read, or lies in what is read."""
    return pointer == reference.pointer or pointer.startswith(reference.pointer + "/")
