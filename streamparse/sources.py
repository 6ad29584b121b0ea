"""Sources: whatever a caller hands to `wrap`, opened step by step until there is something that can be iterated.

    given                                  what is done with it
    str, bytes                             one chunk of text
    iterator, iterable (sync or async)     iterated
    HTTP response                          its body is iterated
    context manager (sync or async)        entered, and left at the end
    awaitable                              awaited
    callable                               called; again for each retry
    dict with `stream` or `body` (boto3)   that member

and again with what came out. Nothing happens before `Feed.open`. The code is written once for sync and async: it awaits
`Ops`, whose sync kind never suspends.
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

Kind = Literal[
    "text",
    "iterator",
    "async iterator",
    "iterable",
    "async iterable",
    "body",
    "async body",
    "manager",
    "async manager",
    "awaitable",
    "callable",
    "boto3",
]

Closer = tuple[Literal["exit", "async exit", "close"], Any]

_WANTED = "an iterator (or async), an awaitable or context manager that gives one, a callable that makes one, or text"
_BOTO3_MEMBERS = ("stream", "body")
# How HTTP clients name what iterates over a body: httpx and its wrappers in the SDKs, requests.
_BODIES = ("iter_bytes", "iter_content")
_ASYNC_BODIES = ("aiter_bytes",)
_MAX_STEPS = 16  # SDKs need three: a callable, a coroutine, a context manager


class AsyncNeeded(Exception):
    """The source is asynchronous, and an event loop runs in this thread: only an async reader can go on from here."""


class Idle(Exception):
    """Nothing came for as long as the caller is willing to wait."""


class Ops(Protocol):
    """How to wait: in a thread, or on an event loop."""

    is_async: bool

    def need_async(self) -> None:
        """Say that the source is asynchronous. Raises `AsyncNeeded` where nothing can be awaited."""

    async def wait(self, awaitable: Any, timeout: float | None = None) -> Any:
        """The result of an awaitable. Raises `Idle` after `timeout` seconds."""

    async def block(self, function: Callable[..., Any], *args: Any, timeout: float | None = None) -> Any:
        """The result of a function that may block. Raises `Idle` after `timeout` seconds; it may then still run."""


def class_of(value: Any) -> Any:
    """The class of `value`, of which type checkers know nothing."""
    return value.__class__


def kind_of(source: Any, prefer_async: bool = False) -> Kind:
    """What `source` is; where it can be read both ways `prefer_async` decides. Raises `UsageError` where it is none."""
    if isinstance(source, str | bytes | bytearray | memoryview):
        return "text"
    source = _unwrapped(source)
    if isinstance(source, Mapping):
        if _boto3_member(cast("Mapping[str, Any]", source)) is not None:
            return "boto3"
        raise UsageError("a dict is one chunk, not a stream of them", hint="Pass a list of chunks: wrap([chunk]).")

    def has(name: str) -> bool:
        return hasattr(class_of(source), name)  # special methods are looked up on the type

    if has("__anext__") and (prefer_async or not has("__next__")):
        return "async iterator"
    if has("__next__"):
        return "iterator"
    is_async_manager = has("__aenter__") and has("__aexit__")
    if has("__await__") or inspect.isawaitable(source):
        return "async manager" if is_async_manager else "awaitable"
    if has("model_fields"):
        # A pydantic model can be iterated, as pairs of field and value: never what is meant here.
        hint = "Ask for a stream: most clients take stream=True."
        raise UsageError(f"{_name(source)} is a whole reply, not a stream", hint=hint)
    if isinstance(getattr(source, "headers", None), Mapping):
        if _async_body(source, prefer_async) is not None:
            return "async body"
        if any(has(name) for name in _BODIES):
            return "body"
    if has("__aiter__") and (prefer_async or not has("__iter__")):
        return "async iterable"
    if has("__iter__"):
        return "iterable"
    if has("__enter__") and has("__exit__") and not (prefer_async and is_async_manager):
        return "manager"
    if is_async_manager:
        return "async manager"
    if callable(source):
        return "callable"
    raise UsageError(f"cannot read a stream from {_describe(source)}", expected=_WANTED)


def _unwrapped(source: Any) -> Any:
    """The HTTP response in what `with_raw_response` of an SDK gives; everything else as it is."""
    if isinstance(getattr(source, "headers", None), Mapping):
        return getattr(source, "http_response", None) or source
    return source


def _boto3_member(source: Mapping[str, Any]) -> Any:
    for name in _BOTO3_MEMBERS:
        value = source.get(name)
        if hasattr(class_of(value), "__iter__") and not isinstance(value, str | bytes | Mapping):
            return value
    return None


def _async_body(source: Any, prefer_async: bool) -> Callable[[], Any] | None:
    """What makes the async iterator over the body of an HTTP response; None where it is read synchronously."""
    if hasattr(class_of(source), "iter_content"):
        return None  # requests; its `content` would read the whole body
    stream = class_of(getattr(source, "stream", None))
    if hasattr(stream, "__iter__") and not (prefer_async and hasattr(stream, "__aiter__")):
        return None  # httpx: one class for both kinds, only the stream inside tells
    for name in (*_ASYNC_BODIES, *_BODIES):
        method: Callable[[], Any] | None = getattr(source, name, None)
        if callable(method) and (name in _ASYNC_BODIES or inspect.isasyncgenfunction(method)):
            return method
    try:
        method = source.content.iter_any  # aiohttp
    except Exception:  # noqa: BLE001  # `content` of another client may be a property that complains
        return None
    return cast("Callable[[], Any]", method)


def _name(value: Any) -> str:
    kind = class_of(value)
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")


def _describe(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, bool | int | float):
        return f"{_name(value)} ({value!r})"
    public = [name for name in dir(value) if not name.startswith("_")]
    shown = ", ".join(public[:12]) + (", ..." if len(public) > 12 else "")
    return f"{_name(value)} (attributes: {shown or 'none'})"


class Feed:
    """The chunks of one attempt: `open`, then `next` until `END`, then `close`.

    `errors` are those of the attempts before, for a callable that wants them: in its parameter `errors`, else in its
    first positional one without a default. `timeout` bounds every wait for the source, in seconds. After `open`,
    `source` is the object that is iterated, `about` the dict that held it (boto3's), and `content_type` and `status`
    are those of an HTTP response (None: it is none).
    """

    def __init__(self, source: Any, *, errors: Sequence[BaseException] = (), timeout: float | None = None) -> None:
        self.source = source
        self.about: Any = None
        self.content_type: str | None = None
        self.status: int | None = None
        self._errors = list(errors)
        self._timeout = timeout
        self._steps = 0
        self._iterator: Any = None
        self._reads_async = False  # the source is asynchronous, as far as it was opened
        self._never_blocks = False
        self._pulling = False
        self._closed = False
        self._loose: Closer | None = None  # opened, but not handed over yet
        self._closers: list[Closer] = []

    async def open(self, ops: Ops) -> None:
        """Open the source. Raises what opening it raises, and `UsageError` where it is no source.

        After `AsyncNeeded` it may be called again, with other `ops`: it goes on where it stopped.
        """
        while self._iterator is None:
            self.source = _unwrapped(self.source)
            kind = self._kind(ops.is_async or self._reads_async)
            if kind.startswith("async") or kind == "awaitable":
                ops.need_async()
                self._reads_async = True
            self._steps += 1
            if self._steps > _MAX_STEPS:
                raise UsageError(f"after {_MAX_STEPS} steps the source is still no stream but {_describe(self.source)}")
            await self._step(kind, ops)

    def _kind(self, prefer_async: bool) -> Kind:
        kind = kind_of(self.source, prefer_async)
        if kind in ("iterable", "async iterable") and not any(self.source is entered for _, entered in self._closers):
            # What can be entered, too, wants to be entered first.
            enter = "__aenter__" if kind == "async iterable" else "__enter__"
            if hasattr(class_of(self.source), enter):
                return "async manager" if kind == "async iterable" else "manager"
        return kind

    async def _step(self, kind: Kind, ops: Ops) -> None:
        source = self.source
        if kind == "text":
            text = source if isinstance(source, str) else bytes(source)
            self._iterator, self._never_blocks = iter((text,)), True
        elif kind in ("iterator", "iterable"):
            self._never_blocks = isinstance(source, list | tuple)
            self._reads_async = False
            self._iterate(iter(source))
        elif kind in ("async iterator", "async iterable"):
            self._iterate(source.__aiter__())
        elif kind in ("body", "async body"):
            self.content_type = str(source.headers.get("content-type") or source.headers.get("Content-Type") or "")
            status = getattr(source, "status_code", None) or getattr(source, "status", None)
            self.status = status if isinstance(status, int) else None
            make = _async_body(source, ops.is_async or self._reads_async) if kind == "async body" else None
            self._iterate(make().__aiter__() if make is not None else iter(_body(source)))
        elif kind == "boto3":
            self.about, self.source = source, _boto3_member(source)
        elif kind == "callable":
            self.source = await self._call(source, ops)
        elif kind == "awaitable":
            self.source = await ops.wait(source, self._timeout)
        elif kind == "manager":
            enter = class_of(source).__enter__
            self.source = await self._open_one(lambda: enter(source), ops, left=("exit", source))
            self._closers.append(("exit", source))
        else:
            self.source = await ops.wait(class_of(source).__aenter__(source), self._timeout)
            self._closers.append(("async exit", source))

    def _iterate(self, iterator: Any) -> None:
        self._iterator = iterator
        if self.source is not iterator:
            self._closers.append(("close", self.source))
        self._closers.append(("close", iterator))

    async def _call(self, function: Callable[..., Any], ops: Ops) -> Any:
        args, kwargs = _error_arguments(function, self._errors)
        target = getattr(function, "func", function)  # functools.partial
        if inspect.iscoroutinefunction(target) or inspect.isasyncgenfunction(target):
            return function(*args, **kwargs)
        return await self._open_one(lambda: function(*args, **kwargs), ops)

    async def _open_one(self, function: Callable[[], Any], ops: Ops, left: Closer | None = None) -> Any:
        """Run a function that opens something and may block. Where the wait for it is given up, what it opens in the
        end is closed again: `left`, or else its result.
        """

        def run() -> Any:
            result = function()
            self._loose = left or ("close", result)
            if self._closed:
                _close_all(None, [self._loose[1]])
            return result

        result = await ops.block(run, timeout=self._timeout)
        self._loose = None
        return result

    async def next(self, ops: Ops) -> Any:
        """The next chunk, or `END`. Raises what the source raises, and `Idle`."""
        if self._reads_async:
            try:
                return await ops.wait(self._iterator.__anext__(), self._timeout)
            except StopAsyncIteration:
                return END
        if self._never_blocks:
            return next(cast("Iterator[Any]", self._iterator), END)
        self._pulling = True
        try:
            chunk = await ops.block(next, self._iterator, END, timeout=self._timeout)
        except BaseException as error:
            # Where the wait was given up, and not the pull, a thread is still in there.
            in_thread = ops.is_async or self._timeout is not None
            self._pulling = isinstance(error, Idle) or (in_thread and not isinstance(error, Exception))
            raise
        self._pulling = False
        return chunk

    async def close(self, ops: Ops) -> None:
        """Close what was opened, innermost first; of a source that never was opened, what can be closed.

        What fails in closing is not reported: all that there is to tell has been told.
        """
        self._closed = True
        closers, self._closers = self._closers, []
        if self._loose is not None:
            closers.append(self._loose)
        if self._pulling:
            # A thread is still inside the source. To wait for it could take for ever.
            self._close_outside(closers)
            return
        if self._iterator is None and not callable(self.source):
            closers.append(("close", self.source))
        for kind, target in reversed(closers):
            try:
                if kind == "exit":
                    await ops.block(class_of(target).__exit__, target, None, None, None, timeout=self._timeout)
                elif kind == "async exit":
                    await ops.wait(class_of(target).__aexit__(target, None, None, None), self._timeout)
                else:
                    await self._close_one(target, ops)
            except Exception:  # noqa: BLE001  # see above
                pass

    async def _close_one(self, target: Any, ops: Ops) -> None:
        is_async = self._reads_async or (self._iterator is None and not hasattr(class_of(target), "__next__"))
        method = getattr(target, "aclose", None) if is_async else None
        method = method or getattr(target, "close", None)
        if not callable(method):
            return
        if is_async or self._never_blocks:
            result = method()
        else:
            result = await ops.block(method, timeout=self._timeout)
        if inspect.isawaitable(result):
            await ops.wait(result, self._timeout)

    def interrupt(self) -> None:
        """Wake a thread that is inside the source, by closing what it reads from. `close` is still to be called."""
        if not self._reads_async:  # nothing of an asynchronous source may be touched outside its loop
            self._close_outside([closer for closer in self._closers if closer[0] == "close"])

    def _close_outside(self, closers: list[Closer]) -> None:
        """Close in a thread of its own, without waiting for it."""
        targets = [target for kind, target in reversed(closers) if kind != "async exit"]
        if targets:
            name = "streamparse-close"
            threading.Thread(target=_close_all, args=(self.source, targets), name=name, daemon=True).start()


def _body(source: Any) -> Iterator[Any]:
    if hasattr(source, "iter_bytes"):
        return cast("Iterator[Any]", source.iter_bytes())
    return cast("Iterator[Any]", source.iter_content(chunk_size=None))


def _socket_of(source: Any) -> Any:
    """The socket under a stream, where its client lets it be found. Raises anything where it does not."""
    response = getattr(source, "response", source)
    extensions = getattr(response, "extensions", None)
    if extensions is not None:
        return extensions["network_stream"].get_extra_info("socket")  # httpx, which is under most SDKs
    raw = getattr(response, "raw", None) or response._raw_stream  # urllib3, under requests and boto3
    return raw._fp.fp.raw._sock


def _close_all(source: Any, targets: list[Any]) -> None:
    try:
        # Closing a socket does not wake a thread that reads from it, shutting it down does.
        _socket_of(source).shutdown(socket.SHUT_RDWR)
    except Exception:  # noqa: BLE001  # another client, or closed already
        pass
    for target in targets:
        try:
            if hasattr(target, "close"):
                target.close()
            elif hasattr(target, "__exit__"):
                target.__exit__(None, None, None)
        except Exception:  # noqa: BLE001  # a generator that is running cannot be closed
            pass


def _error_arguments(
    function: Callable[..., Any], errors: list[BaseException]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # some builtins have none
        return (), {}
    named = parameters.get("errors")
    if named is not None and named.kind is not named.POSITIONAL_ONLY:
        return (), {"errors": errors}
    for parameter in parameters.values():
        positional = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        if positional and parameter.default is parameter.empty:
            return (errors,), {}
    return (), {}
