"""The result on trio: the same run, the same rules."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import trio
from support.streams import CHUNKS, TEXT, TRIAGE, Stream, chat, pieces

from streamparse import ProviderError, Response, UsageError, wrap
from streamparse.provider import ProviderEvent


class TrioStream:
    """An async stream that only trio can move."""

    def __init__(self, chunks: Any, *, hang: bool = False) -> None:
        self._chunks = iter(chunks)
        self._hang = hang
        self.read = self.closed = 0
        self.tasks: set[Any] = set()

    def __aiter__(self) -> TrioStream:
        return self

    async def __anext__(self) -> Any:
        self.tasks.add(trio.lowlevel.current_task())
        await trio.sleep(0)
        for chunk in self._chunks:
            self.read += 1
            return chunk
        if self._hang:
            await trio.sleep_forever()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.tasks.add(trio.lowlevel.current_task())
        await trio.sleep(0)
        self.closed += 1


def run(function: Any) -> None:
    """Run an async test on trio, with an end in sight."""

    async def bounded() -> None:
        with trio.fail_after(20):
            await function()

    trio.run(bounded)


@pytest.mark.parametrize(
    "make", [lambda: TrioStream(chat(CHUNKS)), lambda: Stream(chat(CHUNKS)), lambda: lambda: Stream(chat(CHUNKS))]
)
def test_tasks_and_threads_read_one_run(make: Any) -> None:
    async def main() -> None:
        result = wrap(make(), idle_timeout=20)
        seen: list[Any] = [None] * 6

        async def in_task(number: int) -> None:
            seen[number] = [message async for message in result.get_async_generator("all")]

        def in_thread() -> None:
            seen[5] = list(result.get_generator("all"))

        async with trio.open_nursery() as nursery:
            for number in range(5):
                nursery.start_soon(in_task, number)
            nursery.start_soon(trio.to_thread.run_sync, in_thread)
        assert all(one == seen[0] for one in seen)
        assert len(seen[0]) > len(CHUNKS)
        assert await result.async_get_data() == TRIAGE
        assert result.get_text() == TEXT

    run(main)


def test_a_source_stays_in_one_task_and_is_closed() -> None:
    stream = TrioStream(["a", "b"])

    async def main() -> None:
        assert await wrap(stream).async_get_text() == "ab"

    run(main)
    assert (stream.closed, len(stream.tasks)) == (1, 1)


def test_a_sync_source_is_read_in_a_thread() -> None:
    seen: set[int] = set()

    def source() -> Any:
        for piece in ("a", "b"):
            seen.add(threading.get_ident())
            yield piece

    async def main() -> None:
        assert await wrap(source()).async_get_text() == "ab"

    run(main)
    assert threading.get_ident() not in seen


def test_cancelling_the_last_reader_closes_the_source() -> None:
    stream = TrioStream(["a"], hang=True)

    async def main() -> None:
        result = wrap(stream)
        with trio.move_on_after(0.05) as scope:
            await result.async_get_text()
        assert scope.cancelled_caught
        assert stream.closed == 1
        assert result.get_response().end_state == "cancelled"

    run(main)


def test_closing() -> None:
    stream = TrioStream(pieces("abcdef", 2))

    async def main() -> None:
        result = wrap(stream)
        generator = result.get_async_generator("delta")
        assert await anext(generator) == "ab"
        await result.aclose()
        assert stream.closed == 1
        assert [piece async for piece in generator] == []
        assert await result.async_get_text() == "ab"

    run(main)


def test_a_run_ends_with_trio() -> None:
    stream = TrioStream(pieces("abcdef", 2), hang=True)
    result = wrap(stream)

    async def main() -> None:
        generator = result.get_async_generator("delta")
        assert await anext(generator) == "ab"
        await generator.aclose()

    run(main)
    assert stream.closed == 1
    assert result.get_response().end_state == "cancelled"


def test_an_idle_source_ends_the_run() -> None:
    stream = TrioStream(["a"], hang=True)

    async def main() -> None:
        with pytest.raises(ProviderError, match="idle_timeout"):
            await wrap(stream, idle_timeout=0.05).async_get_text()

    run(main)
    assert stream.closed == 1


def test_async_handlers() -> None:
    calls: list[str] = []

    async def event(event: ProviderEvent) -> None:
        await trio.sleep(0)
        calls.append(event.type)

    async def response(response: Response) -> None:
        await trio.sleep(0)
        calls.append(response.text)

    async def main() -> None:
        assert await wrap(TrioStream(["a"]), on_event=event, on_response=response).async_get_text() == "a"

    run(main)
    assert calls == ["text", "result", "a"]


def test_a_handler_cannot_read_the_run_that_waits_for_it() -> None:
    async def main() -> None:
        async def read(_: Any) -> None:
            await result.async_get_text()

        result = wrap(TrioStream(["hi"]), on_response=read)
        with pytest.raises(UsageError, match="a handler of this result cannot read it"):
            await result.async_get_text()

    run(main)


def test_a_sync_reader_is_told_the_async_one() -> None:
    async def main() -> None:
        result = wrap(TrioStream(["hi"]))
        with pytest.raises(UsageError, match="async_get_text"):
            result.get_text()
        assert await result.async_get_text() == "hi"

    run(main)


def test_a_sync_reader_begins_and_trio_goes_on() -> None:
    result = wrap(Stream(pieces("abcdef", 2)))
    assert next(result.get_generator("delta")) == "ab"

    async def main() -> None:
        assert await result.async_get_text() == "abcdef"

    run(main)
