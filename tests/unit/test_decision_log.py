"""The decision log: order, loss that is counted, records that must exist, and a sink that breaks and mends."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.model.realm import EnforcementPoint
from remit_service import recording
from remit_service.decision.caller import Caller
from remit_service.decision.decision import Decision, Reason
from remit_service.decision.request import Entity, Evaluation
from remit_service.evidence.decision_log.chain import GENESIS, Link, verify
from remit_service.evidence.decision_log.errors import RecordingFailed, SinkUnavailable
from remit_service.evidence.decision_log.log import BufferedLog
from remit_service.evidence.decision_log.nothing import NoLog
from remit_service.evidence.decision_log.scribe import Scribe

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

AT = 1_764_432_000_123_456
CALLER = Caller(point=EnforcementPoint(id="service:gateway"), identity="key:gateway", address="10.0.0.7")
EVALUATION = Evaluation(
    subject=Entity(type="instance", id="seo-7"),
    action="UPDATE_CANONICAL",
    resource=Entity(type="wp:post", id="1024"),
    context={"risk": "LOW"},
)


def decision(number: int = 1, *, required: bool = False) -> Decision:
    """A decision whose record may have to exist."""
    record: dict[str, Any] = {"id": "record", "type": "record", "properties": {"before": True}}
    return Decision(
        decision_id=f"dec_{number}",
        effect="permit" if required else "deny",
        outcome="execute" if required else "deny",
        obligations=(record,) if required else (),
        reasons=(Reason(code="no_authority", message="none", facts={"key": "wp:post:1024"}),),
        at=AT,
        revision=42,
        record_input={
            "action": {"name": "UPDATE_CANONICAL"},
            "request": {"context": {"risk": "LOW"}, "action": {}, "resource": {}},
            "subject": {"attributes": {}},
            "resource": {"attributes": {}},
        },
    )


class MemorySink:
    """Keeps lines; can be told to break, and to hold a write."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.batches: list[int] = []
        self.durable: list[bool] = []
        self.broken = False
        self.attempts = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.closed = False
        self._moved = asyncio.Condition()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds that a write brings about."""
        async with self._moved:
            await self._moved.wait_for(holds)

    async def _tell(self) -> None:
        async with self._moved:
            self._moved.notify_all()

    async def open(self) -> tuple[Link, int]:
        """Begin a stream."""
        return Link("test", 0, GENESIS), 0

    async def write(self, lines: Sequence[bytes], *, durably: bool) -> None:
        """Keep a batch, or refuse it."""
        self.attempts += 1
        await self._tell()
        await self.gate.wait()
        if self.broken:
            raise SinkUnavailable("the disk is full")
        self.lines += lines
        self.batches.append(len(lines))
        self.durable.append(durably)
        await self._tell()

    async def find(self, needle: bytes) -> bytes | None:
        """Look through what is kept."""
        return next((line for line in reversed(self.lines) if needle in line), None)

    async def close(self) -> None:
        """Remember it."""
        self.closed = True

    @property
    def records(self) -> list[dict[str, Any]]:
        """What is kept, decoded; the chain has to hold."""
        verify(self.lines, after=Link("test", 0, GENESIS))
        return [json.loads(line) for line in self.lines]


@asynccontextmanager
async def open_log(sink: MemorySink, *, buffer: int = 100, wait_seconds: float = 2.0) -> AsyncIterator[BufferedLog]:
    """A started log over `sink`, closed at the end."""
    log = BufferedLog(sink, Scribe({"id": "remit-0"}), lambda: AT, buffer=buffer, wait_seconds=wait_seconds)
    await log.start()
    try:
        yield log
    finally:
        sink.gate.set()
        await log.aclose()


async def record(log: BufferedLog, *decisions: Decision) -> None:
    """Record decisions one after the other."""
    for each in decisions:
        await log.record(each, EVALUATION, CALLER, {"request_id": f"r-{each.decision_id}"})


async def test_records_are_stored_in_order() -> None:
    """What was recorded first comes first, many in one write, each linked to the one before."""
    sink = MemorySink()
    async with open_log(sink) as log:
        await record(log, *map(decision, range(1, 51)))

    assert [each["decision_id"] for each in sink.records] == [f"dec_{number}" for number in range(1, 51)]
    assert len(sink.batches) < 10
    assert sink.durable == [False] * len(sink.batches)
    assert sink.closed


async def test_a_record_says_what_opa_s_does_and_more() -> None:
    """The members of OPA's event, with revision, epochs, caller and the question beside them."""
    sink = MemorySink()
    async with open_log(sink) as log:
        await record(log, decision())

    event = sink.records[0]
    assert event["labels"] == {"id": "remit-0"}
    assert (event["kind"], event["decision_id"], event["path"]) == ("decision", "dec_1", "remit/decision/decision")
    assert event["timestamp"] == "2025-11-29T16:00:00.123456000Z"
    assert event["request_id"] == "r-dec_1"
    assert event["requested_by"] == "10.0.0.7"
    assert event["caller"] == {"point": "service:gateway", "identity": "key:gateway", "subject_identity": None}
    assert (event["subject"], event["action"]) == ({"type": "instance", "id": "seo-7"}, {"name": "UPDATE_CANONICAL"})
    assert event["result"]["reasons"] == [{"code": "no_authority", "message": "none", "key": "wp:post:1024"}]
    assert event["revision"] == 42
    assert event["input"]["action"] == {"name": "UPDATE_CANONICAL"}
    assert event["input_digest"].startswith("sha256:")


async def test_loss_is_counted_and_told_where_it_happened() -> None:
    """A full queue loses the newest; a gap record with their number stands before the next one."""
    sink = MemorySink()
    sink.gate.clear()
    async with open_log(sink, buffer=3) as log:
        await record(log, *map(decision, range(1, 4)))
        await sink.until(lambda: sink.attempts > 0)
        await record(log, *map(decision, range(4, 11)))
        lost = log.lost
        sink.gate.set()
        await sink.until(lambda: len(sink.lines) == 6)
        await record(log, decision(11))

    kinds = [(each["kind"], each.get("decision_id"), each.get("lost")) for each in sink.records]
    assert lost == {"buffer_full": 4}
    assert kinds[:6] == [("decision", f"dec_{number}", None) for number in range(1, 7)]
    assert kinds[6:] == [("gap", None, {"buffer_full": 4}), ("decision", "dec_11", None)]


async def test_loss_at_the_end_is_told_too() -> None:
    """Closing writes the gap that no later record would have told of."""
    sink = MemorySink()
    sink.broken = True
    async with open_log(sink, buffer=1) as log:
        await record(log, decision(1))
        await sink.until(lambda: sink.attempts > 0)
        await record(log, decision(2), decision(3))
        sink.broken = False

    assert [each["kind"] for each in sink.records] == ["decision", "decision", "gap"]


async def test_a_record_that_must_exist_is_stored_before_the_answer() -> None:
    """`record` returns when the line is stored, durably; one that need not exist waits for nothing."""
    sink = MemorySink()
    async with open_log(sink) as log:
        await record(log, decision(1, required=True))
        stored_at_return = len(sink.lines)

    assert stored_at_return == 1
    assert sink.durable == [True]


async def test_no_answer_without_the_record_it_must_have() -> None:
    """A sink that takes nothing makes the decision fail within the bound, as an error the decision point knows."""
    sink = MemorySink()
    sink.broken = True
    async with open_log(sink, wait_seconds=0.05) as log:
        with pytest.raises(RecordingFailed, match="the disk is full") as failed:
            await record(log, decision(1, required=True))
        problems = log.problems()
        sink.broken = False

    assert isinstance(failed.value, recording.RecordingFailed)
    assert problems == ["the decision log cannot write: the disk is full"]
    assert sink.records[-1]["kind"] == "unrecorded_decision"
    assert sink.records[-1]["unrecorded"] == "dec_1"


async def test_a_record_nobody_waits_for_any_more_is_withdrawn() -> None:
    """What is still in the queue when its decision was denied is not written afterwards."""
    sink = MemorySink()
    sink.gate.clear()
    async with open_log(sink, wait_seconds=0.05) as log:
        await record(log, decision(1))
        await sink.until(lambda: sink.attempts > 0)
        with pytest.raises(RecordingFailed):
            await record(log, decision(2, required=True))

    assert [(each["kind"], each.get("decision_id")) for each in sink.records] == [
        ("decision", "dec_1"),
        ("unrecorded_decision", None),
    ]


async def test_a_full_queue_holds_up_only_what_must_be_recorded() -> None:
    """Back-pressure: the required record waits for room and gets it; the other one is counted at once."""
    sink = MemorySink()
    sink.gate.clear()
    async with open_log(sink, buffer=1) as log:
        await record(log, decision(1))
        await sink.until(lambda: sink.attempts > 0)
        await record(log, decision(2), decision(3))
        waiting = asyncio.create_task(record(log, decision(4, required=True)))
        await asyncio.sleep(0)
        assert not waiting.done()
        sink.gate.set()
        await waiting

    ids = [each.get("decision_id") for each in sink.records if each["kind"] == "decision"]
    assert ids == ["dec_1", "dec_2", "dec_4"]
    assert log.lost == {"buffer_full": 1}


async def test_a_broken_sink_is_tried_again_with_the_same_lines() -> None:
    """After it mends nothing is missing and nothing is there twice."""
    sink = MemorySink()
    sink.broken = True
    async with open_log(sink) as log:
        await record(log, decision(1), decision(2))
        await sink.until(lambda: sink.attempts == 2)
        await record(log, decision(3))
        sink.broken = False

    assert [each["decision_id"] for each in sink.records] == ["dec_1", "dec_2", "dec_3"]
    assert log.problems() == []


async def test_other_events_have_their_place() -> None:
    """A refused request is noted between decisions, with its instant."""
    sink = MemorySink()
    async with open_log(sink) as log:
        await record(log, decision(1))
        log.note({"kind": "refused_request", "request_id": "r-9"})

    assert [each["kind"] for each in sink.records] == ["decision", "refused_request"]
    assert sink.records[1]["timestamp"] == "2025-11-29T16:00:00.123456000Z"


async def test_the_newest_are_at_hand() -> None:
    """Newest first, as many as are asked for and kept; older ones are looked for in the sink."""
    sink = MemorySink()
    log = BufferedLog(sink, Scribe({}, keep=3), lambda: AT, buffer=10, wait_seconds=1)
    await log.start()
    await record(log, *map(decision, range(1, 6)))

    recent = [each["decision_id"] for each in log.recent(2)]
    kept = [each["decision_id"] for each in log.recent(10)]
    await log.aclose()
    old, unknown = await log.find("dec_1"), await log.find("dec_9")

    assert (recent, kept) == (["dec_5", "dec_4"], ["dec_5", "dec_4", "dec_3"])
    assert old is not None
    assert old["decision_id"] == "dec_1"
    assert unknown is None


async def test_without_a_log_what_must_be_recorded_is_refused() -> None:
    """`none` keeps the newest at hand, stores nothing, and says no to a class that demands a record."""
    log = NoLog(Scribe({}))
    await log.start()

    await log.record(decision(1), EVALUATION, CALLER, {})
    with pytest.raises(RecordingFailed):
        await log.record(decision(2, required=True), EVALUATION, CALLER, {})
    await log.aclose()

    assert [each["decision_id"] for each in log.recent(10)] == ["dec_2", "dec_1"]
    assert await log.find("dec_1") is not None
    assert (log.lost, log.problems()) == ({}, [])


async def test_the_digest_can_stand_for_the_input() -> None:
    """Where the input is not to be kept, its digest still proves what was decided on."""
    full, brief = Scribe({}), Scribe({}, with_input=False)

    with_input = json.loads(full.decision(decision(), EVALUATION, CALLER, {}))
    without = json.loads(brief.decision(decision(), EVALUATION, CALLER, {}))

    assert "input" not in without
    assert without["input_digest"] == with_input["input_digest"]
