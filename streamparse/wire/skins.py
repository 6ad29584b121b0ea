"""Skins: the loops round a codec that never reads or waits itself, sync and async.

A codec has `feed(item)` and `close(error)`, and where it may hold pieces back `due` and `tick(now)`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Generator, Iterable
from typing import Any, Protocol, TypeVar

from ..errors import UsageError

T = TypeVar("T")
END: Any = object()


class Codec(Protocol[T]):
    """What the loops drive."""

    @property
    def due(self) -> float | None:
        """When `tick` is to be called."""
        ...

    def feed(self, item: Any) -> list[T]:
        """What `item` leads to."""
        ...

    def tick(self, now: float) -> list[T]:
        """What is due."""
        ...

    def close(self, error: BaseException | None = None) -> list[T]:
        """The rest."""
        ...

    def takes(self, error: BaseException) -> bool:
        """Whether an error of the source is for `close`; else it is raised."""
        ...


def drive(codec: Codec[Any], items: Any) -> Any:
    """Everything that `codec` makes of `items`: a generator, an async one where `items` is async.

    Raises `UsageError` where `items` cannot be iterated.
    """
    if hasattr(items, "__aiter__"):
        return _drive_async(codec, items)
    if not hasattr(items, "__iter__"):
        raise UsageError(
            f"items to iterate over are wanted, got {type(items).__name__}",
            hint="Of a result, pass get_generator('all') or get_async_generator('all').",
        )
    return _drive(codec, items)


def _drive(codec: Codec[T], items: Iterable[Any]) -> Generator[T, None, None]:
    iterator = iter(items)
    failure: BaseException | None = None
    try:
        while True:
            try:
                item = next(iterator, END)
            except Exception as error:
                if not codec.takes(error):
                    raise
                failure = error
                break
            if item is END:
                break
            yield from codec.feed(item)
        yield from codec.close(failure)
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            close()


async def _drive_async(codec: Codec[T], items: AsyncIterable[Any]) -> AsyncGenerator[T, None]:
    iterator = aiter(items)
    failure: BaseException | None = None
    reading: asyncio.Task[Any] | None = None
    try:
        while True:
            if codec.due is not None and _on_asyncio():  # what is held must not wait for the next item
                reading = asyncio.ensure_future(_next(iterator))
                while not reading.done():
                    await asyncio.wait({reading}, timeout=_time_left(codec))
                    for piece in codec.tick(time.monotonic()):
                        yield piece
            try:
                item = await (_next(iterator) if reading is None else reading)
            except Exception as error:
                if not codec.takes(error):
                    raise
                failure = error
                break
            reading = None
            if item is END:
                break
            for piece in codec.feed(item):
                yield piece
        for piece in codec.close(failure):
            yield piece
    finally:
        if reading is not None and not reading.done():
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        close = getattr(iterator, "aclose", None)
        if close is not None:
            await close()


async def _next(iterator: AsyncIterator[Any]) -> Any:
    return await anext(iterator, END)


def _time_left(codec: Codec[Any]) -> float | None:
    """Seconds until something is due."""
    return None if codec.due is None else max(0.0, codec.due - time.monotonic())


def _on_asyncio() -> bool:
    """Whether an asyncio loop can wake us. Elsewhere (trio) what is held waits for the next item."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
