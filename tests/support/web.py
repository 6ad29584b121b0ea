"""For the tests of the web server: an ASGI app on a loopback port, and a client that is written after the docs only."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import uvicorn

PATIENCE = 20.0


@dataclass
class Served:
    """A running server. `run` calls a coroutine function on its loop, and gives the result."""

    url: str
    loop: asyncio.AbstractEventLoop

    def run(self, make: Callable[[], Awaitable[Any]]) -> Any:
        async def call() -> Any:
            return await make()

        return asyncio.run_coroutine_threadsafe(call(), self.loop).result(PATIENCE)


@contextmanager
def serving(app: Any) -> Iterator[Served]:
    """The app behind uvicorn, in a thread of its own."""
    config = uvicorn.Config(app, port=0, log_level="critical", ws="none", lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    ready = threading.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def main() -> None:
        loops.append(asyncio.get_running_loop())
        serve = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        ready.set()
        await serve

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    assert ready.wait(PATIENCE)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield Served(f"http://127.0.0.1:{port}", loops[0])
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()


@dataclass
class Frame:
    id: int
    event: str
    data: Any


async def frames_in(lines: AsyncIterator[str]) -> AsyncIterator[Frame]:
    """The frames of an event stream, as the HTML standard parses it. Comments come as frames of the event ':'."""
    last_id, event, data = "", "", []
    async for line in lines:
        if not line:
            if data:
                yield Frame(int(last_id), event, json.loads("\n".join(data)))
            event, data = "", []
        elif line.startswith(":"):
            yield Frame(-1, ":", None)
        else:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "id":
                last_id = value
            elif name == "event":
                event = value
            elif name == "data":
                data.append(value)


async def lines_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.decode()


@asynccontextmanager
async def reading(url: str, *, heartbeats: bool = False, **options: Any) -> AsyncIterator[AsyncIterator[Frame]]:
    """The frames at `url`. Leaving it hangs up."""
    async with (
        httpx.AsyncClient(timeout=PATIENCE, trust_env=False) as client,
        client.stream("GET", url, **options) as response,
    ):
        response.raise_for_status()
        frames = frames_in(lines_of(response.aiter_bytes()))
        yield frames if heartbeats else (frame async for frame in frames if frame.event != ":")


async def read_all(url: str, **options: Any) -> list[Frame]:
    async with reading(url, **options) as frames:
        return [frame async for frame in frames]


NOTHING: Any = object()


@dataclass
class Page:
    """What a client holds. It checks that no frame is missing and none comes twice."""

    root: list[Any] = field(default_factory=list)
    reasoning: str = ""
    reasoning_done: bool = False
    done: set[tuple[Any, ...]] = field(default_factory=set)
    cut: set[tuple[Any, ...]] = field(default_factory=set)
    arguments: dict[str, list[Any]] = field(default_factory=dict)
    last_id: int = 0
    end: Any = None
    status: list[str] = field(default_factory=list)
    error: Any = None
    snapshots: int = 0
    in_snapshot: bool = False

    @property
    def data(self) -> Any:
        return self.root[0] if self.root else None

    def take(self, frame: Frame) -> None:
        assert self.end is None, f"{frame} after the end"
        if frame.event == "snapshot":
            self.root, self.arguments = [], {}
            self.reasoning, self.reasoning_done = "", False
            self.done, self.cut = set(), set()
            self.in_snapshot = True
            self.snapshots += 1
        if frame.id == 0:
            assert self.in_snapshot
        else:
            if self.in_snapshot:
                assert frame.id >= self.last_id
            else:
                assert frame.id == self.last_id + 1
            self.last_id = frame.id
            self.in_snapshot = False
        if frame.event == "field":
            self._field(frame.data)
        elif frame.event == "reasoning_delta":
            self.reasoning += frame.data["text"]
        elif frame.event == "reasoning_done":
            self.reasoning_done = True
        elif frame.event == "status":
            self.status.append(frame.data["state"])
            if frame.data["state"] == "retrying":
                self.reasoning, self.reasoning_done = "", False
        elif frame.event == "error":
            self.error = frame.data
        elif frame.event == "end":
            self.end = frame.data

    def _field(self, data: dict[str, Any]) -> None:
        source = data.get("source", "content")
        root = self.root if source == "content" else self.arguments.setdefault(source, [])
        parts, kind = data["parts"], data["kind"]
        key = (source, *parts)
        if data["type"] == "reset":
            self.done = {one for one in self.done if one[: len(key)] != key}
            self.cut = {one for one in self.cut if one[: len(key)] != key}
            remove(root, [0, *parts])
            return
        assert key not in self.done, f"{data} after its done"
        if data["type"] in ("done", "cut"):
            (self.done if data["type"] == "done" else self.cut).add(key)
        holder, last = place(root, [0, *parts])
        if kind == "string":
            text = get(holder, last)
            put(holder, last, ("" if text is NOTHING else text) + data.get("delta", ""))
        elif kind in ("object", "array"):
            if get(holder, last) is NOTHING:
                put(holder, last, {} if kind == "object" else [])
        elif data["type"] == "done":
            put(holder, last, data["value"])


def get(holder: Any, key: Any) -> Any:
    if isinstance(holder, list):
        return holder[key] if key < len(holder) else NOTHING
    return holder.get(key, NOTHING)


def put(holder: Any, key: Any, value: Any) -> None:
    if isinstance(holder, list) and key == len(holder):
        holder.append(value)
    else:
        holder[key] = value


def place(root: list[Any], parts: list[Any]) -> tuple[Any, Any]:
    holder: Any = root
    for part, after in itertools.pairwise(parts):
        if get(holder, part) is NOTHING:
            put(holder, part, [] if isinstance(after, int) else {})
        holder = get(holder, part)
    return holder, parts[-1]


def remove(root: list[Any], parts: list[Any]) -> None:
    holder: Any = root
    for part in parts[:-1]:
        holder = get(holder, part)
        if holder is NOTHING:
            return
    if get(holder, parts[-1]) is not NOTHING:
        del holder[parts[-1]]


def page_of(frames: list[Frame]) -> Page:
    page = Page()
    for frame in frames:
        page.take(frame)
    return page
