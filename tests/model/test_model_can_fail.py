"""The model-based suite is able to fail: each rule is broken on purpose, and the law that holds it is found broken."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.errors import OutcomeUnknown
from remit_graph.sqlite.ledger import SqliteLedger
from tests.model import game, sqlite
from tests.model.game import Found
from tests.model.state import Broken

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from remit_graph.head import Head
    from remit_graph.model.change import Command, Entry

AT = "remit_service.coordination"

BROKEN: dict[str, tuple[str, Callable[..., Any], set[str]]] = {
    "leases conflict with nothing": (
        "tests.model.machine.Bench.conflicts", lambda *_: False,
        {"at_most_one_exclusive_holder"},
    ),
    "nobody looks who comes before": (
        f"{AT}.turn.Turns.may_try", lambda *_: True,
        {"queue_order_is_deterministic", "at_most_one_exclusive_holder"},
    ),
    "a newcomer passes the queue": (
        f"{AT}.acquire.before", lambda *_: iter(()),
        {"queue_order_is_deterministic"},
    ),
    "who is far away is overtaken": (
        f"{AT}.turn.Turns._is_behind_far_ones", lambda *_: False,
        {"queue_order_is_deterministic", "no_cycle_of_waits"},
    ),
    "the dead are granted": (
        f"{AT}.settle.still_asks", lambda *_: True,
        {"no_grant_to_the_dead", "queue_order_is_deterministic", "every_waiter_is_served_or_told_within_its_bound",
         "disjoint_operations_never_wait"},
    ),
    "a token is shared with an older grant": (
        f"{AT}.grant.tokens_for", lambda _view, _tables, held, _at, token: dict.fromkeys(
            (f"{entry['key']}#{part['fence']}" for entry in held.keys for part in entry["parts"]), max(token - 1, 1)
        ),
        {"tokens_only_grow"},
    ),
    "two grants of one revision share a token": (
        f"{AT}.grant._raised_in_this_step", lambda *_: (),
        {"tokens_only_grow"},
    ),
    "a wait may close a cycle": (
        f"{AT}.wait.closes_cycle", lambda *_: None,
        {"no_cycle_of_waits"},
    ),
    "a grant may close a cycle": (
        f"{AT}.acquire.grant_closes_cycle", lambda *_: None,
        {"no_cycle_of_waits"},
    ),
    "what time has tied stays so": (
        f"{AT}.settle.tied", lambda *_: iter(()),
        {"no_cycle_of_waits"},
    ),
    "a revocation ends nothing": (
        f"{AT}.resting._of", lambda *_: [],
        {"no_permit_after_acknowledged_revocation"},
    ),
    "a freed key is left to the sweep": (
        f"{AT}.tenure.settle", lambda *_: iter(()),
        {"every_waiter_is_served_or_told_within_its_bound"},
    ),
    "what is left over is forgotten": (
        f"{AT}.work.Work.put_off", lambda *_: None,
        {"every_waiter_is_served_or_told_within_its_bound", "disjoint_operations_never_wait"},
    ),
    "an operation may end with its leases": (
        f"{AT}.receipt.end_lease", lambda *_, **__: None,
        {"every_operation_ends_with_a_receipt", "release_is_idempotent"},
    ),
    "old ownership stays": (
        f"{AT}.move._kept", lambda edge, *_: iter((edge,)),
        {"one_owner_at_every_revision"},
    ),
    "a lease outlives its end": (
        f"{AT}.tenure.not_current", lambda *_: None,
        {"no_grant_to_the_dead", "tokens_only_grow"},
    ),
}  # fmt: skip


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", BROKEN)
def test_each_broken_rule_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one rule taken away, some game breaks the law that the rule keeps."""
    target, instead, laws = BROKEN[name]
    monkeypatch.setattr(target, instead)

    with pytest.raises(Found) as found:
        _play_many()
    assert found.value.law in laws, found.value


def _play_many() -> None:
    for seed in range(400):
        game.play(seed, 400)


@pytest.mark.timeout(300)
def test_without_compare_and_set_there_are_two_holders(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that appends wherever its head is, whatever was decided on, gives one key to two."""
    append = SqliteLedger.append

    async def append_anywhere(self: SqliteLedger, expected: Head, batch: Sequence[Command]) -> Sequence[Entry]:
        head = await self.head()
        entries = await append(self, head, [replace(each, at=max(each.at, head.at)) for each in batch])
        if head.revision != expected.revision:
            # Its writer cannot tell from the answer that others were in between: it looks its command up.
            raise OutcomeUnknown("somebody else was first, and nobody minded")
        return entries

    monkeypatch.setattr(SqliteLedger, "append", append_anywhere)
    laws: set[str] = set()
    for seed in range(40):
        try:
            sqlite.play(seed, 400)
        except Found as found:
            laws.add(found.law)
        if "at_most_one_exclusive_holder" in laws:
            break

    assert "at_most_one_exclusive_holder" in laws


def test_a_finding_says_how_to_see_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finding names its seed and the one command that plays the same game again, to the same end."""
    monkeypatch.setattr("tests.model.machine.Bench.conflicts", lambda *_: False)
    with pytest.raises(Found) as first:
        game.play(3, 400)
    with pytest.raises(Found) as second:
        game.play(first.value.seed, 400)

    on_neo4j = [str(Found("neo4j", seed, 9, "revision 9", Broken("linearizability", "it"))) for seed in (0, 4)]

    assert f"-m tests.model.again pure {first.value.seed} " in str(first.value)
    assert "./run test tests/model/test_model_neo4j.py -k on_neo4j" in on_neo4j[0]
    assert "./run soak tests/model/test_model_neo4j.py -k long_play[4]" in on_neo4j[1]
    assert str(second.value) == str(first.value)
