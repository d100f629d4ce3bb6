"""`GET /.well-known/authzen-configuration`: where the routes of AuthZEN are, from the configured address only.

Never from the Host header: whoever could choose it could send enforcement points to a decision point of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

PATH: Final = "/.well-known/authzen-configuration"
CAPABILITIES: Final = (
    "urn:ietf:params:authzen:capability:evaluations-semantic",
    "urn:ietf:params:authzen:capability:transitive-search",
)
ENDPOINTS: Final[Mapping[str, str]] = {
    "access_evaluation_endpoint": "/access/v1/evaluation",
    "access_evaluations_endpoint": "/access/v1/evaluations",
    "search_subject_endpoint": "/access/v1/search/subject",
    "search_resource_endpoint": "/access/v1/search/resource",
    "search_action_endpoint": "/access/v1/search/action",
    "jwks_uri": "/.well-known/jwks.json",
}


def metadata(public_url: str) -> dict[str, Any]:
    """Return the metadata document of the service at `public_url`."""
    endpoints = {name: public_url + path for name, path in ENDPOINTS.items()}
    return {"policy_decision_point": public_url, **endpoints, "capabilities": list(CAPABILITIES)}
