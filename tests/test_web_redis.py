"""RedisLog, with a real redis-server: workers share a run, and one that is killed is replaced."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

pytest.importorskip("redis", reason="needs the extra `redis`")
pytest.importorskip("uvicorn", reason="needs the extra `web`")

from redis.asyncio import Redis
from support.redis_server import PATIENCE, SERVER, free_port, redis_server, wait_for
from support.web import Frame as Got
from support.web import Page, frames_in, lines_of, page_of, reading

import streamparse
from streamparse import UsageError
from streamparse.web import EventStream, LogLost, LogUnavailable, RedisLog
from streamparse.wire import Frame, to_frames

pytestmark = [
    pytest.mark.outside,
    pytest.mark.skipif(SERVER is None, reason="no redis-server on this machine (Debian: redis-server)"),
]

WORKER = Path(__file__).parent / "support" / "web_worker.py"


@pytest.fixture(scope="module")
def redis_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with redis_server(tmp_path_factory.mktemp("redis")) as port:
        yield port


@pytest.fixture(params=[2, 3], ids=["RESP2", "RESP3"])
async def redis(redis_port: int, request: pytest.FixtureRequest) -> AsyncIterator[Redis]:
    # Texts as bytes with the one, as str with the other: both happen.
    client = Redis(port=redis_port, protocol=request.param, decode_responses=request.param == 3)
    try:
        yield client
    finally:
        await client.aclose()


def frames_of(text: str) -> list[Frame]:
    return list(to_frames(streamparse.wrap([text[at : at + 3] for at in range(0, len(text), 3)]).get_generator("all")))


def new_key() -> str:
    return f"run-{uuid4().hex}"


async def everything(log: RedisLog, after: int = 0) -> list[Frame]:
    frames: list[Frame] = []
    while batch := (await log.read(after, 0)).frames:
        frames += batch
        after = frames[-1].id
    return frames


TEXT = json.dumps({"title": "Rain in Späin 🌧", "tips": ["a\n", "b\u2028"], "score": 0.9, "x": None})


# ---- the log


async def test_what_is_added_is_read(redis: Redis) -> None:
    log = RedisLog(redis, new_key())
    frames = frames_of(TEXT)
    assert await log.acquire() == 0
    await log.append(frames[:4], 0)
    await log.append(frames[4:], 4)
    other = RedisLog(redis, log.key)
    assert await everything(other) == frames
    assert await everything(other, 7) == frames[7:]
    assert await other.acquire() is None  # it has ended: nobody needs to go on with it


async def test_to_add_the_same_again_adds_nothing(redis: Redis) -> None:
    log = RedisLog(redis, new_key())
    frames = frames_of(TEXT)
    await log.acquire()
    for _ in range(3):
        await log.append(frames[:5], 0)
    await log.append(frames[:8], 0)  # the answer to the last one was lost, and more has come
    await log.append(frames[3:], 3)
    assert await everything(log) == frames


async def test_one_worker_at_a_time(redis: Redis) -> None:
    key = new_key()
    first, second = RedisLog(redis, key, lease=0.3), RedisLog(redis, key, lease=0.3)
    frames = frames_of(TEXT)
    assert await first.acquire() == 0
    assert await second.acquire() is None
    await first.append(frames[:3], 0)
    for _ in range(4):
        await asyncio.sleep(0.15)
        await first.renew()
        assert await second.acquire() is None
    await asyncio.sleep(0.4)  # the first says nothing: it is taken for dead
    assert await second.acquire() == 3
    for late in (first.append(frames[3:], 3), first.renew(), first.compact(3, [])):
        with pytest.raises(LogLost):
            await late
    await first.release()  # nor can it take the lease away
    assert await RedisLog(redis, key).acquire() is None
    await second.append(frames[3:], 3)
    assert await everything(second) == frames


async def test_a_worker_that_was_only_slow_goes_on(redis: Redis) -> None:
    log = RedisLog(redis, new_key(), lease=0.1)
    frames = frames_of(TEXT)
    await log.acquire()
    await asyncio.sleep(0.3)  # its lease is gone, but nobody took over
    await log.append(frames, 0)
    assert await everything(log) == frames


async def test_a_released_log_is_taken_over_at_once(redis: Redis) -> None:
    key = new_key()
    first = RedisLog(redis, key)
    await first.acquire()
    await first.release()
    assert await RedisLog(redis, key).acquire() == 0


async def test_a_gap_is_no_place_to_go_on(redis: Redis) -> None:
    log = RedisLog(redis, new_key())
    await log.acquire()
    with pytest.raises(LogLost):
        await log.append(frames_of(TEXT)[5:], 5)


async def test_all_keys_expire(redis: Redis) -> None:
    log = RedisLog(redis, new_key(), ttl=50, lease=5)
    await log.acquire()
    await log.append(frames_of(TEXT)[:4], 0)
    await log.compact(4, [])
    await log.watch(3)
    names = [name if isinstance(name, str) else name.decode() for name in await redis.keys(f"*{log.key}*")]
    left = {name.rpartition(":")[2]: await redis.pttl(name) for name in names}
    assert left.keys() == {"log", "run", "lease", "watched"}
    assert 40_000 < left["log"] <= 50_000
    assert 40_000 < left["run"] <= 50_000
    assert 0 < left["lease"] <= 5000
    assert 0 < left["watched"] <= 3000
    await log.delete()
    assert not await redis.keys(f"*{log.key}*")


async def test_reading_waits_for_what_comes(redis: Redis) -> None:
    log = RedisLog(redis, new_key())
    frames = frames_of(TEXT)
    await log.acquire()
    began = time.monotonic()
    assert (await log.read(0, 0.2)).frames == []
    assert 0.15 < time.monotonic() - began < 2
    waiting = asyncio.create_task(RedisLog(redis, log.key).read(0, 10))
    await asyncio.sleep(0.1)
    await log.append(frames[:2], 0)
    assert (await asyncio.wait_for(waiting, 5)).frames[:1] == frames[:1]


async def test_a_snapshot_stands_for_what_was_trimmed(redis: Redis) -> None:
    text = json.dumps({"rows": [f"row {row} " * 3 for row in range(60)]})
    key = new_key()
    stream = EventStream(
        lambda: streamparse.wrap([text[at : at + 4] for at in range(0, len(text), 4)]),
        log=RedisLog(redis, key, frames=20),
    )
    whole = page_of(await collect(stream))
    assert whole.data == json.loads(text)
    assert await redis.xlen(f"{{{key}}}:log") < whole.last_id / 2
    for after in (0, 3, whole.last_id // 2, whole.last_id - 2):
        late = EventStream(lambda: streamparse.wrap([]), log=RedisLog(redis, key, frames=20))
        page = Page(last_id=after, root=["anything"], reasoning="anything")
        for frame in await collect(late, after):
            page.take(frame)
        assert page.end == whole.end
        assert page.last_id == whole.last_id
        if page.snapshots:
            assert page.data == json.loads(text)
        else:
            assert after == whole.last_id - 2


async def test_snapshots_stay_linear(redis: Redis) -> None:
    """All snapshots together take no more bytes than the frames, however often one is made."""
    text = json.dumps(["x" * 40] * 300)
    sizes: list[int] = []

    class Counted(RedisLog):
        async def compact(self, *args: Any) -> int:
            sizes.append(await super().compact(*args))
            return sizes[-1]

    log = Counted(redis, new_key(), frames=10)
    stream = EventStream(lambda: streamparse.wrap([text[at : at + 8] for at in range(0, len(text), 8)]), log=log)
    frames = await collect(stream)
    assert len(sizes) > 3
    assert sum(sizes) < sum(len(json.dumps(frame.data)) + 40 for frame in frames) + max(sizes)


async def test_redis_that_is_away_is_told_as_such() -> None:
    client = Redis(port=free_port(), retry=None)
    with pytest.raises(LogUnavailable):
        await RedisLog(client, "x").read(0, 0)
    await client.aclose()


@pytest.mark.parametrize("wrong", [{"lease": 0}, {"lease": 10, "ttl": 5}, {"frames": 0}])
def test_what_cannot_be_used_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        RedisLog(Redis(), "x", **wrong)


async def collect(stream: EventStream, after: int = 0) -> list[Got]:
    return [frame async for frame in frames_in(lines_of(stream.body(after))) if frame.event != ":"]


# ---- several workers in one process


async def eventually(check: Any, seconds: float = 15) -> None:
    end = time.monotonic() + seconds
    while not await check():
        assert time.monotonic() < end, "it never happened"
        await asyncio.sleep(0.02)


async def test_all_workers_serve_the_run_that_one_makes(redis: Redis) -> None:
    key = new_key()
    made: list[int] = []

    def worker(number: int) -> EventStream:
        async def source() -> AsyncIterator[str]:
            made.append(number)
            for at in range(0, len(TEXT), 4):
                yield TEXT[at : at + 4]
                await asyncio.sleep(0.002)

        return EventStream(lambda: streamparse.wrap(source()), log=RedisLog(redis, key))

    workers = [worker(number) for number in range(4)]
    pages = await asyncio.gather(*(collect(one) for one in workers for _ in range(3)))
    assert len(made) == 1
    assert [frame.id for frame in pages[0]] == list(range(1, len(pages[0]) + 1))
    for frames in pages:
        assert frames == pages[0]
    assert page_of(pages[0]).data == json.loads(TEXT)
    assert [one.result is not None for one in workers] == [number == made[0] for number in range(4)]


async def test_a_worker_that_waits_for_its_model_is_alive(redis: Redis) -> None:
    key = new_key()

    async def source() -> AsyncIterator[str]:
        yield TEXT[:20]
        await asyncio.sleep(5)  # more than two leases
        yield TEXT[20:]

    workers = [EventStream(lambda: streamparse.wrap(source()), log=RedisLog(redis, key, lease=2)) for _ in range(3)]
    for frames in await asyncio.wait_for(asyncio.gather(*(collect(one) for one in workers)), PATIENCE):
        page = page_of(frames)
        assert page.data == json.loads(TEXT)
        assert page.status == ["complete"]


async def test_connections_that_break_lose_nothing(redis: Redis) -> None:
    key = new_key()
    text = json.dumps({"rows": ["abc" * 5] * 100})

    async def source() -> AsyncIterator[str]:
        for at in range(0, len(text), 6):
            yield text[at : at + 6]
            await asyncio.sleep(0.002)

    workers = [EventStream(lambda: streamparse.wrap(source()), log=RedisLog(redis, key)) for _ in range(2)]
    reads = [asyncio.create_task(collect(one)) for one in workers]
    kills = 0
    while not all(read.done() for read in reads):
        await asyncio.sleep(0.05)
        with suppress(Exception):
            await redis.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no")
        kills += 1
    assert kills > 5
    for read in reads:
        page = page_of(read.result())
        assert page.data == json.loads(text)
        assert page.status == ["complete"]  # begun once


async def test_a_redis_that_was_emptied_does_not_confuse_clients(redis: Redis) -> None:
    key = new_key()

    async def source() -> AsyncIterator[str]:
        for at in range(0, len(TEXT), 3):
            yield TEXT[at : at + 3]
            await asyncio.sleep(0.02)

    stream = EventStream(lambda: streamparse.wrap(source()), log=RedisLog(redis, key, lease=0.5))
    read = asyncio.create_task(collect(stream))
    await eventually(lambda: later(stream.last_event_id > 5))
    await RedisLog(redis, key).delete()
    page = page_of(await asyncio.wait_for(read, PATIENCE))
    assert page.data == json.loads(TEXT)
    assert page.status == ["retrying", "complete"]


async def test_who_comes_back_when_redis_has_forgotten_is_told_to_forget(redis: Redis) -> None:
    stream = EventStream(lambda: streamparse.wrap([TEXT[:20], TEXT[20:]]), log=RedisLog(redis, new_key()))
    page = Page(last_id=300, root=[{"what": "it held"}], reasoning="before", done={("content", "what")})
    for frame in await collect(stream, 300):
        page.take(frame)
    assert page.data == json.loads(TEXT)
    assert page.reasoning == ""
    assert page.status == ["retrying", "complete"]
    assert page_of(await collect(stream)).data == json.loads(TEXT)  # and so is it for one that is new


async def later(value: bool) -> bool:
    return value


async def test_the_run_is_cancelled_when_no_worker_has_a_client(redis: Redis) -> None:
    key = new_key()
    closed: list[float] = []

    async def source() -> AsyncIterator[str]:
        try:
            yield '{"a": "'
            while True:
                yield "x"
                await asyncio.sleep(0.01)
        finally:
            closed.append(time.monotonic())

    def worker() -> EventStream:
        return EventStream(lambda: streamparse.wrap(source()), log=RedisLog(redis, key, lease=0.6), grace=0.1)

    maker, other = worker(), worker()

    async def client(stream: EventStream) -> Any:
        body = stream.body()
        await anext(body)
        return body

    at_maker = await client(maker)
    at_other = await client(other)
    assert maker.result is not None
    await at_maker.aclose()
    await asyncio.sleep(1.5)
    assert not closed  # the other worker has a client still
    left = time.monotonic()
    await at_other.aclose()
    await eventually(lambda: later(bool(closed)))
    assert closed[0] - left < 3
    await eventually(lambda: later(maker.ended))
    assert page_of(await collect(other)).end["end_state"] == "cancelled"


# ---- workers as processes, which are killed


class Workers:
    def __init__(self, redis_port: int, *, lease: float = 0.6, grace: float = 5) -> None:
        self.url = f"redis://127.0.0.1:{redis_port}"
        self.options = (str(lease), str(grace))
        self.processes: dict[int, subprocess.Popen[bytes]] = {}

    def start(self) -> int:
        port = free_port()
        self.processes[port] = subprocess.Popen([sys.executable, str(WORKER), str(port), self.url, *self.options])
        return port

    def kill(self, port: int) -> None:
        process = self.processes.pop(port)
        process.kill()
        process.wait()

    def port_of(self, pid: int) -> int | None:
        return next((port for port, process in self.processes.items() if process.pid == pid), None)


@asynccontextmanager
async def workers(redis_port: int, count: int, **options: float) -> AsyncIterator[Workers]:
    pool = Workers(redis_port, **options)
    try:
        for _ in range(count):
            pool.start()
        for port in pool.processes:
            await asyncio.to_thread(wait_for, port)
        yield pool
    finally:
        for port in list(pool.processes):
            pool.processes[port].send_signal(signal.SIGCONT)
            pool.kill(port)


async def follow(pool: Workers, key: str, page: Page, seed: int) -> None:
    """A browser: it reads on at any worker that answers, until the last frame."""
    chance = random.Random(seed)
    end = time.monotonic() + PATIENCE
    while page.end is None:
        assert time.monotonic() < end, f"no end in sight: {page}"
        port = chance.choice(list(pool.processes) or [0])
        headers = {"Last-Event-ID": str(page.last_id)} if page.last_id else {}
        try:
            async with reading(f"http://127.0.0.1:{port}/runs/{key}", headers=headers) as frames:
                async for frame in frames:
                    page.take(frame)
        except httpx.TransportError:
            await asyncio.sleep(0.05)


async def check(redis: Redis, key: str, pages: list[Page]) -> None:
    """Every client holds what the attempt that came to its end gave, and Redis holds each frame once."""
    finals = await redis.lrange(f"final:{key}", 0, -1)
    data, reasoning = json.loads(finals[-1])
    for page in pages:
        assert page.data == data
        assert page.reasoning == reasoning
        assert page.reasoning_done
        assert page.end["complete"] is True
        assert ("content",) in page.done
    entries = await redis.xrange(f"{{{key}}}:log")
    ids = [int(entry_id.split("-" if isinstance(entry_id, str) else b"-")[0]) for entry_id, _ in entries]
    assert ids == list(range(1, pages[0].last_id + 1))
    events = [fields.get("event") or fields[b"event"].decode() for _, fields in entries]
    assert events.count("end") == 1
    assert events[-1] == "end"


async def maker_of(redis: Redis, key: str) -> int:
    await eventually(lambda: redis.llen(f"began:{key}"))
    return int((await redis.lrange(f"began:{key}", -1, -1))[0])


async def test_a_worker_is_killed_in_the_middle(redis_port: int) -> None:
    key = new_key()
    async with Redis(port=redis_port) as client, workers(redis_port, 2) as pool:
        pages = [Page() for _ in range(3)]
        readers = [asyncio.create_task(follow(pool, key, page, seed)) for seed, page in enumerate(pages)]
        await eventually(lambda: later(pages[0].last_id > 40))
        victim = pool.port_of(await maker_of(client, key))
        assert victim is not None
        pool.kill(victim)
        await asyncio.gather(*readers)
        assert await client.llen(f"began:{key}") == 2
        for page in pages:
            assert page.status.count("retrying") == 1
        await check(client, key, pages)


async def test_a_worker_that_was_believed_dead_comes_back(redis_port: int) -> None:
    key = new_key()
    async with Redis(port=redis_port) as client, workers(redis_port, 2) as pool:
        pages = [Page() for _ in range(4)]
        readers = [asyncio.create_task(follow(pool, key, page, seed)) for seed, page in enumerate(pages)]
        await eventually(lambda: later(min(page.last_id for page in pages) > 20))
        sleeper = await maker_of(client, key)
        os.kill(sleeper, signal.SIGSTOP)

        async def taken_over() -> bool:
            return bool(await client.llen(f"began:{key}") == 2)

        # Clients at the sleeping worker hear nothing; one that comes to the other makes it take over.
        pages.append(Page())
        awake = next(port for port, process in pool.processes.items() if process.pid != sleeper)
        only = Workers(redis_port)
        only.processes = {awake: pool.processes[awake]}
        readers.append(asyncio.create_task(follow(only, key, pages[-1], 9)))
        await eventually(taken_over)
        await asyncio.sleep(0.1)
        os.kill(sleeper, signal.SIGCONT)
        await asyncio.gather(*readers)
        await check(client, key, pages)
        # It closed its source when it saw that nobody wants it any more.
        await eventually(lambda: client.llen(f"closed:{key}"))
        assert int((await client.lrange(f"closed:{key}", 0, 0))[0]) == sleeper


async def test_a_worker_that_is_stopped_gives_the_run_away(redis_port: int) -> None:
    key = f"held-{new_key()}"  # however long the worker takes to stop, its run is not over before
    async with Redis(port=redis_port) as client, workers(redis_port, 2, lease=30) as pool:
        page = Page()
        reader = asyncio.create_task(follow(pool, key, page, 1))
        await eventually(lambda: later(page.last_id > 20))
        victim = pool.port_of(await maker_of(client, key))
        assert victim is not None
        process = pool.processes.pop(victim)
        process.terminate()
        await asyncio.to_thread(process.wait, PATIENCE)
        await client.set(f"go:{key}", 1)
        began = time.monotonic()
        await eventually(lambda: later(page.status.count("retrying") == 1))
        assert time.monotonic() - began < 10  # it released its lease
        await reader
        await check(client, key, [page])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
async def test_workers_are_killed_at_random(redis_port: int, seed: int) -> None:
    chance = random.Random(seed)
    key = new_key()
    async with Redis(port=redis_port) as client, workers(redis_port, 3, lease=0.4) as pool:
        pages = [Page() for _ in range(5)]
        readers = [asyncio.create_task(follow(pool, key, page, seed * 10 + at)) for at, page in enumerate(pages)]
        for _ in range(4):
            await asyncio.sleep(chance.uniform(0.1, 1.2))
            if all(reader.done() for reader in readers):
                break
            port = chance.choice(list(pool.processes))
            fresh = pool.start()
            if chance.random() < 0.3:
                os.kill(pool.processes[port].pid, signal.SIGSTOP)
                await asyncio.sleep(chance.uniform(0.1, 0.9))
                os.kill(pool.processes[port].pid, signal.SIGCONT)
            else:
                pool.kill(port)
            await asyncio.to_thread(wait_for, fresh)
        await asyncio.gather(*readers)
        await check(client, key, pages)
