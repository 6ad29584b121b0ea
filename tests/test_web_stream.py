"""EventStream: one run, many clients, over real sockets."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamparse
from streamparse import UsageError

pytest.importorskip("uvicorn", reason="needs the extra `web`")
pytest.importorskip("sse_starlette", reason="needs the extra `web`")

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from support.web import Frame, Page, frames_in, lines_of, page_of, read_all, reading, serving

from streamparse.web import Batch, EventStream, MemoryLog

TEXT = json.dumps(
    {"title": "Rain in Späin 🌧", "tips": [{"text": "Take a coat.\n"}, {"text": "Wait."}], "score": 0.9, "x": None}
)


def pieces(text: str, size: int = 5) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


class Gated:
    """A source that gives a piece each time that it is let, and sees when it is closed."""

    def __init__(self, parts: list[str]) -> None:
        self.parts = parts
        self.given = 0
        self.allowed = 0
        self.over = self.cancelled = False
        self.moved = asyncio.Event()

    async def stream(self) -> AsyncIterator[str]:
        try:
            for part in self.parts:
                while self.given >= self.allowed:
                    self.moved.clear()
                    await self.moved.wait()
                self.given += 1
                yield part
            self.over = True
        finally:
            self.cancelled = not self.over

    async def allow(self, count: int) -> None:
        self.allowed += count
        self.moved.set()


async def eventually(check: Any, seconds: float = 5) -> None:
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "it never happened"
        await asyncio.sleep(0.01)


def app_of(stream: EventStream) -> Starlette:
    async def reply(request: Request) -> Response:
        return stream.response(request)

    return Starlette(routes=[Route("/reply", reply)])


async def collect(stream: EventStream, after: int | str | None = None) -> list[Frame]:
    """Without HTTP: what `body` gives, but for heartbeats."""
    return [frame async for frame in frames_in(lines_of(stream.body(after))) if frame.event != ":"]


# ---- one client


async def test_a_client_gets_every_frame_and_then_the_end() -> None:
    with serving(app_of(EventStream(streamparse.wrap(pieces(TEXT))))) as served:
        frames = await read_all(f"{served.url}/reply")
    assert [frame.id for frame in frames] == list(range(1, len(frames) + 1))
    page = page_of(frames)
    assert page.data == json.loads(TEXT)
    assert page.end == {"complete": True, "incomplete": [], "end_state": "complete", "finish_reason": None}


async def test_headers() -> None:
    with serving(app_of(EventStream(streamparse.wrap(pieces(TEXT))))) as served:
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.get(f"{served.url}/reply", headers={"Origin": "https://elsewhere.example"})
            preflight = await client.options(
                f"{served.url}/reply",
                headers={"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "GET"},
            )
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-accel-buffering"] == "no"
    for one in (answer, preflight):  # closed unless the application opens it
        assert not [name for name in one.headers if name.startswith("access-control")]
    assert preflight.status_code == 405


async def test_cors_is_the_applications() -> None:
    stream = EventStream(streamparse.wrap(pieces(TEXT)))
    origin = "https://mine.example"
    app = Starlette(routes=[Mount("/reply", stream)], middleware=[Middleware(CORSMiddleware, allow_origins=[origin])])
    with serving(app) as served:
        async with httpx.AsyncClient(trust_env=False, follow_redirects=True) as client:
            answer = await client.get(f"{served.url}/reply/", headers={"Origin": origin})
    assert answer.headers["access-control-allow-origin"] == origin
    assert b"event: end" in answer.content


async def test_fields_come_while_the_run_goes_on() -> None:
    gate = Gated(pieces(TEXT))
    with serving(app_of(EventStream(streamparse.wrap(gate.stream())))) as served:
        async with reading(f"{served.url}/reply") as frames:
            page = Page()
            for _ in range(3):
                served.run(lambda: gate.allow(1))
            while page.data != {"title": "Rain"}:
                page.take(await anext(frames))
            assert gate.given == 3
            assert not gate.over
            served.run(lambda: gate.allow(len(gate.parts)))
            async for frame in frames:
                page.take(frame)
    assert page.data == json.loads(TEXT)


async def test_silence_is_broken_by_heartbeats() -> None:
    gate = Gated(pieces(TEXT))
    with serving(app_of(EventStream(streamparse.wrap(gate.stream()), heartbeat=0.05))) as served:
        async with reading(f"{served.url}/reply", heartbeats=True) as frames:
            began = time.monotonic()
            for _ in range(4):
                assert (await anext(frames)).event == ":"
            assert time.monotonic() - began > 0.15
            served.run(lambda: gate.allow(len(gate.parts)))
            rest = [frame async for frame in frames if frame.event != ":"]
    assert page_of(rest).data == json.loads(TEXT)


async def test_an_error_of_the_provider_is_told_without_its_secrets() -> None:
    async def source() -> AsyncIterator[str]:
        yield '{"a": "b'
        raise RuntimeError("password=hunter2")

    with serving(app_of(EventStream(streamparse.wrap(source())))) as served:
        async with httpx.AsyncClient(trust_env=False) as client:
            body = (await client.get(f"{served.url}/reply")).text
            frames = await read_all(f"{served.url}/reply")
    assert "hunter2" not in body
    assert "Traceback" not in body
    page = page_of(frames)
    assert page.data == {"a": "b"}
    assert ("content", "a") in page.cut
    assert page.error["code"] == "internal"
    assert page.end["end_state"] == "error"
    assert page.end["complete"] is False


async def test_a_source_that_cannot_be_made_is_told_too(caplog: pytest.LogCaptureFixture) -> None:
    def make() -> streamparse.StreamResult[Any]:
        raise ConnectionRefusedError("10.0.0.7:443")

    page = page_of(await collect(EventStream(make)))
    assert page.error["code"] == "internal"
    assert "10.0.0.7" not in str(page)
    assert page.end["end_state"] == "error"
    # nobody else hears of it: the server's own log has all that the clients are not told
    assert "10.0.0.7" in caplog.text


async def test_a_callable_that_makes_no_result_is_told(caplog: pytest.LogCaptureFixture) -> None:
    make: Any = lambda: pieces(TEXT)  # noqa: E731
    page = page_of(await collect(EventStream(make)))
    assert page.error["code"] == "usage"
    assert "gave list" in page.error["message"]
    assert page.end["end_state"] == "error"
    assert "gave list" in caplog.text


@pytest.mark.parametrize("kind", ["callable", "async callable"])
async def test_the_result_may_be_made_later(kind: str) -> None:
    calls: list[int] = []

    def make() -> streamparse.StreamResult[Any]:
        calls.append(1)
        return streamparse.wrap(pieces(TEXT))

    async def make_later() -> streamparse.StreamResult[Any]:
        await asyncio.sleep(0)
        return make()

    stream = EventStream(make if kind == "callable" else make_later)
    assert stream.result is None
    pages = [page_of(await collect(stream)) for _ in range(2)]
    assert [page.data for page in pages] == [json.loads(TEXT)] * 2
    assert calls == [1]
    assert stream.result is not None
    assert stream.result.get_data() == json.loads(TEXT)


@pytest.mark.parametrize("when", ["before its start", "while it is made"])
async def test_a_run_that_is_cancelled_before_it_begins_never_runs(when: str) -> None:
    asked, let = asyncio.Event(), asyncio.Event()
    source = Gated(pieces(TEXT))
    source.allowed = len(source.parts)

    async def make() -> streamparse.StreamResult[Any]:
        asked.set()
        await let.wait()
        return streamparse.wrap(source.stream(), adapter="text")

    stream = EventStream(make)
    if when == "while it is made":
        stream.start()
        await asked.wait()
    await stream.cancel()
    let.set()
    page = page_of(await asyncio.wait_for(collect(stream), 5))
    assert page.end["end_state"] == "cancelled"
    assert page.end["complete"] is False
    assert source.given <= 1


async def test_texts_are_sent_where_they_are_wanted() -> None:
    frames = await collect(EventStream(streamparse.wrap(["Hello, ", "you."]), include=["delta"]))
    assert "".join(frame.data["text"] for frame in frames if frame.event == "delta") == "Hello, you."


async def test_max_rate_merges_deltas() -> None:
    text = json.dumps({"a": "x" * 400, "b": 1})

    async def source() -> AsyncIterator[str]:
        for piece in pieces(text, 2):
            yield piece
            await asyncio.sleep(0.001)

    began = time.monotonic()
    frames = await collect(EventStream(streamparse.wrap(source()), max_rate=20))
    seconds = time.monotonic() - began
    assert page_of(frames).data == json.loads(text)
    deltas = [frame for frame in frames if frame.event == "field" and frame.data["type"] == "delta"]
    assert len(deltas) <= seconds * 20 + 4 < 200


# ---- clients that come back


async def test_every_place_to_come_back_to() -> None:
    with serving(app_of(EventStream(streamparse.wrap(pieces(TEXT, 9))))) as served:
        url = f"{served.url}/reply"
        whole = await read_all(url)
        for seen in range(1, len(whole)):
            by_header = await read_all(url, headers={"Last-Event-ID": str(seen)})
            by_query = await read_all(url, params={"last_event_id": str(seen)})
            assert whole[:seen] + by_header == whole
            assert whole[:seen] + by_query == whole


async def test_coming_back_while_the_run_goes_on() -> None:
    gate = Gated(pieces(TEXT, 3))
    visits = 0
    with serving(app_of(EventStream(streamparse.wrap(gate.stream())))) as served:
        page = Page()
        while page.end is None:
            visits += 1
            served.run(lambda: gate.allow(9))
            async with reading(f"{served.url}/reply", headers={"Last-Event-ID": str(page.last_id)}) as frames:
                async for frame in frames:
                    page.take(frame)
                    if frame.id % 4 == 0:
                        break  # the line is cut
    assert page.data == json.loads(TEXT)
    assert visits > 3


async def test_who_has_everything_is_told_not_to_come_back() -> None:
    with serving(app_of(EventStream(streamparse.wrap(pieces(TEXT))))) as served:
        frames = await read_all(f"{served.url}/reply")
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.get(f"{served.url}/reply", headers={"Last-Event-ID": str(frames[-1].id)})
    assert answer.status_code == 204
    assert answer.content == b""


async def test_who_has_more_than_there_is_read_another_run() -> None:
    with serving(app_of(EventStream(streamparse.wrap(pieces(TEXT))))) as served:
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.get(f"{served.url}/reply", headers={"Last-Event-ID": "900000"})
    assert answer.status_code == 409


@pytest.mark.parametrize("said", ["", "abc", "-1", "1.5", "0x1", "9" * 5000, "١", "null", "1,2"])
async def test_a_last_event_id_that_is_none_gets_everything(said: str) -> None:
    stream = EventStream(streamparse.wrap(pieces(TEXT)))
    assert page_of(await collect(stream, said)).data == json.loads(TEXT)


# ---- many clients


async def test_clients_that_come_at_any_time_get_the_same() -> None:
    gate = Gated(pieces(TEXT))
    stream = EventStream(streamparse.wrap(gate.stream()))
    readers: list[asyncio.Task[list[Frame]]] = []
    for _ in gate.parts:
        readers.append(asyncio.create_task(collect(stream)))
        await gate.allow(1)
        await asyncio.sleep(0.005)
    all_frames = await asyncio.gather(*readers)
    assert len(all_frames) == len(gate.parts)
    for frames in all_frames:
        assert frames == all_frames[0]
    assert page_of(all_frames[0]).data == json.loads(TEXT)
    assert stream.clients == 0


async def test_clients_at_one_place_share_the_bytes() -> None:
    log = MemoryLog()
    log.append(streamparse_frames(pieces(TEXT)))
    assert log.read(0)[0] is log.read(0)[0]


# ---- clients that leave


async def test_the_provider_is_cancelled_when_the_last_client_leaves() -> None:
    gate = Gated(pieces(TEXT))
    stream = EventStream(streamparse.wrap(gate.stream()), grace=0.2)
    with serving(app_of(stream)) as served:
        url = f"{served.url}/reply"
        async with reading(url) as first:
            served.run(lambda: gate.allow(5))
            await anext(first)
            async with reading(url) as second:
                await anext(second)
                await eventually(lambda: stream.clients == 2)
            await eventually(lambda: stream.clients == 1)
            await asyncio.sleep(0.4)
            assert not gate.cancelled  # one is still there
            left = time.monotonic()
        await eventually(lambda: gate.cancelled)
        assert 0.15 < time.monotonic() - left < 3
        page = page_of(await read_all(url))  # what there was stays readable
    assert page.end["end_state"] == "cancelled"
    assert page.data["title"].startswith("Rain")
    assert ("content",) in page.cut


async def test_a_client_that_comes_back_in_time_saves_the_run() -> None:
    gate = Gated(pieces(TEXT))
    stream = EventStream(streamparse.wrap(gate.stream()), grace=0.5)
    with serving(app_of(stream)) as served:
        url = f"{served.url}/reply"
        page = Page()
        for _ in range(4):  # away for longer than the grace time in all, but never at a time
            served.run(lambda: gate.allow(4))
            async with reading(url, headers={"Last-Event-ID": str(page.last_id)}) as frames:
                page.take(await anext(frames))
            await asyncio.sleep(0.2)
        await gate_open(served, gate)
        for frame in await read_all(url, headers={"Last-Event-ID": str(page.last_id)}):
            page.take(frame)
    assert page.data == json.loads(TEXT)
    assert gate.over


async def gate_open(served: Any, gate: Gated) -> None:
    served.run(lambda: gate.allow(len(gate.parts)))


async def test_a_run_may_go_on_without_clients() -> None:
    gate = Gated(pieces(TEXT))
    stream = EventStream(streamparse.wrap(gate.stream()), grace=0.01, cancel_on_disconnect=False)
    with serving(app_of(stream)) as served:
        async with reading(f"{served.url}/reply") as frames:
            served.run(lambda: gate.allow(4))
            await anext(frames)
        await eventually(lambda: stream.clients == 0)
        await asyncio.sleep(0.1)
        await gate_open(served, gate)
        await eventually(lambda: stream.ended)
        assert page_of(await read_all(f"{served.url}/reply")).data == json.loads(TEXT)
    assert gate.over


class Blocking:
    """A stream like those of the sync SDKs: it blocks in `next`, and is closed from another thread."""

    def __init__(self) -> None:
        self.closed = threading.Event()
        self.rest = iter(['{"a": "', "x"])

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        piece = next(self.rest, None)
        if piece is None:
            self.closed.wait(20)
            raise ConnectionError("closed")
        return piece

    def close(self) -> None:
        self.closed.set()


async def test_a_blocking_source_is_cancelled_too() -> None:
    source = Blocking()
    stream = EventStream(streamparse.wrap(source), grace=0.05)
    with serving(app_of(stream)) as served:
        async with reading(f"{served.url}/reply") as frames:
            await anext(frames)
        await eventually(lambda: stream.ended)
        page = page_of(await read_all(f"{served.url}/reply"))
    assert source.closed.wait(5)
    assert page.data == {"a": "x"}
    assert page.end["end_state"] == "cancelled"


async def test_start_and_cancel() -> None:
    gate = Gated(pieces(TEXT))
    stream = EventStream(streamparse.wrap(gate.stream()))
    assert gate.given == 0
    stream.start()
    await gate.allow(4)
    await eventually(lambda: stream.last_event_id > 0)
    await stream.cancel()
    page = page_of(await collect(stream))
    assert page.end["end_state"] == "cancelled"
    assert gate.cancelled


async def test_aclose_lets_the_clients_go_without_an_end() -> None:
    gate = Gated(pieces(TEXT))
    stream = EventStream(streamparse.wrap(gate.stream()))
    with serving(app_of(stream)) as served:
        async with reading(f"{served.url}/reply") as frames:
            served.run(lambda: gate.allow(5))
            await anext(frames)
            served.run(stream.aclose)
            rest = [frame async for frame in frames]
        assert "end" not in [frame.event for frame in rest]
        assert gate.cancelled
        async with httpx.AsyncClient(trust_env=False) as client:
            assert (await client.get(f"{served.url}/reply")).status_code == 204


# ---- the bounded log, and slow clients


def streamparse_frames(parts: list[str]) -> list[Any]:
    from streamparse.wire import to_frames

    return list(to_frames(streamparse.wrap(parts).get_generator("all")))


async def test_who_asks_for_what_was_dropped_gets_a_snapshot() -> None:
    stream = EventStream(streamparse.wrap(pieces(TEXT, 3)), limit=5)
    with serving(app_of(stream)) as served:
        url = f"{served.url}/reply"
        await read_all(url)
        last = stream.last_event_id
        for seen in range(last):
            frames = await read_all(url, headers={"Last-Event-ID": str(seen)} if seen else {})
            page = Page(last_id=seen)
            if seen < last - 5:
                assert frames[0].event == "snapshot"
                page.root = ["what this client holds does not matter"]
            else:
                assert len(frames) == last - seen
                continue
            for frame in frames:
                page.take(frame)
            assert page.data == json.loads(TEXT)
            assert page.end["complete"] is True
            assert page.last_id == last


def test_a_log_is_bounded_in_frames_and_in_bytes() -> None:
    frames = streamparse_frames(pieces(json.dumps({"a": "x" * 50_000}), 4))
    few = MemoryLog(frames=7)
    few.append(frames)
    assert few.tail - few.base == 7
    small = MemoryLog(size=1000)
    small.append(frames)
    kept = b""
    at = small.base
    while at < small.tail:
        piece, at = small.read(at)
        kept += piece
    assert 0 < len(kept) <= 1000
    with pytest.raises(ValueError, match="the last one"):
        small.append([frames[0]])


@pytest.mark.slow
async def test_a_client_that_does_not_read_costs_no_memory() -> None:
    text = json.dumps({"rows": ["x" * 4000 for _ in range(3000)]})  # 12 MB
    gate = Gated(pieces(text, 4000))
    stream = EventStream(streamparse.wrap(gate.stream(), replay=False), limit=50)
    with serving(app_of(stream)) as served:
        port = int(served.url.rpartition(":")[2])
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", port))
        slow.sendall(b"GET /reply HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        await eventually(lambda: stream.clients == 1)
        await gate_open(served, gate)
        await eventually(lambda: stream.ended, 60)
        # The run has ended; the client has not taken 1 % of it, and nothing waits for it but what the socket holds.
        assert stream.clients == 1
        assert len(stream._log._kept) <= 50
        taken = b""
        slow.settimeout(20)
        while piece := await asyncio.to_thread(slow.recv, 1 << 20):
            taken += piece
        slow.close()
    body = httpx.Response(200, content=unchunked(taken)).text
    page = Page()

    async def lines() -> AsyncIterator[str]:
        for line in body.split("\n"):
            yield line

    async for frame in frames_in(lines()):
        if frame.event != ":":
            page.take(frame)
    assert page.snapshots >= 1
    assert page.data == json.loads(text)


def unchunked(answer: bytes) -> bytes:
    """The body of an HTTP/1.1 answer in chunks."""
    rest = answer.partition(b"\r\n\r\n")[2]
    body = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        body += rest[: int(size, 16)]
        rest = rest[int(size, 16) + 2 :]
    return body


def test_slow_clients_share_their_snapshots() -> None:
    frames = streamparse_frames(pieces(json.dumps({"a": "x" * 4000}), 4))
    log = MemoryLog(frames=100)
    snapshots: dict[int, bytes] = {}
    for frame in frames:
        log.append([frame])
        if log.base > 0:
            piece, at = log.read(0)
            assert log.base <= at <= log.tail
            assert snapshots.setdefault(at, piece) is piece  # the same object: a thousand clients hold it once
    assert 8 <= len(snapshots) <= 11  # about a thousand frames, a hundred of which are kept


async def test_no_client_is_handed_much_at_a_time() -> None:
    stream = EventStream(streamparse.wrap([json.dumps({"a": "x" * 500_000})]), limit=1)
    assert max([len(piece) async for piece in stream.body()]) <= 64 * 1024
    late = [piece async for piece in stream.body()]
    assert max(len(piece) for piece in late) <= 64 * 1024
    assert sum(len(piece) for piece in late) > 500_000


async def test_a_client_that_takes_nothing_for_too_long_is_let_go() -> None:
    text = json.dumps({"a": "x" * 20_000_000})
    stream = EventStream(streamparse.wrap([text[:10], text[10:]]), send_timeout=0.2, grace=60)
    with serving(app_of(stream)) as served:
        port = int(served.url.rpartition(":")[2])
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", port))
        slow.sendall(b"GET /reply HTTP/1.1\r\nHost: x\r\n\r\n")
        await eventually(lambda: stream.ended)
        await eventually(lambda: stream.clients == 0)
        slow.close()


DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(
    document=st.dictionaries(st.text(max_size=5), DOCUMENTS, max_size=5),
    size=st.integers(1, 9),
    limit=st.integers(1, 12),
    seen=st.data(),
    reasoning=st.text(alphabet="abc \n", max_size=20),
    cut=st.booleans(),
    twice=st.booleans(),
)
def test_a_snapshot_stands_for_all_frames_before_it(
    document: Any, size: int, limit: int, seen: Any, reasoning: str, cut: bool, twice: bool
) -> None:
    """At every moment and with any bound: a client that was away holds what one that never left holds."""
    text = json.dumps(document)
    if twice and document:  # a key comes again: what was there is taken back
        name = json.dumps(next(iter(document)))
        text = text[:-1] + f', {name}: "again", {name}: {{"deep": [1, "two"]}}}}'
        document = {**document, next(iter(document)): {"deep": [1, "two"]}}
    if cut:
        text = text[: len(text) // 2 + 1]
    if reasoning.strip():
        text = f"<think>{reasoning}</think>{text}"
    frames = streamparse_frames(pieces(text, size))
    log = MemoryLog(frames=limit)
    here = Page()
    moment = seen.draw(st.integers(0, len(frames)))
    # Right after a reset an object may be empty or not there: what is in it was taken back, and comes next.
    while [frame.data["type"] for frame in frames[:moment] if frame.event == "field"][-1:] == ["reset"]:
        moment += 1
    away = seen.draw(st.integers(0, moment))
    for frame in frames[:moment]:
        log.append([frame])
        if frame.event != "end":
            here.take(Frame(*frame))
    there = page_of([Frame(*frame) for frame in frames[:away]])
    at = away
    while True:
        piece, at = log.read(at)
        if not piece:
            break
        for frame in parsed(piece):
            if frame.event != "end":
                there.take(frame)
    there.snapshots = 0
    for frame in frames[:moment]:
        if frame.event == "end":
            here.last_id = there.last_id = frame.id
            here.end = there.end = None
    assert (there.data, there.reasoning, there.reasoning_done) == (here.data, here.reasoning, here.reasoning_done)
    assert (there.done, there.cut, there.arguments) == (here.done, here.cut, here.arguments)
    if moment == len(frames) and not cut:
        assert there.data == document


def parsed(piece: bytes) -> list[Frame]:
    async def read() -> list[Frame]:
        async def chunks() -> AsyncIterator[bytes]:
            yield piece

        return [frame async for frame in frames_in(lines_of(chunks()))]

    return asyncio.run(read())


async def test_a_snapshot_after_a_retry_holds_the_last_attempt_only() -> None:
    attempts = iter(['<think>one</think>{"a": "first", "b": 1', '<think>two</think>{"a": "second"}'])

    def source() -> list[str]:
        return pieces(next(attempts), 2)

    def judge(data: Any) -> bool:
        return data == {"a": "second"}

    result = streamparse.wrap(source, max_retries=1, validate=judge)
    stream = EventStream(result, limit=3)
    await collect(stream)
    page = page_of(await collect(stream))
    assert page.snapshots == 1
    assert page.data == {"a": "second"}
    assert page.reasoning == "two"
    assert "retrying" in page.status


# ---- a shared log of one's own


class Shared:
    """A log that several workers could share, in a list. It takes frames only when `open`."""

    lease = 1.0
    frames = 10_000

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.open = asyncio.Event()
        self.owned = False

    async def read(self, after: int, wait: float) -> Batch:
        if not self.kept[after:]:
            await asyncio.sleep(wait)
        return Batch(self.kept[after:])

    async def acquire(self) -> int | None:
        was, self.owned = self.owned, True
        return None if was else len(self.kept)

    async def append(self, frames: Sequence[Any], after: int) -> None:
        await self.open.wait()
        assert after == len(self.kept)
        self.kept += frames

    async def compact(self, frame_id: int, messages: Sequence[Any]) -> int:
        raise AssertionError("there is nothing to compact")

    async def renew(self) -> None: ...

    async def release(self) -> None:
        self.owned = False

    async def watch(self, seconds: float) -> None: ...

    async def watched(self) -> bool:
        return False


async def test_the_model_waits_for_a_log_that_is_slow() -> None:
    text = json.dumps({"a": "x" * 20_000})
    gate = Gated(pieces(text, 4))
    shared = Shared()
    stream = EventStream(streamparse.wrap(gate.stream()), log=shared)
    read = asyncio.create_task(collect(stream))
    await gate.allow(len(gate.parts))
    await asyncio.sleep(0.5)
    assert 0 < gate.given < 1000 < len(gate.parts)
    shared.open.set()
    page = page_of(await read)
    assert page.data == json.loads(text)
    other = EventStream(lambda: streamparse.wrap([]), log=shared)
    assert page_of(await collect(other)).data == json.loads(text)


# ---- as an application, wrong use


async def test_it_is_an_asgi_application() -> None:
    with serving(EventStream(streamparse.wrap(pieces(TEXT)))) as served:
        async with httpx.AsyncClient(trust_env=False) as client:
            head = await client.head(served.url)
            post = await client.post(served.url)
        assert page_of(await read_all(served.url)).data == json.loads(TEXT)
    assert head.status_code == 200
    assert head.headers["content-type"].startswith("text/event-stream")
    assert post.status_code == 405
    assert post.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    "make",
    [
        lambda: EventStream(TEXT),  # type: ignore[arg-type]
        lambda: EventStream(streamparse.wrap([TEXT]), heartbeat=0),
        lambda: EventStream(streamparse.wrap([TEXT]), max_rate=0),
        lambda: EventStream(streamparse.wrap([TEXT]), include=["instant"]),
        lambda: EventStream(streamparse.wrap([TEXT]), limit=0),
        lambda: MemoryLog(size=0),
    ],
)
def test_what_cannot_be_used_is_refused(make: Any) -> None:
    with pytest.raises(UsageError):
        make()


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("streamparse", ["streamparse.web", "starlette", "sse_starlette", "anyio", "redis"]),
        ("streamparse.web", ["starlette", "sse_starlette", "redis", "uvicorn"]),
    ],
)
def test_imports_bring_nothing_along(module: str, absent: list[str]) -> None:
    code = f"import sys, {module}; print([name for name in {absent!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


async def test_a_source_closes_in_peace() -> None:
    closed: list[str] = []

    async def source() -> AsyncIterator[str]:
        try:
            yield '{"a":"x'
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(2.5)
            closed.append("whole")

    stream = EventStream(streamparse.wrap(source()))
    body = stream.body()
    await anext(body)
    await stream.aclose()
    await body.aclose()
    assert closed == ["whole"]


class Deaf:
    """A shared log that another worker fills. The first cancellation of each of its methods gets lost in it, as one may
    in the client of Redis before Python 3.12 (python/cpython#86296).
    """

    lease = 0.1
    frames = 100

    def __init__(self) -> None:
        self.lost: set[str] = set()

    async def _ask(self, method: str) -> None:
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            if method in self.lost:
                raise
            self.lost.add(method)

    async def read(self, after: int, wait: float) -> Batch:
        await self._ask("read")
        return Batch([])

    async def acquire(self) -> int | None:
        return None

    async def watch(self, seconds: float) -> None:
        await self._ask("watch")

    async def watched(self) -> bool:
        return False

    async def append(self, frames: Sequence[Any], after: int) -> None: ...
    async def compact(self, frame_id: int, messages: Sequence[Any]) -> int:
        return 0

    async def renew(self) -> None: ...
    async def release(self) -> None: ...


@pytest.mark.parametrize("leaves", ["worker", "client"])
async def test_a_run_that_is_let_go_ends_where_a_cancellation_gets_lost(
    leaves: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamparse.web.stream._AGAIN", 0.05)
    before = asyncio.all_tasks()
    log = Deaf()
    stream = EventStream(lambda: streamparse.wrap(["{}"]), log=log, heartbeat=0.01, grace=0.01)
    body = stream.body()
    await anext(body)
    if leaves == "worker":
        await asyncio.wait_for(stream.aclose(), 10)
    await body.aclose()
    await eventually(lambda: asyncio.all_tasks() == before)
    assert "read" in log.lost
