"""The decision log on disk and over HTTP: chains that verify, and what crashes and full disks leave."""

from __future__ import annotations

import gzip
import json
import os
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from remit_service.evidence.decision_log.chain import GENESIS, Link, append, verify
from remit_service.evidence.decision_log.errors import SinkUnavailable, StreamBroken
from remit_service.evidence.decision_log.files import FileSink
from remit_service.evidence.decision_log.upload import UploadSink

if TYPE_CHECKING:
    from pathlib import Path


def lines(link: Link, *records: Any) -> tuple[Link, list[bytes]]:
    """Chain records after `link`."""
    made = []
    for record in records:
        link, line = append(link, json.dumps(record).encode())
        made.append(line)
    return link, made


async def write(sink: FileSink, link: Link, *records: Any) -> Link:
    """Write records durably and return where the stream stands."""
    link, made = lines(link, *records)
    await sink.write(made, durably=True)
    return link


def names(folder: Path) -> list[str]:
    """The files of a folder, in order."""
    return sorted(path.name for path in folder.glob("*.jsonl"))


def stored(folder: Path) -> list[bytes]:
    """Every line of a folder with one stream."""
    return [line for path in sorted(folder.glob("*.jsonl")) for line in path.read_bytes().splitlines(keepends=True)]


def test_a_chain_verifies_only_as_it_was_written() -> None:
    """A changed byte, a line left out, moved, doubled, or taken from another stream is found."""
    end, made = lines(Link("s", 0, GENESIS), {"a": 1}, {"b": ',"chain":{"stream":"x'}, {"c": 3})
    _, other = lines(Link("t", 0, GENESIS), {"a": 1}, {"b": 2})

    assert verify(made, after=Link("s", 0, GENESIS)) == end
    assert json.loads(made[1])["b"] == ',"chain":{"stream":"x'
    broken = {
        "changed": [made[0].replace(b"1", b"2", 1), *made[1:]],
        "left_out": [made[0], made[2]],
        "moved": [made[1], made[0], made[2]],
        "doubled": [made[0], made[0], *made[1:]],
        "of_another_stream": [made[0], other[1]],
        "no_record": [made[0], b"{}\n"],
    }
    for tampered in broken.values():
        with pytest.raises(StreamBroken):
            verify(tampered, after=Link("s", 0, GENESIS))


async def test_a_stream_goes_on_after_a_restart(tmp_path: Path) -> None:
    """The next process continues number and hash, and the whole chain verifies."""
    link = Link("remit", 0, GENESIS)
    for number in range(3):
        sink = FileSink(tmp_path, "remit", 1 << 20)
        opened, torn = await sink.open()
        assert (opened, torn) == (link, 0)
        link = await write(sink, link, {"n": number}, {"n": number + 0.5})
        await sink.close()

    assert verify(stored(tmp_path), after=Link("remit", 0, GENESIS)) == link
    assert link.seq == 6


async def test_a_full_file_is_followed_by_the_next(tmp_path: Path) -> None:
    """Files are named for their first record and hold one chain together."""
    sink = FileSink(tmp_path, "remit", 300)
    link, _ = await sink.open()
    for number in range(6):
        link = await write(sink, link, {"n": number})
    found = await sink.find(b'"n": 1')
    await sink.close()

    assert names(tmp_path)[:2] == ["remit-000000000001.jsonl", "remit-000000000003.jsonl"]
    assert verify(stored(tmp_path), after=Link("remit", 0, GENESIS)) == link
    assert found is not None
    assert json.loads(found)["chain"]["seq"] == 2


def tear(folder: Path) -> None:
    """Leave half a record at the end, as a crash in the middle of a write does."""
    with (folder / names(folder)[-1]).open("ab") as file:
        file.write(b'{"n":2,"chai')


async def test_a_record_torn_by_a_crash_is_cut_off_and_counted(tmp_path: Path) -> None:
    """What has no end was never acknowledged; the stream goes on from the last whole record."""
    sink = FileSink(tmp_path, "remit", 1 << 20)
    link, _ = await sink.open()
    link = await write(sink, link, {"n": 1})
    await sink.close()
    tear(tmp_path)

    sink = FileSink(tmp_path, "remit", 1 << 20)
    opened, torn = await sink.open()
    await write(sink, opened, {"n": 3})
    await sink.close()

    assert (opened, torn) == (link, 12)
    verify(stored(tmp_path), after=Link("remit", 0, GENESIS))


async def test_a_file_that_ends_in_something_else_is_not_continued(tmp_path: Path) -> None:
    """Nothing follows a line that is no record: somebody has to look at it first."""
    (tmp_path / "remit-000000000001.jsonl").write_bytes(b"not a record\n")

    with pytest.raises(SinkUnavailable, match="does not end with a record"):
        await FileSink(tmp_path, "remit", 1 << 20).open()


async def test_an_empty_file_is_continued_from_the_one_before(tmp_path: Path) -> None:
    """A crash between making a file and its first record costs nothing."""
    sink = FileSink(tmp_path, "remit", 1 << 20)
    link, _ = await sink.open()
    link = await write(sink, link, {"n": 1})
    await sink.close()
    (tmp_path / "remit-000000000002.jsonl").touch()

    sink = FileSink(tmp_path, "remit", 1 << 20)
    opened, _ = await sink.open()
    await write(sink, opened, {"n": 2})
    await sink.close()

    assert opened == link
    verify(stored(tmp_path), after=Link("remit", 0, GENESIS))


async def test_two_processes_of_one_name_write_two_streams(tmp_path: Path) -> None:
    """A stream has one writer; who comes second takes the next free name, and both are found."""
    one, two = FileSink(tmp_path, "remit", 1 << 20), FileSink(tmp_path, "remit", 1 << 20)
    first, _ = await one.open()
    second, _ = await two.open()
    await write(one, first, {"n": "one"})
    await write(two, second, {"n": "two"})
    found = await one.find(b'"n": "two"')
    await one.close()
    await two.close()

    assert (first.stream, second.stream) == ("remit", "remit-2")
    assert found is not None
    again = FileSink(tmp_path, "remit", 1 << 20)
    opened, _ = await again.open()
    await again.close()
    assert opened.stream == "remit"


async def test_a_full_disk_leaves_no_half_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written of a batch that fails is cut off again, and the same lines can be written later."""
    sink = FileSink(tmp_path, "remit", 1 << 20)
    link, _ = await sink.open()
    link = await write(sink, link, {"n": 1})
    end, made = lines(link, {"n": 2}, {"n": 3})
    write_all = os.write

    def half(descriptor: int, data: bytes) -> int:
        if data.startswith(b'{"n": 2'):
            return write_all(descriptor, data[:40])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(SinkUnavailable, match="No space left"):
        await sink.write(made, durably=False)
    monkeypatch.undo()
    halfway = stored(tmp_path)
    await sink.write(made, durably=True)
    await sink.close()

    assert len(halfway) == 1
    assert verify(stored(tmp_path), after=Link("remit", 0, GENESIS)) == end


async def test_nobody_else_reads_the_log(tmp_path: Path) -> None:
    """Folder and files are the owner's alone."""
    sink = FileSink(tmp_path / "log", "remit", 1 << 20)
    await sink.open()
    await sink.close()

    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "log").iterdir()}
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o700
    assert modes == {"remit-000000000001.jsonl": 0o600, "remit.lock": 0o600}


async def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """A path through a file is refused with its name."""
    (tmp_path / "file").touch()

    with pytest.raises(SinkUnavailable, match="file/log"):
        await FileSink(tmp_path / "file" / "log", "remit", 1 << 20).open()


class Service:
    """A log service, with what it got and what it answers."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer one upload."""
        self.requests.append(request)
        status = self.statuses.pop(0)
        if status == 0:
            raise httpx.ConnectError("refused")
        return httpx.Response(status)


async def test_an_upload_has_opa_s_shape() -> None:
    """A compressed JSON array of events, with the token, each with its place in the chain."""
    service = Service(204)
    sink = UploadSink("https://logs.example/logs", "remit", token="t", transport=httpx.MockTransport(service))
    link, _ = await sink.open()
    _, made = lines(link, {"decision_id": "dec_1"}, {"decision_id": "dec_2"})

    await sink.write(made, durably=True)
    await sink.close()

    request = service.requests[0]
    events = json.loads(gzip.decompress(request.content))
    assert (request.method, str(request.url)) == ("POST", "https://logs.example/logs")
    assert request.headers["content-encoding"] == "gzip"
    assert request.headers["authorization"] == "Bearer t"
    assert [each["decision_id"] for each in events] == ["dec_1", "dec_2"]
    assert [each["chain"]["seq"] for each in events] == [1, 2]


@pytest.mark.parametrize("status", [0, 301, 400, 401, 429, 500, 503])
async def test_an_upload_that_is_not_accepted_is_not_stored(status: int) -> None:
    """Only 2xx is acceptance; everything else means that the same batch is sent again."""
    service = Service(status)
    sink = UploadSink("https://logs.example/logs", "remit", transport=httpx.MockTransport(service))
    link, _ = await sink.open()
    _, made = lines(link, {"a": 1})

    with pytest.raises(SinkUnavailable):
        await sink.write(made, durably=False)
    await sink.close()


async def test_each_process_uploads_a_stream_of_its_own() -> None:
    """A service tells two processes apart, and a restart from what was before."""
    transport = httpx.MockTransport(Service())
    sinks = [UploadSink("https://logs.example", "remit", transport=transport) for _ in range(2)]
    streams = {(await sink.open())[0].stream for sink in sinks}
    for sink in sinks:
        assert await sink.find(b"x") is None
        await sink.close()

    assert len(streams) == 2
