"""API keys: what is stored, what is accepted, and that an ended key ends at once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.errors import ModelError
from remit_service.identity.api_key import ApiKeys, new_key, read_keys
from remit_service.identity.errors import BadCredentials
from remit_service.identity.ports import Presented

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

AT = 1_000_000


def shown(key: str, scheme: str = "Bearer") -> Presented:
    """A call that shows `key`."""
    return Presented({b"authorization": f"{scheme} {key}".encode()}, "203.0.113.9")


def keys(*records: Mapping[str, Any], now: int = AT, file: Mapping[str, Any] | None = None) -> ApiKeys:
    """A verifier over these records of the ledger."""
    return ApiKeys(lambda: {each["id"]: each for each in records}, lambda: now, file)


async def test_a_key_proves_its_name() -> None:
    """The identity is `key:<name>`, whichever of several keys of that name is shown."""
    one, first = new_key("gateway", at=AT)
    two, second = new_key("gateway", at=AT)

    verifier = keys(first, second)

    for key in (one, two):
        verified = await verifier.verify(shown(key))
        assert verified is not None
        assert verified.names == ("key:gateway",)


def test_what_is_stored_does_not_give_the_key_away() -> None:
    """A record holds a salted hash; two keys of one name have nothing in common."""
    key, record = new_key("gateway", at=AT)
    _, other = new_key("gateway", at=AT)

    assert key.split("_", 2)[2] not in json.dumps(record)
    assert set(record) == {"id", "name", "salt", "hash", "created_at"}
    assert (record["salt"], record["hash"]) != (other["salt"], other["hash"])


async def test_a_key_that_is_not_there_is_refused() -> None:
    """An unknown key, an ended one, one of another record, and one that lost a character."""
    key, record = new_key("gateway", at=AT)
    other, _ = new_key("gateway", at=AT)
    mixed = f"rmk_{record['id']}_{other.split('_', 2)[2]}"

    for wrong, verifier in [(other, keys(record)), (key, keys()), (mixed, keys(record)), (key[:-1], keys(record))]:
        with pytest.raises(BadCredentials):
            await verifier.verify(shown(wrong))


async def test_a_key_ends_at_its_instant() -> None:
    """Valid until just before `expires_at`, and not at it."""
    key, record = new_key("gateway", at=AT, expires_at=AT + 10)

    assert await keys(record, now=AT + 9).verify(shown(key))
    with pytest.raises(BadCredentials):
        await keys(record, now=AT + 10).verify(shown(key))


async def test_what_is_no_key_is_left_to_others() -> None:
    """No header, another scheme and another kind of token are not this verifier's."""
    key, record = new_key("gateway", at=AT)
    verifier = keys(record)

    assert await verifier.verify(Presented({})) is None
    assert await verifier.verify(shown(key, scheme="Basic")) is None
    assert await verifier.verify(shown("eyJhbGciOiJub25lIn0.e30.")) is None


async def test_keys_of_a_file_count_too(tmp_path: Path) -> None:
    """A file of records works beside the ledger, which wins where both know an id."""
    key, record = new_key("gateway", at=AT)
    (tmp_path / "keys").write_text(json.dumps({"keys": [record]}))
    file = read_keys(tmp_path / "keys")

    verified = await keys(file=file).verify(shown(key))

    assert verified is not None
    assert verified.names == ("key:gateway",)
    assert keys(file=file).exist
    assert not keys().exist


@pytest.mark.parametrize(
    "content",
    [
        "", "[]", "{}", '{"keys": [{"id": "a"}]}', '{"keys": ["a"]}',
        '{"keys": [{"id": "a", "name": "a/b", "hash": "h", "salt": "s"}]}',
        '{"keys": [{"id": "a", "name": "a", "hash": "h", "salt": "s", "secret": "x"}]}',
        '{"keys": [{"id": "a", "name": "a", "hash": "h", "salt": "s", "expires_at": "soon"}]}',
    ],
)  # fmt: skip
def test_a_file_of_another_shape_is_refused(tmp_path: Path, content: str) -> None:
    """A half-written or hand-made file stops the start; it is not skipped."""
    (tmp_path / "keys").write_text(content)

    with pytest.raises(ModelError, match="keys"):
        read_keys(tmp_path / "keys")


def test_a_name_that_is_no_identity_is_refused() -> None:
    """A key's name has to be one that a world file can list."""
    for name in ("", "a b", "a/b", "x" * 65, "\n"):
        with pytest.raises(ModelError):
            new_key(name, at=AT)
