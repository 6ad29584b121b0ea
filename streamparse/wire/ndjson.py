"""NDJSON: one frame a line, `{"id":1,"event":"field","data":{…}}`."""

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

MEDIA_TYPE: Final = "application/x-ndjson"


def write_ndjson(frame: Frame) -> str:
    """A frame as one line."""
    return f'{{"id":{frame.id},"event":{to_json(frame.event)},"data":{to_json(frame.data)}}}\n'


class NDJSONEncoder(Encoder[str]):
    """Items in, lines out."""

    def _encode(self, message: ResultMessage) -> list[str]:
        return [write_ndjson(self._number(message))]


class NDJSONDecoder(LineDecoder):
    """Lines in, as text or bytes in pieces of any size; frames out.

    Empty lines are skipped. A last line without its line end counts where it is whole, else it is dropped.
    """

    def feed(self, item: str | bytes) -> list[Frame]:
        """The frames of the lines that end in `item`. Raises `ValueError` for a line that is no frame."""
        return [_frame(line) for line in self.lines(item) if line.strip()]

    def close(self, error: BaseException | None = None) -> list[Frame]:
        """The last frame, where it lacks only its line end."""
        rest = self.rest.strip()
        return [_frame(rest)] if rest.endswith("}") and _is_json(rest) else []


def _frame(line: str) -> Frame:
    value = from_json(line)
    try:
        return Frame(value["id"], value["event"], value["data"])
    except (KeyError, TypeError):
        raise ValueError(f"a line is no frame: {line[:80]!r}") from None


def _is_json(text: str) -> bool:
    try:
        from_json(text)
    except ValueError:
        return False
    return True


@overload
def to_ndjson(items: AsyncIterable[Any], **options: Unpack[Options]) -> AsyncGenerator[str, None]: ...
@overload
def to_ndjson(items: Iterable[Any], **options: Unpack[Options]) -> Generator[str, None, None]: ...
def to_ndjson(items: Any, **options: Unpack[Options]) -> Any:
    """A run as lines of JSON, each ready to be sent. `items` and the options are those of `to_frames`."""
    return drive(NDJSONEncoder(**options), items)


@overload
def from_ndjson(pieces: AsyncIterable[str | bytes]) -> AsyncGenerator[Frame, None]: ...
@overload
def from_ndjson(pieces: str | bytes | Iterable[str | bytes]) -> Generator[Frame, None, None]: ...
def from_ndjson(pieces: Any) -> Any:
    """The frames in a body of NDJSON, whole or in pieces of any size."""
    return drive(NDJSONDecoder(), whole(pieces))
