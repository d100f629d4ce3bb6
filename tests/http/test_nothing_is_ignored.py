"""Nothing is accepted and ignored: whatever the document says that a call takes is read by somebody.

The rule, over the OpenAPI document and so over every route there ever is: a member of a body, or a header, with a value
of another type than its own is refused with 400 at its place. What nobody reads is let through, and fails here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from tests.http.serving import serve, stopped_later

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from tests.http.serving import Served

OF_TYPES: Final[dict[str, Any]] = {
    "string": "text", "integer": 17, "boolean": True, "array": [[["a"]]], "object": {"a": [["a"]]},
}  # fmt: skip
"""A value of each type, that is none of any other."""

HEADERS: Final = {"Idempotency-Key": ('"', 400), "If-Match": (None, 428)}
"""What is no value of a header, None being none at all, and how that is answered; any text is an X-Request-ID."""

SOUND: Final[dict[str, dict[str, Any]]] = {
    "/v1/search": {"kind": "resource", "subject": {"type": "instance", "id": "seo-agent-7"},
                   "action": {"name": "READ_POST"}, "resource": {"type": "wp:post"}},
    "/v1/memberships": {"from": "instance:seo-agent-7", "to": "role:seo-agent"},
    "/v1/revocations": {"target": {"edge_id": "own-seo"}},
    "/v1/epochs": {"epoch": "authority", "floor": "none"},
    "/v1/principals": {"id": "instance:new"},
    "/v1/principals/{principal}": {"display_name": "New"},
    "/v1/break-glass": {"grant_id": "bg-1", "principal": "human:maria", "actions": ["UPDATE_CANONICAL"],
                        "resource": "wp:post:1024", "minutes": 5, "reason": "broken"},
    "/v1/approvals": {"action": {"name": "UPDATE_CANONICAL"}, "resource": {"type": "wp:post", "id": "1024"},
                      "expected_version": "v1", "approver": "human:maria", "for": "instance:seo-agent-7"},
}  # fmt: skip
"""What bodies say that would not be sound as they are made of the schema alone."""

PLACES: Final = {
    "edge_id": "own-seo", "delegation_id": "own-seo", "principal": "instance:seo-agent-7", "step": "validate",
    "approval_id": "apr_1", "key_id": "0" * 16,
}  # fmt: skip
"""What stands in paths, where it has to be something there is."""


class Call(NamedTuple):
    """A call with one thing wrong: the member or header of this name."""

    name: str
    method: str
    url: str
    body: Any
    headers: dict[str, str]
    status: int


@pytest.fixture(scope="module")
def trusting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service whose callers of this machine may do all there is, so that nothing but the call itself is at fault."""
    folder = tmp_path_factory.mktemp("trusting")
    yield from stopped_later(serve(folder, Path("fixtures/worlds/seo.yaml"), anonymous_loopback=True))


class Document:
    """The OpenAPI document, as a source of calls."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.paths: dict[str, Any] = document["paths"]
        self._schemas = document["components"]["schemas"]

    def operations(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Yield method, path and operation of everything that takes a body or a header."""
        for path, operations in self.paths.items():
            for method, operation in operations.items():
                yield method, path, operation

    def body(self, operation: dict[str, Any]) -> dict[str, Any]:
        """Return the schema of an operation's body; without members where it takes none."""
        content = operation.get("requestBody", {}).get("content", {}).get("application/json", {"schema": {}})
        return self.resolved(content["schema"])

    def resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return a schema with its reference followed."""
        while "$ref" in schema:
            schema = self._schemas[schema["$ref"].rpartition("/")[2]]
        return schema

    def types(self, schema: dict[str, Any]) -> frozenset[str]:
        """Return the types that a value may have; all of them where the schema says none."""
        schema = self.resolved(schema)
        for branches in (schema.get("oneOf"), schema.get("anyOf"), schema.get("allOf", ())[:1]):
            if branches:
                return frozenset().union(*(self.types(each) for each in branches))
        if "enum" in schema or "const" in schema:
            return frozenset({"string"})
        named = schema.get("type", list(OF_TYPES))
        found = frozenset({named} if isinstance(named, str) else named)
        return found | {"integer"} if "number" in found else found

    def sample(self, schema: dict[str, Any]) -> Any:
        """Return a value of a schema with nothing in it that may be left out."""
        schema = self.resolved(schema)
        for branches in (schema.get("oneOf"), schema.get("anyOf"), schema.get("allOf")):
            if branches:
                return self.sample(branches[0])
        if "const" in schema or "enum" in schema:
            return schema.get("const", schema.get("enum", [None])[0])
        if "properties" in schema:
            return {name: self.sample(schema["properties"][name]) for name in schema.get("required", ())}
        types = self.types(schema)
        if "items" in schema:
            return [self.sample(schema["items"])] * max(1, schema.get("minItems", 1))
        if "integer" in types and "string" not in types:
            return max(1, schema.get("minimum", 1))
        return "2030-01-01T00:00:00Z" if schema.get("format") == "date-time" else OF_TYPES[min(types & OF_TYPES.keys())]


def calls(document: Document) -> Iterator[Call]:
    """Yield a call of each route that is sound but for one member or header, which has no value of its kind."""
    for method, path, operation in document.operations():
        schema = document.body(operation)
        sound = {**document.sample(schema), **SOUND.get(path, {})} if schema else None
        url = re.sub(r"{(\w+)}", lambda place: PLACES.get(place[1], "x1"), path)
        declared = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "header"]
        for name, member in schema.get("properties", {}).items():
            headers = {each: '"1"' if each == "If-Match" else f"{method}-{path}-{name}" for each in declared}
            wrong = [value for kind, value in OF_TYPES.items() if kind not in document.types(member)]
            if wrong:
                yield Call(name, method, url, {**(sound or {}), name: wrong[-1]}, headers, 400)
        for name in HEADERS.keys() & declared:
            value, status = HEADERS[name]
            headers = {each: '"1"' for each in declared if each != name} | ({} if value is None else {name: value})
            yield Call(name, method, url, sound, headers, status)


def is_refused_for_it(reply: httpx.Response, call: Call) -> bool:
    """Whether a reply says that the one wrong thing of its call is wrong."""
    errors = reply.json().get("errors", ())
    is_there = any(f"{each.get('pointer', '')}/".startswith(f"#/{call.name}/") for each in errors)
    is_named = f"`{call.name}`" in reply.text or (call.name in HEADERS and call.name in reply.text)
    return reply.status_code == call.status and (is_there or is_named)


def test_what_a_call_takes_is_read(trusting: Served) -> None:
    """Each member and each header of each route is refused where it is malformed, and so is read."""
    client, ignored, count = trusting.client(), [], 0
    for call in calls(Document(client.get("/openapi.json").json())):
        reply = client.request(call.method, call.url, json=call.body, headers=call.headers)
        count += 1
        if not is_refused_for_it(reply, call):
            ignored.append(f"{call.method} {call.url} {call.name}: {reply.status_code} {reply.text}")

    assert ignored == []
    assert count > 200
