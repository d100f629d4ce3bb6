"""What every call has in common: request ids, statuses, problems, bounds, and who is let in."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from remit_service.http.limits import InFlight
from remit_service.http.problems import ProblemError
from remit_service.settings import SettingsError
from tests.http.questions import EVALUATION, EVALUATIONS, PERMITTED
from tests.http.serving import serve

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.http.serving import Served

WORLDS = Path("fixtures/worlds")


@pytest.mark.parametrize("path", [EVALUATION, "/v1/limits", "/nowhere", "/problems/not_owner", "/health/live"])
@pytest.mark.parametrize("request_id", ["req-1", 'a b;c="d" ~!', "x" * 2_000, "ä".encode("latin-1")])
def test_the_request_id_is_echoed_unchanged(seo: Served, path: str, request_id: str | bytes) -> None:
    """Whatever is asked and however it ends, the answer carries the id that came in."""
    sent = request_id.encode() if isinstance(request_id, str) else request_id

    reply = seo.client("gateway").get(path, headers=[(b"X-Request-ID", sent)])

    assert [value for name, value in reply.headers.raw if name.lower() == b"x-request-id"] == [sent]


def test_a_request_id_is_made_where_none_came(seo: Served) -> None:
    """Two calls without an id get two different ones, which their problems name as well."""
    replies = [seo.client("gateway").get("/nowhere") for _ in range(2)]

    ids = [reply.headers["x-request-id"] for reply in replies]
    assert [reply.json()["request_id"] for reply in replies] == ids
    assert len(set(ids)) == 2


def test_nobody_is_let_in_without_credentials(seo: Served) -> None:
    """A world that is no demo asks callers of this machine too who they are, and says how to prove it."""
    reply = seo.client().post(EVALUATION, json=PERMITTED)

    assert reply.status_code == 401
    assert reply.headers["www-authenticate"] == 'Bearer realm="remit"'
    assert reply.json()["code"] == "unauthenticated"


@pytest.mark.parametrize(
    "credentials",
    [
        "Bearer wrong",
        "Bearer rmk_0123456789abcdef_" + "A" * 43,
        "Bearer rmk_",
        "Bearer x y",
        "Basic YTpi",
        "x" * 20_000,
        "",
    ],
)
@pytest.mark.parametrize("path", [EVALUATION, EVALUATIONS, "/v1/explain"])
def test_wrong_credentials_are_refused(seo: Served, path: str, credentials: str) -> None:
    """A wrong key, an unknown one, half of one or another scheme: 401, and never an answer."""
    reply = seo.client().post(path, json=PERMITTED, headers={"Authorization": credentials})

    assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated")


def test_a_proven_stranger_may_not_call(seo: Served) -> None:
    """A key whose identity no enforcement point of the world lists is 403: it is known, and may not ask."""
    reply = seo.client("nobody").post(EVALUATION, json=PERMITTED)

    assert (reply.status_code, reply.json()["code"]) == (403, "unauthenticated")
    assert "key:nobody" in reply.json()["detail"]


@pytest.mark.parametrize("path", [EVALUATION, EVALUATIONS, "/v1/explain", "/health/live"])
@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_other_methods_are_refused(seo: Served, path: str, method: str) -> None:
    """405 says which method there is."""
    reply = seo.client("gateway").request(method, path)

    assert (reply.status_code, reply.json()["code"]) == (405, "method_not_allowed")
    assert reply.headers["allow"] in ("POST", "GET")


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/health/live", "GET"),
        ("/v1/explain", "POST"),
        ("/v1/leases", "GET, POST"),
        ("/v1/leases/lease_1", "DELETE, GET, PUT"),
        ("/openapi.json", "GET"),
    ],
)
def test_405_names_every_method_of_the_path(seo: Served, path: str, allowed: str) -> None:
    """RFC 9110, 15.5.6: however deep the routers are nested, and over all routes of the path."""
    reply = seo.client("gateway").request("PATCH", path)

    assert (reply.status_code, reply.headers["allow"]) == (405, allowed)


@pytest.mark.parametrize("path", [EVALUATION, EVALUATIONS, "/v1/explain"])
def test_a_body_over_the_bound_is_refused(seo: Served, path: str) -> None:
    """Announced or sent in pieces without end, a body stops at the bound."""
    large = json.dumps({**PERMITTED, "context": {"filler": "x" * (1 << 20)}}).encode()
    headers = {"Content-Type": "application/json"}

    announced = seo.client("gateway").post(path, content=large, headers=headers)
    in_pieces = seo.client("gateway").post(
        path, content=(large[i : i + 65_536] for i in range(0, len(large), 65_536)), headers=headers
    )

    for reply in (announced, in_pieces):
        assert (reply.status_code, reply.json()["code"], reply.json()["limit"]) == (413, "limit_exceeded", 1 << 20)
        assert (reply.json()["retryable"], reply.json()["resolver"]) == (False, "requester")


def test_a_body_in_pieces_is_one_body(seo: Served) -> None:
    """A question that arrives in chunks is answered like any other."""
    body = json.dumps(PERMITTED).encode()
    pieces = (body[i : i + 7] for i in range(0, len(body), 7))

    reply = seo.client("gateway").post(EVALUATION, content=pieces, headers={"Content-Type": "application/json"})

    assert reply.json()["decision"] is True


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, "application/problem+json"),
        ("*/*", "application/problem+json"),
        ("application/json, application/problem+json", "application/problem+json"),
        ("application/json", "application/json"),
        ("text/html", "application/problem+json"),
    ],
)
def test_a_problem_is_plain_json_only_for_those_who_take_nothing_else(
    seo: Served, accept: str | None, expected: str
) -> None:
    """The document is the same; its media type is what the caller accepts."""
    request = seo.client("gateway").build_request("POST", EVALUATION, json={})
    del request.headers["accept"]
    if accept is not None:
        request.headers["accept"] = accept

    reply = seo.client("gateway").send(request)

    assert (reply.status_code, reply.headers["content-type"]) == (400, expected)
    assert reply.json()["type"] == f"{seo.url}/problems/malformed_request"


def test_a_rate_is_kept_for_each_enforcement_point(start: Callable[..., Served]) -> None:
    """Who asks too much is told when to come again; who asks within the rate is not touched by it."""
    served = start("seo", keys=("gateway", "edge"), requests_per_second=3)

    batch = served.client("gateway").post(EVALUATIONS, json={**PERMITTED, "evaluations": [{}, {}, {}]})
    refused = served.client("gateway").post(EVALUATION, json=PERMITTED)
    other = served.client("edge").post(EVALUATION, json=PERMITTED)

    assert batch.status_code == 200
    assert (refused.status_code, refused.json()["code"]) == (429, "limit_exceeded")
    assert (refused.json()["retryable"], refused.json()["limit"]) == (True, 3)
    assert refused.headers["retry-after"] == "1"
    assert refused.headers["ratelimit-policy"] == '"rate";q=3;w=1'
    assert refused.headers["ratelimit"] == '"rate";r=0;t=1'
    assert other.status_code == 200


def test_more_work_than_fits_is_turned_away() -> None:
    """The request over the bound is told to come again; the place of one that ended is free."""
    in_flight = InFlight(1)

    with in_flight, pytest.raises(ProblemError) as refused, in_flight:
        pass
    with in_flight:
        pass

    assert refused.value.problem.code == "overloaded"
    assert refused.value.problem.headers == ((b"retry-after", b"2"),)


def test_metadata_names_the_configured_address_only(start: Callable[..., Served]) -> None:
    """Neither the Host header nor a forwarded one changes what clients are told."""
    served = start("seo", keys=("gateway",), base_url="https://pdp.example.com/remit/")
    headers = {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example"}

    reply = served.client().get("/.well-known/authzen-configuration", headers=headers)

    document = reply.json()
    endpoints = {name: value for name, value in document.items() if name.endswith("_endpoint")}
    assert document["policy_decision_point"] == "https://pdp.example.com/remit"
    assert endpoints["access_evaluation_endpoint"] == "https://pdp.example.com/remit/access/v1/evaluation"
    assert all(value.startswith("https://pdp.example.com/remit/access/v1/") for value in endpoints.values())
    assert reply.headers["cache-control"] == "max-age=300"


def test_every_bound_is_published(seo: Served) -> None:
    """`/v1/limits` says what this service holds callers to."""
    limits = seo.client("gateway").get("/v1/limits").json()

    assert (limits["max_body_bytes"], limits["max_batch_items"], limits["max_json_depth"]) == (1 << 20, 1_000, 32)
    assert limits["decision_log"] == {"buffer": 10_000, "lost": {}}


def test_a_failure_of_the_program_is_told_as_one(seo: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error nobody foresaw is 500 with the request id, on hot routes and cold ones, without its inside."""

    async def fail(*_: object, **__: object) -> None:
        raise RuntimeError("password hunter2")

    monkeypatch.setattr(seo.point, "evaluate", fail)
    monkeypatch.setattr(seo.point, "explain", fail)

    for path in (EVALUATION, EVALUATIONS, "/v1/explain"):
        reply = seo.client("gateway").post(path, json=PERMITTED, headers={"X-Request-ID": "r-1"})
        assert (reply.status_code, reply.json()["code"], reply.headers["x-request-id"]) == (500, "internal", "r-1")
        assert "hunter2" not in reply.text


def test_an_exposed_service_needs_credentials(tmp_path: Path) -> None:
    """Listening where other machines reach it, a service that nobody could authenticate to does not start."""
    with pytest.raises(SettingsError, match="nobody could authenticate"):
        serve(tmp_path, WORLDS / "seo.yaml", listen="0.0.0.0:0", demo=True)


def test_a_forwarded_address_is_not_the_peer(start: Callable[..., Served]) -> None:
    """Who names a trusted proxy in `X-Forwarded-For` is not one: its certificate header counts as absent."""
    served = start("seo", keys=("gateway",), trusted_proxies=("10.0.0.0/8",))
    workload = {"X-Forwarded-Client-Cert": "URI=spiffe://acme.test/adapters/wordpress"}

    for name in ("X-Forwarded-For", "X-Real-IP"):
        reply = served.client().post(EVALUATION, json=PERMITTED, headers={**workload, name: "10.0.0.7"})
        assert reply.status_code == 401


def test_a_workload_is_known_by_the_certificate_its_proxy_saw(start: Callable[..., Served]) -> None:
    """Over a trusted proxy the X.509-SVID of an adapter is as good as a key."""
    served = start("seo", keys=("gateway",), trusted_proxies=("127.0.0.1/32",))
    workload = {"X-Forwarded-Client-Cert": "Hash=ab;URI=spiffe://acme.test/adapters/wordpress"}

    reply = served.client().post(EVALUATION, json=PERMITTED, headers=workload)

    assert (reply.status_code, reply.json()["decision"]) == (200, True)


@pytest.mark.parametrize("name", ["Authorization", "Content-Type", "Remit-Subject-Token"])
def test_a_header_that_is_there_twice_is_refused(seo: Served, name: str) -> None:
    """A gateway could have read the first of two and this service the last."""
    headers = [
        ("Authorization", f"Bearer {seo.keys['gateway']}"), ("Content-Type", "application/json"), (name, "Bearer x"),
        *([(name, "Bearer y")] if name == "Remit-Subject-Token" else []),
    ]  # fmt: skip

    reply = seo.client().post(EVALUATION, content=json.dumps(PERMITTED), headers=headers)

    assert (reply.status_code, reply.json()["code"]) == (400, "malformed_request")
    assert name.lower() in reply.json()["detail"]


def test_a_client_that_goes_away_leaves_the_service_well(seo: Served) -> None:
    """Half a request and a closed connection change nothing for the next caller."""
    host, port = seo.settings.address
    with socket.create_connection((host, port)) as connection:
        connection.sendall(b"POST /access/v1/evaluation HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")

    assert seo.client("gateway").post(EVALUATION, json=PERMITTED).status_code == 200
