"""Waiting: what the engines of drive.py and drive_trio.py share. Threads, event loops, and how a run sees its engine.

trio is never imported: where it runs it is there already.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Protocol

from .errors import UsageError
from .sources import Ops


class Cancelled(BaseException):
    """The run is to end here. No `Exception`: nothing on the way may take it for a failure."""


class DriverOps(Ops, Protocol):
    """What a run needs of its engine."""

    async def pause(self) -> None:
        """Until a reader wants the next step."""

    async def call(self, handler: Callable[..., Any], *args: Any) -> Any:
        """The result of a handler, sync or async."""

    async def until_cancelled(self, work: Coroutine[Any, Any, None]) -> bool:
        """Run `work`; True where it was cancelled on the way."""
        ...


class Driven(Protocol):
    """A run, as its engine sees it."""

    cancel_requested: bool

    def has(self, index: int) -> bool:
        """Whether step `index` is there, or the run is over."""
        ...

    async def main(self, ops: DriverOps) -> None:
        """The whole run. Calls `Engine.published` after every step."""

    def interrupt(self) -> None:
        """Break off a source that a thread is blocked in."""


class Worker:
    """One thread that runs functions in order. A daemon: a source that never returns must not keep a program alive."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        """Run `function(*args)` in the thread, with the caller's context variables."""
        future: Future[Any] = Future()
        context = contextvars.copy_context()
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=_work, args=(self._jobs,), name=self._name, daemon=True)
                self._thread.start()
            self._jobs.put((future, lambda: context.run(function, *args)))
        return future

    def stop(self) -> None:
        """Let the thread end after what it has to do; a later `submit` starts another."""
        with self._lock:
            if self._thread is not None:
                self._thread = None
                self._jobs.put(None)
                self._jobs = queue.SimpleQueue()


def _work(jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]) -> None:
    # A function, not a method: the thread must not keep its worker, and all that hangs on it, alive.
    while (job := jobs.get()) is not None:
        future, function = job
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(function())
            except StopIteration as error:  # which no future can hand on to a coroutine
                future.set_exception(_wrapped(error))
            except BaseException as error:  # noqa: BLE001  # it belongs to whoever waits
                future.set_exception(error)
        del job, future, function


def _wrapped(error: StopIteration) -> RuntimeError:
    wrapped = RuntimeError("the source raised StopIteration")
    wrapped.__cause__ = error
    return wrapped


def running_trio() -> Any:
    """The module trio, if it runs in this thread; else None."""
    trio: Any = sys.modules.get("trio")
    return trio if trio is not None and trio.lowlevel.in_trio_run() else None


def is_trio_cancellation(error: BaseException) -> bool:
    """Whether trio cancels the task that this was raised in."""
    trio: Any = sys.modules.get("trio")
    return trio is not None and isinstance(error, trio.Cancelled)


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The asyncio loop that runs in this thread; None without one."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def loop_is_running() -> bool:
    """Whether an event loop runs in this thread: asyncio's, or trio's."""
    return running_loop() is not None or running_trio() is not None


async def in_thread(worker: Worker, function: Callable[..., Any], *args: Any) -> Any:
    """The result of a function that may block, for any event loop."""
    future = worker.submit(function, *args)
    trio = running_trio()
    if trio is None:
        return await asyncio.wrap_future(future)
    done, token = trio.Event(), trio.lowlevel.current_trio_token()
    future.add_done_callback(lambda _: token.run_sync_soon(done.set))
    await done.wait()
    return future.result()


def inside() -> UsageError:
    """The error for a handler that reads the run which waits for it."""
    return UsageError(
        "a handler of this result cannot read it: the run waits for the handler", hint="Use what the handler is given."
    )
