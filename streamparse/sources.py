"""Sources: whatever a caller hands to `wrap`, opened step by step until there is something that can be iterated.

    given                                           what is done with it
    str, bytes                                      one chunk of text
    iterator, iterable (sync or async)              iterated
    context manager (sync or async)                 entered, left at the end
    awaitable                                       awaited
    callable                                        called; once more for each retry
    dict with `stream` or `body` (boto3)            that member

and again with what came out. Nothing happens before `Feed.open`. The code is written once for sync and async: it awaits `Ops`, whose
sync kind never suspends.
"""

from __future__ import annotations

import inspect
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, Protocol, cast

from .errors import UsageError

END: Final = object()
"""What `Feed.next` gives after the last chunk."""

Kind = Literal["text", "iterator", "async iterator", "iterable", "async iterable", "manager", "async manager", "awaitable", "callable", "boto3"]

_WANTED = "an iterator, an async iterator, an awaitable or context manager that gives one, a callable that makes one, or text"
_BOTO3_MEMBERS = ("stream", "body")
_MAX_STEPS = 16  # SDKs need three: a callable, a coroutine, a context manager


class AsyncNeeded(Exception):
    """The source is asynchronous, and this thread's event loop is running: only the async reader can go on from here."""


class Ops(Protocol):
    """How to wait, in a thread or on an event loop."""

    is_async: bool

    def need_async(self) -> None:
        """Raises `AsyncNeeded` where nothing can be awaited."""

    async def wait(self, awaitable: Any, timeout: float | None = None) -> Any:
        """The result of an awaitable. Raises `TimeoutError` after `timeout` seconds."""

    async def block(self, function: Callable[..., Any], *args: Any, timeout: float | None = None) -> Any:
        """The result of a function that may block. Raises `TimeoutError` after `timeout` seconds; the function may then still run."""


def kind_of(source: Any, prefer_async: bool = False) -> Kind:
    """What `source` is. Where it can be iterated both ways `prefer_async` decides. Raises `UsageError` where it is no source."""
    if isinstance(source, str | bytes | bytearray | memoryview):
        return "text"
    if isinstance(source, Mapping):
        if any(_iterates(cast("Mapping[str, Any]", source).get(name)) for name in _BOTO3_MEMBERS):
            return "boto3"
        raise UsageError("a dict is one chunk, not a stream of them", hint="Pass a list of chunks: wrap([chunk]).")
    has = lambda name: hasattr(type(source), name)  # noqa: E731  # special methods are looked up on the type
    both: tuple[tuple[str, Kind, str, Kind], ...] = (
        ("__anext__", "async iterator", "__next__", "iterator"),
        ("__aiter__", "async iterable", "__iter__", "iterable"),
    )
    for number, (async_name, async_kind, name, kind) in enumerate(both):
        if number == 1:
            manager = has("__aenter__") and has("__aexit__")
            if has("__await__") or inspect.isawaitable(source):
                return "async manager" if manager else "awaitable"
            if has("model_fields"):
                # pydantic models are iterable: as pairs of field and value, which is never meant here.
                raise UsageError(
                    f"{_name(source)} is a whole reply, not a stream", hint="Ask for a stream: most clients take stream=True."
                )
        if has(async_name) and (prefer_async or not has(name)):
            return async_kind
        if has(name):
            return kind
    if has("__enter__") and has("__exit__") and not (prefer_async and has("__aenter__")):
        return "manager"
    if has("__aenter__") and has("__aexit__"):
        return "async manager"
    if callable(source):
        return "callable"
    raise UsageError(f"cannot read a stream from {_describe(source)}", expected=_WANTED)


def _iterates(value: Any) -> bool:
    return hasattr(type(value), "__iter__") and not isinstance(value, str | bytes | Mapping)


def _name(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _describe(value: Any) -> str:
    if value is None or isinstance(value, bool | int | float):
        return f"{_name(value)} ({value!r})" if value is not None else "None"
    public = [name for name in dir(value) if not name.startswith("_")]
    shown = ", ".join(public[:12]) + (", ..." if len(public) > 12 else "")
    return f"{_name(value)} (attributes: {shown or 'none'})"


class Feed:
    """The chunks of one attempt: `open`, then `next` until `END`, then `close`.

    `errors` are those of the attempts before, for a callable that wants them: in its parameter `errors`, else in its only positional
    one without a default. `timeout` bounds every wait for the source, in seconds. After `open`, `source` is the object that is iterated.
    """

    def __init__(self, source: Any, *, errors: Sequence[BaseException] = (), timeout: float | None = None) -> None:
        self.source = source
        self._errors = list(errors)
        self._timeout = timeout
        self._went_async = False
        self._steps = 0
        self._iterator: Any = None
        self._iterates_async = False
        self._never_blocks = False
        self._pulling = False
        self._closers: list[tuple[Literal["exit", "async exit", "close"], Any]] = []

    async def open(self, ops: Ops) -> None:
        """Open the source. Raises what opening it raises, `UsageError` where it is no source. After `AsyncNeeded` it may be called
        again, with other `ops`: it goes on where it stopped."""
        while self._iterator is None:
            kind = kind_of(self.source, ops.is_async or self._went_async)
            self._steps += 1
            if self._steps > _MAX_STEPS:
                raise UsageError(f"the source gives no stream after {_MAX_STEPS} steps: it now is {_describe(self.source)}")
            if kind in ("async iterator", "async iterable", "async manager", "awaitable"):
                ops.need_async()
                self._went_async = True
            await self._step(kind, ops)

    async def _step(self, kind: Kind, ops: Ops) -> None:
        source = self.source
        if kind == "text":
            source = bytes(source) if isinstance(source, bytearray | memoryview) else source
            self._iterator, self._never_blocks = iter((source,)), True
        elif kind in ("iterator", "iterable"):
            self._never_blocks = isinstance(source, list | tuple)
            self._iterator = iter(source)
            self._closers.append(("close", source))
        elif kind in ("async iterator", "async iterable"):
            self._iterator, self._iterates_async = source.__aiter__(), True
            self._closers.append(("close", source))
        elif kind == "boto3":
            self.source = next(source[name] for name in _BOTO3_MEMBERS if _iterates(source.get(name)))
        elif kind == "callable":
            self.source = await self._call(source, ops)
        elif kind == "awaitable":
            self.source = await ops.wait(source, self._timeout)
        elif kind == "manager":
            self.source = await ops.block(type(source).__enter__, source, timeout=self._timeout)
            self._closers.append(("exit", source))
        else:
            self.source = await ops.wait(type(source).__aenter__(source), self._timeout)
            self._closers.append(("async exit", source))

    async def _call(self, function: Callable[..., Any], ops: Ops) -> Any:
        args, kwargs = _error_arguments(function, self._errors)
        target = getattr(function, "func", function)  # functools.partial
        if inspect.iscoroutinefunction(target) or inspect.isasyncgenfunction(target):
            return function(*args, **kwargs)
        return await ops.block(lambda: function(*args, **kwargs), timeout=self._timeout)

    async def next(self, ops: Ops) -> Any:
        """The next chunk, or `END`. Raises what the source raises, `TimeoutError` when it is idle for too long."""
        if self._iterates_async:
            try:
                return await ops.wait(self._iterator.__anext__(), self._timeout)
            except StopAsyncIteration:
                return END
        if self._never_blocks:
            return next(cast("Iterator[Any]", self._iterator), END)
        self._pulling = True
        chunk = await ops.block(next, self._iterator, END, timeout=self._timeout)
        self._pulling = False
        return chunk

    async def close(self, ops: Ops) -> None:
        """Close what was opened, innermost first. What fails in closing is not reported: the chunks are all there is to tell."""
        closers, self._closers = self._closers, []
        if self._pulling:
            # A thread is still inside the source, or died in there: waiting for it could take for ever.
            self._closers = closers
            self.interrupt()
            return
        for kind, target in reversed(closers):
            try:
                if kind == "exit":
                    await ops.block(type(target).__exit__, target, None, None, None)
                elif kind == "async exit":
                    await ops.wait(type(target).__aexit__(target, None, None, None))
                else:
                    await self._close_iterator(target, ops)
            except Exception:  # noqa: BLE001  # see above
                pass

    async def _close_iterator(self, target: Any, ops: Ops) -> None:
        method = getattr(target, "aclose", None) if self._iterates_async else None
        method = method or getattr(target, "close", None)
        if not callable(method):
            return
        result = method() if self._iterates_async or self._never_blocks else await ops.block(method)
        if inspect.isawaitable(result):
            await ops.wait(result)

    def interrupt(self) -> None:
        """Close from another thread while one may be inside the source, without waiting for either."""
        closers, self._closers = self._closers, []
        targets = [target for kind, target in reversed(closers) if kind != "async exit"]
        if targets:
            threading.Thread(target=_close_all, args=(self.source, targets), name="streamparse-close", daemon=True).start()


def _close_all(source: Any, targets: list[Any]) -> None:
    try:
        # Closing a socket does not wake a thread that reads from it; shutting it down does. httpx, under most SDKs, tells its socket.
        response = getattr(source, "response", source)
        response.extensions["network_stream"].get_extra_info("socket").shutdown(socket.SHUT_RDWR)
    except Exception:  # noqa: BLE001  # another client, or closed already
        pass
    for target in targets:
        try:
            close = getattr(target, "close", None)
            if callable(close):
                close()
            else:
                type(target).__exit__(target, None, None, None)
        except Exception:  # noqa: BLE001  # a generator that is running cannot be closed
            pass


def _error_arguments(function: Callable[..., Any], errors: list[BaseException]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # some builtins have none
        return (), {}
    named = parameters.get("errors")
    if named is not None and named.kind is not inspect.Parameter.POSITIONAL_ONLY:
        return (), {"errors": errors}
    for parameter in parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD) and parameter.default is parameter.empty:
            return (errors,), {}
    return (), {}
