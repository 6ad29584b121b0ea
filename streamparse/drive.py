"""Driving: who makes a run go on, and how its readers wait.

A run is one coroutine (`Driven.main`). It pauses before each chunk, so that nothing is read that nobody wants. What
pushes it over the pause is an engine:

    Stepped    the first reader was sync. Any thread pushes the coroutine one step further, one at a time; it suspends
               nowhere but at the pause, since it waits by blocking. Asynchronous sources run on a private
               event loop, in one task.
    Tasked     the first reader was async. The coroutine is a task on that reader's event loop; sync sources are read in
               a worker thread. (On trio: `TrioTasked`, in drive_trio.py.)

Readers come to either engine from anywhere: `advance` blocks, `advance_async` awaits; both return once the run has the
step that is wanted.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from typing import Any

from .drive_trio import TrioTasked
from .errors import UsageError
from .sources import AsyncNeeded, Idle
from .waiting import Cancelled, Driven, Worker, in_thread, inside, loop_is_running, running_loop, running_trio


class _Bridge:
    """A private event loop with one task that awaits what it is given, for threads that block meanwhile.

    One task, because what was entered in one task (a timeout, a task group) must be left in the same one.
    """

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._task: asyncio.Task[None] | None = None
        self._inbox: asyncio.Queue[Any] = asyncio.Queue()
        self._result: asyncio.Future[Any] | None = None  # of what was given last
        self._awaiting: asyncio.Future[Any] | None = None  # the same, while the task awaits it
        self._reason: BaseException | None = None  # why the task is being cancelled; None: it is to end

    def run(self, awaitable: Any, timeout: float | None = None) -> Any:
        loop = self.loop
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._serve())
        result = self._result = loop.create_future()
        self._inbox.put_nowait(awaitable)
        timer = None if timeout is None else loop.call_later(timeout, self._break_off, result, Idle())
        try:
            return loop.run_until_complete(result)
        except BaseException:
            if not result.done():  # Ctrl-C: the task still awaits the old thing
                result.cancel()
                self._end_task()
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def cancel(self) -> None:
        """Break off what is awaited now, from any thread: `run` raises `Cancelled`."""
        result = self._result
        if result is not None:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                self.loop.call_soon_threadsafe(self._break_off, result, Cancelled())

    def _break_off(self, result: asyncio.Future[Any], reason: BaseException) -> None:
        # The loop runs only now and then: by now it may be another thing that is awaited, or this one not yet.
        if self._task is None or self._result is not result or result.done():
            return
        if self._awaiting is result:
            self._reason = reason
            self._task.cancel()
        else:
            self.loop.call_soon(self._break_off, result, reason)

    async def _serve(self) -> None:
        while (awaitable := await self._inbox.get()) is not None:
            result = self._awaiting = self._result
            assert result is not None
            try:
                value = await awaitable
            except BaseException as error:
                if result.done():  # the task is to end
                    raise
                # Whatever it is belongs to the caller of `run`, who would wait for ever without it.
                cancelled = isinstance(error, asyncio.CancelledError)
                result.set_exception(self._reason if cancelled and self._reason is not None else error)
                self._reason = None
                if isinstance(error, GeneratorExit):  # no coroutine may go on after it
                    raise
            else:
                result.set_result(value)
            self._awaiting = None
            del awaitable, result

    def _end_task(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            if self._result is not None and self._result.done() and not self._result.cancelled():
                self._inbox.put_nowait(None)
            else:
                task.cancel()
            self.loop.run_until_complete(asyncio.wait([task]))

    def close(self) -> None:
        if self.loop.is_closed():
            return
        if loop_is_running():
            # Only one loop may run in a thread.
            thread = threading.Thread(target=self.close)
            thread.start()
            thread.join()
            return
        self._end_task()
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()


class _Pause:
    def __await__(self) -> Generator[None, None, None]:
        yield


class _ThreadOps:
    """Waiting by blocking. Its coroutines never suspend, but in `pause`."""

    is_async = False

    def __init__(self) -> None:
        self.bridge: _Bridge | None = None
        self.reads_async = False
        self._worker = Worker("streamparse-source")

    def need_async(self) -> None:
        if loop_is_running():
            raise AsyncNeeded
        self.reads_async = True

    async def wait(self, awaitable: Any, timeout: float | None = None) -> Any:
        if self.bridge is None:
            self.bridge = _Bridge()
        if loop_is_running():
            return self._worker.submit(self.bridge.run, awaitable, timeout).result()
        return self.bridge.run(awaitable, timeout)

    async def block(self, function: Callable[..., Any], *args: Any, timeout: float | None = None) -> Any:
        if timeout is None:
            return function(*args)
        future = self._worker.submit(function, *args)
        try:
            return future.result(timeout)
        except FutureTimeout:
            if future.done():  # the source's own
                raise
            self._worker.stop()  # it is stuck; whatever comes next gets a thread of its own
            raise Idle from None

    async def pause(self) -> None:
        await _Pause()

    async def call(self, handler: Callable[..., Any], *args: Any) -> Any:
        result = handler(*args)
        return await self.wait(result) if inspect.isawaitable(result) else result

    async def until_cancelled(self, work: Coroutine[Any, Any, None]) -> bool:
        try:
            await work
        except Cancelled:
            return True
        return False

    def close(self) -> None:
        self._worker.stop()
        if self.bridge is not None:
            self.bridge.close()


class Stepped:
    """A run that threads push on, one step at a time."""

    def __init__(self, run: Driven) -> None:
        self._run = run
        self._ops = _ThreadOps()
        self._free = threading.Condition()
        self._owner: int | None = None  # the thread that is inside the run
        self._main = run.main(self._ops)
        self._main.send(None)  # up to the first pause: nothing has happened yet
        self.dead = False

    def published(self) -> None:
        """The readers are woken when the thread that pushes lets go."""

    def advance(self, index: int) -> None:
        """Push until the run has step `index`, or another thread did. Raises `AsyncNeeded` where a loop must do it."""
        run, free = self._run, self._free
        me = threading.get_ident()
        with free:
            while True:
                if self.dead or run.has(index):
                    return
                if self._owner is None:
                    break
                if self._owner == me:
                    raise inside()
                free.wait()
            if self._ops.reads_async and loop_is_running():
                raise AsyncNeeded
            self._owner = me
        self._push()

    def _push(self, *, cancel: bool = False) -> None:
        try:
            if cancel:
                self._main.throw(Cancelled())
            else:
                self._main.send(None)
        except StopIteration:
            self._end()
        except BaseException:
            # AsyncNeeded before the first chunk, or Ctrl-C: the run has settled its state before it let this through.
            self._end()
            raise
        finally:
            with self._free:
                # Nobody else could cancel while this thread was inside.
                cancel = self._run.cancel_requested and not self.dead
                if not cancel:
                    self._owner = None
                self._free.notify_all()
            if cancel:
                self._push(cancel=True)

    def _end(self) -> None:
        self.dead = True
        self._ops.close()

    async def advance_async(self, index: int, worker: Worker) -> None:
        """`advance` for a reader on a loop: in a thread."""
        bridge = self._ops.bridge
        if bridge is not None and running_loop() is bridge.loop:
            raise inside()
        await in_thread(worker, self.advance, index)

    def cancel(self) -> None:
        """End the run here. A thread that is inside the source ends it as soon as the source lets go of it."""
        with self._free:
            if self.dead:
                return
            if self._owner is not None:
                self._run.cancel_requested = True
                if self._owner != threading.get_ident():
                    if self._ops.bridge is not None:
                        self._ops.bridge.cancel()
                    self._run.interrupt()
                return
            self._owner = threading.get_ident()
        self._push(cancel=True)

    async def cancel_async(self) -> None:
        """`cancel` for a loop: in a thread of its own, since the readers' one may be blocked in the source."""
        worker = Worker("streamparse-cancel")
        await in_thread(worker, self.cancel)
        worker.stop()

    def drop(self) -> None:
        """Nobody will read on: give back threads and the loop. The garbage collector must not call handlers."""
        if self.dead:
            return
        self.dead = True
        with suppress(Cancelled):  # a run that was asked to end says so again
            self._main.close()
        self._ops.close()


class _LoopOps:
    """Waiting on an asyncio loop, and in a worker thread for what blocks."""

    is_async = True

    def __init__(self, engine: Tasked) -> None:
        self._engine = engine
        self._worker = Worker("streamparse-source")

    def need_async(self) -> None:
        pass

    async def wait(self, awaitable: Any, timeout: float | None = None) -> Any:
        if timeout is None:
            return await awaitable
        # As asyncio.timeout of Python 3.11: asyncio.wait_for would put each step into a task of its own (before 3.12).
        task = asyncio.current_task()
        assert task is not None
        expired = False

        def expire() -> None:
            nonlocal expired
            expired = True
            task.cancel()

        timer = asyncio.get_running_loop().call_later(timeout, expire)
        try:
            return await awaitable
        except asyncio.CancelledError:
            # Before Python 3.11 tasks cannot tell the timer's cancellation from another one at the same time.
            if not expired or (sys.version_info >= (3, 11) and task.uncancel() > 0):
                raise
            raise Idle from None
        finally:
            timer.cancel()

    async def block(self, function: Callable[..., Any], *args: Any, timeout: float | None = None) -> Any:
        future = asyncio.wrap_future(self._worker.submit(function, *args))
        if timeout is None:
            return await future
        done, _ = await asyncio.wait([future], timeout=timeout)
        if not done:
            self._worker.stop()  # as above
            raise Idle
        return future.result()

    async def pause(self) -> None:
        await self._engine.wanted()

    async def call(self, handler: Callable[..., Any], *args: Any) -> Any:
        result = handler(*args)
        return await result if inspect.isawaitable(result) else result

    async def until_cancelled(self, work: Coroutine[Any, Any, None]) -> bool:
        if self._engine.cancelled_early:
            work.close()
            return True
        try:
            await work
        except asyncio.CancelledError:
            return True
        return False

    def close(self) -> None:
        self._worker.stop()


class Tasked:
    """A run that is a task on an asyncio loop."""

    dead = False

    def __init__(self, run: Driven) -> None:
        self._run = run
        self.loop = asyncio.get_running_loop()
        self._ops = _LoopOps(self)
        self._want = 0
        self._sleeper: asyncio.Future[None] | None = None
        self._waiters: list[asyncio.Future[None]] = []
        self._drive = threading.Lock()
        self._began = self._cancelled = False
        self.cancelled_early = False
        self._task = self.loop.create_task(self._main())

    async def _main(self) -> None:
        self._began = True
        try:
            await self._run.main(self._ops)
        finally:
            self._ops.close()
            self.published()

    async def wanted(self) -> None:
        """Until a reader wants a step that is not there."""
        while self._run.has(self._want) and not self._cancelled:
            self._sleeper = self.loop.create_future()
            await self._sleeper
        self._sleeper = None
        if self._cancelled:
            await asyncio.sleep(0)  # where the cancellation comes, if it is still on its way
            raise asyncio.CancelledError  # the source took it for itself, and went on

    def published(self) -> None:
        """Wake the readers."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def _here(self, index: int) -> None:
        """Wait for step `index`, on the run's own loop."""
        if asyncio.current_task() is self._task:
            raise inside()
        while not self._run.has(index):
            if self._task.done():
                raise RuntimeError("the task of this run was destroyed")
            waiter: asyncio.Future[None] = self.loop.create_future()
            self._waiters.append(waiter)
            self._want = max(self._want, index)
            if self._sleeper is not None and not self._sleeper.done():
                self._sleeper.set_result(None)
            await waiter

    async def advance_async(self, index: int, worker: Worker) -> None:
        """Wait for step `index`, from any loop."""
        if running_loop() is self.loop:
            await self._here(index)
        else:
            await in_thread(worker, self.advance, index)

    def advance(self, index: int) -> None:
        """Wait for step `index` in a thread. Raises `AsyncNeeded` in the thread of the run's own loop."""
        run, loop = self._run, self.loop
        while not run.has(index):
            if running_loop() is loop:
                raise AsyncNeeded
            if loop.is_closed():
                raise UsageError(
                    "the event loop that this result was read on is closed, so that it cannot be read to its end",
                    hint="Read it to its end in one asyncio.run().",
                )
            if loop.is_running():
                self._wait_for(index)
            elif loop_is_running():
                raise AsyncNeeded
            else:
                with self._drive:
                    loop.run_until_complete(self._here(index))

    def _wait_for(self, index: int) -> None:
        future = asyncio.run_coroutine_threadsafe(self._here(index), self.loop)
        while True:
            try:
                return future.result(0.5)
            except FutureTimeout:
                if self.loop.is_closed() or not self.loop.is_running():
                    return None
            except FutureCancelled:
                return None  # the loop is shutting down, and ends the run with it

    def cancel(self) -> None:
        """End the run; from another thread or from inside a handler it ends a little later."""
        if self.loop.is_closed() or self._task.done():
            return
        if running_loop() is self.loop:
            self._cancel_here()
        else:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                self.loop.call_soon_threadsafe(self._cancel_here)

    def _cancel_here(self) -> None:
        if self._began:
            self._cancelled = True
            self._task.cancel()
        else:
            self.cancelled_early = True  # a task that is cancelled before it began never runs, not even to its end

    async def cancel_async(self) -> None:
        """`cancel`, and wait for the end, on the run's own loop."""
        self.cancel()
        if running_loop() is self.loop and asyncio.current_task() is not self._task:
            await asyncio.wait([self._task])

    def drop(self) -> None:
        """Nobody will read on: the same as cancelling."""
        self.cancel()


Engine = Stepped | Tasked | TrioTasked


def engine_here() -> Callable[[Driven], Engine]:
    """The engine for a first reader on the event loop that runs here."""
    return TrioTasked if running_trio() is not None else Tasked
