"""Questions that several tests ask of the content platform, `fixtures/worlds/seo.yaml`."""

from __future__ import annotations

from typing import Any, Final

EVALUATION: Final = "/access/v1/evaluation"
EVALUATIONS: Final = "/access/v1/evaluations"

PERMITTED: Final[dict[str, Any]] = {
    "subject": {"type": "instance", "id": "seo-agent-7"},
    "action": {"name": "UPDATE_CANONICAL"},
    "resource": {"type": "wp:post", "id": "1024"},
    "context": {"risk": "LOW", "environment": "production", "expected_version": "rev_331"},
}
"""An agent of the SEO role updates the canonical link of a post: permitted, under the precondition of its version."""

DENIED: Final[dict[str, Any]] = {
    "subject": {"type": "instance", "id": "seo-agent-7"},
    "action": {"name": "UPDATE_POST_BODY"},
    "resource": {"type": "wp:post", "id": "1024"},
    "context": {"environment": "production", "expected_version": "rev_331"},
}
"""The same agent touches the body, which its role was never given."""
