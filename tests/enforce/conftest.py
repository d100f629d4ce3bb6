"""A served decision point of the content platform for this suite, a client of it, and a page of each test's own."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import structlog

from remit_enforce import AsyncClient, Settings
from tests.http.serving import serve, stopped_later
from tests.support.guarded_page import Page

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.http.serving import Served

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"
AFTER = '  - {key: "wp:post:2001"'
POSTS = range(5_000, 5_200)
_NEXT = iter(POSTS)


def world_in(folder: Path) -> Path:
    """Write the world of the demo with a post for each test and a gateway that speaks for all; return its file."""
    place = 'part_of: ["site:example.com:product-pages"], attributes: {resource_type: product_page}'
    posts = "".join(f'  - {{key: "wp:post:{number}", {place}}}\n' for number in POSTS)
    world = SEO.read_text()
    assert world.count(AFTER) == 1
    spoken = 'identities: ["key:gateway"], speaks_for: ['
    assert world.count(spoken) == 1
    world = world.replace(spoken, spoken + '"controller:*", "organization:*", "role:*", ')
    (folder / "world.yaml").write_text(world.replace(AFTER, posts + AFTER))
    return folder / "world.yaml"


@pytest.fixture(scope="session", autouse=True)
def quiet() -> Iterator[None]:
    """Keep the operating log of the services out of the report."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The content platform, with more posts."""
    folder = tmp_path_factory.mktemp("enforce")
    yield from stopped_later(serve(folder, world_in(folder), keys=("gateway", "edge")))


@pytest.fixture
async def point(served: Served) -> AsyncIterator[AsyncClient]:
    """A client that shows the gateway's key, and has short times for short leases."""
    settings = Settings(url=served.url, key=lambda: served.keys["gateway"], renew_timeout_seconds=2, pause_seconds=0.05)
    async with AsyncClient(settings) as client:
        yield client


@pytest.fixture
def page(tmp_path: Path) -> Page:
    """A page that no other test writes."""
    return Page(tmp_path, f"wp:post:{next(_NEXT)}")
