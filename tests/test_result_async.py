"""The result: one run, read in many ways (async, and mixed with sync)."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import json
import threading
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from support.streams import (
    SOURCES,
    SPEC,
    TEXT,
    TIPS,
    TRIAGE,
    AsyncStream,
    Handlers,
    Maker,
    Stream,
    SyncManager,
    Tip,
    Tips,
    adrain,
    agenerate,
    awaited,
    chat,
    leaves,
    pieces,
)

from streamparse import JSONSyntaxError, ProviderError, Response, SchemaError, UsageError, wrap
from streamparse.provider import ProviderEvent, TextDelta
from streamparse.result import split_choices

TYPES = ["delta", "instant", "specific", "original", "all"]


class Blocking(Stream):
    """A sync stream that blocks, each time in whatever thread reads it."""

    def __init__(self, chunks: Any, seconds: float = 0.002, error: BaseException | None = None) -> None:
        super().__init__(chunks, error)
        self._seconds = seconds
        self.threads: set[int] = set()

    def __next__(self) -> Any:
        self.threads.add(threading.get_ident())
        time.sleep(self._seconds)
        return super().__next__()


class Stuck(Stream):
    """A sync stream that blocks for good after its chunks, until it is closed."""

    def __init__(self, chunks: Any) -> None:
        super().__init__(chunks)
        self.waiting = threading.Event()
        self._released = threading.Event()

    def __next__(self) -> Any:
        try:
            return super().__next__()
        except StopIteration:
            self.waiting.set()
            self._released.wait(20)
            raise

    def close(self) -> None:
        super().close()
        self._released.set()


# ---- once, lazily, for everybody


async def test_the_triage_card() -> None:
    stream = AsyncStream(chat(pieces(TEXT)))
    result = wrap(awaited(stream), output=SPEC)
    ui: dict[str, str] = defaultdict(str)
    done: dict[str, Any] = {}
    async for item in result.get_async_generator(type="instant"):
        if item.delta:
            ui[item.path] += item.delta
        if item.is_complete:
            done[item.path] = item.value
    assert await result.async_get_data() == TRIAGE
    assert dict(ui) == leaves(TRIAGE)
    assert done[""] == TRIAGE


async def test_every_reader_has_an_async_sibling() -> None:
    text = '{"title": "t", "tips": [{"text": "a"}]}'
    result = wrap(AsyncStream(chat(pieces(text))), output=Tips)
    assert await result.async_get_text() == text
    assert await result.async_get_data() == json.loads(text)
    assert await result.async_get_data_object() == Tips.model_validate_json(text)
    assert (await result.async_get_meta())["model"] == "test-model"
    response = await result.async_get_response()
    assert response.end_state == "complete"
    # What is there can be read by the sync ones too, even on the loop.
    assert result.get_response() is response
    assert result.get_text() == text
    assert "".join(result.get_generator("delta")) == text


async def test_nothing_runs_before_the_first_read_and_no_chunk_before_it_is_wanted() -> None:
    stream = AsyncStream(pieces("abcdef", 2))
    result = wrap(stream)
    generator = result.get_async_generator("delta")
    await asyncio.sleep(0.01)
    assert stream.read == 0
    assert await anext(generator) == "ab"
    await asyncio.sleep(0.01)
    assert stream.read == 1
    assert [piece async for piece in generator] == ["cd", "ef"]
    assert stream.closed == 1


@pytest.mark.parametrize("kind", SOURCES)
async def test_every_kind_of_source_is_read_by_an_async_reader(kind: str) -> None:
    result = wrap(SOURCES[kind]())
    assert "".join([piece async for piece in result.get_async_generator("delta")]) == TEXT
    assert await result.async_get_data() == TRIAGE
    assert (await result.async_get_response()).end_state == "complete"


async def test_async_and_sync_readers_see_the_same() -> None:
    chunks = chat(["<think>hm</think>", *pieces(TEXT)])
    live = wrap(AsyncStream(chunks))
    seen: dict[str, list[Any]] = {}
    for kind in TYPES:
        seen[kind], _ = await adrain(live.get_async_generator(kind))

    def read() -> dict[str, list[Any]]:
        result = wrap(Stream(chunks))
        return {kind: list(result.get_generator(kind)) for kind in TYPES}

    other = await asyncio.to_thread(read)
    for kind in TYPES:
        assert _without_times(seen[kind]) == _without_times(other[kind])
        assert seen[kind] == list(live.get_generator(kind))


def _without_times(items: list[Any]) -> list[Any]:
    shown = []
    for item in items:
        if isinstance(item, tuple) and item[0] == "meta":
            item = ("meta", {key: value for key, value in item[1].items() if not key.endswith("_ms")})
        shown.append(item)
    return shown


async def test_eight_tasks_read_one_run() -> None:
    stream = AsyncStream(chat(pieces(TEXT)))
    result = wrap(stream)

    async def read(number: int) -> list[Any]:
        for _ in range(number):
            await asyncio.sleep(0)
        return [message async for message in result.get_async_generator("all")]

    seen = await asyncio.gather(*(read(number) for number in range(8)), result.async_get_text())
    assert seen.pop() == TEXT
    assert all(one == seen[0] for one in seen)
    assert stream.read == len(chat(pieces(TEXT)))
    assert len(stream.tasks) == 1


async def test_leaving_one_reader_leaves_the_others_whole() -> None:
    stream = AsyncStream(pieces(TEXT))
    result = wrap(stream)

    async def leave_early() -> None:
        async for _ in result.get_async_generator("delta"):
            break

    async def read() -> str:
        return "".join([piece async for piece in result.get_async_generator("delta")])

    texts = await asyncio.gather(read(), leave_early(), read())
    assert texts == [TEXT, None, TEXT]


async def test_many_results_run_in_parallel() -> None:
    inside = 0
    most = 0

    async def source(number: int) -> AsyncIterator[str]:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        for piece in pieces(f'{{"n": {number}}}', 2):
            await asyncio.sleep(0.001)
            yield piece
        inside -= 1

    results = [wrap(source(number)) for number in range(50)]
    data = await asyncio.gather(*(result.async_get_data() for result in results))
    assert data == [{"n": number} for number in range(50)]
    assert most == 50


async def test_a_source_stays_in_one_task_so_that_its_timeouts_work() -> None:
    @asynccontextmanager
    async def same_task() -> AsyncIterator[None]:
        task = asyncio.current_task()
        yield
        assert asyncio.current_task() is task

    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable")

    async def source() -> AsyncIterator[str]:
        async with same_task():
            token = variable.set(1)
            yield "a"
            assert variable.get() == 1
            variable.reset(token)  # fails in another context
            yield "b"

    result = wrap(source())

    async def read() -> str:
        return await result.async_get_text()

    assert await asyncio.gather(read(), read()) == ["ab", "ab"]


# ---- async over sync, sync over async


async def test_an_async_reader_over_a_sync_source_does_not_block_the_loop() -> None:
    stream = Blocking(chat(pieces(TEXT, 20)), 0.02)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.002)
            ticks += 1

    ticking = asyncio.create_task(tick())
    result = wrap(stream)
    assert await result.async_get_data() == TRIAGE
    ticking.cancel()
    assert ticks > len(chat(pieces(TEXT, 20)))
    assert threading.get_ident() not in stream.threads
    assert len(stream.threads) == 1


async def test_a_callable_or_manager_that_blocks_does_not_block_the_loop_either() -> None:
    here = threading.get_ident()
    seen: list[int] = []

    class Opening:
        def __enter__(self) -> Any:
            seen.append(threading.get_ident())
            return ["hi"]

        def __exit__(self, *exc_info: object) -> None:
            seen.append(threading.get_ident())

    def make() -> Opening:
        seen.append(threading.get_ident())
        return Opening()

    assert await wrap(make).async_get_text() == "hi"
    assert len(seen) == 3
    assert here not in seen


async def test_http_responses_of_async_clients() -> None:
    lines = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chat(["hi"])]

    class Httpx:
        headers: dict[str, str] = {"content-type": "text/event-stream"}  # noqa: RUF012  # as it is there
        stream = AsyncStream([])
        closed = 0

        def iter_bytes(self) -> Any:
            raise AssertionError("sync")

        def aiter_bytes(self) -> Any:
            return agenerate(lines)

        async def aclose(self) -> None:
            self.closed += 1

    class Content:
        def iter_any(self) -> Any:
            return agenerate(lines)

    class Aiohttp:
        headers: dict[str, str] = {"Content-Type": "text/event-stream"}  # noqa: RUF012  # as it is there
        content = Content()
        closed = 0

        def close(self) -> None:
            self.closed += 1

    for response in (Httpx(), Aiohttp()):
        assert await wrap(response).async_get_text() == "hi"
        assert response.closed == 1


async def test_context_variables_reach_a_sync_source() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="no")
    variable.set("yes")
    assert await wrap(lambda: [variable.get()]).async_get_text() == "yes"


async def test_a_sync_reader_on_the_loop_is_told_the_async_one() -> None:
    readers: dict[str, Callable[[Any], Any]] = {
        "async_get_text": lambda result: result.get_text(),
        "async_get_data": lambda result: result.get_data(),
        "async_get_meta": lambda result: result.get_meta(),
        "async_get_response": lambda result: result.get_response(),
        "get_async_generator": lambda result: list(result.get_generator("all")),
    }
    for sibling, read in readers.items():
        for source in (AsyncStream(["hi"]), lambda: awaited(["hi"])):
            result = wrap(source)
            with pytest.raises(UsageError, match=sibling):
                read(result)
            assert await result.async_get_text() == "hi"  # nothing is lost
    result = wrap('{"title": "t", "tips": []}', output=Tips)
    with pytest.raises(UsageError, match="async_get_data_object"):
        wrap(agenerate([]), output=Tips).get_data_object()
    assert result.get_data_object().title == "t"  # a sync source may be read on the loop, if one must


async def test_a_sync_reader_on_the_loop_is_told_so_in_the_middle_too() -> None:
    result = wrap(AsyncStream(pieces("abcdef", 2)))
    async for _ in result.get_async_generator("delta"):
        break
    generator = result.get_generator("delta")
    assert next(generator) == "ab"
    with pytest.raises(UsageError, match="get_async_generator"):
        next(generator)
    assert await result.async_get_text() == "abcdef"


def test_a_sync_reader_begins_and_an_async_one_goes_on() -> None:
    for source in (Stream(pieces(TEXT)), AsyncStream(pieces(TEXT))):
        result = wrap(source)
        assert next(result.get_generator("delta")) == TEXT[:3]

        async def read(result: Any = result) -> Any:
            if isinstance(source, AsyncStream):  # noqa: B023  # used at once
                with pytest.raises(UsageError):
                    result.get_text()
            texts = await asyncio.gather(*(result.async_get_text() for _ in range(3)))
            assert texts == [TEXT] * 3
            return [piece async for piece in result.get_async_generator("delta")]

        assert "".join(asyncio.run(read())) == TEXT
        assert result.get_text() == TEXT


async def test_threads_and_tasks_read_one_run() -> None:
    for source in (AsyncStream(chat(pieces(TEXT))), Stream(chat(pieces(TEXT)))):
        result = wrap(source)

        def in_thread(result: Any = result) -> list[Any]:
            return list(result.get_generator("all"))

        async def in_task(result: Any = result) -> list[Any]:
            return [message async for message in result.get_async_generator("all")]

        def on_another_loop(result: Any = result) -> list[Any]:
            async def read() -> list[Any]:
                return [message async for message in result.get_async_generator("all")]

            return asyncio.run(read())

        first = asyncio.create_task(in_task())
        await asyncio.sleep(0)
        seen = await asyncio.gather(
            first,
            *(asyncio.to_thread(in_thread) for _ in range(3)),
            *(asyncio.to_thread(on_another_loop) for _ in range(2)),
            in_task(),
        )
        assert len(seen[0]) > 10
        assert all(one == seen[0] for one in seen)


def test_a_loop_that_stands_still_can_be_moved_by_a_sync_reader() -> None:
    stream = AsyncStream(pieces(TEXT))
    result = wrap(stream)
    loop = asyncio.new_event_loop()

    async def begin() -> str:
        async for piece in result.get_async_generator("delta"):
            return piece
        raise AssertionError

    assert loop.run_until_complete(begin()) == TEXT[:3]
    assert result.get_text() == TEXT
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


def test_a_run_ends_with_its_loop() -> None:
    stream = AsyncStream(pieces(TEXT))
    result = wrap(stream)

    async def begin() -> None:
        async for _ in result.get_async_generator("delta"):
            break

    asyncio.run(begin())
    assert stream.closed == 1
    assert result.get_response().end_state == "cancelled"
    assert result.get_text() == TEXT[:3]
    assert asyncio.run(result.async_get_text()) == TEXT[:3]


# ---- errors and handlers


@pytest.mark.parametrize("make", [AsyncStream, Stream])
async def test_an_error_of_the_source_reaches_every_reader(make: Any) -> None:
    gone = RuntimeError("gone")
    handlers = Handlers()
    stream = make(chat(['{"a": "x'], finish=None, usage=False), gone)
    result = wrap(stream, **handlers.options)

    async def read() -> list[str]:
        seen, error = await adrain(result.get_async_generator("all"))
        assert error is gone
        return [event for event, _ in seen]

    seen = await asyncio.gather(*(read() for _ in range(4)))
    assert all(one == seen[0] for one in seen)
    assert seen[0].index("instant") < seen[0].index("error")
    with pytest.raises(RuntimeError):
        await result.async_get_response()
    assert result.response is not None
    assert result.response.data == {"a": "x"}
    assert handlers.errors == [gone]
    assert stream.closed == 1


async def test_cancelling_ends_a_run_whose_source_takes_the_cancellation_for_itself() -> None:
    async def stubborn() -> AsyncIterator[str]:
        yield '{"a": '
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        yield "1}"

    result = wrap(stubborn())
    reader = asyncio.create_task(result.async_get_data())
    await asyncio.sleep(0.05)
    reader.cancel()
    done, _ = await asyncio.wait([reader], timeout=5)
    assert done
    assert reader.cancelled()
    assert result.response is not None
    assert result.response.end_state == "cancelled"


async def test_a_callable_that_raises_stop_iteration_does_not_hang() -> None:
    """No future can hand a StopIteration on to a coroutine: a reader would wait for ever."""
    result = wrap(lambda: next(iter([])))
    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(result.async_get_response(), 5)
    assert result.response is not None
    assert result.response.end_state == "error"


@pytest.mark.parametrize("kind", [asyncio.CancelledError, "no exception"])
def test_what_an_async_source_raises_always_reaches_a_sync_reader(kind: Any) -> None:
    """Cancellation that nobody asked for, and what is no `Exception`, too: a reader must not wait for ever."""
    error = kind() if isinstance(kind, type) else type("Strange", (BaseException,), {})()
    stream = AsyncStream(['{"a": "x'], error)
    result = wrap(stream)
    seen: list[Any] = []

    def read() -> None:
        try:
            seen.append(result.get_response())
        except BaseException as raised:  # noqa: BLE001  # it is what the test looks at
            seen.append(raised)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(10)
    assert len(seen) == 1
    assert type(seen[0]) is type(error)
    assert stream.closed == 1


async def test_malformed_json_stops_the_run() -> None:
    stream = AsyncStream(['{"a": 1, ', "nope}", "never read"])
    result = wrap(stream, dialect="strict")
    with pytest.raises(JSONSyntaxError):
        await result.async_get_data()
    assert (stream.read, stream.closed) == (2, 1)


async def test_async_handlers_run_on_the_loop_of_the_reader() -> None:
    loop = asyncio.get_running_loop()
    calls: list[str] = []

    async def event(event: ProviderEvent) -> None:
        await asyncio.sleep(0)
        assert asyncio.get_running_loop() is loop
        calls.append(event.type)

    async def response(response: Response) -> None:
        assert asyncio.get_running_loop() is loop
        calls.append("response")

    async def validate(data: Any) -> bool:
        assert asyncio.get_running_loop() is loop
        return data == {}

    for source in (Stream(["{}"]), AsyncStream(["{}"])):
        calls.clear()
        assert await wrap(source, on_event=event, on_response=response, validate=validate).async_get_data() == {}
        assert calls == ["text", "result", "response"]


async def test_a_failed_async_checkpoint_wins() -> None:
    errors: list[BaseException] = []

    async def event(event: ProviderEvent) -> None:
        raise ValueError("checkpoint")

    async def error(error: BaseException) -> None:
        errors.append(error)

    result = wrap(AsyncStream(chat(["a"])), on_event=event, on_error=error)
    with pytest.raises(ValueError, match="checkpoint"):
        await result.async_get_text()
    assert [str(one) for one in errors] == ["checkpoint"]
    assert result.response is None


async def test_a_handler_cannot_read_the_run_that_waits_for_it() -> None:
    async def read(_: Any) -> None:
        await result.async_get_text()

    result = wrap(AsyncStream(["hi"]), on_response=read)
    with pytest.raises(UsageError, match="a handler of this result cannot read it"):
        await result.async_get_text()


def test_an_async_handler_of_a_sync_run_cannot_read_it_either() -> None:
    async def read(_: Any) -> None:
        await result.async_get_text()

    result = wrap("hi", on_response=read)
    with pytest.raises(UsageError, match="a handler of this result cannot read it"):
        result.get_text()


def test_an_async_handler_works_for_a_sync_reader_on_a_loop() -> None:
    calls: list[str] = []

    async def event(event: ProviderEvent) -> None:
        await asyncio.sleep(0)
        calls.append(event.type)

    async def main() -> str:
        return wrap(["h", "i"], on_event=event).get_text()

    assert asyncio.run(main()) == "hi"
    assert calls == ["text", "text", "result"]


async def test_retries() -> None:
    maker = Maker(
        AsyncStream(chat(['{"n": 1'], finish=None, usage=False), OSError("gone")),
        awaited(AsyncStream(chat(['{"n": 2}']))),
        Stream(chat(['{"n": 3}'])),
    )

    async def validate(data: Any) -> str:
        await asyncio.sleep(0)
        return "" if data["n"] == 3 else f"n is {data['n']}"

    result = wrap(maker, max_retries=2, validate=validate)
    events = [message async for message in result.get_async_generator("specific", specific=["instant", "status"])]
    assert await result.async_get_data() == {"n": 3}
    assert [len(errors) for errors in maker.errors] == [0, 1, 2]
    assert [data["state"] for event, data in events if event == "status"] == ["retrying", "retrying", "complete"]
    assert sum(event == "instant" and data.event_type == "reset" for event, data in events) == 2


async def test_a_refused_answer() -> None:
    with pytest.raises(SchemaError, match="lacks b"):
        await wrap(agenerate(['{"a": 1}']), ensure_keys=["b"]).async_get_data()


async def test_typed_generators() -> None:
    result = wrap(agenerate(pieces(TIPS)), output=Tips)
    items = [item async for item in result.get_async_generator("items", paths="tips[*]")]
    assert [item.value for item in items if item.valid] == [Tip(text="one", score=1), Tip(text="three")]
    assert [item.value async for item in result.async_items("tips[*]", Tip)] == [item.value for item in items]
    partials = [partial async for partial in result.get_async_generator("partial")]
    assert partials[-1].title == "T"


async def test_split_choices() -> None:
    def chunk(index: int, content: str) -> dict[str, Any]:
        return {"id": "c", "choices": [{"index": index, "delta": {"content": content}, "finish_reason": "stop"}]}

    stream = AsyncStream([chunk(0, "[0]"), chunk(1, "[1]"), chunk(2, "[2]")])
    results = split_choices(stream, 3)
    assert await asyncio.gather(*(result.async_get_data() for result in results)) == [[0], [1], [2]]
    assert stream.read == 3


async def test_split_choices_close_the_source_with_the_last_of_them() -> None:
    stream = AsyncStream([{"choices": [{"index": 0, "delta": {"content": "a"}}]}], hang=True)
    first, second = split_choices(stream, 2)
    async for piece in first.get_async_generator("delta"):
        assert piece == "a"
        break
    await first.aclose()
    assert not stream.closed
    await second.aclose()
    assert stream.closed
    assert (await first.async_get_response()).end_state == "cancelled"


# ---- cancelling


async def test_closing_ends_the_run_and_the_source() -> None:
    handlers = Handlers()
    stream = AsyncStream(pieces("abcdef", 2))
    result = wrap(stream, **handlers.options)
    generator = result.get_async_generator("delta")
    assert await anext(generator) == "ab"
    await result.aclose()
    assert (stream.read, stream.closed, len(stream.tasks)) == (1, 1, 1)
    assert [piece async for piece in generator] == []
    response = await result.async_get_response()
    assert (response.end_state, response.text) == ("cancelled", "ab")
    assert handlers.responses == [response]
    await result.aclose()
    assert stream.closed == 1


async def test_closing_before_the_first_read_closes_the_stream_that_was_given() -> None:
    stream = AsyncStream(["x"])
    result = wrap(stream)
    await result.aclose()
    assert (stream.read, stream.closed) == (0, 1)
    assert (await result.async_get_response()).end_state == "cancelled"
    never = awaited("x")
    await wrap(never).aclose()  # a coroutine that is not awaited must not complain


async def test_close_on_the_loop_asks_for_the_end() -> None:
    stream = AsyncStream(pieces("abcdef", 2), hang=True)
    result = wrap(stream)
    generator = result.get_async_generator("delta")
    assert await anext(generator) == "ab"
    result.close()
    assert [piece async for piece in generator] == []
    assert stream.closed == 1


async def test_closing_while_the_last_handler_runs_does_not_call_another() -> None:
    calls: list[Response] = []
    waiting = asyncio.Event()

    async def slow(response: Response) -> None:
        calls.append(response)
        waiting.set()
        await asyncio.Event().wait()

    result = wrap(AsyncStream(["hi"]), on_response=slow, on_error=slow)
    reading = asyncio.create_task(result.async_get_text())
    await waiting.wait()
    await result.aclose()
    assert await reading == "hi"
    assert [response.end_state for response in calls] == ["complete"]


async def test_closing_ends_a_reader_that_waits() -> None:
    stream = AsyncStream(["a"], hang=True)
    result = wrap(stream)
    reading = asyncio.create_task(result.async_get_text())
    while not stream.waiting:
        await asyncio.sleep(0)
    await result.aclose()
    assert await reading == "a"
    assert (stream.cancelled, stream.closed) == (1, 1)


async def test_cancelling_the_last_reader_closes_the_source() -> None:
    stream = AsyncStream(["a"], hang=True)
    result = wrap(stream)
    reading = asyncio.create_task(result.async_get_text())
    while not stream.waiting:
        await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert (stream.cancelled, stream.closed) == (1, 1)
    assert result.get_response().end_state == "cancelled"


async def test_cancelling_one_of_two_readers_leaves_the_other_whole() -> None:
    class Gate(AsyncStream):
        gate: asyncio.Event

        async def __anext__(self) -> Any:
            if self.read == 1:
                await self.gate.wait()
            return await super().__anext__()

    stream = Gate(["a", "b"])
    stream.gate = asyncio.Event()
    result = wrap(stream)
    first = asyncio.create_task(result.async_get_text())
    second = asyncio.create_task(result.async_get_text())
    while stream.read < 1:
        await asyncio.sleep(0)
    await asyncio.sleep(0.01)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert stream.cancelled == 0
    stream.gate.set()
    assert await second == "ab"


async def test_a_timeout_round_a_reader_is_a_cancellation() -> None:
    stream = AsyncStream(["a"], hang=True)
    result = wrap(stream)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(result.async_get_text(), 0.05)
    assert stream.closed == 1


async def test_cancelling_a_reader_of_a_stuck_sync_source_does_not_wait_for_it() -> None:
    stream = Stuck(["a"])
    result = wrap(stream)
    reading = asyncio.create_task(result.async_get_text())
    await asyncio.to_thread(stream.waiting.wait, 10)
    reading.cancel()
    started = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert time.monotonic() - started < 15
    for _ in range(2000):
        if stream.closed:
            break
        await asyncio.sleep(0.01)
    assert stream.closed == 1
    assert result.get_response().end_state == "cancelled"


async def test_what_is_opened_after_nobody_wants_it_is_closed_again() -> None:
    for kind in ("callable", "manager"):
        opening, go_on, closed = threading.Event(), threading.Event(), threading.Event()

        class Late(Stream):
            def close(self, closed: threading.Event = closed) -> None:
                closed.set()

            def __exit__(self, *exc_info: object) -> None:
                self.close()

        def make(opening: threading.Event = opening, go_on: threading.Event = go_on) -> Any:
            opening.set()
            go_on.wait(20)
            return Late([])  # called in this pass

        class Manager(SyncManager):
            def __enter__(self, make: Callable[[], Any] = make) -> Any:
                return make()

            def __exit__(self, *exc_info: object) -> None:
                closed.set()  # noqa: B023  # called in this pass

        result = wrap(make if kind == "callable" else Manager(None))
        reading = asyncio.create_task(result.async_get_text())
        await asyncio.to_thread(opening.wait, 20)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert not closed.is_set()
        go_on.set()
        assert await asyncio.to_thread(closed.wait, 20)


async def test_a_result_is_an_async_context_manager() -> None:
    stream = AsyncStream(pieces("abcdef", 2))
    async with wrap(stream) as result:
        assert await anext(result.get_async_generator("delta")) == "ab"
    assert stream.closed == 1


async def test_a_handler_may_end_the_run() -> None:
    for stream in (AsyncStream(pieces("abcdef", 2)), Stream(pieces("abcdef", 2))):

        def stop(event: ProviderEvent) -> None:
            if isinstance(event, TextDelta) and event.text == "cd":
                result.cancel()  # noqa: B023  # called in this pass

        result = wrap(stream, on_event=stop)
        assert await result.async_get_text() == "abcd"
        assert (await result.async_get_response()).end_state == "cancelled"
        assert stream.closed == 1


async def test_a_dropped_result_closes_its_source() -> None:
    stream = AsyncStream(pieces("abcdef", 2))

    async def use() -> None:
        async for _ in wrap(stream).get_async_generator("delta"):
            break

    await use()
    gc.collect()
    for _ in range(20):
        await asyncio.sleep(0)
    assert stream.closed == 1


# ---- waiting


@pytest.mark.parametrize("make", [lambda: AsyncStream(["a"], hang=True), lambda: Stuck(["a"])])
async def test_an_idle_source_ends_the_run(make: Callable[[], Any]) -> None:
    stream = make()
    result = wrap(stream, idle_timeout=0.5)
    with pytest.raises(ProviderError, match=r"nothing for 0\.5 seconds"):
        await result.async_get_text()
    assert result.response is not None
    assert (result.response.text, result.response.end_state) == ("a", "error")
    for _ in range(2000):
        if stream.closed:
            break
        await asyncio.sleep(0.01)
    assert stream.closed == 1


async def test_an_idle_attempt_is_tried_again() -> None:
    maker = Maker(Stuck(["a"]), Stream(["b"]))
    result = wrap(maker, idle_timeout=0.5, max_retries=1)
    assert await result.async_get_text() == "b"


async def test_a_quick_source_is_not_idle() -> None:
    assert await wrap(AsyncStream(pieces(TEXT)), idle_timeout=20).async_get_text() == TEXT
    assert await wrap(Stream(pieces(TEXT)), idle_timeout=20).async_get_text() == TEXT


async def test_a_slow_reader_holds_the_source_back() -> None:
    stream = AsyncStream("x" * 1000)
    result = wrap(stream, replay=False)
    generator = result.get_async_generator("delta")
    for number in range(1, 11):
        await anext(generator)
        await asyncio.sleep(0)
        assert stream.read == number
        assert len(result._run._log) == 0
    with pytest.raises(UsageError, match="stream reader comes first"):
        await result.async_get_text()
    await generator.aclose()
    assert await result.async_get_text() == "x" * 1000


@pytest.mark.parametrize("kind", ["generator", "async generator"])
def test_nothing_of_a_run_is_left(kind: str) -> None:
    before = threading.active_count()

    async def main() -> None:
        await asyncio.gather(*(wrap(SOURCES[kind]()).async_get_data() for _ in range(10)))

    asyncio.run(main())
    gc.collect()
    deadline = time.monotonic() + 30
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before
