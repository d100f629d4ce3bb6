"""Signed tokens: which are believed, as whom, and every way in which one is not."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OctKey, OKPKey, RSAKey

from remit_graph.model.instant import SECOND
from remit_service.identity.errors import BadCredentials
from remit_service.identity.issuer import JwtIssuer
from remit_service.identity.jwks import FileKeys, UrlKeys, read_key_set
from remit_service.identity.ports import Presented
from remit_service.identity.tokens import REMEMBER_SECONDS, Tokens

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from remit_service.identity.jwks import SigningKeys

NOW = 1_800_000_000
EC = ECKey.generate_key("P-256", {"kid": "ec"})
RSA = RSAKey.generate_key(2048, {"kid": "rsa"})
OTHER = ECKey.generate_key("P-256", {"kid": "ec"})
ISSUER = "https://idp.acme.test"
AUDIENCE = "https://remit.example.com"


class Fixed:
    """Keys that are there."""

    def __init__(self, *keys: Any) -> None:
        self.keys = read_key_set({"keys": [key.as_dict(private=False) for key in keys]})

    async def current(self, _kid: str | None) -> SigningKeys:
        """Return them."""
        return self.keys

    async def aclose(self) -> None:
        """Hold nothing."""


class Clock:
    """Says what it is told."""

    def __init__(self) -> None:
        self.seconds = NOW

    def __call__(self) -> int:
        """Return microseconds."""
        return self.seconds * SECOND


def issuer(**changes: Any) -> JwtIssuer:
    """An issuer of tokens; its keys are handed in beside it."""
    return JwtIssuer(**{"issuer": ISSUER, "audience": AUDIENCE, "jwks_url": "https://idp.acme.test/keys", **changes})


def spiffe(**changes: Any) -> JwtIssuer:
    """A SPIFFE trust domain."""
    return issuer(**{"issuer": "acme", "kind": "svid", "trust_domain": "acme.test", **changes})


def claims(**changes: Any) -> dict[str, Any]:
    """The claims of a good token; a change to None leaves a claim out."""
    good = {"iss": ISSUER, "sub": "user:ana", "aud": AUDIENCE, "exp": NOW + 60, "iat": NOW, **changes}
    return {name: value for name, value in good.items() if value is not None}


def token(body: Mapping[str, Any], key: Any = EC, **header: Any) -> str:
    """Sign `body`."""
    algorithm = {"EC": "ES256", "RSA": "RS256", "OKP": "Ed25519", "oct": "HS256"}[key.key_type]
    return jwt.encode({"alg": algorithm, "kid": key.kid, **header}, dict(body), key, algorithms=[algorithm])


def shown(text: str) -> Presented:
    """A call that shows a token."""
    return Presented({b"authorization": f"Bearer {text}".encode("latin-1")})


def tokens(*issuers: JwtIssuer, keys: Any = None, clock: Clock | None = None) -> Tokens:
    """A verifier of these issuers."""
    return Tokens([(each, keys or Fixed(EC, RSA)) for each in issuers or (issuer(),)], clock or Clock())


@pytest.mark.parametrize("key", [EC, RSA], ids=["ec", "rsa"])
async def test_a_good_token_proves_issuer_and_subject(key: Any) -> None:
    """The identity is the pair of issuer and subject."""
    verified = await tokens().verify(shown(token(claims(), key)))

    assert verified is not None
    assert (verified.names, verified.actor) == ((f"jwt:{ISSUER}#user:ana",), None)


async def test_a_good_svid_proves_a_workload() -> None:
    """The identity is the SPIFFE id; `iss` is not asked for, the trust domain decides whose keys count."""
    body = claims(iss=None, sub="spiffe://acme.test/agents/seo-agent-7", aud=[AUDIENCE, "another"])

    verified = await tokens(spiffe()).verify(shown(token(body, typ="JWT")))

    assert verified is not None
    assert verified.names == ("spiffe://acme.test/agents/seo-agent-7",)


async def test_the_outermost_actor_acts() -> None:
    """`act` names who acts for the subject; actors further inside are told and not believed."""
    body = claims(act={"sub": "agent:planner-7", "act": {"sub": "agent:orchestrator"}})

    verified = await tokens().verify(shown(token(body)))

    assert verified is not None
    assert (verified.names, verified.actor) == ((f"jwt:{ISSUER}#user:ana",), f"jwt:{ISSUER}#agent:planner-7")


BAD_CLAIMS: dict[str, dict[str, Any]] = {
    "ended": {"exp": NOW - 31},
    "without_end": {"exp": None},
    "end_is_a_text": {"exp": str(NOW + 60)},
    "end_is_true": {"exp": True},
    "end_is_no_number": {"exp": float("nan")},
    "not_begun": {"nbf": NOW + 31},
    "made_in_the_future": {"iat": NOW + 31},
    "for_another_service": {"aud": "https://other.example.com"},
    "for_a_prefix": {"aud": AUDIENCE + "/x"},
    "for_nobody": {"aud": None},
    "for_no_list": {"aud": {"0": AUDIENCE}},
    "without_subject": {"sub": None},
    "subject_is_a_number": {"sub": 7},
    "empty_subject": {"sub": ""},
    "subject_with_a_space": {"sub": "user ana"},
    "of_another_issuer": {"iss": "https://evil.example"},
    "without_issuer": {"iss": None},
    "issuer_is_a_list": {"iss": [ISSUER]},
    "actor_without_subject": {"act": {}},
    "actor_is_a_text": {"act": "agent:planner-7"},
    "actor_of_another_issuer": {"act": {"iss": "https://evil.example", "sub": "root"}},
}


@pytest.mark.parametrize("changes", BAD_CLAIMS.values(), ids=BAD_CLAIMS)
async def test_bad_claims_prove_nothing(changes: dict[str, Any]) -> None:
    """A signature is no reason to believe a token that is not for us, not now, or from somebody else."""
    with pytest.raises(BadCredentials):
        await tokens().verify(shown(token(claims(**changes))))


BAD_SVIDS: dict[str, dict[str, Any]] = {
    "of_another_domain": {"sub": "spiffe://evil.test/agents/seo-agent-7"},
    "of_a_longer_domain": {"sub": "spiffe://acme.test.evil/agents/a"},
    "of_the_domain_itself": {"sub": "spiffe://acme.test"},
    "with_a_port": {"sub": "spiffe://acme.test:80/a"},
    "with_a_query": {"sub": "spiffe://acme.test/a?b"},
    "climbing": {"sub": "spiffe://acme.test/a/../b"},
    "in_capitals": {"sub": "spiffe://ACME.test/a"},
    "no_spiffe_id": {"sub": "user:ana"},
}


@pytest.mark.parametrize("changes", BAD_SVIDS.values(), ids=BAD_SVIDS)
async def test_bad_svids_prove_nothing(changes: dict[str, Any]) -> None:
    """A trust domain speaks for its own workloads only, and for well-formed ids only."""
    with pytest.raises(BadCredentials):
        await tokens(spiffe()).verify(shown(token(claims(iss=None, **changes))))


async def test_an_issuer_does_not_speak_for_a_trust_domain() -> None:
    """A SPIFFE id in the token of an OpenID issuer is that issuer's subject, and no workload."""
    body = claims(sub="spiffe://acme.test/agents/a")

    verified = await tokens(issuer(), spiffe()).verify(shown(token(body)))

    assert verified is not None
    assert verified.names == (f"jwt:{ISSUER}#spiffe://acme.test/agents/a",)


def unsigned(header: Mapping[str, Any], body: Mapping[str, Any], signature: bytes = b"") -> str:
    """Write a token by hand."""
    parts = (json.dumps(header).encode(), json.dumps(body).encode(), signature)
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


def forged() -> dict[str, str]:
    """Tokens that nobody who may has signed."""
    good = token(claims())
    head, body, signature = good.split(".")
    public = json.dumps(EC.as_dict(private=False)).encode()
    return {
        "not_signed": unsigned({"alg": "none"}, claims()),
        "signature_left_out": f"{head}.{body}.",
        "another_body": f"{head}.{unsigned({}, claims(sub='root')).split('.')[1]}.{signature}",
        "another_key": token(claims(), OTHER),
        "unknown_key_id": token(claims(), OTHER, kid="new"),
        "public_key_as_secret": token(claims(), OctKey.import_key(public), kid="ec"),
        "an_algorithm_that_is_not_allowed": jwt.encode(
            {"alg": "RS384", "kid": "rsa"}, claims(), RSA, algorithms=["RS384"]
        ),
        "encrypted": f"{head}.{body}.{signature}.a.b",
        "two_parts": f"{head}.{body}",
        "no_token": "x",
        "dots": "..",
        "header_is_a_list": unsigned([], claims()),  # type: ignore[arg-type]
        "body_is_a_list": unsigned({"alg": "ES256"}, []),  # type: ignore[arg-type]
        "too_long": "a." * 9_000,
        "no_base64": "ä.ö.ü",
        "another_type": token(claims(), typ="txntoken+jwt"),
        "type_is_a_number": unsigned({"alg": "ES256", "typ": 7}, claims()),
        "with_a_critical_header": unsigned({"alg": "ES256", "crit": ["b64"], "b64": False}, claims()),
    }


@pytest.mark.parametrize("text", forged().values(), ids=forged())
async def test_what_is_not_signed_by_the_issuer_proves_nothing(text: str) -> None:
    """Forged, cut, exchanged and confused: refused."""
    with pytest.raises(BadCredentials):
        await tokens().verify(shown(text))


async def test_a_token_is_remembered_until_it_ends() -> None:
    """A second call costs no look at the keys; an ended token is refused all the same, also when remembered."""
    clock, keys = Clock(), Fixed(EC)
    verifier, text = tokens(keys=keys, clock=clock), token(claims(exp=NOW + 10))
    assert await verifier.verify(shown(text))

    keys.keys = read_key_set({"keys": [OTHER.as_dict(private=False)]})
    clock.seconds = NOW + 39
    assert await verifier.verify(shown(text))
    clock.seconds = NOW + 40
    with pytest.raises(BadCredentials):
        await verifier.verify(shown(text))


async def test_a_withdrawn_key_stops_working() -> None:
    """Remembering has an end long before a token's own may come."""
    clock, keys = Clock(), Fixed(EC)
    verifier, text = tokens(keys=keys, clock=clock), token(claims(exp=NOW + 86_400))
    assert await verifier.verify(shown(text))

    keys.keys = read_key_set({"keys": [OTHER.as_dict(private=False)]})
    clock.seconds = NOW + int(REMEMBER_SECONDS)

    with pytest.raises(BadCredentials):
        await verifier.verify(shown(text))


async def test_other_credentials_are_left_to_others() -> None:
    """An API key and another scheme are not this verifier's."""
    verifier = tokens()

    assert await verifier.verify(Presented({})) is None
    assert await verifier.verify(shown("rmk_0123456789abcdef_x")) is None
    assert await verifier.verify(Presented({b"authorization": b"Basic YTpi"})) is None


def test_only_signing_keys_are_taken_from_a_set() -> None:
    """Secrets, certificates, weak keys and keys of unknown kinds are passed over; a set of nothing else is none."""
    weak = RSA.as_dict(private=False) | {"n": "A" * 171}
    entries = [
        EC.as_dict(private=False) | {"use": "jwt-svid"}, RSA.as_dict(private=False) | {"use": "x509-svid"}, weak,
        OctKey.generate_key(256, auto_kid=True).as_dict(), {"kty": "PQC", "kid": "q"}, {"kty": "EC"}, 7,
    ]  # fmt: skip

    assert [key.kid for key in read_key_set({"keys": entries}).keys] == ["ec"]
    others: list[Any] = [{"keys": entries[1:]}, {"keys": {}}, {}, [], None]
    for nothing in others:
        with pytest.raises(BadCredentials):
            read_key_set(nothing)


async def test_keys_of_a_file_follow_the_file(tmp_path: Path) -> None:
    """A changed file is read again, and one that went away gives no keys."""
    path = tmp_path / "keys"
    path.write_text(json.dumps(KeySet([EC]).as_dict(private=False)))
    keys = FileKeys(path)

    assert [key.kid for key in (await keys.current("ec")).keys] == ["ec"]
    path.write_text(json.dumps(KeySet([RSA, EC]).as_dict(private=False)))
    assert [key.kid for key in (await keys.current("ec")).keys] == ["rsa", "ec"]
    path.unlink()
    with pytest.raises(BadCredentials):
        await keys.current("ec")


class Published:
    """An issuer's address, with what it answers and how often it was asked."""

    def __init__(self) -> None:
        self.keys: list[Any] = [EC]
        self.status = 200
        self.asked = 0
        self.now = 0.0

    def source(self) -> UrlKeys:
        """Return keys that are fetched from here."""
        return UrlKeys("https://idp.acme.test/keys", lambda: self.now, httpx.MockTransport(self._answer))

    def _answer(self, _request: httpx.Request) -> httpx.Response:
        self.asked += 1
        document = {"keys": [key.as_dict(private=False) for key in self.keys]}
        return httpx.Response(self.status, json=document)


async def test_a_new_key_is_fetched_when_a_token_names_it() -> None:
    """Rotation works without a restart, and made-up key ids do not make a load of it."""
    published = Published()
    source = published.source()
    await source.current("ec")
    published.keys = [EC, RSA]

    for _ in range(5):
        await source.current("made-up")
    assert published.asked == 1
    published.now = 11.0
    found = await source.current("rsa")
    await source.aclose()

    assert [key.kid for key in found.keys] == ["ec", "rsa"]
    assert published.asked == 2


async def test_keys_outlive_an_issuer_that_is_down() -> None:
    """The last keys go on being used for a day; without any there is no token to believe."""
    published = Published()
    source = published.source()
    await source.current("ec")
    published.status = 503

    published.now = 3_600.0
    assert [key.kid for key in (await source.current("ec")).keys] == ["ec"]
    published.now = 90_000.0
    with pytest.raises(BadCredentials):
        await source.current("ec")
    await source.aclose()


async def test_edwards_keys_work_where_they_are_allowed() -> None:
    """Ed25519 is an algorithm an issuer may be given."""
    key = OKPKey.generate_key("Ed25519", {"kid": "ed"})

    verified = await tokens(issuer(algorithms=("Ed25519",)), keys=Fixed(key)).verify(shown(token(claims(), key)))

    assert verified is not None
