"""The registry remembers what it resolved: whoever asks again gets the same, and what is refused is refused again."""

from __future__ import annotations

import pytest

from remit_graph.errors import ModelError
from remit_graph.model.registry import KEY_TYPE, KEYS_KEPT, Registry
from remit_graph.model.resource_type import parse_resource_type

POST = parse_resource_type({"name": "wp:post", "key": "wp:post:{id}", "concurrency": "WRITE_EXCLUSIVE"})


def a_registry() -> Registry:
    """Return a registry of posts, which have a second name."""
    return Registry({"wp:post": POST}, {"post:{id}": "wp:post:{id}"})


def test_a_name_that_is_asked_for_again_has_the_same_key() -> None:
    """By its type, by its key, and by an alias of the key."""
    registry = a_registry()

    for _ in range(2):
        for kind, identifier in (("wp:post", "7"), (KEY_TYPE, "wp:post:7"), (KEY_TYPE, "post:7")):
            found = registry.resolve(kind, identifier)
            assert found is not None
            assert (found.key, found.type) == ("wp:post:7", POST)


def test_what_is_malformed_or_unknown_stays_so() -> None:
    """Nothing is remembered of what has no key."""
    registry = a_registry()

    for _ in range(2):
        assert registry.resolve(KEY_TYPE, "nothing:7") is None
        with pytest.raises(ModelError, match="is not a resource key"):
            registry.resolve_key("wp:post:a b")


def test_more_names_than_are_remembered_are_resolved() -> None:
    """What was remembered first goes, and is found anew."""
    registry = a_registry()

    keys = [f"wp:post:{number}" for number in range(KEYS_KEPT + 2)]
    found = [registry.resolve_key(key) for key in (*keys, keys[0])]

    assert [each.key for each in found if each is not None] == [*keys, keys[0]]
