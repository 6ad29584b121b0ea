"""Sources for tests of the result: streams that count what is done to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Any

TRIAGE = {
    "status_summary": "Export failed twice; a person is on it.",
    "risk_flags": ["CFO waits", "second failure"],
    "next_actions": ["check job 7", 'call "finance"'],
    "customer_reply": "We are on it.\nYou will hear from us.",
}


def pieces(text: str, size: int = 3) -> list[str]:
    """`text` in pieces of `size` characters."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def chat(content: Iterable[str], *, finish: str | None = "stop", usage: bool = True) -> list[dict[str, Any]]:
    """Chunks of an OpenAI chat completion."""

    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {"id": "chat-1", "object": "chat.completion.chunk", "model": "test-model", "choices": [choice]}

    chunks = [chunk({"role": "assistant", "content": ""}), *(chunk({"content": piece}) for piece in content)]
    if finish is not None:
        chunks.append(chunk({}, finish))
    if usage:
        numbers = {"prompt_tokens": 7, "completion_tokens": 11, "total_tokens": 18}
        chunks.append({"id": "chat-1", "object": "chat.completion.chunk", "model": "test-model", "choices": [], "usage": numbers})
    return chunks


class Stream:
    """A sync stream like an SDK's: an iterator with `close`. `error` is raised after the chunks."""

    def __init__(self, chunks: Iterable[Any], error: BaseException | None = None) -> None:
        self._chunks = iter(chunks)
        self._error = error
        self.read = 0
        self.closed = 0

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Any:
        for chunk in self._chunks:
            self.read += 1
            return chunk
        if self._error is not None:
            raise self._error
        raise StopIteration

    def close(self) -> None:
        self.closed += 1


class AsyncStream:
    """The async twin; every chunk takes one turn of the loop, and `hang` makes it wait for ever after the chunks."""

    def __init__(self, chunks: Iterable[Any], error: BaseException | None = None, *, hang: bool = False) -> None:
        self._chunks = iter(chunks)
        self._error = error
        self._hang = hang
        self.read = 0
        self.closed = 0
        self.cancelled = 0
        self.tasks: set[Any] = set()

    def __aiter__(self) -> AsyncStream:
        return self

    async def __anext__(self) -> Any:
        self.tasks.add(asyncio.current_task())
        try:
            await asyncio.sleep(0)
            for chunk in self._chunks:
                self.read += 1
                return chunk
            if self._hang:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self._error is not None:
            raise self._error
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.tasks.add(asyncio.current_task())
        await asyncio.sleep(0)
        self.closed += 1


class Maker:
    """A callable source: the n-th call gives the n-th stream. Remembers the errors that it was given."""

    def __init__(self, *streams: Any) -> None:
        self._streams: Sequence[Any] = streams
        self.errors: list[list[BaseException]] = []

    @property
    def calls(self) -> int:
        return len(self.errors)

    def __call__(self, errors: list[BaseException]) -> Any:
        self.errors.append(list(errors))
        return self._streams[len(self.errors) - 1]


class Manager:
    """A context manager round a stream, sync and async by turns."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.entered = self.left = 0


class SyncManager(Manager):
    def __enter__(self) -> Any:
        self.entered += 1
        return self._stream

    def __exit__(self, *exc_info: object) -> None:
        self.left += 1


class AsyncManager(Manager):
    async def __aenter__(self) -> Any:
        await asyncio.sleep(0)
        self.entered += 1
        return self._stream

    async def __aexit__(self, *exc_info: object) -> None:
        await asyncio.sleep(0)
        self.left += 1


def generate(chunks: Iterable[Any]) -> Iterator[Any]:
    """A generator."""
    yield from chunks


async def agenerate(chunks: Iterable[Any]) -> AsyncIterator[Any]:
    """An async generator."""
    for chunk in chunks:
        await asyncio.sleep(0)
        yield chunk


async def awaited(value: Any) -> Any:
    """A coroutine that gives `value`."""
    await asyncio.sleep(0)
    return value
