"""An agent that acts for people: a delegated token keeps it to the authority of the one it was given for (RFC 8693)."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

from remit_service.identity.issuer import JwtIssuer
from tests.http.questions import EVALUATION
from tests.http.serving import serve, stopped_later

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.http.serving import Served

KEY = ECKey.generate_key("P-256", {"kid": "k"})
AUDIENCE, ISSUER = "https://remit.example.com", "https://idp.acme.test"
WORLD = f"""\
realm: behalf
root: ["organization:root"]
resource_types:
  doc: {{key: "doc:{{id}}", concurrency: READ_SHARED}}
actions:
  READ: {{class: read}}
principals:
  - {{id: "organization:root"}}
  - {{id: "human:chief", acts_as: ["organization:root"]}}
  - {{id: "human:ana", identities: ["jwt:{ISSUER}#ana"]}}
  - {{id: "human:bob", identities: ["jwt:{ISSUER}#bob"]}}
  - {{id: "role:planner"}}
  - {{id: "instance:planner-1", acts_as: ["role:planner"], identities: ["jwt:{ISSUER}#planner-1"]}}
  - {{id: "instance:planner-2", acts_as: ["role:planner"], identities: ["jwt:{ISSUER}#planner-2"]}}
grants:
  - {{edge_id: of-ana, edge: MAY_READ, from: "human:ana", to: "doc:ana"}}
  - {{edge_id: of-bob, edge: MAY_READ, from: "human:bob", to: "doc:bob"}}
may_delegate:
  - {{edge_id: ana-may, from: "human:ana", to: "role:planner", max_depth: 1}}
  - {{edge_id: bob-may, from: "human:bob", to: "role:planner", max_depth: 1}}
delegations:
  - {{delegation_id: ana-gives, from: "human:ana", to: "role:planner", max_depth: 0, scope: {{actions: [READ]}}}}
  - {{delegation_id: bob-gives, from: "human:bob", to: "role:planner", max_depth: 0, scope: {{actions: [READ]}}}}
enforcement_points:
  - {{id: "service:gateway", identities: ["key:gateway"], speaks_for: ["*:*"], visibility: full}}
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Two people, each with a document, and a planner that both let read theirs, in two runs."""
    folder = tmp_path_factory.mktemp("behalf")
    keys = folder / "jwks.json"
    keys.write_text(json.dumps(KeySet([KEY]).as_dict(private=False)))
    (folder / "behalf.yaml").write_text(WORLD)
    issuer = JwtIssuer(issuer=ISSUER, audience=AUDIENCE, jwks_file=keys)
    yield from stopped_later(serve(folder, folder / "behalf.yaml", keys=("gateway",), jwt_issuers=(issuer,)))


def token(sub: str, *actors: str) -> str:
    """Sign a token that is good for a minute; `actors` from the current one to the earliest."""
    body: dict[str, Any] = {"iss": ISSUER, "sub": sub, "aud": AUDIENCE, "exp": int(time.time()) + 60}
    place = body
    for each in actors:
        place["act"] = {"sub": each}
        place = place["act"]
    return jwt.encode({"alg": "ES256", "kid": "k"}, body, KEY)


def ask(
    served: Served, shown: str | None, document: str, subject: str = "planner-1", kind: str = "instance",
    headers: dict[str, str] | None = None, **context: Any,
) -> tuple[bool, list[str]]:  # fmt: skip
    """Ask whether somebody may read a document, with a user's token or without; returns verdict and codes."""
    body = {
        "subject": {"type": kind, "id": subject}, "action": {"name": "READ"},
        "resource": {"type": "doc", "id": document}, "context": context,
    }  # fmt: skip
    passed = {"Remit-Subject-Token": f"Bearer {shown}"} if shown is not None else {}
    reply = served.client("gateway").post(EVALUATION, json=body, headers={**passed, **(headers or {})})
    assert reply.status_code == 200, reply.text
    answer = reply.json()
    return answer["decision"], [each["code"] for each in answer["context"]["reasons"]]


@pytest.mark.feature("S07", "S17")
def test_a_delegated_token_reaches_what_its_subject_may(served: Served) -> None:
    """The planner that acts for ana reads hers and not bob's, although it holds bob's delegation as well."""
    for_ana = token("ana", "planner-1")

    assert ask(served, for_ana, "ana") == (True, [])
    assert ask(served, for_ana, "bob") == (False, ["principal_mismatch"])
    assert ask(served, token("bob", "planner-1"), "bob") == (True, [])
    assert ask(served, token("planner-1"), "bob") == (True, [])


@pytest.mark.feature("S07", "S17")
def test_the_record_says_who_acted_and_for_whom(served: Served) -> None:
    """The running workload is the subject, its token's subject the one on whose behalf."""
    ask(served, token("ana", "planner-1"), "ana")

    record = served.client("gateway").get("/v1/decisions?limit=1").json()["decisions"][0]

    assert record["caller"]["subject_identity"] == f"jwt:{ISSUER}#planner-1"
    assert record["caller"]["on_behalf_of"] == f"jwt:{ISSUER}#ana"
    assert record["input"]["request"]["context"]["on_behalf_of"] == "human:ana"
    assert record["input"]["subject"]["principal"] == "instance:planner-1"


@pytest.mark.feature("S10")
def test_what_a_request_says_of_itself_widens_nothing(served: Served) -> None:
    """Another one to act for than the token's is a mismatch; the same one changes nothing."""
    for_ana = token("ana", "planner-1")

    assert ask(served, for_ana, "bob", on_behalf_of="human:bob") == (False, ["identity_mismatch", "principal_mismatch"])
    assert ask(served, for_ana, "ana", on_behalf_of="human:bob")[1] == ["identity_mismatch"]
    assert ask(served, for_ana, "ana", on_behalf_of="human:ana") == (True, [])
    assert ask(served, token("ana", "planner-2"), "ana")[1] == ["identity_mismatch"]


def test_nobody_known_has_nothing_to_hand_on(served: Served) -> None:
    """A token of somebody who is not in the graph gives its actor nothing, whatever the actor holds itself."""
    assert ask(served, token("carol", "planner-1"), "ana")[0] is False
    assert ask(served, token("carol", "planner-1"), "bob")[0] is False


def test_actors_inside_the_current_one_are_told_and_not_believed(served: Served) -> None:
    """The outermost actor acts; one further inside is neither the subject nor on whose behalf."""
    nested = token("ana", "planner-1", "planner-2")

    assert ask(served, nested, "ana") == (True, [])
    assert ask(served, nested, "ana", subject="planner-2")[1] == ["identity_mismatch"]


@pytest.mark.feature("S07")
def test_a_name_without_an_identity_is_nobody(served: Served) -> None:
    """A free-text name, sent by nobody who proved anything, is unauthenticated, whatever the name may do."""
    body = {
        "subject": {"type": "instance", "id": "planner-1"}, "action": {"name": "READ"},
        "resource": {"type": "doc", "id": "ana"},
    }  # fmt: skip

    reply = served.client().post(EVALUATION, json=body)

    assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated")


@pytest.mark.feature("S10")
def test_a_spoofed_role_changes_nothing_and_is_logged(served: Served) -> None:
    """Who the session is decides; what it calls itself is in the record as what was not believed."""
    shown = token("planner-1")
    plain = ask(served, shown, "elsewhere")

    spoofed = ask(
        served, shown, "elsewhere", headers={"X-Remit-Role": "deployment coordinator"}, role="deployment coordinator"
    )

    record = served.client("gateway").get("/v1/decisions?limit=1").json()["decisions"][0]
    assert spoofed == plain == (False, ["no_authority"])
    assert "role" not in record["input"]["request"]["context"]
    assert record["context"]["role"] == "deployment coordinator"


@pytest.mark.feature("S10")
def test_revoking_one_of_two_runs_leaves_the_other(served: Served) -> None:
    """Each run has an identity of its own: one is disabled, and the other goes on reading."""
    assert ask(served, token("planner-1"), "ana") == ask(served, token("planner-2"), "ana", "planner-2") == (True, [])
    command = {"disabled": True, "actor": "human:chief"}

    done = served.client("gateway").patch("/v1/principals/instance:planner-2", json=command)

    assert done.status_code == 200, done.text
    assert ask(served, token("planner-2"), "ana", "planner-2")[1] == ["subject_disabled", "delegation_revoked"]
    assert ask(served, token("planner-1"), "ana") == (True, [])
