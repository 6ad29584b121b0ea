"""Server-sent events: one event a frame, its number as the `id`, its data one line of JSON."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable
from typing import TYPE_CHECKING, Any, Final, overload

from ..events import ResultMessage
from .frame import Encoder, Frame, Options
from .json_text import from_json, to_json
from .lines import LineDecoder, whole
from .skins import drive

if TYPE_CHECKING:
    from typing_extensions import Unpack

MEDIA_TYPE: Final = "text/event-stream"


def write_sse(frame: Frame) -> str:
    """A frame as one server-sent event."""
    return f"id: {frame.id}\nevent: {frame.event}\ndata: {to_json(frame.data)}\n\n"


class SSEEncoder(Encoder[str]):
    """Items in, server-sent events out."""

    def _encode(self, message: ResultMessage) -> list[str]:
        return [write_sse(self._number(message))]


class PartsAsSSE:
    """An encoder of dicts as one of server-sent events: each dict is a numbered event without a name. `last` comes at
    the very end.
    """

    def __init__(self, encoder: Encoder[dict[str, Any]], last: tuple[str, ...] = ()) -> None:
        self._encoder = encoder
        self._last = last
        self._count = 0

    @property
    def due(self) -> float | None:
        """As of the encoder."""
        return self._encoder.due

    def feed(self, item: Any) -> list[str]:
        """As of the encoder."""
        return self._write(self._encoder.feed(item))

    def tick(self, now: float) -> list[str]:
        """As of the encoder."""
        return self._write(self._encoder.tick(now))

    def close(self, error: BaseException | None = None) -> list[str]:
        """As of the encoder."""
        return [*self._write(self._encoder.close(error)), *self._last]

    def takes(self, error: BaseException) -> bool:
        """As of the encoder."""
        return self._encoder.takes(error)

    def _write(self, parts: list[dict[str, Any]]) -> list[str]:
        written: list[str] = []
        for part in parts:
            self._count += 1
            written.append(f"id: {self._count}\ndata: {to_json(part)}\n\n")
        return written


class SSEDecoder(LineDecoder):
    """Server-sent events in, as text or bytes in pieces of any size; frames out.

    Comments and events without data or without a number are skipped: they are not ours. An event that was not ended by
    a blank line is dropped, as the standard wants it: the client asks for it again, by its `Last-Event-ID`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._id = ""
        self._event = ""
        self._data: list[str] = []

    def feed(self, item: str | bytes) -> list[Frame]:
        """The frames of the events that end in `item`. Raises `JSONSyntaxError` or `ValueError` for data that is no
        JSON.
        """
        frames: list[Frame] = []
        for line in self.lines(item):
            if not line:
                frames += self._dispatch()
                continue
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "data":
                self._data.append(value)
            elif name == "event":
                self._event = value
            elif name == "id" and "\0" not in value:
                self._id = value
        return frames

    def close(self, error: BaseException | None = None) -> list[Frame]:
        """Nothing: what is whole was given."""
        return []

    def _dispatch(self) -> list[Frame]:
        event, data, self._event, self._data = self._event, self._data, "", []
        if not data or not self._id.isdecimal():
            return []
        return [Frame(int(self._id), event or "message", from_json("\n".join(data)))]


@overload
def to_sse(items: AsyncIterable[Any], **options: Unpack[Options]) -> AsyncGenerator[str, None]: ...
@overload
def to_sse(items: Iterable[Any], **options: Unpack[Options]) -> Generator[str, None, None]: ...
def to_sse(items: Any, **options: Unpack[Options]) -> Any:
    """A run as server-sent events, each a `str` ready to be sent. `items` and the options are those of `to_frames`."""
    return drive(SSEEncoder(**options), items)


@overload
def from_sse(pieces: AsyncIterable[str | bytes]) -> AsyncGenerator[Frame, None]: ...
@overload
def from_sse(pieces: str | bytes | Iterable[str | bytes]) -> Generator[Frame, None, None]: ...
def from_sse(pieces: Any) -> Any:
    """The frames in a body of server-sent events, whole or in pieces of any size."""
    return drive(SSEDecoder(), whole(pieces))
