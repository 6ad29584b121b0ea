"""Producing: from the items of a result to batches of frames."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import anyio

from ..errors import UsageError
from ..result import StreamResult
from ..wire import Frame, FrameEncoder

logger = logging.getLogger("streamparse.web")

Source = StreamResult[Any] | Callable[[], StreamResult[Any] | Awaitable[StreamResult[Any]]]

# How many items are read before they are asked for. The run waits while nobody takes them.
_AHEAD = 256
_CLOSING = 5.0  # seconds that a source may take to close


class _End:
    """The source is over."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error


async def batches(
    source: Source, encoder: FrameEncoder, began: Callable[[StreamResult[Any]], None]
) -> AsyncGenerator[list[Frame], None]:
    """The frames of a run, numbered from 1, in batches: what came while the one before was dealt with.

    `began` is called with the result that is read. Whatever goes wrong with it is told in a frame, and `end` comes
    last. Leaving the generator cancels the run, unless others read its result too.
    """
    queue: asyncio.Queue[Any] = asyncio.Queue(_AHEAD)
    reader = asyncio.create_task(_read(source, queue, began))
    try:
        while True:
            item = await _next(queue, encoder.due)
            batch: list[Frame] = []
            while item is not None:
                if isinstance(item, _End):
                    yield batch + encoder.close(item.error)
                    return
                batch += encoder.feed(item, time.monotonic())
                item = None if queue.empty() else queue.get_nowait()
            batch += encoder.tick(time.monotonic())
            if batch:
                yield batch
    finally:
        reader.cancel()
        with anyio.move_on_after(_CLOSING, shield=True):
            await asyncio.wait([reader])
        reader.cancel()  # where it takes longer, or the first one got lost: see `EventStream.aclose`


async def _next(queue: asyncio.Queue[Any], due: float | None) -> Any:
    """The next item; None where what is held back is due before."""
    if due is None:
        return await queue.get()
    with anyio.move_on_after(max(0.0, due - time.monotonic())):
        return await queue.get()
    return None


async def _read(source: Source, queue: asyncio.Queue[Any], began: Callable[[StreamResult[Any]], None]) -> None:
    error: Exception | None = None
    try:
        result = await _make(source)
        began(result)
        async for item in result.get_async_generator("all"):
            await queue.put(item)
    except Exception as raised:  # noqa: BLE001  # the clients are told
        error = raised
    await queue.put(_End(error))


async def _make(source: Source) -> StreamResult[Any]:
    try:
        result: Any = source() if callable(source) else source
        if inspect.isawaitable(result):
            result = await result
        if not isinstance(result, StreamResult):
            given = type(result).__name__
            raise UsageError(f"the callable of an EventStream gave {given}", expected="what wrap() made")
    except Exception:
        # There is no result whose `on_error` could hear of it, and the clients are told next to nothing.
        logger.exception("a run could not begin")
        raise
    return result  # pyright: ignore[reportUnknownVariableType]  # of what it is a result
