"""Sources for tests of the result: streams that count what is done to them, and every kind that `wrap` takes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Any

from pydantic import BaseModel

from streamparse import Response
from streamparse.provider import Finish, ProviderEvent, Result, TextDelta

TRIAGE = {
    "status_summary": "Export failed twice; a person is on it.",
    "risk_flags": ["CFO waits", "second failure"],
    "next_actions": ["check job 7", 'call "finance"'],
    "customer_reply": "We are on it.\nYou will hear from us.",
}
TEXT = json.dumps(TRIAGE)
SPEC = {
    "status_summary": (str, "One sentence status for the user", True),
    "risk_flags": [(str, "Concrete risk flag", True)],
    "next_actions": [(str, "Action the support team should take", True)],
    "customer_reply": (str, "Polished reply to the customer", True),
}


class Tip(BaseModel):
    text: str
    score: int = 0


class Tips(BaseModel):
    title: str
    tips: list[Tip]


TIPS = '{"title": "T", "tips": [{"text": "one", "score": 1}, {"text": "two", "score": "bad"}, {"text": "three"}]}'


def leaves(value: Any, path: str = "") -> dict[str, str]:
    """Every string of a value by its path: what a user's slots are to hold."""
    if isinstance(value, dict):
        return {
            k: v for key, child in value.items() for k, v in leaves(child, f"{path}.{key}" if path else key).items()
        }
    if isinstance(value, list):
        return {k: v for index, child in enumerate(value) for k, v in leaves(child, f"{path}[{index}]").items()}
    return {path: value}


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
        chunks.append(
            {"id": "chat-1", "object": "chat.completion.chunk", "model": "test-model", "choices": [], "usage": numbers}
        )
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
        self.waiting = False
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
                self.waiting = True
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


class Handlers:
    def __init__(self, fail_at: int | None = None) -> None:
        self.events: list[ProviderEvent] = []
        self.responses: list[Response] = []
        self.errors: list[BaseException] = []
        self._fail_at = fail_at
        self.raised = ValueError("checkpoint")

    def event(self, event: ProviderEvent) -> None:
        assert not self.responses
        assert not self.errors
        if len(self.events) == self._fail_at:
            raise self.raised
        self.events.append(event)

    @property
    def options(self) -> Any:
        return {"on_event": self.event, "on_response": self.responses.append, "on_error": self.errors.append}


CHUNKS = pieces(TEXT)
SOURCES: dict[str, Callable[[], Any]] = {
    "text": lambda: TEXT,
    "bytes": lambda: TEXT.encode(),
    "bytearray": lambda: bytearray(TEXT.encode()),
    "list": lambda: CHUNKS,
    "list of bytes": lambda: [piece.encode() for piece in CHUNKS],
    "generator": lambda: generate(CHUNKS),
    "iterator": lambda: Stream(CHUNKS),
    "chat chunks": lambda: Stream(chat(CHUNKS)),
    "provider events": lambda: [
        *(TextDelta(text=piece) for piece in CHUNKS),
        Finish(reason="stop", mapped="stop"),
        Result(),
    ],
    "manager": lambda: SyncManager(Stream(CHUNKS)),
    "callable": lambda: lambda: Stream(CHUNKS),
    "generator function": lambda: lambda: generate(CHUNKS),
    "callable, manager, callable": lambda: lambda: SyncManager(lambda: generate(CHUNKS)),
    "boto3 response": lambda: {"ResponseMetadata": {}, "stream": generate(CHUNKS)},
    "async generator": lambda: agenerate(CHUNKS),
    "async iterator": lambda: AsyncStream(CHUNKS),
    "async manager": lambda: AsyncManager(AsyncStream(CHUNKS)),
    "awaitable": lambda: awaited(AsyncStream(CHUNKS)),
    "awaitable of a list": lambda: awaited(CHUNKS),
    "awaitable of a manager": lambda: awaited(AsyncManager(AsyncStream(CHUNKS))),
    "async function": lambda: lambda: awaited(AsyncStream(CHUNKS)),
    "manager of an async iterator": lambda: SyncManager(AsyncStream(CHUNKS)),
}


def drain(reader: Iterable[Any]) -> tuple[list[Any], BaseException | None]:
    """All that a reader gives, and what it raises at the end."""
    items: list[Any] = []
    iterator = iter(reader)
    while True:
        try:
            items.append(next(iterator))
        except StopIteration:
            return items, None
        except Exception as error:  # noqa: BLE001  # the caller compares it
            return items, error


async def adrain(reader: AsyncIterator[Any]) -> tuple[list[Any], BaseException | None]:
    """`drain` for an async reader."""
    items: list[Any] = []
    while True:
        try:
            items.append(await anext(reader))
        except StopAsyncIteration:
            return items, None
        except Exception as error:  # noqa: BLE001  # the caller compares it
            return items, error
