"""StreamResult: one run of a model, read in as many ways as wanted.

    result = streamparse.wrap(source, output=Ticket)
    for item in result.get_generator(type="instant"):
        ui[item.path] += item.delta or ""
    ticket = result.get_data_object()

Nothing runs until the first read. There is one run; every reader, side by side with others or later, gets the same
events from the first one on. Leaving one reader leaves the others whole. What ends the run in an error reaches every
reader, after the events before it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypedDict, TypeVar, cast, overload

from .adapters import Adapter
from .dialect import Dialect, DialectName
from .errors import UsageError
from .events import EventName, ResultMessage, SpecificMessage, StreamingData
from .limits import Limits
from .parser import DEFAULT, Documents, NumberMode, SurrogateMode
from .paths import PathPattern, PathStyle
from .provider import ProviderEvent, Result
from .response import Response
from .run import AdapterChoice, Handler, Run, RunOptions, Verdict
from .sources import END, kind_of
from .turn import OnInvalid, ParserOptions, meta_of
from .values import copy_value
from .views import GeneratorType, View, is_text, items_view, several, view
from .waiting import is_trio_cancellation

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from .schema import Item, Output

__all__ = ["StreamResult", "Verdict", "split_choices", "wrap"]

T = TypeVar("T")
U = TypeVar("U")
Retention = Literal["compact", "lossless"]


class WrapOptions(TypedDict, total=False):
    """The options of `wrap` but for `output`, for type checkers."""

    adapter: AdapterChoice
    dialect: DialectName | Dialect
    reasoning: Any
    starts_in_reasoning: bool
    documents: Documents
    limits: Limits | None
    path_style: PathStyle
    number: NumberMode
    surrogates: SurrogateMode
    emit_starts: bool
    answer_tool: str | None
    choice: int
    on_invalid: OnInvalid
    on_event: Callable[[ProviderEvent], Any] | None
    on_response: Callable[[Response], Any] | None
    on_error: Callable[[BaseException], Any] | None
    validate: Handler | Sequence[Handler] | None
    ensure_keys: str | Sequence[str]
    max_retries: int
    idle_timeout: float | None
    replay: bool
    retention: Retention
    prompt: Any
    metadata: Mapping[str, Any] | None


class StreamResult(Generic[T]):
    """The result of one run; made by `wrap`. `T` is what `get_data_object` gives.

    The readers are `get_text`, `get_data`, `get_data_object`, `get_meta`, `get_response` and `get_generator`, and each
    has an `async_` sibling (`get_async_generator`). They may be mixed, and used from several threads and tasks. In a
    service prefer the async ones: they never block the event loop.
    """

    def __init__(self, run: Run, output: Output | None = None) -> None:
        self._run = run
        self._output = output
        self._readers = 0
        self._lock = threading.Lock()
        self._object: Any = END
        self._streaming = False

    # ---- whole values

    def get_response(self) -> Response:
        """All of it. Raises what ended the run, as every reader does; `response` is there even then."""
        self._finish("async_get_response")
        return self._response()

    async def async_get_response(self) -> Response:
        """`get_response` for async code."""
        await self._finish_async()
        return self._response()

    def get_text(self) -> str:
        """The whole text of the answer, without reasoning."""
        self._finish("async_get_text")
        return self._response().text

    async def async_get_text(self) -> str:
        """`get_text` for async code."""
        await self._finish_async()
        return self._response().text

    def get_data(self) -> Any:
        """The document in the answer, parsed: a copy, yours to change. The partial value where the answer was cut
        (`get_response().complete` tells), None where it holds none.
        """
        self._finish("async_get_data")
        return copy_value(self._response().data)

    async def async_get_data(self) -> Any:
        """`get_data` for async code."""
        await self._finish_async()
        return copy_value(self._response().data)

    def get_data_object(self) -> T:
        """The data as `output=` wants it: an instance of the model, say. Made once.

        Raises `SchemaError` where the data does not fit, `UsageError` without `output`.
        """
        self._need_output("get_data_object()")
        self._finish("async_get_data_object")
        return self._data_object()

    async def async_get_data_object(self) -> T:
        """`get_data_object` for async code."""
        self._need_output("async_get_data_object()")
        await self._finish_async()
        return self._data_object()

    def get_meta(self) -> dict[str, Any]:
        """Ids, model, usage, finish reason and times, as a dict."""
        self._finish("async_get_meta")
        return meta_of(self._response())

    async def async_get_meta(self) -> dict[str, Any]:
        """`get_meta` for async code."""
        await self._finish_async()
        return meta_of(self._response())

    # ---- streams

    @overload
    def get_generator(self, type: Literal["delta"] = "delta") -> Generator[str, None, None]: ...
    @overload
    def get_generator(
        self, type: Literal["instant", "streaming_parse"], *, paths: str | Sequence[str] | None = None
    ) -> Generator[StreamingData, None, None]: ...
    @overload
    def get_generator(
        self, type: Literal["specific"], *, specific: EventName | Sequence[EventName] | None = None
    ) -> Generator[SpecificMessage, None, None]: ...
    @overload
    def get_generator(self, type: Literal["all"]) -> Generator[ResultMessage, None, None]: ...
    @overload
    def get_generator(
        self,
        type: GeneratorType,
        *,
        specific: Any = None,
        paths: str | Sequence[str] | None = None,
        every: float = 0,
    ) -> Generator[Any, None, None]: ...
    def get_generator(
        self,
        type: str = "delta",  # noqa: A002  # the word of the field
        *,
        specific: Any = None,
        paths: str | Sequence[str] | None = None,
        every: float = 0,
    ) -> Generator[Any, None, None]:
        """The run as it happens, in one of these ways:

            delta         the answer's text, piece by piece
            instant       `StreamingData`: which field grew by what, which is final (`streaming_parse` is the same);
                          `paths=["tips[*].text"]` keeps the fields that fit one of the patterns, and their resets
            specific      `(event, data)` of the events named in `specific=[...]`; without it of `reasoning_delta`,
                          `delta`, `reasoning_done`, `done` and `tool_calls`
            items         elements of a list (`paths=["tips[*]"]`, without it the answer itself) as their types
            partial       the output with holes, after each piece that changed it; `every=0.1` shows it at most every
                          so many seconds, and at the end
            original      the source's chunks, as they came
            all           `(event, data)` of every event

        `items` and `partial` need `output`. Raises `UsageError`, which lists the known ones, for another name.
        """
        return self._read(self._view(type, specific, paths, every))

    @overload
    def get_async_generator(self, type: Literal["delta"] = "delta") -> AsyncGenerator[str, None]: ...
    @overload
    def get_async_generator(
        self, type: Literal["instant", "streaming_parse"], *, paths: str | Sequence[str] | None = None
    ) -> AsyncGenerator[StreamingData, None]: ...
    @overload
    def get_async_generator(
        self, type: Literal["specific"], *, specific: EventName | Sequence[EventName] | None = None
    ) -> AsyncGenerator[SpecificMessage, None]: ...
    @overload
    def get_async_generator(self, type: Literal["all"]) -> AsyncGenerator[ResultMessage, None]: ...
    @overload
    def get_async_generator(
        self,
        type: GeneratorType,
        *,
        specific: Any = None,
        paths: str | Sequence[str] | None = None,
        every: float = 0,
    ) -> AsyncGenerator[Any, None]: ...
    def get_async_generator(
        self,
        type: str = "delta",  # noqa: A002  # the word of the field
        *,
        specific: Any = None,
        paths: str | Sequence[str] | None = None,
        every: float = 0,
    ) -> AsyncGenerator[Any, None]:
        """`get_generator` for async code."""
        return self._read_async(self._view(type, specific, paths, every))

    def items(self, pattern: str, output: type[U]) -> Generator[Item[U], None, None]:
        """The elements at `pattern` (`tips[*]`), each as an instance of `output` as soon as it closes. One that does
        not fit keeps its index and carries its error.
        """
        return self._read(items_view(pattern, output, self._run.options.parser.path_style))

    def async_items(self, pattern: str, output: type[U]) -> AsyncGenerator[Item[U], None]:
        """`items` for async code."""
        return self._read_async(items_view(pattern, output, self._run.options.parser.path_style))

    # ---- the run itself

    @property
    def response(self) -> Response | None:
        """The Response as far as it came, without reading on and without raising: None before the end of the run, and
        where `on_event` failed. After an error it holds the partial answer.
        """
        return self._run.response

    @property
    def error(self) -> BaseException | None:
        """What ended the run, and what every reader raises. None while it runs, and where all went well."""
        return self._run.error

    @property
    def finished(self) -> bool:
        """Whether the run is over."""
        return self._run.ended

    def validate(self, handler: Handler) -> Self:
        """Let `handler(data)` judge the data once, at the end of the run: see `wrap`. Raises `UsageError` once the run
        has begun.
        """
        if not callable(handler):  # pyright: ignore[reportUnnecessaryComparison]  # untyped callers
            raise UsageError(f"validate() wants a function, got {handler!r}")
        if self._run.started:
            raise UsageError("validate() after the run has begun", hint="Call it before the first read.")
        self._run.validators.append(handler)
        return self

    def close(self) -> None:
        """End the run and close the source. What came stays readable; the end state is `cancelled`.

        Does nothing after the end. On the run's own event loop it only asks for it: use `aclose` there.
        """
        self._run.cancel()

    def cancel(self) -> None:
        """The same as `close`."""
        self._run.cancel()

    async def aclose(self) -> None:
        """`close` for async code; the source is closed when it returns."""
        await self._run.cancel_async()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        run = getattr(self, "_run", None)
        if run is not None:
            run.drop()

    # ---- how they read

    def _view(self, kind: str, specific: Any, paths: str | Sequence[str] | None, every: float) -> View:
        style = self._run.options.parser.path_style
        return view(kind, specific=specific, paths=paths, every=every, path_style=style, output=self._output)

    def _read(self, show: View) -> Generator[Any, None, None]:
        run = self._run
        index = self._begin_stream()
        try:
            while True:
                if not run.has(index):
                    run.advance(index, "get_async_generator")
                step = run.step(index)
                if step is None:
                    break
                index += 1
                yield from show(step)
        finally:
            self._end_stream()
        self._raise()

    async def _read_async(self, show: View) -> AsyncGenerator[Any, None]:
        run = self._run
        index = self._begin_stream()
        try:
            while True:
                if not run.has(index):
                    await self._advance_async(index)
                step = run.step(index)
                if step is None:
                    break
                index += 1
                for item in show(step):
                    yield item
        finally:
            self._end_stream()
        self._raise()

    def _begin_stream(self) -> int:
        """Count a reader. Returns the first step that it reads."""
        run = self._run
        with self._lock:
            if not run.options.replay:
                if self._readers:
                    raise UsageError("a result with replay=False has one reader at a time", hint="Leave it out.")
                self._streaming = True
                run.keep(True)
            self._readers += 1
        return 0 if run.options.replay else run.count

    def _end_stream(self) -> None:
        with self._lock:
            self._readers -= 1
            if self._streaming:
                self._streaming = False
                self._run.keep(False)

    def _finish(self, sibling: str) -> None:
        """Read to the end."""
        run = self._run
        self._check_free()
        with self._lock:
            self._readers += 1
        try:
            while not run.ended:
                run.advance(run.count, sibling)
        finally:
            with self._lock:
                self._readers -= 1
        self._raise()

    async def _finish_async(self) -> None:
        run = self._run
        self._check_free()
        with self._lock:
            self._readers += 1
        try:
            while not run.ended:
                await self._advance_async(run.count)
        finally:
            with self._lock:
                self._readers -= 1
        self._raise()

    def _check_free(self) -> None:
        if self._streaming and not self._run.ended:
            # To read past the stream reader would make what waits for it grow without bound.
            raise UsageError(
                "with replay=False the stream reader comes first", hint="Read it to its end, or close it, before this."
            )

    async def _advance_async(self, index: int) -> None:
        try:
            await self._run.advance_async(index)
        except BaseException as error:
            # The last reader is being cancelled: nobody is left to read the stream for, so it is closed.
            if self._readers == 1 and (isinstance(error, asyncio.CancelledError) or is_trio_cancellation(error)):
                await self._run.cancel_async()
            raise

    def _raise(self) -> None:
        error = self._run.error
        if error is not None:
            raise error.with_traceback(self._run.traceback)  # else it would grow with every reader

    def _response(self) -> Response:
        response = self._run.response
        assert response is not None  # only a failed checkpoint takes it away, and that is raised
        return response

    def _need_output(self, name: str) -> None:
        if self._output is None:
            raise UsageError(f"{name} needs to know what the data is to be", hint="Pass output= to wrap().")

    def _data_object(self) -> T:
        assert self._output is not None
        with self._lock:
            if self._object is END:
                made = self._run.validated
                self._object = self._output.validate(copy_value(self._response().data)) if made is END else made
            return cast("T", self._object)


@overload
def wrap(source: Any, *, output: type[T], **options: Unpack[WrapOptions]) -> StreamResult[T]: ...
@overload
def wrap(source: Any, *, output: Any = None, **options: Unpack[WrapOptions]) -> StreamResult[Any]: ...
def wrap(
    source: Any,
    *,
    output: Any = None,
    adapter: AdapterChoice = None,
    # the parsers
    dialect: DialectName | Dialect = "llm",
    reasoning: Any = DEFAULT,
    starts_in_reasoning: bool = False,
    documents: Documents = "first",
    limits: Limits | None = None,
    path_style: PathStyle = "dot",
    number: NumberMode = "int_float",
    surrogates: SurrogateMode = "replace",
    emit_starts: bool = False,
    # what is read of the stream
    answer_tool: str | None = None,
    choice: int = 0,
    on_invalid: OnInvalid = "continue",
    # the run
    on_event: Callable[[ProviderEvent], Any] | None = None,
    on_response: Callable[[Response], Any] | None = None,
    on_error: Callable[[BaseException], Any] | None = None,
    validate: Handler | Sequence[Handler] | None = None,
    ensure_keys: str | Sequence[str] = (),
    max_retries: int = 0,
    idle_timeout: float | None = None,
    replay: bool = True,
    retention: Retention = "compact",
    prompt: Any = None,
    metadata: Mapping[str, Any] | None = None,
) -> StreamResult[Any]:
    """Make a result of a model's stream. Nothing is read yet.

    source: the stream of an SDK as it comes from the client, sync or async: an iterator, an awaitable or context
        manager that gives one; a callable that makes one; an HTTP response; pieces of text, or a whole text.
    output: what the data is to be: a pydantic model, an annotation, a dict spec or `JsonSchema`.
    adapter: the shape of the stream by name ("openai"), or an adapter of your own (a class, or a callable that makes
        one). By default it is found by the first chunks.
    dialect, reasoning, starts_in_reasoning, documents, limits, path_style, number, surrogates, emit_starts: as in
        `StreamParser`.
    answer_tool: name of a tool whose arguments are the answer, where the model was forced to call it.
    choice: which choice is read where the provider sends several (`split_choices` reads them all).
    on_invalid: what a value that does not fit `output` does beside its `invalid` event: "continue" nothing; "stop" ends
        the run and closes the stream (end state `cancelled`), which saves tokens; "raise" fails it with `SchemaError`.
    on_event: called with each provider event, the terminal one last. An exception that it raises wins over all else
        that the run comes to: it goes to `on_error` and to the readers, and the Response is discarded.
    on_response, on_error: exactly one of them is called, once, after the terminal event and before the readers end:
        with the Response, or with what the readers raise. All three may be async functions.
    validate: called with a copy of the data at the end of the run, once; one handler or several. It answers True (or
        None), False, the reason as `str`, or `Verdict(ok, reason)`; a ValueError or AssertionError says no, too.
    ensure_keys: paths or patterns (`tips[*].text`) that the data must have.
    max_retries: how often the source is called again when the run fails, or its data is refused. Needs a callable; it
        is given the errors so far, in its parameter `errors` or its first one without a default. Stream readers then
        get a `status` and a `reset` of the root.
    idle_timeout: seconds to wait for each chunk, then the run fails with `ProviderError`.
    replay: False keeps no events for later readers: one stream reader at a time, which sees what comes from then on.
    retention: which provider events the Response keeps: "compact" a prefix within `limits`, "lossless" all of them, or
        the run fails with `LimitExceeded`.
    prompt, metadata: handed on to the Response.

    Raises `UsageError` where an argument cannot be used, `SchemaError` where `output` cannot.
    """
    kind = kind_of(source)
    if max_retries and kind != "callable":
        raise UsageError(
            f"max_retries needs a source that can be made again, got {type(source).__name__}",
            expected="a callable that makes the stream",
        )
    if max_retries and adapter is not None and hasattr(adapter, "feed") and not isinstance(adapter, type):
        raise UsageError("max_retries needs a new adapter for each attempt", expected="its class, or its name")
    if on_invalid not in ("continue", "stop", "raise"):
        raise UsageError(f"unknown on_invalid {on_invalid!r}", expected="continue, stop, raise")
    if retention not in ("compact", "lossless"):
        raise UsageError(f"unknown retention {retention!r}", expected="compact, lossless")
    compiled = _compile(output)
    whole = compiled.listed() if compiled is not None and documents == "all" else compiled
    parser = ParserOptions(
        dialect=dialect,
        output=compiled,
        reasoning=reasoning,
        starts_in_reasoning=starts_in_reasoning,
        documents=documents,
        limits=limits,
        path_style=path_style,
        number=number,
        surrogates=surrogates,
        emit_starts=emit_starts,
    )
    options = RunOptions(
        parser=parser,
        adapter=adapter,
        schema=whole,
        choice=choice,
        answer_tool=answer_tool,
        on_invalid=on_invalid,
        lossless=retention == "lossless",
        prompt=prompt,
        metadata=metadata,
        on_event=on_event,
        on_response=on_response,
        on_error=on_error,
        ensure_keys=_ensured(ensure_keys, path_style),
        max_retries=max_retries,
        idle_timeout=idle_timeout,
        replay=replay,
    )
    options.check()
    result: StreamResult[Any] = StreamResult(Run(source, options), whole)
    for handler in () if validate is None else several("validate", validate, callable, "a function"):
        result.validate(handler)
    return result


def _compile(output: Any) -> Output | None:
    if output is None:
        return None
    from .schema import compile_output

    return compile_output(output)


def _ensured(paths: str | Sequence[str], style: PathStyle) -> tuple[PathPattern, ...]:
    patterns = tuple(PathPattern(path, style) for path in several("ensure_keys", paths, is_text, "a path"))
    for pattern in patterns:
        if "**" in pattern.text:
            raise UsageError(f"ensure_keys cannot tell which places {pattern.text!r} means", hint="Name each depth.")
    return patterns


def split_choices(source: Any, count: int, **options: Any) -> list[StreamResult[Any]]:
    """One result for each of the first `count` choices of one stream (`n=` of the request). The source runs once.

    `options` are those of `wrap`, for each of them, but for `choice` and `max_retries`.
    """
    for name in ("choice", "max_retries"):
        if options.get(name):
            raise UsageError(f"split_choices() takes no {name}=")
    if type(count) is not int or count < 1:
        raise UsageError(f"count must be a whole number from 1, got {count!r}")
    run = wrap(source, adapter=_Passed, reasoning=None, idle_timeout=options.pop("idle_timeout", None))
    shared = _Shared(run, count)
    return [wrap(shared, choice=choice, **options) for choice in range(count)]


class _Shared:
    """The chunks of one run, for `count` others; it ends when each of them has closed it."""

    def __init__(self, result: StreamResult[Any], count: int) -> None:
        self._result = result
        self._readers = count
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Any]:
        return self._result.get_generator("original")

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._result.get_async_generator("original")

    def close(self) -> None:
        """One of the others has ended."""
        if self._is_last():
            self._result.close()

    async def aclose(self) -> None:
        """The same, on an event loop."""
        if self._is_last():
            await self._result.aclose()

    def _is_last(self) -> bool:
        with self._lock:
            self._readers -= 1
            return self._readers == 0


class _Passed(Adapter):
    """Reads nothing: the chunks are handed on."""

    def read(self, chunk: Any, out: list[ProviderEvent]) -> None:
        pass

    def close(self) -> list[ProviderEvent]:
        return [Result(finished=True)]
