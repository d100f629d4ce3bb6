"""`./run` on machines where it cannot work: it says what is wrong and what to do, in one line."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with nothing in it but the script and the locks, where `.venv` was not made yet."""
    shutil.copy(ROOT / "run", tmp_path)
    shutil.copytree(ROOT / "locks", tmp_path / "locks")
    return tmp_path


def run(clone: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `./run` in `clone`."""
    return subprocess.run(
        [clone / "run", *arguments], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_an_unknown_command_is_refused_with_the_usage(clone: Path) -> None:
    """A wrong word is a usage error."""
    done = run(clone, "dmeo")

    assert done.returncode == 2
    assert done.stderr.startswith("usage: ./run COMMAND")


def test_an_old_python_is_named(clone: Path) -> None:
    """The message says which Python was found, and how to name another."""
    old = clone / "old-python"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.8.1 && exit\nexit 1\n')
    old.chmod(0o755)

    done = run(clone, "demo", PYTHON=str(old))

    assert done.returncode == 3
    assert done.stderr == (
        f"run: Python 3.11 or newer is needed, but {old} is: Python 3.8.1. "
        "Name a newer one: PYTHON=python3.12 ./run ...\n"
    )


def test_without_a_network_it_says_so(clone: Path) -> None:
    """Packages that cannot be fetched end in a sentence, and the next call tries again."""
    unreachable = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0", "PIP_NO_CACHE_DIR": "1"}

    for _ in range(2):
        done = run(clone, "setup", **unreachable)

        assert done.returncode == 3
        assert "without a network nothing can be fetched: connect and repeat" in done.stderr


def test_a_folder_that_is_not_writable_is_named() -> None:
    """The message names the folder."""
    # Root may write everywhere, so it lets someone else try; pytest's own folders are closed to others.
    someone_else = "nobody" if os.geteuid() == 0 else None
    with TemporaryDirectory() as name:
        shutil.copy(ROOT / "run", name)
        Path(name).chmod(0o555)
        done = subprocess.run(
            [f"{name}/run", "setup"], user=someone_else, cwd="/", capture_output=True, text=True, check=False
        )
        Path(name).chmod(0o755)

    assert (done.returncode, done.stderr) == (3, f"run: no write permission in {name}, where .venv is made\n")
