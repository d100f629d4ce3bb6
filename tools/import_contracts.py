"""A contract for import-linter: packages import the standard library, each other, and what is named; nothing else.

It turns the usual question around. A list of what is forbidden forgets the library that is added next year; the list of
what is allowed does not. `pyproject.toml` names the packages.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from importlinter import Contract, ContractCheck, fields, output
from typing_extensions import override

if TYPE_CHECKING:
    from grimp import ImportGraph


class ImportsOnly(Contract):
    """What `packages` may import.

    The keys in `pyproject.toml`:
        packages: The packages the contract is about, with all that is in them. They must exist.
        allowed: Packages they may import beside each other and the standard library.
        refused: Modules of the standard library they may not import, since they reach outside the process.
    """

    packages = fields.SetField(subfield=fields.StringField())
    allowed = fields.SetField(subfield=fields.StringField(), required=False, default=set())
    refused = fields.SetField(subfield=fields.StringField(), required=False, default=set())

    @override
    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        packages = _names(self.packages)
        if missing := packages - graph.modules:
            message = f"no such package: {', '.join(sorted(missing))}"
            raise ValueError(message)
        importers = packages.union(*(graph.find_descendants(package) for package in packages))
        found = sorted(
            (importer, imported)
            for importer in importers
            for imported in graph.find_modules_directly_imported_by(importer)
            if not self._may(imported)
        )
        return ContractCheck(kept=not found, metadata={"found": found})

    @override
    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, imported in check.metadata["found"]:
            output.print_error(f"{importer} imports {imported}")

    def _may(self, imported: str) -> bool:
        if any(f"{imported}.".startswith(f"{package}.") for package in _names(self.packages) | _names(self.allowed)):
            return True
        return imported in sys.stdlib_module_names and imported not in _names(self.refused)


def _names(field: object) -> set[str]:
    """Return the value of a field, which import-linter puts in the place of the field when it reads the contract."""
    return cast("set[str]", field)
