"""The one configuration of a process: every setting with its unit, its default and what it is for.

Where values come from, weakest first: the defaults here, `remit.toml`, the environment (`REMIT_` and the name in upper
case), options of the command line. `settings_sources.load_settings` puts them together; nothing else reads the
environment. No setting turns a fault into a permit, so there is none to get wrong.

Units are in the names: `_seconds`, `_bytes`. Secrets (`Secret`) come from the environment, or from a file that
`REMIT_<NAME>_FILE` names; never from the command line, where every process of the machine can read them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from msgspec import Meta

from remit_graph.errors import ModelError
from remit_service.identity.issuer import JwtIssuer
from remit_service.secret import MASK, Secret

Network = IPv4Network | IPv6Network
Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Count = Annotated[int, Meta(ge=1, le=1_000_000)]
Size = Annotated[int, Meta(ge=1_024, le=1 << 40)]


class SettingsError(ModelError):
    """The configuration cannot be used; `facts['places']` says where, one entry for each sentence."""

    code = "malformed_request"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a process is told; made once, read everywhere, changed nowhere."""

    store: str = "sqlite:///remit.db"
    """Where the ledger is: `sqlite:///<path>` or `neo4j://user@host:7687`."""
    store_password: Secret | None = None
    """Password of the Neo4j user."""
    target_password: Secret | None = None
    """For `remit store migrate --to`: password of the Neo4j user of that store; `store_password` if absent."""
    engine: str = "embedded"
    """Who evaluates the policy: `embedded`, or the address of an OPA server."""
    engine_timeout_seconds: Seconds = 1.0
    """How long one evaluation may take before it is a deny."""
    decision_within_seconds: Seconds = 5.0
    """How long one decision may take in all, whatever it waits for, before it is a deny."""
    engine_token: Secret | None = None
    """Bearer token that the OPA server demands."""
    policy_dir: Path | None = None
    """Folder of the policy bundle; the shipped one if absent."""
    world: Path | None = None
    """World file that is applied to an empty store at the start."""
    demo: bool = False
    """Serve the demo world from memory, with unauthenticated callers on loopback."""

    listen: str = "127.0.0.1:8180"
    """Address and port to listen on; `[::1]:8180` for IPv6."""
    base_url: str | None = None
    """How clients call this service, `https://remit.example.com`; made from `listen` if absent, never from a header."""
    workers: Annotated[int, Meta(ge=1, le=64)] = 1
    """Server processes on one port."""
    anonymous_loopback: bool = False
    """Let unauthenticated callers of this machine speak for anyone and be trusted for everything. For trials only."""
    shutdown_grace_seconds: Seconds = 10.0
    """How long open requests may finish after a stop was asked for."""
    replica: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")] = "remit"
    """Name of this process in logs, in decision log streams, and as one that offers its policy. Each process on a store
    has a name of its own, and the same one after a restart."""

    keys_file: Path | None = None
    """File of hashed API keys, `{"keys": [record, ...]}`; they count beside those of the ledger."""
    signing_key_file: Path | None = None
    """Ed25519 key, a JWK, that capabilities are signed with; one beside an embedded store if absent. Every replica of a
    store has the same."""
    jwt_issuers: tuple[JwtIssuer, ...] = ()
    """Issuers of tokens that are believed."""
    trusted_proxies: tuple[str, ...] = ()
    """Networks of proxies whose client certificate header is believed, such as `10.0.0.0/8`."""
    client_certificate_header: Annotated[str, Meta(pattern=r"^[A-Za-z0-9-]{1,64}$")] = "X-Forwarded-Client-Cert"
    """Header in which those proxies put the verified X.509-SVID: Envoy's form, or an URL-encoded PEM certificate."""

    max_body_bytes: Size = 1 << 20
    """Largest request body."""
    max_batch_items: Annotated[int, Meta(ge=1, le=10_000)] = 1_000
    """Most evaluations in one request."""
    max_json_depth: Annotated[int, Meta(ge=4, le=200)] = 32
    """Deepest nesting of a request body."""
    requests_per_second: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    """Evaluations and other requests of one enforcement point; 0 sets no limit."""
    max_requests_in_flight: Count = 1_024
    """Requests that are worked on at once; more are answered 503 at once."""
    max_long_polls: Count = 256
    """Open long polls for the policy bundle."""
    max_readings_in_flight: Count = 16
    """Searches and explanations worked on at once; they give way long before decisions do."""
    search_deadline_seconds: Seconds = 2.0
    """How long one page of a search may take; it then ends with what was found, and says so."""

    history_days: Annotated[int, Meta(ge=0, le=36_500)] = 0
    """Days of the ledger's history that stay; what is older goes by itself, receipts included. 0 keeps all of it."""

    max_staleness_seconds: Seconds = 5.0
    """A view that was not confirmed for longer denies."""
    max_clock_skew_seconds: Seconds = 1.0
    """How far the clock may differ from the store's."""
    revision_wait_seconds: Seconds = 1.0
    """How long a decision waits for a revision that its caller asks for."""

    lease_ttl_seconds: Seconds = 30.0
    """Life of a lease that names none."""
    lease_renew_margin_seconds: Seconds = 10.0
    """How long before its end a holder renews; less than the life, more than the clock skew."""
    lease_max_hold_seconds: Seconds = 1_800.0
    """What no renewal can go beyond."""

    decision_log: str = "file:remit-decisions"
    """Where decisions are recorded: `file:<folder>`, the http(s) address of a log service, or `none`."""
    decision_log_token: Secret | None = None
    """Bearer token of the log service."""
    decision_log_buffer: Count = 10_000
    """Records that wait to be written; more are counted as lost, or denied where the record is required."""
    decision_log_wait_seconds: Seconds = 0.5
    """How long a decision that must be recorded waits for its record."""
    decision_log_file_bytes: Size = 64 << 20
    """When a new file of the log is begun."""
    decision_log_input: Literal["full", "digest"] = "full"
    """Whether records hold the facts the policy saw, or only their digest."""
    recent_decisions: Count = 1_000
    """Decisions kept at hand for `GET /v1/decisions`."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severe message of the operating log; `debug` adds one line for each answered evaluation."""
    log_format: Literal["json", "text"] = "json"
    """How it is written, to standard error."""

    url: str | None = None
    """For commands: the running service they ask, instead of the store."""
    key: Secret | None = None
    """For commands: the API key they show it."""

    origins: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    """Setting -> where its value came from; what is not in it has its default."""

    def __post_init__(self) -> None:
        """Refuse settings that contradict each other.

        Raises:
            SettingsError: naming the setting.
        """
        self._check_addresses()
        if not self.lease_max_hold_seconds >= self.lease_ttl_seconds > self.lease_renew_margin_seconds:
            raise _refuse("lease_ttl_seconds", "lies between `lease_renew_margin_seconds` and `lease_max_hold_seconds`")
        if self.lease_renew_margin_seconds <= self.max_clock_skew_seconds:
            raise _refuse("lease_renew_margin_seconds", "is more than `max_clock_skew_seconds`")
        if self.anonymous_loopback and not self.is_loopback:
            raise _refuse("anonymous_loopback", f"is for 127.0.0.1 and ::1 only, and this listens on `{self.listen}`")
        if len({each.trust_domain or each.issuer for each in self.jwt_issuers}) != len(self.jwt_issuers):
            raise _refuse("jwt_issuers", "names an issuer or a trust domain twice")
        if self.trusted_proxies and any(each.prefixlen == 0 for each in self.proxy_networks):
            raise _refuse("trusted_proxies", "names proxies, not the whole internet")

    def _check_addresses(self) -> None:
        _ = self.address, self.proxy_networks
        scheme = urlsplit(self.store).scheme
        if scheme not in ("sqlite", "neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc"):
            raise _refuse(
                "store", f"`{scheme or self.store}` is no store: use sqlite:///<path> or neo4j://user@host:7687"
            )
        if urlsplit(self.store).password is not None:
            raise _refuse("store", "holds no password: set REMIT_STORE_PASSWORD or REMIT_STORE_PASSWORD_FILE")
        if self.engine != "embedded" and not _is_http(self.engine):
            raise _refuse("engine", "is `embedded` or the address of an OPA server, http://127.0.0.1:8181")
        kind, _, folder = self.decision_log.partition(":")
        if not (self.decision_log == "none" or (kind == "file" and folder) or _is_http(self.decision_log)):
            raise _refuse("decision_log", "is `file:<folder>`, an http or https address, or `none`")
        for name in ("base_url", "url"):
            value = getattr(self, name)
            if value is not None and (not _is_http(value) or urlsplit(value).query or urlsplit(value).fragment):
                raise _refuse(name, "is an http or https address without query and fragment")

    @property
    def address(self) -> tuple[str, int]:
        """Host and port to listen on."""
        parts = urlsplit(f"//{self.listen}")
        try:
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if host is None or port is None or parts.path or parts.username is not None:
            raise _refuse("listen", "is <address>:<port>, such as 127.0.0.1:8180 or [::1]:8180")
        return host, port

    @property
    def is_embedded(self) -> bool:
        """Whether the policy is evaluated in this process."""
        return self.engine == "embedded"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the service."""
        host, _ = self.address
        try:
            return ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    @property
    def proxy_networks(self) -> tuple[Network, ...]:
        """`trusted_proxies`, parsed."""
        try:
            return tuple(ip_network(each) for each in self.trusted_proxies)
        except ValueError as error:
            raise _refuse("trusted_proxies", f"are networks such as 10.0.0.0/8: {error}") from error

    @property
    def public_url(self) -> str:
        """The base of every address this service hands out, without a slash at the end."""
        return (self.base_url or f"http://{self.listen}").rstrip("/")

    def describe(self) -> dict[str, Any]:
        """Return every setting by name, with secrets masked; for `remit doctor` and the log of the start."""
        return {each.name: _shown(getattr(self, each.name)) for each in fields(self) if each.name != "origins"}


def _shown(value: object) -> object:
    if isinstance(value, Secret):
        return MASK
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, JwtIssuer):
        return {each.name: _shown(getattr(value, each.name)) for each in fields(value)}
    return [_shown(each) for each in value] if isinstance(value, tuple) else value


def _is_http(value: str) -> bool:
    parts = urlsplit(value)
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _refuse(name: str, message: str) -> SettingsError:
    return SettingsError(f"`{name}` {message}", places=[name])
