"""Following a shared log: keeping the log of this process level with it, and filling it where nobody else does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from typing import Final, TypeVar

import anyio

from ..wire import Frame
from .log import LogLost, LogUnavailable, MemoryLog, SharedLog
from .snapshot import Message

T = TypeVar("T")

logger = logging.getLogger("streamparse.web")

_FIRST_WAIT: Final = 0.05
_LONGEST_WAIT: Final = 1.0
_PATIENCE: Final = 60.0  # seconds that a run waits for the shared log before it is given up here


class Follower:
    """One worker at one shared log.

    It reads what others add. Where nobody holds the lease it takes it, makes the run and adds its frames. If another
    worker had begun, the clients are told to forget what that one made of it (`status` with the state `retrying`, and
    resets), since a model's answer comes out differently each time.

    make: the frames of the run, anew, numbered from 1.
    grown: called whenever `log` has grown.
    clients, seen: how many clients read here, and the newest frame that one of them said to have.
    """

    def __init__(
        self,
        log: MemoryLog,
        shared: SharedLog,
        make: Callable[[], AsyncGenerator[list[Frame], None]],
        *,
        grown: Callable[[], None],
        clients: Callable[[], int],
        seen: Callable[[], int],
    ) -> None:
        self._log = log
        self._shared = shared
        self._make = make
        self._grown = grown
        self._clients = clients
        self._seen = seen
        self._leading: anyio.CancelScope | None = None
        self._over = False
        self._frames = self._bytes = self._snapshot_bytes = 0  # since the last snapshot; size of that one

    async def run(self) -> None:
        """Until the log has ended. Raises `LogLost` where the shared log has lost frames."""
        beat = asyncio.create_task(self._beat())
        wait = 0.0
        try:
            while not self._log.ended:
                if not await self._level(wait):
                    tail = await self._patiently(self._shared.acquire)
                    if tail is not None:
                        await self._lead(tail)
                wait = min(self._shared.lease / 3, 1.0)
        finally:
            self._over = True  # should the cancellation get lost: see `EventStream.aclose`
            beat.cancel()

    async def _level(self, wait: float = 0) -> bool:
        """Take over what is new in the shared log. False: nothing is."""
        batch = await self._patiently(lambda: self._shared.read(self._log.tail, wait))
        if batch.snapshot is not None:
            self._log.restore(*batch.snapshot)
        self._log.append(batch.frames)
        if batch.frames or batch.snapshot is not None:
            self._grown()
            return True
        return False

    async def _lead(self, tail: int) -> None:
        """Make the run, and add its frames after frame `tail`, as long as nobody takes over."""
        self._leading = anyio.CancelScope()
        try:
            with self._leading:
                await self._make_run(tail)
        except LogLost as error:
            logger.warning("%s", error)
        finally:
            self._leading = None
            with anyio.move_on_after(1, shield=True), suppress(LogUnavailable):
                await self._shared.release()

    async def _make_run(self, tail: int) -> None:
        log = self._log
        while log.tail < tail and await self._level():
            pass
        if log.ended:
            return
        base = max(log.tail, tail, self._seen())
        if not log.tail == tail == base:  # the shared log has lost frames: what clients have got must stay true
            log.restore(base, log.state.snapshot())
            await self._compact()
        if base:
            again = [Message("status", {"state": "retrying", "error": "the worker was lost"}), *log.state.resets()]
            await self._append([Frame(base + number, *message) for number, message in enumerate(again, 1)])
            base = log.tail
        async with aclosing(self._make()) as batches:
            async for frames in batches:
                await self._append([frame._replace(id=base + frame.id) for frame in frames])

    async def _append(self, frames: Sequence[Frame]) -> None:
        await self._patiently(lambda: self._shared.append(frames, self._log.tail), _PATIENCE)
        self._bytes += self._log.append(frames)
        self._frames += len(frames)
        self._grown()
        # Not before as much has come as the snapshot takes: so all snapshots together stay linear in the text.
        if self._frames > self._shared.frames and self._bytes > self._snapshot_bytes and not self._log.ended:
            await self._compact()

    async def _compact(self) -> None:
        messages = self._log.state.snapshot()
        self._snapshot_bytes = await self._patiently(lambda: self._shared.compact(self._log.tail, messages), _PATIENCE)
        self._frames = self._bytes = 0

    async def _beat(self) -> None:
        """Tell the others that this worker lives, and whether it has clients."""
        shared = self._shared
        while not self._over:
            with suppress(LogUnavailable):
                if self._clients():
                    await shared.watch(shared.lease)
                if self._leading is not None:
                    try:
                        await shared.renew()
                    except LogLost as error:
                        logger.warning("%s", error)
                        self._leading.cancel()
            await asyncio.sleep(shared.lease / 3)

    async def _patiently(self, ask: Callable[[], Awaitable[T]], patience: float = float("inf")) -> T:
        """Ask the shared log, again and again while it cannot be reached."""
        wait = _FIRST_WAIT
        while True:
            try:
                return await ask()
            except LogUnavailable as error:
                patience -= wait
                if patience < 0:
                    raise
                logger.warning("%s; trying again in %.2g seconds", error, wait)
            await asyncio.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT)
