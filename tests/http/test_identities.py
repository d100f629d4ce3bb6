"""Workloads that prove themselves with a JWT-SVID, and gateways that hand a user's token on, over HTTP."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

from remit_service.identity.issuer import JwtIssuer
from tests.http.questions import EVALUATION, PERMITTED
from tests.http.serving import serve, stopped_later

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from tests.http.serving import Served

KEY = ECKey.generate_key("P-256", {"kid": "k"})
AUDIENCE = "https://remit.example.com"
ADAPTER = "spiffe://acme.test/adapters/wordpress"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The content platform, which believes one trust domain and one issuer of users' tokens."""
    folder = tmp_path_factory.mktemp("identities")
    keys = folder / "jwks.json"
    keys.write_text(json.dumps(KeySet([KEY]).as_dict(private=False)))
    issuers = (
        JwtIssuer(issuer="acme", audience=AUDIENCE, jwks_file=keys, kind="svid", trust_domain="acme.test"),
        JwtIssuer(issuer="https://idp.acme.test", audience=AUDIENCE, jwks_file=keys),
    )
    world = Path("fixtures/worlds/seo.yaml")
    yield from stopped_later(serve(folder, world, keys=("gateway",), jwt_issuers=issuers))


def token(**claims: Any) -> str:
    """Sign a token that is good for a minute."""
    body = {"aud": AUDIENCE, "exp": int(time.time()) + 60, **claims}
    return jwt.encode({"alg": "ES256", "kid": "k"}, body, KEY)


def ask(served: Served, credential: str, **headers: str) -> httpx.Response:
    """Put the permitted question with this credential."""
    shown = {"Authorization": f"Bearer {credential}", **headers}
    return served.client().post(EVALUATION, json=PERMITTED, headers=shown)


def test_a_workload_is_known_by_its_svid(served: Served) -> None:
    """The adapter that the world lists by its SPIFFE id asks with a token of its trust domain, again and again."""
    svid = token(sub=ADAPTER)

    replies = [ask(served, svid) for _ in range(3)]

    assert [reply.json()["decision"] for reply in replies] == [True] * 3


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({"sub": "spiffe://acme.test/adapters/unknown"}, 403),
        ({"sub": "spiffe://evil.test/adapters/wordpress"}, 401),
        ({"sub": ADAPTER, "aud": "another"}, 401),
        ({"sub": ADAPTER, "exp": 1}, 401),
        ({"sub": ADAPTER, "iss": "https://idp.acme.test"}, 403),
    ],
    ids=["unlisted", "of_another_domain", "for_another_service", "ended", "of_the_users_issuer"],
)
def test_another_token_opens_nothing(served: Served, claims: dict[str, Any], status: int) -> None:
    """What is not proven is 401; what is proven and not listed is 403."""
    assert ask(served, token(**claims)).status_code == status


def test_a_users_token_is_recorded_as_the_subject_s(served: Served) -> None:
    """A gateway hands it on; its verified identity is in the record, beside the gateway's own."""
    user = token(iss="https://idp.acme.test", sub="ana")

    reply = ask(served, served.keys["gateway"], **{"Remit-Subject-Token": f"Bearer {user}"})

    record = served.client("gateway").get("/v1/decisions?limit=1").json()["decisions"][0]
    assert reply.status_code == 200
    assert record["caller"] == {
        "point": "service:gateway",
        "identity": "key:gateway",
        "subject_identity": "jwt:https://idp.acme.test#ana",
    }


def test_a_users_token_that_proves_nothing_is_refused(served: Served) -> None:
    """A gateway cannot pass on what nobody has signed."""
    reply = ask(served, served.keys["gateway"], **{"Remit-Subject-Token": "Bearer a.b.c"})

    assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated")
