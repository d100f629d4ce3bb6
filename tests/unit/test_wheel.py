"""The wheel holds what a decision point needs, and nothing of the tests."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> frozenset[str]:
    """The names of the files in a wheel made from this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    (made,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    with ZipFile(made) as archive:
        return frozenset(archive.namelist())


def test_the_wheel_holds_the_three_packages(wheel: frozenset[str]) -> None:
    """Beside them there is only the metadata."""
    tops = {name.partition("/")[0] for name in wheel}

    assert {top for top in tops if not top.endswith(".dist-info")} == {"remit_graph", "remit_service", "remit_enforce"}


@pytest.mark.parametrize(
    ("folder", "inside"), [("policy", "remit_service/_policy"), ("fixtures/worlds", "remit_service/_worlds")]
)
def test_the_wheel_holds_the_data_of_the_decision_point(wheel: frozenset[str], folder: str, inside: str) -> None:
    """The policy bundle and the worlds lie inside the package that reads them."""
    files = [path.relative_to(ROOT / folder) for path in (ROOT / folder).rglob("*") if path.is_file()]

    assert files
    assert {f"{inside}/{file.as_posix()}" for file in files} <= wheel


def test_the_wheel_says_that_it_is_typed(wheel: frozenset[str]) -> None:
    """Each package carries the marker of PEP 561."""
    assert {f"{name}/py.typed" for name in ("remit_graph", "remit_service", "remit_enforce")} <= wheel
