"""The guard at the resource, in memory and in a file: what it lets through, and what it remembers."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit_enforce import MemoryGuard, SqliteGuard, StaleToken
from remit_enforce.guard import incarnation_of

if TYPE_CHECKING:
    from pathlib import Path

    from remit_enforce import Guard

POST = "wp:post:1024"


@pytest.fixture(params=["memory", "sqlite"])
def guard(request: pytest.FixtureRequest, tmp_path: Path) -> Guard:
    """Each form of it."""
    return MemoryGuard() if request.param == "memory" else SqliteGuard(tmp_path / "guard.db")


def passes(guard: Guard, tokens: dict[str, int], key: str = POST) -> bool:
    """Return whether a write that shows these tokens is let through."""
    try:
        with guard.admit(key, tokens):
            return True
    except StaleToken:
        return False


@pytest.mark.feature("S64", "S65")
def test_a_lower_token_is_refused_for_ever(guard: Guard) -> None:
    """The same passes again, a higher one raises it, and the refusal names both numbers."""
    shown = [passes(guard, {f"{POST}#canonical": each}) for each in (100, 100, 101, 100, 101)]

    assert shown == [True, True, True, False, True]
    told = "fencing token 7 for `wp:post:1024#canonical` is behind 101"
    with pytest.raises(StaleToken, match=told) as refused, guard.admit(POST, {f"{POST}#canonical": 7}):
        pytest.fail("a stale write ran")
    assert (refused.value.token, refused.value.highest, refused.value.refusal.code) == (7, 101, "stale_fencing_token")


@pytest.mark.feature("S65")
def test_fields_have_tokens_of_their_own_and_the_whole_meets_each(guard: Guard) -> None:
    """`body` does not meet `canonical`; the whole meets both, and what it has passed is closed to older tokens."""
    assert passes(guard, {f"{POST}#canonical": 9})
    assert passes(guard, {f"{POST}#body": 5})
    assert not passes(guard, {f"{POST}#*": 8})
    assert passes(guard, {f"{POST}#*": 20})
    assert not passes(guard, {f"{POST}#body": 19})
    assert passes(guard, {f"{POST}#body": 21})


@pytest.mark.feature("S65")
def test_only_tokens_of_the_resource_count(guard: Guard) -> None:
    """What is shown for another resource neither opens this one nor raises it; one that shows none is refused."""
    with pytest.raises(StaleToken) as refused, guard.admit(POST, {"wp:post:10245#canonical": 9}):
        pytest.fail("a write without a token ran")

    assert refused.value.refusal.code == "fencing_token_missing"
    assert not passes(guard, {})
    assert passes(guard, {f"{POST}#canonical": 3, "site:example.com#robots": 900})
    assert passes(guard, {"site:example.com#robots": 4}, key="site:example.com")


@pytest.mark.feature("S32", "S65")
def test_a_token_from_before_a_restore_is_behind_every_later_one(guard: Guard) -> None:
    """Revision 5 of the second incarnation is ahead of 900 of the first, also on a key that nobody wrote since."""
    restored = (1 << 40) | 5

    assert (incarnation_of(900), incarnation_of(restored)) == (1, 2)
    assert passes(guard, {f"{POST}#canonical": 900})
    assert passes(guard, {f"{POST}#canonical": restored})
    assert not passes(guard, {f"{POST}#canonical": 901})
    assert not passes(guard, {"wp:post:7#canonical": 902}, key="wp:post:7")
    assert passes(guard, {"wp:post:7#canonical": restored}, key="wp:post:7")


@pytest.mark.feature("S65")
@pytest.mark.parametrize("token", [0, -1, True, "9", 9.0, 1 << 53, None])
def test_what_is_no_token_is_refused(guard: Guard, token: object) -> None:
    """A fraction, a text, a truth value or a number out of bounds writes nothing."""
    with pytest.raises(ValueError, match="whole number"), guard.admit(POST, {f"{POST}#canonical": token}):  # type: ignore[dict-item]
        pytest.fail("a write without a token ran")


@pytest.mark.feature("S64", "S65")
def test_a_write_that_fails_half_way_closes_the_way_for_older_ones(guard: Guard) -> None:
    """What it had begun to write stays fenced: the older holder cannot write over it."""
    with pytest.raises(OSError, match="disk"), guard.admit(POST, {f"{POST}#canonical": 8}):
        raise OSError("disk full")

    assert not passes(guard, {f"{POST}#canonical": 7})
    assert passes(guard, {f"{POST}#canonical": 8})


@pytest.mark.feature("S65")
def test_nobody_passes_beside_a_write(guard: Guard) -> None:
    """While the holder of 8 writes, the one of 9 waits; and 8 is refused once 9 has written."""
    order: list[str] = []
    inside, go_on = threading.Event(), threading.Event()

    def first() -> None:
        with guard.admit(POST, {f"{POST}#canonical": 8}):
            inside.set()
            go_on.wait(60)
            order.append("8")

    def second() -> None:
        with guard.admit(POST, {f"{POST}#canonical": 9}):
            order.append("9")

    threads = [threading.Thread(target=each) for each in (first, second)]
    threads[0].start()
    assert inside.wait(60)
    threads[1].start()
    go_on.set()
    for each in threads:
        each.join(60)

    assert order == ["8", "9"]
    assert not passes(guard, {f"{POST}#canonical": 8})


@pytest.mark.feature("S65")
@given(tokens=st.lists(st.tuples(st.sampled_from(["a", "b", "*"]), st.integers(1, 30)), max_size=40))
def test_accepted_tokens_never_decrease(tokens: list[tuple[str, int]]) -> None:
    """On each field, with the whole counting for each, what passes is never behind what has passed."""
    guard, accepted = MemoryGuard(), {"a": 0, "b": 0}
    for field, token in tokens:
        met = ("a", "b") if field == "*" else (field,)
        expected = all(token >= accepted[each] for each in met)

        assert passes(guard, {f"{POST}#{field}": token}) is expected
        if expected:
            accepted.update(dict.fromkeys(met, token))


@pytest.mark.feature("S64", "S65")
def test_a_guard_in_a_file_is_shared_and_outlives_its_process(tmp_path: Path) -> None:
    """Another process raises it and ends; this one refuses what is behind."""
    path = tmp_path / "guard.db"
    program = (
        "import sys; from remit_enforce import SqliteGuard\n"
        f"with SqliteGuard(sys.argv[1]).admit({POST!r}, {{{POST + '#canonical'!r}: 55}}): pass"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=True, timeout=60)

    assert not passes(SqliteGuard(path), {f"{POST}#canonical": 54})
    assert passes(SqliteGuard(path), {f"{POST}#canonical": 55})


@pytest.mark.feature("S65")
@pytest.mark.parametrize("kind", ["text", "folder"])
def test_a_file_that_cannot_be_used_lets_nothing_through(tmp_path: Path, kind: str) -> None:
    """Nothing is remembered there, so nothing may pass."""
    path = tmp_path / "guard.db"
    path.mkdir() if kind == "folder" else path.write_text("not a database " * 99)
    guard = SqliteGuard(path)

    with pytest.raises(sqlite3.Error), guard.admit(POST, {f"{POST}#canonical": 1}):
        pytest.fail("a write ran without a guard")


@pytest.mark.feature("S65")
def test_a_write_under_way_is_waited_for_no_longer_than_said(tmp_path: Path) -> None:
    """A writer that hangs holds the others up; they are refused, and write nothing beside it."""
    path = tmp_path / "guard.db"

    with (
        SqliteGuard(path).admit(POST, {f"{POST}#canonical": 1}),
        pytest.raises(sqlite3.OperationalError),
        SqliteGuard(path, wait_seconds=0.05).admit(POST, {f"{POST}#canonical": 2}),
    ):
        pytest.fail("two writes at once")
