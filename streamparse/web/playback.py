"""Playback: a recorded stream at the pace of a model, which can be changed while it plays."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Iterable
from typing import Any, Final

import anyio

PIECES_PER_SECOND: Final = 50
"""How fast a model writes, roughly: what speed 1 means."""
_TOKEN: Final = 4  # characters of a piece of plain text, about a token
_GULP: Final = 2048  # the same at full speed
_STALL: Final = 0.5  # seconds: after a longer stall it does not run to catch up


class Pace:
    """How fast a recording plays: `speed` 1 as a model writes, 0 as fast as it can; and whether it is `paused`."""

    def __init__(self, speed: float = 1) -> None:
        self.speed = speed
        self.paused = False
        self._due = time.monotonic()
        self._changed = anyio.Event()

    def set(self, *, speed: float | None = None, paused: bool | None = None) -> None:
        """Change it, from now on."""
        self.speed = self.speed if speed is None else speed
        self.paused = self.paused if paused is None else paused
        self._due = time.monotonic()
        self._changed.set()
        self._changed = anyio.Event()

    async def step(self) -> None:
        """Wait until the next piece is due."""
        while self.paused or self.speed:
            now = time.monotonic()
            due = max(self._due + 1 / (PIECES_PER_SECOND * self.speed), now - _STALL) if self.speed else now
            if not self.paused and due <= now:
                self._due = due
                return
            with anyio.move_on_after(None if self.paused else due - now):
                await self._changed.wait()
        await anyio.sleep(0)  # others have their turn, however fast it goes


async def play(chunks: Iterable[Any], pace: Pace, *, error: Exception | None = None) -> AsyncGenerator[Any, None]:
    """`chunks` at this pace, text in small pieces. `error` is raised at the end."""
    for chunk in chunks:
        at = 0
        while True:
            await pace.step()
            if not isinstance(chunk, str):
                yield chunk
                break
            size = _TOKEN if pace.speed else _GULP
            yield chunk[at : at + size]
            at += size
            if at >= len(chunk):
                break
    if error is not None:
        raise error
