"""The power to act for others: granted with care, marked and listed (S15)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.http.serving import serve, stopped_later

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import httpx

    from tests.http.serving import Served

WORLD = Path("fixtures/worlds/seo.yaml")
CHIEF = {"actor": "human:chief"}
BROKER, TRUSTED = "service:new-broker", "service:trusted-broker"
OWNER = "controller:seo-control-plane"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service of this module's own, with one principal that production trusts and one that it does not."""
    for served in stopped_later(serve(tmp_path_factory.mktemp("power"), WORLD, keys=("gateway",))):
        for name, trust in ((BROKER, 0), (TRUSTED, 1)):
            served.client("gateway").post("/v1/principals", json={"id": name, "trust": trust, **CHIEF})
        yield served


def given(holder: str, what: str) -> tuple[str, dict[str, Any]]:
    """Return the command that would give a holder some power."""
    name = f"{holder.partition(':')[2]}-{what}"
    grants: dict[str, dict[str, Any]] = {
        "delegate": {"edge": "MAY_DELEGATE", "from": holder, "to": "role:seo-agent", "max_depth": 1},
        "mint": {
            "edge": "MAY_WRITE", "from": holder, "to": "remit:graph", "scope": {"actions": ["MINT_CAPABILITY"]},
        },
        "keys": {"edge": "MAY_WRITE", "from": holder, "to": "remit:graph", "scope": {"actions": ["MANAGE_KEYS"]}},
        "worlds": {"edge": "MAY_WRITE", "from": holder, "to": "remit:graph", "scope": {"actions": ["APPLY_WORLD"]}},
        "anything": {"edge": "MAY_WRITE", "from": holder, "to": "remit:graph"},
        "owner": {"edge": "ACTS_AS", "from": holder, "to": OWNER},
        "root": {"edge": "ACTS_AS", "from": holder, "to": "organization:acme"},
    }  # fmt: skip
    path = "/v1/memberships" if what in ("owner", "root") else "/v1/grants"
    return path, {"edge_id": name, **grants[what], **CHIEF}


@pytest.mark.feature("S15", "S31")
@pytest.mark.parametrize("what", ["delegate", "mint", "keys", "worlds", "anything", "owner", "root"])
def test_power_to_act_for_others_needs_the_trust_of_a_delegate(served: Served, what: str) -> None:
    """Even a root gives it to nobody whom production would not take as a delegate; the refusal names the numbers."""
    client = served.client("gateway")
    before = client.get("/v1/graph/summary").json()["revision_number"]

    path, body = given(BROKER, what)
    refused = client.post(path, json=body)
    tried = client.post(path, json={**body, "dry_run": True})

    assert (refused.status_code, refused.json()["code"]) == (403, "trust_too_low")
    assert refused.json()["reasons"][0]["message"] == f"`{BROKER}` has trust 0, and this needs 1"
    assert tried.json()["code"] == "trust_too_low"
    assert client.get("/v1/graph/summary").json()["revision_number"] == before
    path, body = given(TRUSTED, what)
    made = client.post(path, json=body)
    assert made.status_code == 201, made.text


@pytest.mark.feature("S15")
def test_what_reaches_nothing_sensitive_needs_no_trust(served: Served) -> None:
    """A right that ends before production, a role that hands nothing on, and a read of the graph are ordinary edges."""
    client = served.client("gateway")
    staging = {"actions": ["UPDATE_CANONICAL"], "where": {"environment": ["staging"]}}
    ordinary: list[tuple[str, dict[str, Any]]] = [
        ("/v1/grants", {"edge": "MAY_DELEGATE", "from": BROKER, "to": "role:seo-agent", "scope": staging}),
        ("/v1/grants", {"edge": "MAY_READ", "from": BROKER, "to": "remit:graph"}),
        ("/v1/memberships", {"edge": "ACTS_AS", "from": BROKER, "to": "role:seo-agent"}),
    ]

    made = [
        client.post(path, json={"edge_id": f"plain-{n}", **body, **CHIEF}) for n, (path, body) in enumerate(ordinary)
    ]

    assert [each.status_code for each in made] == [201, 201, 201], [each.text for each in made]


@pytest.mark.feature("S15")
def test_who_acts_for_others_is_listed_and_marked(served: Served) -> None:
    """One query lists all of them with what they reach, also those that come to it through what they act as."""
    client: httpx.Client = served.client("gateway")
    for what in ("delegate", "mint", "owner"):
        path, body = given(TRUSTED, what)
        client.post(path, json=body)

    listed = {each["principal"]: each for each in client.get("/v1/graph/review").json()["acting_for_others"]}
    marked = client.get(f"/v1/graph/principals/{TRUSTED}").json()["acts_for_others"]
    plain = client.get("/v1/graph/principals/human:editor-1").json()["acts_for_others"]

    assert "role:seo-agent" in listed[OWNER]["may_delegate_to"]
    assert listed["role:seo-agent"]["may_hand_on"] == ["del_882"]
    assert listed["service:gateway"]["speaks_for"] == ["human:*", "instance:*", "service:*"]
    assert listed["human:chief"]["governs"] == ["organization:acme"]
    assert (listed["role:security-officer"]["applies_worlds"], listed["role:operator"]["makes_keys"]) == (True, True)
    assert "role:seo-agent" in listed["instance:seo-agent-7"]["through"]
    assert (listed[TRUSTED]["trust"], listed[TRUSTED]["mints"]) == (1, True)
    assert listed[TRUSTED]["may_delegate_to"] == ["role:seo-agent"]
    assert OWNER in listed[TRUSTED]["through"]
    assert (marked["may_delegate_to"], marked["mints"]) == (["role:seo-agent"], True)
    assert plain == {}


@pytest.mark.feature("S15", "S31")
def test_power_is_not_smuggled_in_by_a_role(served: Served) -> None:
    """A right for a role is a right for all who play it: the least trusted of them is asked for the trust."""
    client = served.client("gateway")
    client.post("/v1/principals", json={"id": "role:relay", "trust": 3, **CHIEF})
    client.post("/v1/memberships", json={"from": TRUSTED, "to": "role:relay", **CHIEF})
    right = {"edge": "MAY_DELEGATE", "from": "role:relay", "to": "role:seo-agent", "max_depth": 1, **CHIEF}
    made = client.post("/v1/grants", json={"edge_id": "relay-1", **right})
    client.post("/v1/revocations", json={"target": {"edge_id": "relay-1"}, **CHIEF})
    client.post("/v1/memberships", json={"from": BROKER, "to": "role:relay", **CHIEF})

    refused = client.post("/v1/grants", json={"edge_id": "relay-2", **right})

    assert made.status_code == 201, made.text
    assert (refused.status_code, refused.json()["code"]) == (403, "trust_too_low")
    assert refused.json()["reasons"][0]["message"] == f"`{BROKER}` has trust 0, and this needs 1"


def applied(served: Served, change: Callable[[str], str], *, actor: str, **more: Any) -> httpx.Response:
    """Apply the world as it is with one change."""
    client: httpx.Client = served.client("gateway")
    world = client.get("/v1/graph/export").text
    assert change(world) != world
    return client.post("/v1/graph/apply", json={"world": change(world), "actor": actor, **more})


def acting(who: str, of: str) -> Callable[[str], str]:
    """Return what lets somebody in a world act as somebody else."""

    def change(world: str) -> str:
        line = next(each for each in world.splitlines() if f'id: "{who}"' in each)
        without = re.sub(r", acts_as: \[[^\]]*\]", "", line)
        return world.replace(line, without.replace(f'id: "{who}"', f'id: "{who}", acts_as: ["{of}"]', 1))

    return change


SLEEPER = "service:sleeper"
TO_ROOT = f'edge: ACTS_AS, from: "{SLEEPER}", to: "organization:acme"'


def asleep(**more: Any) -> Callable[[str], str]:
    """Return what declares somebody in a world, with more that is said of them."""
    said = json.dumps({"id": SLEEPER, "trust": 4, **more})
    return lambda world: world.replace("principals:\n", f"principals:\n  - {said}\n", 1)


def joined(window: str) -> Callable[[str], str]:
    """Return what lets them act as the root within a window."""
    edge = f"  - {{edge_id: a-sleeper, {TO_ROOT}{window}}}\n"
    return lambda world: f"{asleep()(world)}memberships:\n{edge}"


@pytest.mark.feature("S15", "S31")
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(joined(""), id="at once"),
        pytest.param(joined(', valid_from: "2999-01-01T00:00:00Z"'), id="later"),
        pytest.param(joined(', valid_until: "2001-01-01T00:00:00Z"'), id="once"),
        pytest.param(asleep(disabled=True, acts_as=["organization:acme"]), id="disabled"),
        pytest.param(
            lambda world: asleep(disabled=True)(world).replace(
                'root: ["organization:acme"]', f'root: ["organization:acme", "{SLEEPER}"]'
            ),
            id="a disabled root",
        ),
        pytest.param(
            lambda world: world.replace('root: ["organization:acme"]', 'root: ["organization:acme", "role:editor"]'),
            id="a role that people play",
        ),
    ],
)
def test_a_root_is_made_by_a_root_alone_whatever_holds_now(served: Served, change: Callable[[str], str]) -> None:
    """What a file writes counts, not what holds today: nobody asks for a root's word when a window begins."""
    usurper = applied(served, change, actor="human:security", dry_run=True)
    crowned = applied(served, change, actor="human:chief", dry_run=True)

    assert (usurper.status_code, usurper.json().get("code")) == (403, "no_authority"), usurper.text
    assert usurper.json()["detail"].endswith("would govern as a root: who does is changed by a root alone")
    assert crowned.status_code == 200, crowned.text


@pytest.mark.feature("S15", "S31")
def test_the_window_of_who_acts_as_a_root_is_moved_by_a_root_alone(served: Served) -> None:
    """A membership that a root made for later is not made to count now by anybody else, nor begun anew."""
    client = served.client("gateway")
    client.post("/v1/principals", json={"id": SLEEPER, "trust": 4, **CHIEF})
    later = {
        "edge_id": "a-later",
        "edge": "ACTS_AS",
        "from": SLEEPER,
        "to": "organization:acme",
        "valid_from": "2999-01-01T00:00:00Z",
    }
    made = client.post("/v1/memberships", json={**later, **CHIEF})

    def widened(world: str) -> str:
        return world.replace("2999-01-01T00:00:00Z", "2998-01-01T00:00:00Z")

    usurper = applied(served, widened, actor="human:security", dry_run=True)
    crowned = applied(served, widened, actor="human:chief", dry_run=True)

    assert made.status_code == 201, made.text
    assert (usurper.status_code, usurper.json().get("code")) == (403, "no_authority"), usurper.text
    assert (usurper.json()["detail"].partition(" would ")[0], crowned.status_code) == (f"`{SLEEPER}`", 200)
    client.post("/v1/revocations", json={"target": {"principal": SLEEPER}, **CHIEF})


@pytest.mark.feature("S15", "S31")
def test_what_makes_no_root_is_applied_in_anybodys_name_who_may_apply(served: Served) -> None:
    """The realm may get a dimension, a role a player, and who acts as a root a name: nobody becomes a root by it."""
    ordinary: dict[str, Callable[[str], str]] = {
        "dimension": lambda world: world.replace("dimensions: [environment, ", "dimensions: [environment, region, "),
        "player": asleep(acts_as=["role:editor"]),
        "name": lambda world: world.replace("Chief executive", "Chief of all"),
    }

    for what, change in ordinary.items():
        done = applied(served, change, actor="human:security", dry_run=True)
        assert done.status_code == 200, (what, done.text)


@pytest.mark.feature("S15", "S31")
@pytest.mark.parametrize("dry_run", [True, False])
def test_a_world_file_gives_no_power_that_a_command_would_not(served: Served, dry_run: bool) -> None:  # noqa: FBT001
    """Power for who is not trusted is refused by file as well; a root is made by a root alone; the rest is applied."""
    client = served.client("gateway")
    client.post("/v1/principals", json={"id": "service:filed", "trust": 0, **CHIEF})
    before = client.get("/v1/graph/summary").json()["revision_number"]
    owner, root = acting("service:filed", OWNER), acting("human:operator", "organization:acme")

    untrusted = applied(served, owner, actor="human:chief", dry_run=dry_run)
    usurper = applied(served, root, actor="human:security", dry_run=dry_run)
    crowned = applied(served, root, actor="human:chief", dry_run=True)
    ordinary = applied(
        served, lambda world: world.replace("principals:\n", 'principals:\n  - {id: "role:new"}\n', 1),
        actor="human:security", dry_run=True,
    )  # fmt: skip

    assert (untrusted.status_code, untrusted.json()["code"]) == (403, "trust_too_low")
    assert untrusted.json()["reasons"][0]["message"] == "`service:filed` has trust 0, and this needs 1"
    assert (usurper.status_code, usurper.json().get("code")) == (403, "no_authority")
    assert usurper.json()["detail"] == "`human:operator` would govern as a root: who does is changed by a root alone"
    assert (crowned.status_code, ordinary.status_code) == (200, 200), (crowned.text, ordinary.text)
    assert client.get("/v1/graph/summary").json()["revision_number"] == before


TAKES_A_ROOT = "takes a root's word"
CHIEF_PROVES = "jwt:https://login.acme.test#chief"


def put(world: str, section: str, item: str) -> str:
    """Return a world with one more item of a section."""
    return world.replace(f"\n{section}:\n", f"\n{section}:\n  - {item}\n", 1)


@pytest.mark.feature("S15", "S31")
def test_who_proves_to_be_a_root_is_said_by_a_root_alone(served: Served) -> None:
    """Whoever may amend principals binds no identity to one that governs, by command or by file; to others it does."""
    client = served.client("gateway")
    more = {"identities": [CHIEF_PROVES, "key:thief"], "dry_run": True}

    def bound(world: str) -> str:
        return world.replace(f'"{CHIEF_PROVES}"', f'"{CHIEF_PROVES}", "key:thief"')

    usurper = client.patch("/v1/principals/human:chief", json={**more, "actor": "human:security"})
    crowned = client.patch("/v1/principals/human:chief", json={**more, **CHIEF})
    fewer = client.patch("/v1/principals/human:chief", json={"trust": 3, "dry_run": True, "actor": "human:security"})
    filed = applied(served, bound, actor="human:security", dry_run=True)
    other = {"identities": ["key:new-analyst"], "dry_run": True, "actor": "human:security"}
    ordinary = client.patch("/v1/principals/human:analyst", json=other)

    for each in (usurper, filed):
        assert (each.status_code, each.json()["code"]) == (403, "no_authority"), each.text
        assert each.json()["detail"] == f"`human:chief` governs as a root: that `key:thief` proves it {TAKES_A_ROOT}"
    assert [each.status_code for each in (crowned, fewer, ordinary)] == [200, 200, 200], (crowned.text, ordinary.text)


@pytest.mark.feature("S15", "S31")
def test_who_governs_and_is_disabled_is_enabled_by_a_root_alone(served: Served) -> None:
    """What it could do it could do again; nor is a key made for it meanwhile by whoever manages keys."""
    client, name = served.client("gateway"), "human:deputy"
    client.post("/v1/principals", json={"id": name, "trust": 4, "identities": ["key:deputy"], **CHIEF})
    joined = {"edge": "ACTS_AS", "from": name, "to": "organization:acme", **CHIEF}
    assert client.post("/v1/memberships", json=joined).status_code == 201
    officer = {"actor": "human:security"}
    disabled = client.patch(f"/v1/principals/{name}", json={"disabled": True, **officer})

    key = client.post("/v1/keys", json={"name": "deputy", **officer})
    usurper = client.patch(f"/v1/principals/{name}", json={"disabled": False, **officer})
    filed = applied(served, lambda world: world.replace("disabled: true, ", ""), dry_run=True, **officer)
    crowned = client.patch(f"/v1/principals/{name}", json={"disabled": False, **CHIEF})

    assert [each.status_code for each in (disabled, crowned)] == [200, 200], crowned.text
    for each in (key, usurper, filed):
        assert (each.status_code, each.json()["code"]) == (403, "no_authority"), each.text
    client.post("/v1/revocations", json={"target": {"principal": name}, **CHIEF})


@pytest.mark.feature("S15", "S31")
def test_who_speaks_for_a_root_is_said_by_a_root_alone(served: Served) -> None:
    """An enforcement point that names whom it acts for is whoever it names; and so is whoever has a key of it."""
    thief, probe = (
        f'{{id: "service:probe", identities: ["key:probe"], speaks_for: ["{whom}"]}}'
        for whom in ("human:*", "instance:*")
    )

    def known_by(world: str) -> str:
        return world.replace('"key:gateway"', '"key:gateway", "key:thief"')

    def on_loopback(world: str) -> str:
        return put(world, "enforcement_points", f"{probe[:-1]}, loopback: true}}")

    refused = [
        applied(served, change, actor="human:security", dry_run=True)
        for change in (lambda world: put(world, "enforcement_points", thief), known_by, on_loopback)
    ]
    crowned = applied(
        served, lambda world: put(world, "enforcement_points", thief), actor="human:chief", dry_run=True
    )  # fmt: skip
    ordinary = applied(
        served, lambda world: put(world, "enforcement_points", probe), actor="human:security", dry_run=True
    )  # fmt: skip
    key = served.client("gateway").post("/v1/keys", json={"name": "gateway", "actor": "human:security"})

    for each in (*refused, key):
        assert (each.status_code, each.json()["code"]) == (403, "no_authority"), each.text
    assert refused[0].json()["detail"].endswith(f"who governs as a root: that {TAKES_A_ROOT}")
    assert key.json()["detail"] == (
        "`key:gateway` speaks for `human:chief`, who governs as a root: only a root makes keys of that name"
    )
    assert [crowned.status_code, ordinary.status_code] == [200, 200], (crowned.text, ordinary.text)


@pytest.mark.feature("S15", "S31")
def test_trust_that_is_lowered_counts_at_once(served: Served) -> None:
    """It takes power away, so nobody is asked; who rests on a delegate that is not trusted any more writes no more.

    What was given under the chain ends in the same revision, and what the delegate hands on is worth as little.
    """
    client = served.client("gateway")
    question = {
        "subject": {"type": "instance", "id": "seo-agent-7"}, "action": {"name": "UPDATE_CANONICAL"},
        "resource": {"type": "wp:post", "id": "1025"},
        "context": {"risk": "LOW", "environment": "production", "expected_version": "v1", "resource_version": "v1"},
    }  # fmt: skip
    lease = client.post("/v1/operations", json={**question, "purpose": "SEO_UPDATE", "ttl_seconds": 300})
    handed = {
        "delegation_id": "power-below", "delegator": "role:seo-agent", "delegate": "instance:publisher-agent-7",
        "under": "del_882", "max_depth": 0, "actor": "instance:seo-agent-7",
    }  # fmt: skip

    lowered = client.patch("/v1/principals/role:seo-agent", json={"trust": 0, "actor": "human:security"})
    denied = client.post("/access/v1/evaluation", json=question)
    on = client.post("/v1/delegations", json=handed)
    other = {**question, "subject": {"type": "instance", "id": "publisher-agent-7"}}
    below = client.post("/access/v1/evaluation", json=other)
    raised = client.patch("/v1/principals/role:seo-agent", json={"trust": 2, **CHIEF})

    assert (lease.status_code, lowered.status_code, raised.status_code) == (201, 200, 200), lease.text
    assert lowered.json()["ended"]["leases"] == [lease.json()["lease"]["lease_id"]]
    assert on.status_code == 201, on.text
    for each in (denied, below):
        assert each.json()["decision"] is False
        assert "trust_too_low" in [reason["code"] for reason in each.json()["context"]["reasons"]]
