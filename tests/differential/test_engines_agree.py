"""The engine in process and OPA give the same document for the same input: law `engines_agree`."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import TYPE_CHECKING, Any, Final

import jsonschema_rs
import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from remit_service.bundle.build import build_bundle
from remit_service.bundle.folder import read_folder, shipped_policy
from remit_service.engines.embedded import EmbeddedEngine
from remit_service.engines.errors import EngineError
from remit_service.engines.opa import OpaEngine
from remit_service.engines.ports import DECISION
from remit_service.engines.regorus import Interpreter
from remit_service.engines.result import DecisionReader
from tests.support.engines import write_bundle
from tests.support.opa_server import OpaServer
from tests.support.policy_bounds import largest_input
from tests.support.policy_inputs import DOMAINS, conflict_input, policy_input
from tests.support.programs import opa
from tests.support.services import require_service

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_service.engines.ports import Document, PolicyEngine

BATCH: Final = 25
"""Inputs of one example; OPA is asked for all of them at once."""

BUNDLE: Final = build_bundle(read_folder(shipped_policy()))
CODES: Final = frozenset(entry["code"] for entry in json.loads(BUNDLE.data_json)["remit"]["reasons"]["codes"])

# A smaller seed is no simpler input, so nothing is shrunk.
many = settings(phases=[Phase.explicit, Phase.reuse, Phase.generate], suppress_health_check=[HealthCheck.too_slow])
seeds = st.integers(0, 2**32)


@pytest.fixture(scope="module")
def opa_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An OPA that has the shipped bundle."""
    require_service(opa)
    folder = tmp_path_factory.mktemp("opa")
    server = OpaServer(folder, load=[write_bundle(BUNDLE, folder / "bundle")])
    server.start()
    yield server.url
    server.stop()


async def answer(engine: PolicyEngine, document: bytes) -> Document:
    """Return the document, or the code of the refusal."""
    try:
        return await engine.evaluate(DECISION, document)
    except EngineError as error:
        return error.code


async def answers(url: str, inputs: list[dict[str, Any]]) -> tuple[list[Document], list[Document]]:
    """Return what the engine in process and OPA say to each of `inputs`."""
    documents = [msgspec.json.encode(each) for each in inputs]
    embedded, server = EmbeddedEngine(BUNDLE), OpaEngine(url, policy_revision=BUNDLE.revision, timeout_seconds=30)
    ours = [await answer(embedded, document) for document in documents]
    theirs = await asyncio.gather(*(answer(server, document) for document in documents))
    await server.aclose()
    return ours, list(theirs)


@pytest.mark.opa
@pytest.mark.feature("S53")
@settings(many, max_examples=24)
@given(first=seeds)
def test_engines_agree(opa_url: str, first: int) -> None:
    """600 generated inputs, most with a flaw or two: whole documents are equal, and each is one that is read."""
    batch = range(first, first + BATCH)
    ours, theirs = asyncio.run(answers(opa_url, [policy_input(seed) for seed in batch]))

    assert dict(zip(batch, ours, strict=True)) == dict(zip(batch, theirs, strict=True))
    read = DecisionReader(codes=CODES, revision=BUNDLE.revision)
    assert {read(document).policy_revision for document in ours} == {BUNDLE.revision}


@pytest.mark.opa
@pytest.mark.feature("S53")
def test_engines_agree_on_every_pair_of_conflict_domains(opa_url: str) -> None:
    """The whole matrix, and domains that nobody has heard of: the same outcome from both engines, either way round."""
    domains = [*DOMAINS, "*", "UNHEARD_OF"]
    pairs = list(itertools.product(domains, repeat=2))
    ours, theirs = asyncio.run(answers(opa_url, [conflict_input(*pair) for pair in pairs]))

    assert dict(zip(pairs, ours, strict=True)) == dict(zip(pairs, theirs, strict=True))
    read = DecisionReader(codes=CODES, revision=BUNDLE.revision)
    outcome = {pair: read(document).outcome for pair, document in zip(pairs, ours, strict=True)}
    assert outcome["CONTENT_BODY", "ANALYTICS_READ"] == "execute"
    assert outcome["CONTENT_BODY", "CONTENT_BODY"] == "serialize"
    assert outcome["CONTENT_BODY", "UNHEARD_OF"] == "escalate"
    assert all(outcome[mine, theirs] == outcome[theirs, mine] for mine, theirs in pairs)


@pytest.mark.opa
@pytest.mark.parametrize("hops", [2, 6, 16])
def test_engines_agree_on_the_largest_inputs(opa_url: str, hops: int) -> None:
    """16 candidates beside 32 leases: too much for the VM, and still the document that OPA gives."""
    ours, theirs = asyncio.run(answers(opa_url, [largest_input(hops=hops)]))

    assert ours == theirs
    assert isinstance(ours[0], dict)


@settings(many, max_examples=12)
@given(first=seeds)
def test_no_shipped_rule_relies_on_a_failing_function(first: int) -> None:
    """The strict interpreter gives the VM's document: where the VM is lenient, there is nothing to be lenient about."""
    embedded, strict = EmbeddedEngine(BUNDLE), Interpreter(BUNDLE.modules, BUNDLE.data_json)
    for seed in range(first, first + BATCH):
        document = msgspec.json.encode(policy_input(seed))

        value = json.loads(strict.run("data.remit.decision.decision", document.decode()))
        assert embedded.evaluate_now(DECISION, document) == value, seed


@settings(many, max_examples=12)
@given(first=seeds)
def test_generated_inputs_are_what_the_schema_describes(first: int) -> None:
    """What is compared is what the service builds."""
    schema = jsonschema_rs.validator_for(json.loads((shipped_policy() / "schemas" / "input.json").read_text()))
    found = {
        f"{seed}: {'/'.join(map(str, error.instance_path))} {error.message}"
        for seed in range(first, first + BATCH)
        for error in schema.iter_errors(policy_input(seed))
    }

    assert found == set()
