"""Verifiers as the settings ask for them; and whether the service may be reached from other machines at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_service.identity.api_key import ApiKeys, read_keys
from remit_service.identity.identifier import SUBJECT_TOKEN, Identifier
from remit_service.identity.loopback import Loopback
from remit_service.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.identity.issuer import JwtIssuer
    from remit_service.identity.ports import IdentityVerifier
    from remit_service.identity.tokens import KeySource
    from remit_service.settings import Settings


def make_identifier(
    settings: Settings, view: Callable[[], View], now: Callable[[], Instant], monotonic: Callable[[], float]
) -> Identifier:
    """Return the identifier of one process.

    Raises:
        SettingsError: other machines could reach a service that nobody can authenticate to.
        ModelError: the file of API keys cannot be used.
    """
    file = read_keys(settings.keys_file) if settings.keys_file is not None else None
    keys = ApiKeys(lambda: view().records.get("api_key", {}), now, file)
    _check_exposure(settings, has_keys=keys.exist)
    verifiers: list[IdentityVerifier] = [keys]
    subjects: IdentityVerifier | None = None
    # What is not configured is not imported either: it is a third of the time until the first answer.
    if settings.jwt_issuers:
        from remit_service.identity.tokens import Tokens

        sources = [(each, _source(each, monotonic)) for each in settings.jwt_issuers]
        verifiers.append(Tokens(sources, now))
        subjects = Tokens(sources, now, header=SUBJECT_TOKEN)
    if settings.trusted_proxies:
        from remit_service.identity.certificates import Certificates

        verifiers.append(Certificates(settings.proxy_networks, settings.client_certificate_header))
    return Identifier(verifiers, Loopback(settings, view), view, subjects)


def _source(issuer: JwtIssuer, monotonic: Callable[[], float]) -> KeySource:
    from remit_service.identity.jwks import FileKeys, UrlKeys

    if issuer.jwks_file is not None:
        return FileKeys(issuer.jwks_file)
    return UrlKeys(issuer.jwks_url or "", monotonic)


def _check_exposure(settings: Settings, *, has_keys: bool) -> None:
    if settings.is_loopback or has_keys or settings.jwt_issuers or settings.trusted_proxies:
        return
    raise SettingsError(
        f"`listen` is `{settings.listen}`, which other machines reach, and nobody could authenticate: make an API key"
        " with `remit key create`, set `jwt_issuers`, or listen on 127.0.0.1",
        places=[settings.origins.get("listen", "listen")],
    )
