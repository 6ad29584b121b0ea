"""Frames: what goes over the wire, numbered from 1 without gaps.

    event              data
    field              type, path, parts, kind, source (left out where it is "content"); `delta` on a delta; `value` on
                       done and cut of a number, boolean or null
    reasoning_delta    text
    reasoning_done     (nothing)
    tool_call_delta    index, id, name, arguments: the piece of text
    tool_calls         id, name, arguments, raw_arguments, complete, index, metadata: a call that is whole
    invalid            path, parts, errors, value, early
    diagnostic         code, message, offset, line, column, path, text
    meta               as in the result, without `metadata`
    status             state and what goes with it, without the text of an error
    error              code, message and, where they are known, path, offset, line, column, expected, hint
    end                complete, incomplete, end_state, finish_reason: always the last frame

A string's `done` and a container's hold no value: the deltas add up to it (law 2), so that the bytes grow with the text
and not with its square. The texts of the answer (`delta`, `done`, `original_delta`, `original_done`: `{"text"}`) are
left out unless `include` names them.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Collection, Generator, Iterable
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypedDict, TypeVar, cast, overload

from ..errors import StreamParseError, UsageError
from ..events import ResultMessage, SpecificMessage
from ..implementation import StreamingData
from .coalesce import Coalescer, check_rate
from .skins import drive

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..response import ToolCall

T = TypeVar("T")

TEXT_EVENTS: Final = ("delta", "done", "original_delta", "original_done")
"""Events that `include` may name."""
SCALARS: Final = ("number", "boolean", "null")
"""Kinds of which the `done` and the `cut` frame hold the value."""

DescribeError = Callable[[BaseException], dict[str, Any]]


class Frame(NamedTuple):
    """One frame. `id` counts from 1 without gaps, `data` is a JSON value."""

    id: int
    event: str
    data: Any


def describe_error(error: BaseException) -> dict[str, Any]:
    """What a client is told of an error: code, message and place of one of ours. Of any other only its type: the text
    may hold addresses and keys of the server.
    """
    if not isinstance(error, StreamParseError):
        return {"code": "internal", "message": f"the stream failed ({type(error).__name__})"}
    data: dict[str, Any] = {"code": error.code, "message": error.message}
    for name in ("path", "offset", "line", "column", "expected", "hint"):
        value = getattr(error, name)
        if value is not None:
            data[name] = value
    return data


def field_data(event: StreamingData) -> dict[str, Any]:
    """The data of a `field` frame."""
    kind, event_type = event.kind, event.event_type
    data: dict[str, Any] = {"type": event_type, "path": event.path, "parts": list(event.parts), "kind": kind}
    if event.source != "content":
        data["source"] = event.source
    if event_type == "delta":
        data["delta"] = event.delta
    elif kind in SCALARS and event_type in ("done", "cut"):
        data["value"] = event.value
    return data


class Encoder(Generic[T]):
    """Items of a result in, pieces of a wire format out. Sans-IO; each format is a subclass.

    `feed` takes what `get_generator("all")` or `get_generator("instant")` yields, or the events of a `StreamParser`;
    `close` ends the stream, with an error where there was one. With `max_rate` neighbouring deltas are merged: see
    `Coalescer`. `now` is a monotonic time in seconds, that of the clock by default, and counts only then; `due` is the
    time at which `tick` should be called if nothing else comes before.

    Raises `UsageError` for an item that is none, for an option that does not fit, and for `feed` after `close`.
    """

    def __init__(
        self,
        *,
        max_rate: float | None = None,
        include: Iterable[str] = (),
        describe_error: DescribeError = describe_error,
    ) -> None:
        self._include: Collection[str] = check_include(include)
        self._describe_error = describe_error
        self._coalescer = None if max_rate is None else Coalescer(check_rate(max_rate))
        self._end = _End()
        self._told: list[BaseException] = []
        self._closed = False
        self._count = 0

    @property
    def due(self) -> float | None:
        """When the pieces that are held are to be sent; None where none are."""
        return None if self._coalescer is None else self._coalescer.due

    def feed(self, item: Any, now: float | None = None) -> list[T]:
        """What `item` leads to."""
        if self._closed:
            raise UsageError("feed() after close()")
        message = self._message(item)
        if message is not None:
            self._end.see(message)
        if self._coalescer is None:
            return [] if message is None else self._encode(message)
        if now is None:
            now = time.monotonic()
        return self._send(self._coalescer.tick(now) if message is None else self._coalescer.feed(message, now))

    def tick(self, now: float) -> list[T]:
        """What is due at `now`."""
        return [] if self._coalescer is None else self._send(self._coalescer.tick(now))

    def close(self, error: BaseException | None = None) -> list[T]:
        """The last pieces. `error` is what the source raised; one that came as an item is not told twice."""
        if self._closed:
            return []
        out: list[T] = []
        if error is not None and not self._was_told(error):
            out += self.feed(ResultMessage("error", error))
        self._closed = True
        if self._coalescer is not None:
            out += self._send(self._coalescer.flush())
        return out + self._encode(ResultMessage("end", self._end.data()))

    def takes(self, error: BaseException) -> bool:
        """Whether an error of the source is part of the stream. A `UsageError` says that the call was wrong, so it is
        the caller's, unless it came as an item.
        """
        return not isinstance(error, UsageError) or self._was_told(error)

    def _was_told(self, error: BaseException) -> bool:
        return any(error is told for told in self._told)

    def _encode(self, message: ResultMessage) -> list[T]:
        """One message, its data as plain as in a frame, in the format. `end` comes last, once."""
        raise NotImplementedError

    def _number(self, message: ResultMessage) -> Frame:
        """The next frame."""
        self._count += 1
        return Frame(self._count, message.event, message.data)

    def _send(self, messages: Iterable[ResultMessage]) -> list[T]:
        return [piece for message in messages for piece in self._encode(message)]

    def _message(self, item: Any) -> ResultMessage | None:
        """The message of an item, its data plain; None where it is left out."""
        if isinstance(item, StreamingData):
            return ResultMessage("field", field_data(item))
        if not isinstance(item, ResultMessage | SpecificMessage):
            raise UsageError(
                f"an item of a result is wanted, got {type(item).__name__}",
                hint="Pass what get_generator('all') yields, or the events of a StreamParser.",
            )
        event, data = item
        if event == "instant":
            return ResultMessage("field", field_data(data))
        if event in TEXT_EVENTS:
            return ResultMessage(event, {"text": data}) if event in self._include else None
        if event == "reasoning_delta":
            return ResultMessage(event, {"text": data})
        if event == "reasoning_done":
            return ResultMessage(event, {})
        if event == "error":
            self._told.append(data)
            return ResultMessage(event, self._describe_error(data))
        if event == "meta":  # its metadata is the server's own: the caller's, and the texts of errors
            return ResultMessage(event, {name: value for name, value in data.items() if name != "metadata"})
        if event == "status":  # of a retry, the text of the error
            return ResultMessage(event, {name: value for name, value in data.items() if name != "error"})
        return ResultMessage(event, _plain(data))


class FrameEncoder(Encoder[Frame]):
    """Items in, frames out."""

    def _encode(self, message: ResultMessage) -> list[Frame]:
        return [self._number(message)]


class Options(TypedDict, total=False):
    """The options that all formats share: see `Encoder`."""

    max_rate: float | None
    include: Iterable[str]
    describe_error: DescribeError


@overload
def to_frames(items: AsyncIterable[Any], **options: Unpack[Options]) -> AsyncGenerator[Frame, None]: ...
@overload
def to_frames(items: Iterable[Any], **options: Unpack[Options]) -> Generator[Frame, None, None]: ...
def to_frames(items: Any, **options: Unpack[Options]) -> Any:
    """The frames of a run, for a format of your own.

    items: what `get_generator("all")` yields, or `get_async_generator("all")` (the frames then come from an async
        generator, too).
    max_rate: how many sendings a second there are at most; what comes in between is merged.
    include: texts to send, too: `delta`, `done`, `original_delta`, `original_done`.
    describe_error: what a client is told of an error; by default nothing of one that is not ours but its type.

    An error of the run becomes a frame; only a `UsageError` is raised.
    """
    return drive(FrameEncoder(**options), items)


def check_include(names: Iterable[str]) -> Collection[str]:
    """`names` as a set. Raises `UsageError` for one that cannot be included."""
    wanted = frozenset([names] if isinstance(names, str) else names)
    unknown = sorted(wanted - frozenset(TEXT_EVENTS))
    if unknown:
        raise UsageError(f"include= cannot name {unknown[0]!r}", expected=", ".join(TEXT_EVENTS))
    return wanted


def _plain(data: Any) -> dict[str, Any]:
    """The data of a message as a dict; what is inside is written later, by `to_json`."""
    if isinstance(data, dict):
        return cast("dict[str, Any]", data)
    if hasattr(data, "to_dict"):  # a diagnostic, an invalid value
        return cast("dict[str, Any]", data.to_dict())
    # A tool call. Field by field: pydantic goes down 255 levels at most, its arguments may have more.
    call = cast("ToolCall", data)
    return {name: getattr(call, name) for name in type(call).model_fields}


class _End:
    """What the last frame says, from the messages before it."""

    def __init__(self) -> None:
        self._meta: dict[str, Any] | None = None
        self._incomplete: list[str] = []
        self._closed = False  # the root is done
        self._failed = False

    def see(self, message: ResultMessage) -> None:
        data = message.data
        if message.event == "field" and "source" not in data:
            if data["type"] == "cut":
                self._incomplete.append(data["path"])
            elif not data["parts"] and data["type"] in ("done", "reset"):
                self._closed = data["type"] == "done"
                self._incomplete.clear()
        elif message.event == "meta":
            self._meta = data
        elif message.event == "error":
            self._failed = True

    def data(self) -> dict[str, Any]:
        meta = self._meta
        complete = self._closed and not self._failed if meta is None else meta["complete"]
        state = ("complete" if complete else "cut") if meta is None else meta["end_state"]
        return {
            "complete": complete,
            "incomplete": self._incomplete,
            "end_state": "error" if self._failed else state,
            "finish_reason": None if meta is None else meta["finish_reason"],
        }
