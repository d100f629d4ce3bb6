"""The OpenAPI document says what the service does: schemathesis asks what it allows, and much that it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import CHECKS, load_all_checks

from remit_service.http.coordination.desk import MAX_WAIT_SECONDS

if TYPE_CHECKING:
    from tests.http.serving import Served

load_all_checks()
schema = schemathesis.pytest.from_fixture("described")
# What is not judged: whether a wrong credential is refused is shown by test_protocol; unknown members are ignored. The
# server's Allow joins the methods of all paths that match, and `/v1/capabilities/introspect` looks like an id as well.
LEFT_OUT = {
    "ignored_auth",
    "allow_header_conformance",
    "unsupported_method",
    "use_after_free",
    "ensure_resource_availability",
}
# Which moments and page tokens there were is known to the service alone.
OF_A_MOMENT = ("/v1/explain", "/v1/search", "/access/v1/search/")
# What a command comes to depends on what is there, held and allowed: 403 to 428 answer well-formed calls too.
OF_A_STATE = (
    "/v1/approvals", "/v1/capabilities",
    "/v1/break-glass", "/v1/delegations", "/v1/epochs", "/v1/grants", "/v1/graph/", "/v1/memberships", "/v1/principals",
    "/v1/revocations",
    "/v1/changes", "/v1/conflicts", "/v1/incidents", "/v1/leases", "/v1/observations", "/v1/operations", "/v1/presence",
    "/v1/transfers", "/v1/waiters", "/v1/work-sets",
)  # fmt: skip
JUDGED: Any = [CHECKS.get_one(name) for name in CHECKS.get_all_names() if name not in LEFT_OUT]


def is_beyond_its_schema(value: Any) -> bool:
    """Whether a number is in it that strict parsing refuses and no schema can name.

    JSON Schema takes 1.0 for a whole number, and knows no bound that holds wherever a member may stand.
    """
    if isinstance(value, dict):
        return any(map(is_beyond_its_schema, value.values()))
    if isinstance(value, list):
        return any(map(is_beyond_its_schema, value))
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not -(1 << 63) <= value < 1 << 63


@schemathesis.hook
def filter_body(_context: schemathesis.HookContext, body: Any) -> bool:
    """Leave such numbers out."""
    return not is_beyond_its_schema(body)


@pytest.fixture(scope="session")
def described(seo: Served) -> Any:
    """The document of a running service."""
    return schemathesis.openapi.from_url(f"{seo.url}/openapi.json")


@pytest.mark.slow
@pytest.mark.timeout(600)
@schema.parametrize()
@settings(max_examples=8, derandomize=True, suppress_health_check=list(HealthCheck), deadline=None)
def test_the_service_does_what_its_document_says(case: schemathesis.Case[Any], seo: Served) -> None:
    """No answer is a failure, has an undeclared status or media type, or another shape than is declared."""
    headers = {"Authorization": f"Bearer {seo.keys['gateway']}"}
    wait = str((case.query or {}).get("wait", ""))
    if wait.isdecimal() and int(wait) <= MAX_WAIT_SECONDS:
        # Nothing would happen meanwhile.
        case.query["wait"] = 0
    excluded: Any = []
    if case.path.startswith((*OF_A_MOMENT, *OF_A_STATE)):
        excluded = [CHECKS.get_one(name) for name in ("positive_data_acceptance", "missing_required_header")]
    case.call_and_validate(headers=headers, checks=JUDGED, excluded_checks=excluded)
