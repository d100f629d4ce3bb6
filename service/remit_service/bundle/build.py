"""Build a bundle from policy files: tests left out, everything checked that needs no program besides this one.

Refused are: files that do not parse, packages and data outside `remit` and `custom`, a package in the folder of
another, built-in functions that are not allowed (`capabilities`), and of the site deny rules that read undeclared input
(`site_rules`) and annotations that OPA would refuse (`annotations`). All problems are reported at once. Whether Rego
compiles for the VM is found out by the engine that is made of the bundle, and by `check`, which also asks OPA.

```python
bundle = build_bundle(read_folder(Path("policy")))
engine = EmbeddedEngine(bundle)
```
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Final

from remit_service.bundle.annotations import Source, annotation_problems, entrypoint_names
from remit_service.bundle.capabilities import objection
from remit_service.bundle.data import DATA_NAMES, Tree, data_tree
from remit_service.bundle.digest import GENERATED, REVISION_FILE, policy_revision
from remit_service.bundle.errors import BundleRefused, Problem
from remit_service.bundle.folder import read_folder, shipped_policy
from remit_service.bundle.model import ROOTS, Bundle, revision_data
from remit_service.bundle.rego import Module, parse_module
from remit_service.bundle.site_rules import SiteRules
from remit_service.engines.errors import PolicyError, ResultUndefined
from remit_service.engines.regorus import Interpreter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_TEST_SUFFIX: Final = "_test.rego"
_REQUIRES: Final = "data.custom.requires"


def build_bundle(files: Mapping[str, bytes]) -> Bundle:
    """Return the bundle of `files`, a whole policy by path; equal files give an equal bundle.

    Raises:
        BundleRefused: with every problem that was found.
    """
    published = {path: content for path, content in files.items() if _is_published(path)}
    modules = _parsed(published)
    data = data_tree(published)
    problems = [*_misplaced(published, modules), *_constant_keys(modules), *_forbidden_calls(modules)]
    # The shipped ones are checked by OPA itself, in the tests of this repository.
    problems += annotation_problems(
        Source(each.path, each.package, published[each.path].decode()) for each in modules if each.is_site
    )
    site = SiteRules(modules)
    problems += site.undeclared(_declared(published, modules, data))
    if problems:
        raise BundleRefused(*sorted(problems))
    revision = policy_revision(published)
    return Bundle(
        files=published,
        revision=revision,
        data_json=_with_revision(data, revision),
        entrypoints=frozenset(_entrypoints(published, modules)),
        is_time_dependent=site.is_time_dependent(),
        site_rules=site.names(),
        site_rules_can_fail=site.can_fail(),
        site_rules_iterate=site.iterates(),
        tells_names_apart=site.reads_names() or not _is_shipped(published),
    )


def _is_published(path: str) -> bool:
    if path in GENERATED or path.endswith(_TEST_SUFFIX):
        return False
    return path.endswith(".rego") or path.rpartition("/")[2] in DATA_NAMES


def _is_shipped(files: Mapping[str, bytes]) -> bool:
    """Whether the rules of the package `remit` are those that come with this program."""
    return {path: content for path, content in files.items() if _is_own_rule(path)} == _shipped_rules()


def _is_own_rule(path: str) -> bool:
    return path.startswith("remit/") and path.endswith(".rego")


@cache
def _shipped_rules() -> Mapping[str, bytes]:
    return {
        path: content
        for path, content in read_folder(shipped_policy()).items()
        if _is_published(path) and _is_own_rule(path)
    }


def _parsed(files: Mapping[str, bytes]) -> list[Module]:
    """Parse all modules, and report all that do not parse."""
    modules: list[Module] = []
    problems: list[Problem] = []
    for path, content in files.items():
        if path.endswith(".rego"):
            try:
                modules.append(parse_module(path, content.decode()))
            except BundleRefused as error:
                problems.extend(error.problems)
            except UnicodeDecodeError:
                problems.append(Problem(path, 0, "is not UTF-8"))
    if problems:
        raise BundleRefused(*problems)
    return modules


def _misplaced(files: Mapping[str, bytes], modules: Sequence[Module]) -> Iterator[Problem]:
    for path in files:
        if path.split("/")[0] not in ROOTS:
            yield Problem(path, 0, f"lies outside the roots {' and '.join(f'`{root}`' for root in ROOTS)}")
    for module in modules:
        folder = tuple(module.path.split("/")[:-1])
        if folder != module.package:
            yield Problem(module.path, 1, f"the package `{'.'.join(module.package)}` belongs in its own folder")


def _constant_keys(modules: Sequence[Module]) -> Iterator[Problem]:
    for module in modules:
        for rule in module.rules:
            if rule.key is not None:
                mended = f'`{rule.name}[key] := ... if key := "{rule.key}"`'
                yield Problem(module.path, rule.line, f"the VM compiles no constant key in a head: write {mended}")


def _forbidden_calls(modules: Sequence[Module]) -> Iterator[Problem]:
    defined = {".".join(("data", *module.package, rule.name)) for module in modules for rule in module.rules}
    for module in modules:
        for rule in module.rules:
            for call in rule.scan.calls:
                name = module.resolved(call.name)
                if name in defined or ".".join(("data", *module.package, name)) in defined:
                    continue
                if name.startswith("data."):
                    yield Problem(module.path, call.line, f"the function `{name}` is not defined")
                elif reason := objection(call, is_site=module.is_site):
                    yield Problem(module.path, call.line, reason)


def _declared(files: Mapping[str, bytes], modules: Sequence[Module], data: Tree) -> dict[str, frozenset[str]]:
    """Return the pointers that `custom.requires` declares for each rule; it rests on the site's own files alone.

    Raises:
        BundleRefused: it is no object of objects, or needs an input.
    """
    sources = [(module.path, files[module.path].decode()) for module in modules if module.is_site]
    try:
        value = json.loads(Interpreter(sources, json.dumps(data)).run(_REQUIRES))
    except ResultUndefined:
        return {}
    except PolicyError as error:
        raise BundleRefused(Problem("custom", 0, f"`custom.requires` cannot be evaluated: {error}")) from error
    if not isinstance(value, dict) or not all(isinstance(pointers, dict) for pointers in value.values()):
        raise BundleRefused(Problem("custom", 0, "`custom.requires` is no object of rule, pointer and type"))
    return {rule: frozenset(pointers) for rule, pointers in value.items()}


def _with_revision(data: Tree, revision: str) -> str:
    """Return the data tree as JSON, with the revision where its file puts it.

    Raises:
        BundleRefused: the place is taken.
    """
    shipped = data.setdefault("remit", {})
    if not isinstance(shipped, dict) or "revision" in shipped:
        raise BundleRefused(Problem(REVISION_FILE, 0, "`remit.revision` is already given by another data file"))
    shipped["revision"] = revision_data(revision)
    return json.dumps(data, sort_keys=True)


def _entrypoints(files: Mapping[str, bytes], modules: Sequence[Module]) -> Iterator[str]:
    for module in modules:
        for name in entrypoint_names(module.path, files[module.path].decode()):
            yield "/".join((*module.package, name))
