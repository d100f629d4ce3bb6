"""Principals: who can hold authority, and the identities that prove who is calling (model.md 1)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from remit_graph.errors import ModelError
from remit_graph.model.key import check_name

KINDS: Final = ("organization", "team", "role", "agent_type", "instance", "human", "service", "controller")
HOLDER_KINDS: Final = frozenset({"instance", "human", "service"})
"""Kinds that can hold a lease: something that runs or lives, never a role (coordination.md 2)."""

_SPIFFE: Final = re.compile(r"spiffe://[a-z0-9._-]{1,255}(/[A-Za-z0-9._-]+)+\Z", re.ASCII)
_SPIFFE_BYTES: Final = 2048
_IDENTITY: Final = re.compile(r"(spiffe://|x509:spiffe://|jwt:[^#\s]+#\S+\Z|key:[A-Za-z0-9._-]+\Z)", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A node that can hold authority.

    Attributes:
        id: `<kind>:<name>`.
        trust: How far production may rely on it; compared with policy data.
        disabled: Then it may do nothing, and nothing that rests on it holds.
        minimum_epoch: Edges to or from it with an older authority epoch are dead.
        attributes: Facts about it that conditions may read as `subject.<name>`.
        identities: Verified identities bound to it, sorted; each belongs to at most one principal.
    """

    id: str
    display_name: str | None = None
    trust: int = 0
    disabled: bool = False
    minimum_epoch: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict)
    identities: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The part of the id before the first colon."""
        return self.id.partition(":")[0]

    def record(self) -> dict[str, Any]:
        """Return the form of the ledger; members with their default are left out."""
        record: dict[str, Any] = {"id": self.id}
        if self.display_name is not None:
            record["display_name"] = self.display_name
        for name in ("trust", "disabled", "minimum_epoch"):
            if getattr(self, name):
                record[name] = getattr(self, name)
        if self.attributes:
            record["attributes"] = dict(self.attributes)
        if self.identities:
            record["identities"] = list(self.identities)
        return record


def parse_principal(record: Mapping[str, Any]) -> Principal:
    """Read a principal from its record.

    Raises:
        ModelError: an unknown kind, a malformed id or identity, or a member of the wrong type.
    """
    identifier = check_principal_id(record.get("id"))
    trust, epoch = record.get("trust", 0), record.get("minimum_epoch", 0)
    if type(trust) is not int or type(epoch) is not int or epoch < 0:
        raise ModelError(f"`{identifier}`: `trust` and `minimum_epoch` are whole numbers")
    attributes = check_attributes(record.get("attributes", {}), identifier)
    return Principal(
        id=identifier,
        display_name=record.get("display_name"),
        trust=trust,
        disabled=bool(record.get("disabled", False)),
        minimum_epoch=epoch,
        attributes=attributes,
        identities=tuple(sorted(check_identity(each) for each in record.get("identities", ()))),
    )


def check_principal_id(value: object) -> str:
    """Return `value` if it is `<kind>:<name>` with a known kind.

    Raises:
        ModelError: it is not.
    """
    if not isinstance(value, str) or ":" not in value:
        raise ModelError(f"`{value}` is not a principal: write <kind>:<name>, such as role:editor")
    check_name(value)
    kind = value.partition(":")[0]
    if kind not in KINDS:
        raise ModelError(f"`{value}`: `{kind}` is no kind of principal; known are {', '.join(KINDS)}")
    return value


def check_identity(value: object) -> str:
    """Return `value` if it is a verified identity's name: SPIFFE id, `jwt:<issuer>#<subject>`, `x509:` or `key:`."""
    if not isinstance(value, str) or not _IDENTITY.match(value):
        raise ModelError(
            f"`{value}` is not an identity: use spiffe://…, jwt:<issuer>#<subject>, x509:spiffe://… or key:<name>"
        )
    spiffe = value.removeprefix("x509:")
    if spiffe.startswith("spiffe://") and (not _SPIFFE.match(spiffe) or len(spiffe) > _SPIFFE_BYTES or _dotted(spiffe)):
        # SPIFFE-ID, section 2: lower-case trust domain, no port, query, fragment or dot segments.
        raise ModelError(f"`{value}` is not a SPIFFE id of a workload: spiffe://<trust-domain>/<path>")
    return value


def _dotted(spiffe: str) -> bool:
    return any(part in (".", "..") for part in spiffe.split("/"))


def check_attributes(value: object, owner: str) -> dict[str, Any]:
    """Return attributes whose values are strings, whole numbers, booleans or lists of strings.

    Raises:
        ModelError: anything else; floats are refused because digests would depend on their notation.
    """
    if not isinstance(value, Mapping):
        raise ModelError(f"`{owner}`: attributes are a mapping")
    for name, each in value.items():
        plain = isinstance(each, str | int) or (
            isinstance(each, list | tuple) and all(isinstance(one, str) for one in each)
        )
        if not isinstance(name, str) or not plain:
            raise ModelError(f"`{owner}`: attribute `{name}` is a string, whole number, boolean or list of strings")
    return {name: list(each) if isinstance(each, tuple) else each for name, each in sorted(value.items())}
