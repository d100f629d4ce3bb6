"""A policy bundle: the files that both engines evaluate, and what was found out about them when it was built."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from remit_service.bundle.digest import MANIFEST, REVISION_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOTS: Final = ("custom", "remit")
"""What the bundle owns in `data`; nothing else may be put there, by OPA's API or by another bundle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A policy that passed the build; made by `build.build_bundle` alone."""

    files: Mapping[str, bytes]
    """Path -> content of the Rego and data files, without tests and without what the build writes."""
    revision: str
    """`policy_revision`: the digest of `files`."""
    data_json: str = field(repr=False)
    """The data tree, with the revision in it, as one JSON document."""
    entrypoints: frozenset[str]
    is_time_dependent: bool
    """Whether a site rule reads the instant; its decisions are not cached then."""
    site_rules: frozenset[str]
    """The names of the rules in the package `custom`."""
    site_rules_can_fail: bool
    """Whether a site rule calls what fails on a value of an unexpected type."""
    site_rules_iterate: bool
    """Whether a site rule loops over anything that is not written out in the rule."""
    tells_names_apart: bool
    """Whether a rule may do more with the name of a resource or an edge than to compare it with another one.

    The shipped rules do not (tests/properties/test_search_laws.py); this is what a site may have added or changed.
    """

    def __post_init__(self) -> None:
        """Make the files unchangeable."""
        object.__setattr__(self, "files", MappingProxyType(dict(sorted(self.files.items()))))

    @property
    def modules(self) -> list[tuple[str, str]]:
        """Pairs of path and Rego source."""
        return [(path, content.decode()) for path, content in self.files.items() if path.endswith(".rego")]

    @property
    def revision_file(self) -> bytes:
        """The file through which the policy itself knows its revision."""
        return _json(revision_data(self.revision))

    @property
    def manifest(self) -> bytes:
        """OPA's manifest, which names revision and roots."""
        metadata = {"time_dependent": self.is_time_dependent}
        return _json({"revision": self.revision, "roots": list(ROOTS), "rego_version": 1, "metadata": metadata})

    @property
    def all_files(self) -> dict[str, bytes]:
        """Everything that is published, but for signatures."""
        return {**self.files, REVISION_FILE: self.revision_file, MANIFEST: self.manifest}


def revision_data(revision: str) -> dict[str, object]:
    """Return what `data.remit.revision` holds."""
    return {"policy_revision": revision}


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
