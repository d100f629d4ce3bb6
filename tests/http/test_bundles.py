"""The policy bundle over HTTP: entity tag, long poll, who may have it, and a real OPA that lives on it."""

from __future__ import annotations

import gzip
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import httpx
import pytest

from remit_service.bundle.serve import LONG_POLL_MEDIA_TYPE, Published, opa_configuration
from remit_service.http.bundles import wait_seconds
from tests.http.questions import EVALUATION, PERMITTED
from tests.support.process import wait_until

if TYPE_CHECKING:
    from tests.http.serving import Served
    from tests.support.services import StartOpa

PATH = "/bundles/remit.tar.gz"


def test_a_program_of_this_machine_gets_the_bundle(seo: Served) -> None:
    """OPA beside the decision point needs no key; what it gets is the archive of the policy in force."""
    reply = seo.client().get(PATH)

    assert (reply.status_code, reply.headers["content-type"]) == (200, "application/gzip")
    assert reply.headers["etag"] == seo.point.bundle_archive()[0]
    assert b"remit/decision/decision.rego" in gzip.decompress(reply.content)


def test_others_authenticate(seo: Served) -> None:
    """A call that was forwarded, or shows a wrong key, is asked who it is."""
    assert seo.client().get(PATH, headers={"X-Forwarded-For": "203.0.113.9"}).status_code == 401
    assert seo.client().get(PATH, headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert seo.client("edge").get(PATH, headers={"X-Forwarded-For": "203.0.113.9"}).status_code == 200


def test_who_has_it_gets_nothing_again(seo: Served) -> None:
    """The known tag is answered with 304 and no body."""
    etag = seo.client().get(PATH).headers["etag"]

    reply = seo.client().get(PATH, headers={"If-None-Match": etag})

    assert (reply.status_code, reply.content, reply.headers["etag"]) == (304, b"", etag)


def test_a_long_poll_ends_when_its_time_is_over(seo: Served) -> None:
    """Without a new bundle the answer is 304 in the form that keeps OPA polling."""
    etag = seo.client().get(PATH).headers["etag"]

    reply = seo.client().get(PATH, headers={"If-None-Match": etag, "Prefer": "modes=snapshot,delta;wait=1"})

    assert (reply.status_code, reply.headers["content-type"]) == (304, LONG_POLL_MEDIA_TYPE)


def test_a_long_poll_ends_with_the_next_bundle(seo: Served) -> None:
    """The change that puts another bundle in force wakes whoever waits for it."""
    before = seo.point.policy
    after = replace(before, archive=Published('"next"', b"next"))
    found: list[httpx.Response] = []
    headers = {"If-None-Match": before.archive.etag, "Prefer": "wait=30"}
    waiting = threading.Thread(target=lambda: found.append(httpx.get(seo.url + PATH, headers=headers, timeout=20)))
    polls = seo.app.service.in_flight
    waiting.start()
    wait_until(lambda: polls.count > 0)

    async def activate(policy: object) -> None:
        seo.point.activate(policy)  # type: ignore[arg-type]

    seo.run(lambda: activate(after))
    waiting.join(timeout=20)
    seo.run(lambda: activate(before))

    assert [(each.status_code, each.headers["etag"], each.content) for each in found] == [(200, '"next"', b"next")]


@pytest.mark.parametrize(
    ("prefer", "seconds"),
    [
        (b"modes=snapshot,delta;wait=30", 30),
        (b"wait=5", 5),
        (b"respond-async, wait=7", 7),
        (b"wait=99999", 60),
        (b"wait=0", 0),
        (b"wait=-1", 0),
        (b"wait=soon", 0),
        (b"awaits=9", 0),
        (b"", 0),
    ],
)
def test_how_long_a_caller_waits(prefer: bytes, seconds: int) -> None:
    """`Prefer: wait` counts in whole seconds, up to a minute; whatever else stands there is passed over."""
    assert wait_seconds(prefer) == seconds


def test_a_real_opa_lives_on_the_bundle(seo: Served, start_opa: StartOpa) -> None:
    """An OPA configured as the documentation says fetches the bundle and gives the same verdict."""
    opa = start_opa(configuration=opa_configuration(seo.url, long_polling_seconds=5))
    answer = seo.client("gateway").post(EVALUATION, json=PERMITTED).json()
    record = seo.client("gateway").get(f"/v1/decisions/{answer['context']['decision_id']}").json()

    reply = httpx.post(f"{opa.url}/v1/data/remit/decision/decision", json={"input": record["input"]}).json()

    assert reply["result"]["effect"] == "permit"
    assert reply["result"]["policy_revision"] == answer["context"]["policy_revision"]
    assert reply["result"]["determining"] == answer["context"]["determining"]
