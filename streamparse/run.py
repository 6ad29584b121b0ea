"""Run: the one execution behind a result. Source, adapter and turn in a row; the log that readers follow; handlers,
checks and retries.

`Run.main` is the whole course of events, written once. It is a coroutine, but nothing in it knows whether threads or an
event loop move it: see drive.py.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.client import IncompleteRead
from types import TracebackType
from typing import Any, NamedTuple, Protocol, cast

from . import adapters
from .adapters import AdapterProtocol
from .adapters.text import TextAdapter
from .captures import BodyDecoder
from .captures.decoders import QUOTED, broken
from .drive import Engine, Stepped, engine_here
from .errors import LimitExceeded, ProviderError, SchemaError, StreamParseError, UsageError
from .events import ResultMessage
from .paths import PathPattern, PathStyle, format_path
from .provider import Error, ProviderEvent, Result
from .response import Response
from .sources import END, AsyncNeeded, Feed, Idle
from .turn import Messages, OnInvalid, ParserOptions, Turn, reset_event
from .values import copy_value
from .waiting import Cancelled, DriverOps, Worker

Handler = Callable[..., Any]
AdapterChoice = str | AdapterProtocol | Callable[[], AdapterProtocol] | None


class Step(NamedTuple):
    """What one chunk of the source led to. `chunk` is `END` where there was none: a retry, the end."""

    chunk: Any
    messages: Messages


class OutputSchema(Protocol):
    """What a run asks of its output specification."""

    def validate(self, data: Any) -> Any:
        """The object that `data` makes. Raises `SchemaError`."""
        ...


class Verdict(NamedTuple):
    """What a `validate` handler may answer: whether the data will do, and if not, why."""

    ok: bool
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a run goes; `wrap` describes each of them."""

    parser: ParserOptions
    adapter: AdapterChoice = None
    schema: OutputSchema | None = None
    choice: int = 0
    answer_tool: str | None = None
    on_invalid: OnInvalid = "continue"
    lossless: bool = False
    prompt: Any = None
    metadata: Mapping[str, Any] | None = None
    on_event: Handler | None = None
    on_response: Handler | None = None
    on_error: Handler | None = None
    ensure_keys: tuple[PathPattern, ...] = ()
    max_retries: int = 0
    idle_timeout: float | None = None
    replay: bool = True

    def check(self) -> None:
        """Raise `UsageError` for an option that no attempt could use."""
        self.parser.for_answer()
        adapter = self.adapter
        if isinstance(adapter, str):
            adapters.named(adapter)
        elif adapter is not None and not hasattr(adapter, "feed") and not callable(adapter):
            raise UsageError(f"cannot use adapter={adapter!r}", expected="a name, an adapter, or what makes one")
        for name in ("on_event", "on_response", "on_error"):
            handler = getattr(self, name)
            if handler is not None and not callable(handler):
                raise UsageError(f"{name} must be a function, got {handler!r}")
        for name in ("choice", "max_retries"):
            number = getattr(self, name)
            if type(number) is not int or number < 0:
                raise UsageError(f"{name} must be a whole number from 0, got {number!r}")
        seconds: Any = self.idle_timeout
        if seconds is not None and (isinstance(seconds, bool) or not _is_positive(seconds)):
            raise UsageError(f"idle_timeout is a positive number of seconds, got {seconds!r}")
        metadata: Any = self.metadata
        if metadata is not None and not isinstance(metadata, Mapping):
            raise UsageError(f"metadata must be a dict, got {metadata!r}")

    def turn(self) -> Turn:
        """A new turn, for one attempt."""
        return Turn(
            self.parser,
            choice=self.choice,
            answer_tool=self.answer_tool,
            on_invalid=self.on_invalid,
            lossless=self.lossless,
            prompt=self.prompt,
            metadata=None if self.metadata is None else dict(self.metadata),
        )


class Run:
    """One run: nothing before the first `advance`, then one step of the log for each chunk, and `ended` after the last.

    After the end `error` is what every reader is to raise (None: nothing), and `response` the Response, also of a run
    that failed; a failed checkpoint discards it.
    """

    def __init__(self, source: Any, options: RunOptions) -> None:
        self.options = options
        self.validators: list[Handler] = []
        self.validated: Any = END  # the object that the schema made of the data, once it did
        self.ended = False
        self.error: BaseException | None = None
        self.traceback: TracebackType | None = None
        self.response: Response | None = None
        self.cancel_requested = False
        self._source = source
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._hops = Worker("streamparse-readers")
        self._log: list[Step] | deque[Step] = [] if options.replay else deque()
        self._dropped = 0
        self._keeping = options.replay
        # of the current attempt
        self._turn: Turn | None = None
        self._feed: Feed | None = None
        self._pipe = _Pipe(options.adapter)
        self._tail: Messages = []
        # of the end
        self._checkpoint_error: Exception | None = None
        self._settled = False  # one of on_response and on_error was called

    # ---- the readers' side

    @property
    def started(self) -> bool:
        """Whether anybody wanted to read."""
        return self._engine is not None or self.ended

    @property
    def count(self) -> int:
        """How many steps there were so far."""
        return self._dropped + len(self._log)

    def has(self, index: int) -> bool:
        """Whether step `index` is there, or the run is over."""
        return self.ended or self._dropped + len(self._log) > index

    def step(self, index: int) -> Step | None:
        """Step `index`; None after the last. Without replay each is handed out once, in order."""
        position = index - self._dropped
        if position >= len(self._log):
            return None
        if self.options.replay:
            return self._log[position]
        self._dropped += 1
        return cast("deque[Step]", self._log).popleft()

    def keep(self, keeping: bool) -> None:
        """Without replay: whether there is a reader that steps must be kept for."""
        if not self.options.replay:
            self._keeping = keeping
            self._dropped += len(self._log)
            self._log.clear()

    def advance(self, index: int, sibling: str) -> None:
        """Block until `has(index)`. Raises `UsageError`, naming `sibling`, where only an async reader can go on."""
        while not self.has(index):
            engine = self._start(Stepped)
            try:
                engine.advance(index)
            except AsyncNeeded:
                with self._lock:
                    if engine.dead and self._engine is engine:
                        self._engine = None  # nothing was read yet: let the async reader begin
                raise UsageError(
                    "a sync reader cannot read an async source while an event loop runs in its thread",
                    hint=f"Use {sibling}().",
                ) from None

    async def advance_async(self, index: int) -> None:
        """Wait until `has(index)`."""
        while not self.has(index):
            await self._start(engine_here()).advance_async(index, self._hops)

    def _start(self, kind: Callable[[Run], Engine]) -> Engine:
        with self._lock:
            if self._engine is None:
                self._engine = kind(self)
            return self._engine

    def cancel(self) -> None:
        """End the run where it is. From a handler, and from elsewhere than its own loop, it ends a little later."""
        if not self.ended:
            self._start(Stepped).cancel()

    async def cancel_async(self) -> None:
        """`cancel` without blocking the loop, and wait for the end where it can be waited for."""
        if not self.ended:
            await self._start(engine_here()).cancel_async()

    def drop(self) -> None:
        """Nobody can read any more."""
        if self._engine is not None and not self.ended:
            self._engine.drop()
        self._hops.stop()

    def interrupt(self) -> None:
        """Break off a source that a thread is blocked in."""
        if self._feed is not None:
            self._feed.interrupt()

    # ---- the course of events

    async def main(self, ops: DriverOps) -> None:
        """All of it, from the first chunk to the handlers. Pauses before anything happens, and after every step."""
        broken: BaseException | None = None
        try:
            cancelled = await ops.until_cancelled(self._attempts(ops))
        except (AsyncNeeded, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001  # Ctrl-C, and whatever must not leave readers waiting for ever
            cancelled, broken = True, error
        if cancelled:
            try:
                await self._end_cancelled(ops, broken)
            except Exception as error:  # noqa: BLE001  # the same: what broke the run may break its end
                self._finish(broken or error)
        if broken is not None and not isinstance(broken, Exception):
            raise broken

    async def _attempts(self, ops: DriverOps) -> None:
        errors: list[BaseException] = []
        while True:
            await ops.pause()
            turn = self._turn = self.options.turn()
            self._tail = []
            failure = await self._read(ops, turn, errors)
            if self._feed is not None:
                await self._feed.close(ops)
            self._tail += turn.close(error=failure)
            assert turn.terminal is not None
            await self._checkpoint(ops, turn.terminal)
            failure = turn.error
            if failure is None and not turn.stopped:
                failure = await self._check(ops, turn)
            if not self._retries(failure, len(errors)):
                return await self._end(ops, turn, failure)
            assert failure is not None
            errors.append(failure)
            self._publish(Step(END, self._retry_messages(turn, failure, len(errors) + 1)))

    async def _read(self, ops: DriverOps, turn: Turn, errors: Sequence[BaseException]) -> BaseException | None:
        """One attempt, from opening the source to its last chunk. Returns what went wrong."""
        timeout = self.options.idle_timeout
        if self._feed is None or errors:
            self._feed = Feed(self._source, errors=errors, timeout=timeout)
        feed = self._feed
        pipe = self._pipe = _Pipe(self.options.adapter)
        try:
            await feed.open(ops)
            pipe.opened(feed)
            while (chunk := await feed.next(ops)) is not END:
                self._publish(Step(chunk, await self._fold(ops, turn, pipe.feed(chunk))))
                if turn.over:
                    return None
                await ops.pause()
            self._tail = await self._fold(ops, turn, pipe.close())
        except AsyncNeeded:
            raise
        except Exception as error:  # noqa: BLE001  # the source's or the adapter's: the readers get it
            failure = _idle(timeout) if isinstance(error, Idle) and timeout is not None else error
            turn.feed(pipe.failed(failure))
            return failure
        finally:
            if self.cancel_requested:  # what came of a source that was closed under the reader is no failure
                raise Cancelled
        return None

    async def _fold(self, ops: DriverOps, turn: Turn, events: Sequence[ProviderEvent]) -> Messages:
        messages: Messages = []
        for event in events:
            if turn.over:
                break
            messages += turn.feed(event)
            if self.options.on_event is not None and not isinstance(event, Result | Error):
                await self._checkpoint(ops, event)  # the terminal event is told after `close`, which may change it
        return messages

    async def _checkpoint(self, ops: DriverOps, event: ProviderEvent) -> None:
        """Call `on_event`, until it raises once. The run goes on to its terminal event; there that error counts."""
        if self.options.on_event is not None and self._checkpoint_error is None:
            try:
                await ops.call(self.options.on_event, event)
            except Exception as error:  # noqa: BLE001  # the caller's own, handed back to the caller
                self._checkpoint_error = error

    def _publish(self, step: Step) -> None:
        if self._keeping:
            self._log.append(step)
        else:
            self._dropped += 1
        if self._engine is not None:
            self._engine.published()

    # ---- checks and retries

    async def _check(self, ops: DriverOps, turn: Turn) -> BaseException | None:
        """What is wrong with an answer that came without an error."""
        options, response, style = self.options, turn.response, self.options.parser.path_style
        assert response is not None
        lacking = [pattern.text for pattern in options.ensure_keys if not _holds(response, pattern, style)]
        if lacking:
            return SchemaError(f"the answer lacks {', '.join(lacking)}", code="invalid_value", path=lacking[0])
        try:
            if options.schema is not None and options.max_retries:
                self.validated = options.schema.validate(copy_value(response.data))
            for handler in self.validators:
                verdict = await _ask(ops, handler, copy_value(response.data))
                if not verdict.ok:
                    reason = verdict.reason or "no reason was given"
                    return SchemaError(f"the answer was rejected: {reason}", code="invalid_value")
        except Exception as error:  # noqa: BLE001  # a validator that is broken itself: the readers get it
            return error
        return None

    def _retries(self, failure: BaseException | None, done: int) -> bool:
        if failure is None or self._checkpoint_error is not None or done >= self.options.max_retries:
            return False
        # A wrong call, or a limit, would end the next attempt in the same way.
        return isinstance(failure, Exception) and not isinstance(failure, UsageError | LimitExceeded)

    def _retry_messages(self, turn: Turn, failure: BaseException, attempt: int) -> Messages:
        status = {"state": "retrying", "attempt": attempt, "error": str(failure)}
        style = self.options.parser.path_style
        resets = [ResultMessage("instant", reset_event(source, style)) for source in turn.sources]
        return [ResultMessage("status", status), *resets]

    # ---- the end

    async def _end(self, ops: DriverOps, turn: Turn, failure: BaseException | None) -> None:
        options = self.options
        error: BaseException | None = self._checkpoint_error or failure
        self.response = None if self._checkpoint_error is not None else turn.response
        self._settled = True
        handler, argument = (options.on_response, self.response) if error is None else (options.on_error, error)
        if handler is not None:
            try:
                await ops.call(handler, argument)
            except Exception as raised:  # noqa: BLE001  # the caller's own: the readers get it
                if raised is not error:
                    raised.__context__ = error
                error = raised
        if error is not None and error is not turn.error:
            self._tail.append(ResultMessage("error", error))
        self._finish(error)

    async def _end_cancelled(self, ops: DriverOps, broken: BaseException | None) -> None:
        """The end of a run that was broken off: no failure, unless `broken` is an error."""
        if self._settled:  # while the last handler was running
            self._finish(self.error)
            return
        feed = self._feed or Feed(self._source)
        await feed.close(ops)
        turn = self._turn or self.options.turn()
        if turn.response is None:
            self._tail += turn.close(cancelled=True)
            assert turn.terminal is not None
            await self._checkpoint(ops, turn.terminal)
        elif turn.error is None:  # in the checks
            turn.response = turn.response.model_copy(update={"end_state": "cancelled", "complete": False})
        await self._end(ops, turn, broken if isinstance(broken, Exception) else None)

    def _finish(self, error: BaseException | None) -> None:
        if not self.ended:
            self.error = error
            self.traceback = None if error is None else error.__traceback__
            self._publish(Step(END, self._tail))
            self.ended = True
            if self._engine is not None:
                self._engine.published()
            self._hops.stop()


class _Pipe:
    """From chunks to provider events: bodies are decoded, the adapter is found by the first chunks."""

    def __init__(self, choice: AdapterChoice) -> None:
        self._adapter = _make_adapter(choice)
        self._is_text = choice == "text"
        self._body: BodyDecoder | None = None
        self._source: Any = None
        self._began = self._reads_text = False
        self._status = 0  # of an HTTP response
        self._complaint = ""  # the text of one that refuses the request
        self._first: list[Any] = []  # chunks that do not tell the adapter yet

    def opened(self, feed: Feed) -> None:
        """The source is there."""
        self._source = feed.source if feed.about is None else feed.about
        if feed.content_type is not None:
            self._body = BodyDecoder(content_type=feed.content_type)
            self._status = feed.status or 0

    def feed(self, chunk: Any) -> list[ProviderEvent]:
        """The events of one chunk."""
        if not isinstance(chunk, str | bytes | bytearray | memoryview) or (self._is_text and self._body is None):
            return self._read(chunk)
        if self._body is None:
            # Text may be live, so it must not wait; bytes are a body, and its format is not always in the first ones.
            self._body = BodyDecoder(eager=isinstance(chunk, str))
        return self._read_all(self._body.feed(chunk if isinstance(chunk, str) else bytes(cast("bytes", chunk))))

    def close(self) -> list[ProviderEvent]:
        """The last events."""
        events = self._read_all(self._body.close()) if self._body is not None else []
        if self._complaint:
            raise self._refused()
        if self._adapter is None:
            events = events + self._begin(adapters.detect(self._first, last=True))
        assert self._adapter is not None
        return events + self._adapter.close()

    def _read_all(self, chunks: list[Any]) -> list[ProviderEvent]:
        return [event for chunk in chunks for event in self._read(chunk)]

    def _read(self, chunk: Any) -> list[ProviderEvent]:
        if (
            chunk is None
            or isinstance(chunk, int | float)
            or (self._reads_text and not isinstance(chunk, str | bytes | bytearray | memoryview))
        ):
            raise UsageError(
                f"a chunk of the stream is {type(chunk).__name__}",
                expected="str or bytes" if self._reads_text else "the chunks of an SDK, or text",
            )
        if self._status >= 400 and isinstance(chunk, str):
            self._complaint += chunk
            if len(self._complaint) > QUOTED or "\n" in self._complaint.strip():
                raise self._refused()
            return []
        if self._began and self._adapter is not None:
            return self._adapter.feed(chunk)
        self._first.append(chunk)
        return self._begin(self._adapter or adapters.detect(self._first))

    def _refused(self) -> ProviderError:
        return broken(f"the provider answered with status {self._status}", self._complaint)

    def _begin(self, adapter: AdapterProtocol | None) -> list[ProviderEvent]:
        if adapter is None:
            return []
        self._adapter, self._began = adapter, True
        self._reads_text = isinstance(adapter, TextAdapter)
        events = adapter.opened(self._source) if hasattr(adapter, "opened") else []
        chunks, self._first, self._source = self._first, [], None
        return [*events, *(event for chunk in chunks for event in adapter.feed(chunk))]

    def failed(self, error: BaseException) -> ProviderEvent:
        """The terminal event for an error of the source."""
        if isinstance(error, StreamParseError):
            return Error(reason=str(error), code=error.code)
        adapter = self._adapter if hasattr(self._adapter, "failed") else None
        event = (adapter or adapters.named("text")).failed(error)
        # An answer whose connection broke was cut; a finish reason that came before it stands.
        return Result(metadata={"error": event.reason}) if _is_disconnect(error) else event


def _make_adapter(choice: AdapterChoice) -> AdapterProtocol | None:
    if choice is None:
        return None
    if isinstance(choice, str):
        return adapters.named(choice)
    if hasattr(choice, "feed") and not isinstance(choice, type):
        return cast("AdapterProtocol", choice)
    return cast("Callable[[], AdapterProtocol]", choice)()


def _is_positive(number: Any) -> bool:
    try:
        return bool(number > 0)
    except TypeError:
        return False


def _idle(seconds: float) -> ProviderError:
    return ProviderError(f"the source gave nothing for {seconds:g} seconds", hint="Raise idle_timeout, or try again.")


# How HTTP clients say that a connection broke in the middle of a body: by name, since none of them is imported here.
_DISCONNECTS = frozenset(
    {
        "ChunkedEncodingError",
        "ClientPayloadError",
        "ProtocolError",
        "ReadError",
        "RemoteProtocolError",
        "ServerDisconnectedError",
    }
)


def _is_disconnect(error: BaseException | None) -> bool:
    for _ in range(8):  # SDKs wrap the client's error in one of their own
        if error is None:
            return False
        if isinstance(error, ConnectionError | EOFError | IncompleteRead | asyncio.IncompleteReadError):
            return True
        if any(kind.__name__ in _DISCONNECTS for kind in type(error).__mro__):
            return True
        error = error.__cause__
    return False


async def _ask(ops: DriverOps, handler: Handler, data: Any) -> Verdict:
    """What a `validate` handler says of `data`."""
    try:
        answer = await ops.call(handler, data)
    except (ValueError, AssertionError) as error:
        return Verdict(False, str(error) or type(error).__name__)
    if answer is None or isinstance(answer, bool):
        return Verdict(answer is not False)
    if isinstance(answer, str):
        return Verdict(not answer, answer)
    if isinstance(answer, tuple):
        ok, reason = (*cast("Sequence[Any]", answer), "", "")[:2]
        return Verdict(bool(ok), str(reason or ""))
    raise UsageError(
        f"a validate handler returned {type(answer).__name__}",
        expected="True or None, False, the reason as str, or Verdict(ok, reason)",
    )


_ANY_INDEX, _ANY_KEY = PathPattern("[*].*").parts


def _holds(response: Response, pattern: PathPattern, style: PathStyle) -> bool:
    """Whether the data has every place that `pattern` names, and has it whole."""
    cut = set(response.incomplete)
    places: list[tuple[tuple[str | int, ...], Any]] = [((), response.data)]
    for part in pattern.parts:
        found: list[tuple[tuple[str | int, ...], Any]] = []
        for parts, value in places:
            children = _children(value, part)
            if children is None:
                return False
            found += [((*parts, key), child) for key, child in children]
        places = found
    return not any(format_path(parts, style) in cut for parts, _ in places)


def _children(value: Any, part: str | int) -> list[tuple[str | int, Any]] | None:
    """The members of `value` that one part of a pattern names; None where there are none."""
    if isinstance(value, list):
        members: dict[str | int, Any] = dict(enumerate(cast("Sequence[Any]", value)))
        wild = part == _ANY_INDEX
    elif isinstance(value, dict):
        members = dict(cast("Mapping[str | int, Any]", value))
        wild = part == _ANY_KEY
    else:
        return None
    if wild:
        return list(members.items())
    return [(part, members[part])] if part in members else None
