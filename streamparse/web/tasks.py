"""Tasks: how one is ended."""

from __future__ import annotations

import asyncio
from typing import Any, Final

_AGAIN: Final = 2.0  # seconds


async def end(task: asyncio.Task[Any]) -> None:
    """Cancel a task, and return when it is over.

    It is cancelled again while it goes on: before Python 3.12 `asyncio.wait_for`, in which the client of Redis sends
    and a source may wait for anything, loses a cancellation that comes just when what it waits for is done
    (python/cpython#86296).
    """
    try:
        while not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=_AGAIN)
    finally:
        task.cancel()  # who waits may be cancelled, too
