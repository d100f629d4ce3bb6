"""The policy in force: one bundle, the engines that evaluate it, and what of its data Python reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from remit_graph.errors import ModelError
from remit_service.bundle.serve import Published, published
from remit_service.coordination.tables import Tables, tables_of
from remit_service.decision.reasons import ReasonTable
from remit_service.engines.embedded import EmbeddedEngine
from remit_service.engines.result import DecisionReader
from remit_service.governance.separation import Rule, rules_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.condition import Scales
    from remit_service.bundle.model import Bundle
    from remit_service.coordination.bounds import LeasePolicy
    from remit_service.engines.ports import PolicyEngine


@dataclass(frozen=True, slots=True)
class Policy:
    """A bundle, ready to decide.

    Attributes:
        bundle: The files.
        embedded: The engine in process; commands are decided by it whatever answers decisions (rules.md 11).
        engine: What answers decisions: `embedded`, or OPA.
        reader: Checks decision documents.
        reasons: The table of reasons.
        scales: Ordered scales that conditions compare on.
        archive: The bundle as OPA fetches it.
        data: The data tree, for tables that other rooms read.
        tables: What coordination reads of it.
        duties: Which duties nobody may join.
    """

    bundle: Bundle
    embedded: EmbeddedEngine
    engine: PolicyEngine
    reader: DecisionReader
    reasons: ReasonTable
    scales: Scales
    archive: Published
    data: Mapping[str, Any]
    tables: Tables
    duties: tuple[Rule, ...] = ()

    @property
    def revision(self) -> str:
        """Digest of the bundle."""
        return self.bundle.revision

    @property
    def tells_names_apart(self) -> bool:
        """Whether a rule may do more with the name of a resource or an edge than to compare it with another one."""
        return self.bundle.tells_names_apart


def policy_of(bundle: Bundle, engine: PolicyEngine | None = None, *, leases: LeasePolicy | None = None) -> Policy:
    """Compile a bundle and read its data.

    Args:
        bundle: What decides.
        engine: What answers decisions; the engine in process where it is None.
        leases: How long things are held; the defaults where it is None.

    Raises:
        EngineError: it cannot be compiled.
        ModelError: its data is not what decisions read.
    """
    embedded = EmbeddedEngine(bundle)
    try:
        return _with_data(bundle, embedded, engine or embedded, leases)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        # Data is whatever somebody wrote into the files: a table may be a number, and a row lack a member.
        raise ModelError(
            f"the data of the policy is not what decisions read: {type(error).__name__}: {error}"
        ) from error


def _with_data(bundle: Bundle, embedded: EmbeddedEngine, engine: PolicyEngine, leases: LeasePolicy | None) -> Policy:
    data = msgspec.json.decode(bundle.data_json)
    reasons = ReasonTable(data["remit"]["reasons"]["codes"])
    scales = {name: tuple(values) for name, values in data["remit"]["config"]["scales"].items()}
    return Policy(
        bundle=bundle,
        embedded=embedded,
        engine=engine,
        reader=DecisionReader(codes=reasons.codes, revision=bundle.revision),
        reasons=reasons,
        scales=scales,
        archive=published(bundle),
        data=data,
        tables=tables_of(data, leases=leases),
        duties=rules_of(data["remit"]["config"]),
    )
