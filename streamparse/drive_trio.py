"""Driving on trio: the third engine beside those of drive.py, for a first reader that runs on trio."""

from __future__ import annotations

import contextvars
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

from .sources import AsyncNeeded, Idle
from .waiting import Driven, Worker, in_thread, inside, running_trio


class _TrioOps:
    """Waiting on trio, and in a thread of its own for what blocks."""

    is_async = True

    def __init__(self, trio: Any, engine: TrioTasked) -> None:
        self._trio = trio
        self._engine = engine
        self._scope: Any = trio.CancelScope()
        self._ending = False  # then nothing may be cancelled any more: the source is being closed

    def need_async(self) -> None:
        pass

    async def wait(self, awaitable: Any, timeout: float | None = None) -> Any:
        return await self._bounded(lambda: awaitable, timeout)

    async def block(self, function: Callable[..., Any], *args: Any, timeout: float | None = None) -> Any:
        return await self._bounded(
            lambda: self._trio.to_thread.run_sync(lambda: function(*args), abandon_on_cancel=True), timeout
        )

    async def _bounded(self, make: Callable[[], Any], timeout: float | None) -> Any:
        if timeout is None and not self._ending:
            return await make()
        trio = self._trio
        with trio.CancelScope(shield=self._ending) as scope:
            if timeout is not None:
                scope.deadline = trio.current_time() + timeout
            return await make()
        raise Idle

    async def pause(self) -> None:
        await self._engine.wanted()

    async def call(self, handler: Callable[..., Any], *args: Any) -> Any:
        result = handler(*args)
        return await self.wait(result) if inspect.isawaitable(result) else result

    async def until_cancelled(self, work: Coroutine[Any, Any, None]) -> bool:
        try:
            with self._scope:
                await work
            return bool(self._scope.cancelled_caught)
        except self._trio.Cancelled:
            return True  # trio itself is ending
        finally:
            self._ending = True

    def cancel(self) -> None:
        self._scope.cancel()


class TrioTasked:
    """A run that is a system task of trio: it belongs to no nursery, and nothing that it meets gets out of it."""

    dead = False

    def __init__(self, run: Driven) -> None:
        trio = running_trio()
        self._trio = trio
        self._run = run
        self._token: Any = trio.lowlevel.current_trio_token()
        self._ops = _TrioOps(trio, self)
        self._want = 0
        self._wake: Any = trio.Event()
        self._waiters: list[Any] = []
        self._over: Any = trio.Event()
        self._task: Any = trio.lowlevel.spawn_system_task(self._main, context=contextvars.copy_context())

    async def _main(self) -> None:
        try:
            await self._run.main(self._ops)
        except KeyboardInterrupt:
            pass  # the run has ended by it; trio delivers it to the main task as well
        finally:
            self.published()
            self._over.set()

    async def wanted(self) -> None:
        """Until a reader wants a step that is not there."""
        while self._run.has(self._want):
            self._wake = self._trio.Event()
            await self._wake.wait()
        await self._trio.lowlevel.checkpoint()

    def published(self) -> None:
        """Wake the readers."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.set()

    async def _here(self, index: int) -> None:
        if self._trio.lowlevel.current_task() is self._task:
            raise inside()
        while not self._run.has(index):
            waiter = self._trio.Event()
            self._waiters.append(waiter)
            self._want = max(self._want, index)
            self._wake.set()
            await waiter.wait()

    async def advance_async(self, index: int, worker: Worker) -> None:
        """Wait for step `index`, from trio; from another loop in a thread."""
        if running_trio() is not None and self._trio.lowlevel.current_trio_token() is self._token:
            await self._here(index)
        else:
            await in_thread(worker, self.advance, index)

    def advance(self, index: int) -> None:
        """Wait for step `index` in a thread. Raises `AsyncNeeded` in trio's own."""
        while not self._run.has(index):
            if running_trio() is not None:
                raise AsyncNeeded
            self._trio.from_thread.run(self._here, index, trio_token=self._token)

    def cancel(self) -> None:
        """End the run; it ends a little later."""
        if running_trio() is not None:
            self._ops.cancel()
        else:
            try:
                self._token.run_sync_soon(self._ops.cancel)
            except self._trio.RunFinishedError:
                pass

    async def cancel_async(self) -> None:
        """`cancel`, and wait for the end."""
        self.cancel()
        if running_trio() is not None and self._trio.lowlevel.current_task() is not self._task:
            with self._trio.CancelScope(shield=True):
                await self._over.wait()

    def drop(self) -> None:
        """Nobody will read on: the same as cancelling."""
        self.cancel()
