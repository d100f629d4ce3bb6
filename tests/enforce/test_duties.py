"""The duties of a permit: performed by the protocol, by a plan that says so, or else the permit is not used."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from remit_enforce import Denied, write
from remit_service.bundle.folder import shipped_policy
from tests.enforce.conftest import world_in
from tests.http.serving import serve, stopped_later

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_enforce import AsyncClient
    from tests.http.serving import Served
    from tests.support.guarded_page import Page

DUTY = """package custom

obligations contains {"id": "notify", "type": "notify", "properties": {"channel": "seo"}}
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The content platform, whose site demands that somebody is told of every permit."""
    folder = tmp_path_factory.mktemp("duties")
    shutil.copytree(shipped_policy(), folder / "policy", ignore=shutil.ignore_patterns("*_test.rego"))
    (folder / "policy" / "custom" / "notify.rego").write_text(DUTY)
    yield from stopped_later(serve(folder, world_in(folder), keys=("gateway",), policy_dir=folder / "policy"))


@pytest.mark.feature("S86", "S123")
async def test_a_duty_that_nobody_performs_is_a_deny(served: Served, point: AsyncClient, page: Page) -> None:
    """A permit with an unknown duty is given back unused; a plan that says it performs it is shown it, and writes."""
    with pytest.raises(Denied) as raised:
        await write(point, page.plan())
    untouched = list(page.calls)
    receipt = await write(point, page.plan(performs=frozenset({"notify"})))

    assert raised.value.refusal.code == "obligation_unknown"
    assert raised.value.refusal.document["properties"] == {"channel": "seo"}
    assert raised.value.receipt is not None
    assert (raised.value.receipt.status, untouched) == ("ABORTED", [])
    assert receipt.status == "COMPLETED"
    assert served.client("gateway").get(f"/v1/leases?under={page.key}").json()["leases"] == []
