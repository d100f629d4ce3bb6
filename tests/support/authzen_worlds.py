"""Writes the worlds of the AuthZEN scenarios from the fixture tables of their vectors.

`python -m tests.support.authzen_worlds` rewrites `fixtures/worlds/authzen_*.yaml` and `certification.yaml`; a test
holds the files equal to what this writes. The rules are stated once, as grants with conditions, in the templates below.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2] / "fixtures"
_HEAD: Final = (
    "# Written by tests/support/authzen_worlds.py from fixtures/vectors/{name}.json: change that, not this.\n"
)

_TODO: Final = """\
realm: authzen-todo
root: ["organization:citadel"]
subject_types: {user: human}
resource_types:
  # Todos are not stored: any id is accepted, and who owns one is said by the request (`resource.ownerID`). The scenario
  # knows neither leases nor versions; APPEND_ONLY is the class that asks a write for neither.
  todo: {key: "todo:{id}", concurrency: APPEND_ONLY}
  user: {key: "user:{id}", concurrency: READ_SHARED}
actions:
  can_read_user:   {class: read}
  can_read_todos:  {class: read}
  can_create_todo: {class: write, domain: CONTENT_BODY}
  can_update_todo: {class: write, domain: CONTENT_BODY}
  can_delete_todo: {class: write, domain: CONTENT_BODY}
principals:
  - {id: "organization:citadel"}
  - {id: "team:users"}
  - {id: "role:admin"}
  - {id: "role:evil_genius"}
  - {id: "role:editor"}
  - {id: "role:viewer"}
%PRINCIPALS%
grants:
  - {edge_id: read-user, edge: MAY_READ, from: "team:users", to: "user:*", scope: {actions: [can_read_user]}}
  - {edge_id: read-todos, edge: MAY_READ, from: "team:users", to: "todo:*", scope: {actions: [can_read_todos]}}
  - {edge_id: create-admin, edge: MAY_WRITE, from: "role:admin", to: "todo:*", scope: {actions: [can_create_todo]}}
  - {edge_id: create-editor, edge: MAY_WRITE, from: "role:editor", to: "todo:*", scope: {actions: [can_create_todo]}}
  - {edge_id: update-any, edge: MAY_WRITE, from: "role:evil_genius", to: "todo:*", scope: {actions: [can_update_todo]}}
  - {edge_id: delete-any, edge: MAY_WRITE, from: "role:admin", to: "todo:*", scope: {actions: [can_delete_todo]}}
  - {edge_id: change-own, edge: MAY_WRITE, from: "role:editor", to: "todo:*",
     scope: {actions: [can_delete_todo, can_update_todo],
             conditions: [{attribute: resource.ownerID, equals_attribute: subject.email}]}}
enforcement_points:
  - {id: "service:todo-gateway", identities: ["key:todo-gateway"], speaks_for: ["human:*"], trusted: [resource.ownerID],
     response: decision, loopback: true}
"""

_SEARCH: Final = """\
realm: authzen-search
root: ["organization:records"]
subject_types: {user: human}
resource_types:
  # Only stored records exist, and only their stored facts count. The class is the one that needs no coordination.
  record: {key: "record:{id}", concurrency: APPEND_ONLY, stored: true}
actions:
  view:   {class: read}
  edit:   {class: write, domain: CONTENT_BODY}
  delete: {class: write, domain: CONTENT_BODY}
principals:
  - {id: "organization:records"}
  - {id: "team:users"}
  - {id: "role:manager"}
%PRINCIPALS%
resources:
%RESOURCES%
grants:
  - {edge_id: view-own, edge: MAY_READ, from: "team:users", to: "record:*",
     scope: {actions: [view], conditions: [{attribute: resource.owner, equals_attribute: subject.name}]}}
  - {edge_id: view-department, edge: MAY_READ, from: "team:users", to: "record:*",
     scope: {actions: [view], conditions: [{attribute: resource.department, equals_attribute: subject.department}]}}
  - {edge_id: view-all, edge: MAY_READ, from: "role:manager", to: "record:*", scope: {actions: [view]}}
  - {edge_id: change-own, edge: MAY_WRITE, from: "team:users", to: "record:*",
     scope: {actions: [delete, edit], conditions: [{attribute: resource.owner, equals_attribute: subject.name}]}}
  - {edge_id: edit-department, edge: MAY_WRITE, from: "role:manager", to: "record:*",
     scope: {actions: [edit], conditions: [{attribute: resource.department, equals_attribute: subject.department}]}}
enforcement_points:
  - {id: "service:search-gateway", identities: ["key:search-gateway"], speaks_for: ["human:*"],
     response: decision, loopback: true}
"""

_CERTIFICATION: Final = """\
realm: certification
root: ["organization:certification"]
subject_types: {user: human}
resource_types:
  # The scenario knows no coordination: the class is the one that asks for none.
  record: {key: "record:{id}", concurrency: APPEND_ONLY, stored: true}
actions:
  read:   {class: read}
  write:  {class: write, domain: CONTENT_BODY}
  delete: {class: write, domain: CONTENT_BODY}
principals:
  - {id: "organization:certification"}
  - {id: "team:users"}
  - {id: "role:admin"}
  - {id: "role:member"}
%PRINCIPALS%
resources:
%RESOURCES%
# The role of bob and the status of the records are stored facts. Requests repeat them (rules 5 and 6 name record-2,
# which is stored as archived) and change nothing by it: the only property that is trusted is `soft` of the action.
grants:
  - {edge_id: read, edge: MAY_READ, from: "team:users", to: "record:*", scope: {actions: [read]}}
  - {edge_id: write-active, edge: MAY_WRITE, from: "role:member", to: "record:*",
     scope: {actions: [write], conditions: [{attribute: resource.status, equals: active}]}}
  - {edge_id: write-archived, edge: MAY_WRITE, from: "role:admin", to: "record:*",
     scope: {actions: [write], conditions: [{attribute: resource.status, equals: archived}]}}
  - {edge_id: delete-soft, edge: MAY_WRITE, from: "role:member", to: "record:*",
     scope: {actions: [delete], conditions: [{attribute: action.soft, equals: true}]}}
enforcement_points:
  - {id: "service:harness", identities: ["key:harness"], speaks_for: ["human:*"], trusted: [action.soft],
     response: full, loopback: true}
"""


def worlds() -> dict[str, str]:
    """Return the text of each world by the name of its file."""
    return {
        "authzen_todo.yaml": _todo(_fixture("authzen_todo")),
        "authzen_search.yaml": _search(_fixture("authzen_search")),
        "certification.yaml": _certification(_fixture("certification")),
    }


def _fixture(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((ROOT / "vectors" / f"{name}.json").read_text())
    fixture: dict[str, Any] = document["fixture"]
    return fixture


def _todo(fixture: dict[str, Any]) -> str:
    principals = [
        _person(user["id"], user["roles"], {"email": user["email"], "name": user["name"]}) for user in fixture["users"]
    ]
    return _HEAD.format(name="authzen_todo") + _TODO.replace("%PRINCIPALS%", "\n".join(principals))


def _search(fixture: dict[str, Any]) -> str:
    principals = [
        _person(
            user["id"],
            [user["role"]] if user["role"] == "manager" else [],
            {"department": user["department"], "name": user["id"], "role": user["role"]},
        )
        for user in fixture["users"]
    ]
    resources = [
        _record(each["id"], {name: each[name] for name in ("department", "owner", "title")})
        for each in fixture["records"]
    ]
    text = _SEARCH.replace("%PRINCIPALS%", "\n".join(principals)).replace("%RESOURCES%", "\n".join(resources))
    return _HEAD.format(name="authzen_search") + text


def _certification(fixture: dict[str, Any]) -> str:
    principals = [
        _person(subject["id"], [subject["properties"].get("role", "member")], subject["properties"])
        for subject in fixture["subjects"]
    ]
    resources = [_record(each["id"], each["properties"]) for each in fixture["resources"]]
    text = _CERTIFICATION.replace("%PRINCIPALS%", "\n".join(principals)).replace("%RESOURCES%", "\n".join(resources))
    return _HEAD.format(name="certification") + text


def _person(name: str, roles: list[str], attributes: dict[str, str]) -> str:
    acts_as = ", ".join(f'"role:{each}"' for each in roles)
    return (
        f'  - {{id: "human:{name}", member_of: ["team:users"]'
        + (f", acts_as: [{acts_as}]" if acts_as else "")
        + (f", attributes: {_flow(attributes)}" if attributes else "")
        + "}"
    )


def _record(identifier: str, attributes: dict[str, str]) -> str:
    return f'  - {{key: "record:{identifier}", attributes: {_flow(attributes)}}}'


def _flow(attributes: dict[str, str]) -> str:
    return "{" + ", ".join(f"{name}: {json.dumps(value)}" for name, value in sorted(attributes.items())) + "}"


def main() -> None:
    """Rewrite the files."""
    for name, text in worlds().items():
        (ROOT / "worlds" / name).write_text(text)


if __name__ == "__main__":
    main()
