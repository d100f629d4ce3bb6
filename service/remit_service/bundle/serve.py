"""What the decision point publishes to OPA: the archive with its entity tag, and the configuration that fetches it.

The route itself, with long polling and its own limit of connections, belongs to the web face; these are pure values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_service.bundle.archive import pack

if TYPE_CHECKING:
    from remit_service.bundle.model import Bundle

BUNDLE_PATH: Final = "bundles/remit.tar.gz"
MEDIA_TYPE: Final = "application/gzip"
LONG_POLL_MEDIA_TYPE: Final = "application/vnd.openpolicyagent.bundles"
"""Marks a reply to a long poll; OPA then asks again at once instead of waiting for its next turn."""


@dataclass(frozen=True, slots=True)
class Published:
    """One bundle as it goes over the wire."""

    etag: str
    body: bytes


def published(bundle: Bundle, *, signatures: bytes | None = None) -> Published:
    """Return archive and entity tag; the tag is strong, since equal bundles are equal bytes."""
    tag = bundle.revision.replace(":", "-") + ("-signed" if signatures is not None else "")
    return Published(f'"{tag}"', pack(bundle, signatures=signatures))


def opa_configuration(
    url: str,
    *,
    long_polling_seconds: int = 30,
    token_path: str | None = None,
    verification_key: str | None = None,
    algorithm: str = "ES256",
) -> dict[str, Any]:
    """Return the configuration of an OPA beside the decision point at `url`; written as YAML or JSON it is a file.

    Args:
        url: The base address of the decision point.
        long_polling_seconds: How long one request for a newer bundle may stay open.
        token_path: A file with the bearer token that the bundle route demands.
        verification_key: The public key, PEM, of signed bundles.
        algorithm: The algorithm of that key.
    """
    service: dict[str, Any] = {"name": "remit", "url": url}
    if token_path is not None:
        service["credentials"] = {"bearer": {"token_path": token_path}}
    bundle: dict[str, Any] = {
        "service": "remit",
        "resource": BUNDLE_PATH,
        "polling": {"long_polling_timeout_seconds": long_polling_seconds},
    }
    configuration: dict[str, Any] = {"services": [service], "bundles": {"remit": bundle}}
    if verification_key is not None:
        bundle["signing"] = {"keyid": "remit"}
        configuration["keys"] = {"remit": {"algorithm": algorithm, "key": verification_key}}
    return configuration
