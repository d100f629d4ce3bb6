"""What the port `PolicyEngine` promises, over both adapters: the same answers, and the same refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from remit_service.engines.embedded import EmbeddedEngine
from remit_service.engines.errors import (
    EngineError,
    EngineTimeout,
    EngineUnavailable,
    PolicyError,
    PolicyMismatch,
    ResultMalformed,
    ResultUndefined,
)
from remit_service.engines.opa import OpaEngine
from remit_service.engines.ports import DECISION
from remit_service.engines.result import DecisionReader, PolicyResult
from tests.support.engines import a_bundle, stored, write_bundle
from tests.support.opa_server import OpaServer
from tests.support.programs import opa
from tests.support.services import require_service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from remit_service.engines.ports import Document, Input, PolicyEngine

BUNDLE = a_bundle(remit_case=stored("case"), custom=stored("site"), remit_asking=stored("asking"))
ZERO = {"zero": 0}


@pytest.fixture(scope="module")
def opa_with_cases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpaServer]:
    """An OPA that has the bundle of the cases."""
    require_service(opa)
    folder = tmp_path_factory.mktemp("opa")
    server = OpaServer(folder, load=[write_bundle(BUNDLE, folder / "bundle")])
    server.start()
    yield server
    server.stop()


@pytest.fixture(params=["embedded", pytest.param("opa", marks=pytest.mark.opa)])
async def engine(request: pytest.FixtureRequest) -> AsyncIterator[PolicyEngine]:
    """Each adapter over the same bundle."""
    made: PolicyEngine
    if request.param == "embedded":
        made = EmbeddedEngine(BUNDLE)
    else:
        server = request.getfixturevalue("opa_with_cases")
        made = OpaEngine(server.url, policy_revision=BUNDLE.revision, timeout_seconds=1)
    yield made
    await made.aclose()


def read(document: Document) -> PolicyResult:
    """Read a decision document of the bundle."""
    return DecisionReader(codes=frozenset({"no_authority"}), revision=BUNDLE.revision)(document)


async def refused(engine: PolicyEngine, entrypoint: str) -> str:
    """Return the code with which `entrypoint` is refused, by the engine or by the reader."""
    with pytest.raises(EngineError) as caught:
        read(await engine.evaluate(entrypoint, ZERO))
    return caught.value.code


async def test_an_answer_is_decoded_json_with_sets_as_sorted_lists(engine: PolicyEngine) -> None:
    """Input comes back exactly, 54-bit integers keep their last digit, and sets are lists."""
    asked = {"text": "ü\u2028", "list": [1, -2, None, True], "big": 9007199254740993}

    answer = await engine.evaluate("remit/case/echo", asked)

    expected = {"input": asked, "set": ["a", "b"], "integer": 9007199254740993, "revision": BUNDLE.revision}
    assert answer == expected


async def test_input_may_be_a_mapping_or_its_bytes(engine: PolicyEngine) -> None:
    """Both forms of one input get the same answer."""
    as_mapping = await engine.evaluate("remit/case/echo", {"a": [1]})
    as_bytes = await engine.evaluate("remit/case/echo", b'{"a":[1]}')

    assert as_bytes == as_mapping


async def test_a_decision_names_the_bundle(engine: PolicyEngine) -> None:
    """The revision of the engine, of the document and of the bundle are one."""
    result = read(await engine.evaluate(DECISION, {}))

    assert (result.policy_revision, engine.policy_revision) == (BUNDLE.revision, BUNDLE.revision)


async def test_a_well_formed_permit_is_read_whole(engine: PolicyEngine) -> None:
    """A permit keeps its chain and its obligation."""
    result = read(await engine.evaluate("remit/case/permit", {}))

    assert (result.effect, result.outcome, result.determining) == ("permit", "execute", ("g-1@1",))
    assert result.obligations[0].properties == {"fields": ["canonical"]}


@pytest.mark.parametrize("entrypoint", ["remit/absent/decision", "remit/decision/decisoin", "remit/case/undefined"])
async def test_what_has_no_value_is_result_undefined(engine: PolicyEngine, entrypoint: str) -> None:
    """F050 (a) to (c): an absent package, a misspelt entry point and an undefined rule are told as such."""
    with pytest.raises(ResultUndefined) as caught:
        await engine.evaluate(entrypoint, ZERO)

    assert caught.value.code == "result_undefined"


@pytest.mark.parametrize(
    "rule",
    [
        "yes",
        "text",
        "empty_object",
        "empty_list",
        "nothing",
        "effect_null",
        "effect_upper",
        "no_outcome",
        "unknown_reason",
        "echo",
    ],
)
async def test_what_is_no_decision_is_result_malformed(engine: PolicyEngine, rule: str) -> None:
    """F050 (d), (e): no value but a whole decision document is read, least of all as a yes."""
    assert await refused(engine, f"remit/case/{rule}") == "result_malformed"


@pytest.mark.parametrize("rule", ["failing", "two_values"])
async def test_a_rule_that_fails_is_policy_error(engine: PolicyEngine, rule: str) -> None:
    """A failing built-in and a rule with two values are told apart from a rule without value."""
    with pytest.raises(PolicyError) as caught:
        await engine.evaluate(f"remit/case/{rule}", ZERO)

    assert caught.value.code == "policy_error"


@pytest.mark.parametrize(("score", "denials"), [([1, 2, 3, 4], ["score"]), ([1], [])])
async def test_a_site_rule_that_can_be_evaluated_decides(
    engine: PolicyEngine, score: list[int], denials: list[str]
) -> None:
    """A rule of the site with the input it declares denies or does not."""
    answer = await engine.evaluate("remit/asking/denials", {"request": {"context": {"score": score}}})

    assert answer == denials


async def test_a_site_rule_that_fails_is_never_skipped(engine: PolicyEngine) -> None:
    """A deny rule whose built-in fails refuses the request, where leniency would let it through."""
    with pytest.raises(PolicyError):
        await engine.evaluate("remit/asking/denials", {"request": {"context": {"score": 7}}})


async def test_an_endless_evaluation_is_engine_timeout(engine: PolicyEngine) -> None:
    """A rule over six million pairs is stopped."""
    with pytest.raises(EngineTimeout) as caught:
        await engine.evaluate("custom/endless", {})

    assert caught.value.code == "engine_timeout"


async def test_an_engine_answers_again_after_a_timeout(engine: PolicyEngine) -> None:
    """One stopped evaluation harms no later one."""
    with pytest.raises(EngineTimeout):
        await engine.evaluate("custom/endless", {})

    assert await engine.evaluate("remit/case/yes", {}) is True


@pytest.mark.parametrize("document", [b'{"a":', b"{} {}", b'{"a": NaN}', b'"\xff"', {"set": object()}])
async def test_input_that_is_no_json_is_policy_error(engine: PolicyEngine, document: Input) -> None:
    """Broken input is refused as such; nothing is guessed from it."""
    with pytest.raises(PolicyError):
        await engine.evaluate("remit/case/yes", document)


async def test_a_ready_engine_passes_its_check(engine: PolicyEngine) -> None:
    """The check asks for a decision and is satisfied by a deny that names the bundle."""
    await engine.check()


async def test_a_closed_engine_is_unavailable(engine: PolicyEngine) -> None:
    """A question after `aclose` is refused."""
    await engine.aclose()

    with pytest.raises(EngineUnavailable):
        await engine.evaluate("remit/case/yes", {})


@pytest.mark.parametrize("entrypoint", [DECISION, "remit/case/yes"])
@pytest.mark.opa
async def test_the_document_of_another_bundle_is_policy_mismatch(opa_with_cases: OpaServer, entrypoint: str) -> None:
    """F053: an OPA that holds another bundle than the one in force is not believed, with or without a revision."""
    engine = OpaEngine(opa_with_cases.url, policy_revision="sha256:" + "0" * 64)
    with pytest.raises(PolicyMismatch) as caught:
        await engine.evaluate(entrypoint, {})
    await engine.aclose()

    assert caught.value.facts == {"expected": "sha256:" + "0" * 64, "actual": BUNDLE.revision}


async def test_a_check_fails_where_the_decision_is_absent(
    engine: PolicyEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F050: an engine without its entry point is not ready."""
    for adapter in ("embedded", "opa"):
        monkeypatch.setattr(f"remit_service.engines.{adapter}.DECISION", "remit/decision/decisoin")

    with pytest.raises(ResultUndefined):
        await engine.check()


def test_a_malformed_result_names_what_is_wrong() -> None:
    """The message says which member is wrong, so that a policy author can mend it."""
    with pytest.raises(ResultMalformed, match=r"object missing required field `outcome`"):
        read({"effect": "permit"})
