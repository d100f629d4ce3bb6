"""The example of the package's README runs as it stands, and writes once."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.http.serving import serve, stopped_later

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.http.serving import Served

ROOT = Path(__file__).parents[2]
README = ROOT / "enforce" / "remit_enforce" / "README.md"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """What `./run serve` serves."""
    world = ROOT / "fixtures" / "worlds" / "seo.yaml"
    yield from stopped_later(serve(tmp_path_factory.mktemp("demo"), world, demo=True))


@pytest.mark.feature("S82", "S86")
def test_the_example_does_a_guarded_write(demo: Served, tmp_path: Path) -> None:
    """A program of its own prints the receipt of a completed write."""
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    program = tmp_path / "example.py"
    program.write_text(example.replace("http://127.0.0.1:8180", demo.url))

    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False, timeout=60)

    assert done.returncode == 0, done.stderr
    assert "status='COMPLETED'" in done.stdout
    assert "execution='applied'" in done.stdout


def test_every_file_has_its_row() -> None:
    """The table of the README names each module of the package."""
    rows = README.read_text()

    missing = [each.name for each in README.parent.glob("[!_]*.py") if f"`{each.name}`" not in rows]
    assert missing == []
