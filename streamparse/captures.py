"""Recorded streams and raw HTTP bodies: bytes or text in, the decoded chunks of the provider out.

    for chunk in captures.open("reply.sse"): ...          # dicts, or text; also a file object, `sys.stdin.buffer`, `-`
    decoder = captures.BodyDecoder()                      # sans-IO: feed(bytes | str) -> chunks, close() -> chunks

    format         what it is
    sse            `text/event-stream`: `data:` lines, event names, comments, `[DONE]`
    ndjson         one JSON chunk a line (`.ndjson`, `.jsonl`)
    json           a JSON array of chunks, or one chunk
    aws            `application/vnd.amazon.eventstream`, binary
    aws-json       the same as a JSON file: `{"content_type", "frames", "body_base64"}`
    text           anything else: the model's own text, as it is

The format is found in the first characters (`LOOK_AHEAD` at most) or named. A decoder hands out every chunk before a fault and raises
`ProviderError` at the next call, so that what came before it is never lost.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import json
import re
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, cast

from .adapters import recognises
from .errors import ProviderError, UsageError

Format = Literal["sse", "ndjson", "json", "aws", "aws-json", "text"]

LOOK_AHEAD = 64 * 1024
"""Characters that may be held back until the format is known. The first line of a recorded stream may hold all tools of a request."""

READ_SIZE = 64 * 1024


class Decoder(Protocol):
    """Turns the pieces of a body into chunks. `feed` never raises for the piece it is given: the next call does."""

    def feed(self, piece: str) -> list[Any]:
        """The chunks that `piece` completes."""
        ...

    def close(self) -> list[Any]:
        """The last chunks. Raises `ProviderError` where the body ended in the middle of one."""
        ...


def _first_line(text: str) -> str:
    line = text.lstrip("\ufeff \t\r\n").split("\n", 1)[0].rstrip("\r")
    return line if len(line) <= 200 else line[:200] + "…"


def _broken(what: str, text: str, hint: str | None = None) -> ProviderError:
    return ProviderError(f"{what}: {_first_line(text)!r}", details={"text": text[:2000]}, hint=hint)


class _Faults:
    """Base of the decoders: keeps a fault for the next call."""

    def __init__(self) -> None:
        self._fault: ProviderError | None = None

    def _check(self) -> None:
        if self._fault is not None:
            raise self._fault


class SSEDecoder(_Faults):
    """Server-sent events by the rules of the WHATWG: lines end with CR, LF or CRLF and with nothing else, a blank line ends an event.

    A chunk is the JSON in the data of one event. `[DONE]` gives none. A name other than `message` becomes the chunk's `type` where it
    has none. Data that is no JSON is a fault, but under the name `error` it is the message of one. The line `error: {…}`, which is no
    field of the standard, is read as an error event: some servers send it. A last event without its blank line counts where it is whole.
    """

    _LINE = re.compile(r"\r\n|\r|\n")

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[str] = []
        self._after_cr = False
        self._at_start = True
        self._data: list[str] = []
        self._event = ""

    def feed(self, piece: str) -> list[Any]:
        """The chunks of the events that end in `piece`."""
        self._check()
        chunks: list[Any] = []
        if self._at_start and piece:
            piece = piece.removeprefix("\ufeff")
            self._at_start = False
        if self._after_cr and piece:
            # The CR ended a line at once, so that its event does not wait; an LF that follows belongs to it.
            piece = piece.removeprefix("\n")
            self._after_cr = False
        position = 0
        for match in self._LINE.finditer(piece):
            self._parts.append(piece[position : match.start()])
            position = match.end()
            self._after_cr = match[0] == "\r" and position == len(piece)
            line, self._parts = "".join(self._parts), []
            self._line(line, chunks)
            if self._fault is not None:
                return chunks
        if position < len(piece):
            self._parts.append(piece[position:])
        return chunks

    def close(self) -> list[Any]:
        """The last event, where it lacks only its blank line."""
        self._check()
        chunks: list[Any] = []
        rest = "".join(self._parts)
        self._parts = []
        if rest:
            self._line(rest, chunks)
        if self._fault is None and self._data:
            self._dispatch(chunks)
        if self._fault is not None:
            what = "the stream ended in the middle of an event" if rest else self._fault.message.partition(": ")[0]
            raise _broken(what, rest or "\n".join(self._data))
        return chunks

    def _line(self, line: str, chunks: list[Any]) -> None:
        if not line:
            self._dispatch(chunks)
            return
        name, colon, value = line.partition(":")
        value = value.removeprefix(" ")
        if not name and colon:
            return  # a comment
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "error":
            self._event = "error"
            self._data.append(value)
        elif name not in ("id", "retry") and line.lstrip().startswith(("<", "{", "[")):
            # By the standard an unknown field is skipped; a page or a bare JSON error is no field.
            self._fault = _broken("a line that is no part of an event stream", line)

    def _dispatch(self, chunks: list[Any]) -> None:
        data, event = "\n".join(self._data), self._event
        self._data, self._event = [], ""
        if not data.strip() or data.strip() == "[DONE]":
            return
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError):
            if event == "error":
                chunks.append({"type": "error", "error": {"message": data}})
                return
            self._data = [data]
            self._fault = _broken("invalid JSON in the data of an event", data)
            return
        if not isinstance(chunk, dict):
            chunk = {"error": {"message": chunk}} if event == "error" else {"data": chunk}
        named = cast("dict[str, Any]", chunk)
        if event == "error" and "error" not in named and named.get("type") != "error":
            chunk = {"type": "error", "error": named}
        elif event and event != "message" and "type" not in named and "event_type" not in named:
            chunk = {"type": event, **named}
        chunks.append(chunk)


class NDJSONDecoder(_Faults):
    """One JSON value a line; empty lines are skipped."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[str] = []

    def feed(self, piece: str) -> list[Any]:
        """The values of the lines that end in `piece`."""
        self._check()
        chunks: list[Any] = []
        lines = piece.split("\n")
        for line in lines[:-1]:
            self._parts.append(line)
            whole, self._parts = "".join(self._parts), []
            self._line(whole, chunks)
            if self._fault is not None:
                return chunks
        if lines[-1]:
            self._parts.append(lines[-1])
        return chunks

    def close(self) -> list[Any]:
        """The last line, which may lack its line end."""
        self._check()
        chunks: list[Any] = []
        self._line("".join(self._parts), chunks)
        self._check()
        return chunks

    def _line(self, line: str, chunks: list[Any]) -> None:
        line = line.strip("\ufeff \t\r")
        if line:
            try:
                chunks.append(json.loads(line))
            except (ValueError, RecursionError):
                self._fault = _broken("a line that is no JSON", line)


class JSONDecoder(_Faults):
    """A JSON array of chunks, handed out as they close (`ijson`), or one single chunk."""

    def __init__(self) -> None:
        super().__init__()
        import ijson

        self._error: type[Exception] = ijson.JSONError
        self._items_coro: Any = ijson.items_coro
        self._found: Any = ijson.sendable_list()
        self._coroutine: Any = None
        self._head = ""

    def feed(self, piece: str) -> list[Any]:
        """The chunks that end in `piece`."""
        self._check()
        if self._coroutine is None:
            piece = piece.lstrip(_BLANK)
        if not piece:
            return []  # to ijson an empty piece is the end
        if self._coroutine is None:
            self._coroutine = self._items_coro(self._found, "item" if piece[0] == "[" else "", use_float=True)
        if len(self._head) < _QUOTED:
            self._head += piece[:_QUOTED]
        try:
            self._coroutine.send(piece.encode("utf-8", "replace"))
        except self._error:
            self._fault = _broken("the body is no JSON", self._head)
        return self._take()

    def close(self) -> list[Any]:
        """The last chunks."""
        self._check()
        if self._coroutine is not None:
            try:
                self._coroutine.close()
            except self._error:
                raise _broken("the body ended before its JSON did", self._head) from None
        return self._take()

    def _take(self) -> list[Any]:
        chunks = list(self._found)
        self._found.clear()
        return chunks


class AWSDecoder(_Faults):
    """`application/vnd.amazon.eventstream`: frames of a prelude (two lengths and their CRC), headers, a payload and a CRC.

    A chunk is `{event type: payload}`, as botocore gives it; an exception frame is `{exception type: payload}`. Takes bytes.
    """

    _PRELUDE: ClassVar[struct.Struct] = struct.Struct("!III")
    _FIXED: ClassVar[dict[int, int]] = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
    _MAX_FRAME = 32 * 1024 * 1024  # AWS allows 16 MB of payload

    def __init__(self) -> None:
        super().__init__()
        self._buffer = bytearray()

    def feed(self, piece: bytes) -> list[Any]:
        """The chunks of the frames that end in `piece`."""
        self._check()
        self._buffer += piece
        chunks: list[Any] = []
        while self._fault is None and len(self._buffer) >= self._PRELUDE.size:
            length, header_length, crc = self._PRELUDE.unpack_from(self._buffer)
            sane = 16 + header_length <= length <= self._MAX_FRAME
            if not sane or zlib.crc32(self._buffer[:8]) != crc:
                self._fault = _broken("a frame of the event stream is damaged", repr(bytes(self._buffer[:32])))
            elif len(self._buffer) < length:
                break
            else:
                frame = bytes(self._buffer[:length])
                del self._buffer[:length]
                self._frame(frame, header_length, chunks)
        return chunks

    def close(self) -> list[Any]:
        """Nothing; raises where the body ended inside a frame."""
        self._check()
        if self._buffer:
            raise _broken("the stream ended in the middle of a frame", repr(bytes(self._buffer[:64])))
        return []

    def _frame(self, frame: bytes, header_length: int, chunks: list[Any]) -> None:
        (crc,) = struct.unpack("!I", frame[-4:])
        if zlib.crc32(frame[:-4]) != crc:
            self._fault = _broken("a frame of the event stream is damaged", repr(frame[:32]))
            return
        headers = self._headers(frame[12 : 12 + header_length])
        payload = frame[12 + header_length : -4].decode("utf-8", "replace")
        chunks.append(aws_chunk(headers, payload))

    def _headers(self, data: bytes) -> dict[str, str]:
        """The headers that hold text; those of other types say nothing that is needed here."""
        headers: dict[str, str] = {}
        position = 0
        while position < len(data):
            name_end = position + 1 + data[position]
            name = data[position + 1 : name_end].decode("utf-8", "replace")
            kind = data[name_end] if name_end < len(data) else 0
            position = name_end + 1
            if kind in (6, 7):
                size = int.from_bytes(data[position : position + 2], "big")
                headers[name] = data[position + 2 : position + 2 + size].decode("utf-8", "replace")
                position += 2 + size
            else:
                position += self._FIXED.get(kind, len(data))
        return headers


def aws_chunk(headers: dict[str, str], payload: Any) -> dict[str, Any]:
    """The chunk of one frame, from its headers and its payload (text of JSON, or decoded)."""
    if isinstance(payload, str):
        try:
            payload = json.loads(payload)
        except (ValueError, RecursionError):
            payload = {"message": payload}
    if headers.get(":message-type") == "error":
        return {"error": {"code": headers.get(":error-code"), "message": headers.get(":error-message")}}
    return {headers.get(":exception-type") or headers.get(":event-type") or "event": payload}


class AWSJSONDecoder(_Faults):
    """A recorded event stream as one JSON file; it is read whole. What is no such file after all is text."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[str] = []

    def feed(self, piece: str) -> list[Any]:
        """Nothing yet."""
        self._parts.append(piece)
        return []

    def close(self) -> list[Any]:
        """All chunks: of the body's bytes where they are there, else of the decoded frames."""
        whole = "".join(self._parts)
        try:
            data = json.loads(whole)
        except (ValueError, RecursionError):
            raise _broken("the recorded event stream is no JSON", whole) from None
        body = data.get("body_base64") if isinstance(data, dict) else None
        frames = data.get("frames") if isinstance(data, dict) else None
        if isinstance(body, str):
            decoder = AWSDecoder()
            try:
                chunks = decoder.feed(base64.b64decode(body, validate=True))
            except binascii.Error:
                raise _broken("the recorded event stream is no base64", body) from None
            return chunks + decoder.close()
        if isinstance(frames, list) and all(isinstance(frame, dict) for frame in cast("list[Any]", frames)):
            return [aws_chunk(frame.get("headers") or {}, frame.get("payload")) for frame in cast("list[Any]", frames)]
        return [whole]


class TextDecoder:
    """The model's own text, as it is."""

    def feed(self, piece: str) -> list[Any]:
        """The piece itself."""
        return [piece] if piece else []

    def close(self) -> list[Any]:
        """Nothing."""
        return []


# -- which format it is --------------------------------------------------------------------------------------------------

_BLANK = "\ufeff \t\r\n"
_QUOTED = 2000
_PAGE = re.compile(r"<(!doctype\s+html|html\b|\?xml\b)", re.IGNORECASE)
_SSE_DECISIVE = re.compile(r"data: ?\S|event: ?[\w.:/-]+$|error: ?\{")
_SSE_NEUTRAL = re.compile(r":|data:\s*$|id: ?\S*$|retry: ?\d*$")
_SSE_PREFIX = ("data:", "event:", "error:", "id:", "retry:")
_FIRST_KEY = re.compile(r'\[?\s*\{\s*"((?:[^"\\]|\\.)*)"\s*:')
_AWS_JSON_KEYS = ("content_type", "frames", "body_base64")
# The first keys of the chunks of all shapes. Text that begins with another key is the model's own, at once.
_CHUNK_KEYS = frozenset(
    (
        "candidates", "choices", "chunk", "citations", "contentBlockDelta", "contentBlockIndex", "contentBlockStart", "created",
        "created_at", "data", "delta", "done", "error", "event", "event_id", "event_kind", "event_type", "finish_reason", "generation",
        "id", "index", "interaction", "interaction_id", "is_finished", "item", "item_id", "message", "messageStart", "messageStop",
        "metadata", "model", "modelVersion", "object", "output_index", "p", "part", "promptFeedback", "provider", "response",
        "responseId", "sequence_number", "service_tier", "step", "system_fingerprint", "text", "type", "usage", "usageMetadata",
        "x_groq",
    )
)  # fmt: skip


class _FirstValue:
    """Finds where the first JSON object of an array ends, reading each character once."""

    _MARKS = re.compile(r'["\\{}]')

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._position = 0

    def end(self, text: str) -> int | None:
        """The offset after the closing brace; None where it is not there yet. `text` grows from call to call."""
        skip = -1
        for match in self._MARKS.finditer(text, self._position):
            mark, at = match[0], match.start()
            if at == skip:
                continue
            if mark == "\\":
                if at + 1 == len(text):
                    self._position = at
                    return None
                skip = at + 1
            elif mark == '"':
                self._in_string = not self._in_string
            elif not self._in_string:
                self._depth += 1 if mark == "{" else -1
                if self._depth == 0:
                    return at + 1
        self._position = len(text)
        return None


class _Sniffer:
    """Tells the format from the first characters."""

    def __init__(self) -> None:
        self._value = _FirstValue()

    def format(self, text: str, ended: bool) -> Format | Literal["page"] | None:
        """The format; None while more text is needed. With `ended`, or at `LOOK_AHEAD` characters, it is never None."""
        start = text.lstrip(_BLANK)
        final = ended or len(text) >= LOOK_AHEAD
        if not start:
            return "text" if final else None
        found: Format | Literal["page"] | None
        if start[0] in "{[":
            found = self._json(start, final)
        elif start[0] == "<":
            found = "page" if _PAGE.match(start) else None if len(start) < 16 else "text"
        else:
            found = self._sse(start, ended)
        return found or ("text" if final else None)

    def _sse(self, start: str, ended: bool) -> Format | None:
        lines = re.split(r"\r\n|\r|\n", start)
        for number, line in enumerate(lines):
            whole = ended or number < len(lines) - 1
            if not whole and len(line) < len("retry:") and any(mark.startswith(line) for mark in _SSE_PREFIX):
                return None
            if _SSE_DECISIVE.match(line) and (whole or line.startswith(("data:", "error:"))):
                return "sse"
            if line and not _SSE_NEUTRAL.match(line) and not (not whole and line.startswith(_SSE_PREFIX)):
                return "text"
        return "sse" if ended else None

    def _json(self, start: str, final: bool) -> Format | None:
        key = _FIRST_KEY.match(start)
        if key is None:
            unfinished = re.fullmatch(r'\[?\s*(\{\s*("[^"]{0,64}"?\s*)?)?', start)
            return None if unfinished and not final else "text"
        if start[0] == "{":
            if key[1] in _AWS_JSON_KEYS:
                return "aws-json"
            line, end, _ = start.partition("\n")
            if key[1] == "error" and not _is_json(line):
                return self._single(start)
            if key[1] not in _CHUNK_KEYS:
                return "text"
            if not end and not final:
                return None
            return "ndjson" if _is_chunk(line) else "text"
        if key[1] not in _CHUNK_KEYS:
            return "text"
        end_of_first = self._value.end(start)
        if end_of_first is None:
            return None
        return "json" if _is_chunk(start[start.index("{") : end_of_first]) else "text"

    def _single(self, start: str) -> Format | None:
        end = self._value.end(start)
        if end is None:
            return None
        return "json" if _is_chunk(start[:end]) else "text"


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _is_chunk(text: str) -> bool:
    """Whether `text` is the JSON of a chunk: of a known shape, or an error object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, dict):
        return False
    return recognises(value) or (
        set(cast("dict[str, Any]", value)) <= {"error", "type", "request_id"} and "error" in value
    )


_CONTENT_TYPES: dict[str, Format] = {
    "text/event-stream": "sse",
    "application/x-ndjson": "ndjson",
    "application/ndjson": "ndjson",
    "application/jsonl": "ndjson",
    "application/vnd.amazon.eventstream": "aws",
}
_PAGES = ("text/html", "application/xhtml+xml", "text/xml", "application/xml")
FORMATS: tuple[Format, ...] = ("sse", "ndjson", "json", "aws", "aws-json", "text")


class BodyDecoder:
    """Decodes a body whose format is named, given by its `content_type`, or found in its first characters.

        decoder = BodyDecoder(format=None, content_type=None, eager=False)
        chunks = decoder.feed(piece)     # bytes or str; every chunk before a fault
        chunks = decoder.close()         # the last ones; both raise ProviderError for a fault that the call before met

    Pieces may be lines without their ends, as `iter_lines()` of an HTTP client gives them. `eager` decides by the first piece alone and
    holds nothing back: for live text, which must not wait until it is known not to be a body. After the first chunks `format` is set.
    """

    def __init__(self, *, format: Format | None = None, content_type: str | None = None, eager: bool = False) -> None:  # noqa: A002
        if format is not None and format not in FORMATS:
            raise UsageError(f"unknown format {format!r}", expected=", ".join(FORMATS))
        kind = (content_type or "").partition(";")[0].strip().lower()
        self.format: Format | None = format or _CONTENT_TYPES.get(kind)
        self._is_page = kind in _PAGES
        self._must_be_known = kind == "application/json"
        self._eager = eager
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._decoder: Decoder | None = None
        self._aws: AWSDecoder | None = None
        self._sniffer = _Sniffer()
        self._held = ""
        self._lines: bool | None = None
        self._first_line: str | None = None

    def feed(self, piece: bytes | str) -> list[Any]:
        """The chunks that `piece` completes."""
        if isinstance(piece, str):
            text = piece
        else:
            if self._aws is None and self._decoder is None and not self._held and self._is_aws(piece):
                self.format = "aws"
                self._aws = AWSDecoder()
            if self._aws is not None:
                return self._aws.feed(bytes(piece))
            text = self._utf8.decode(bytes(piece))
        return self._feed_lines(text) if self._lines is not False else self._feed_text(text)

    def close(self) -> list[Any]:
        """The last chunks. Raises `ProviderError` where the body ended in the middle of one."""
        if self._aws is not None:
            return self._aws.close()
        chunks: list[Any] = []
        if self._first_line is not None:
            first, self._first_line = self._first_line, None
            chunks += self._feed_text(first)
        chunks += self._feed_text(self._utf8.decode(b"", final=True), ended=True)
        return chunks + (self._decoder.close() if self._decoder is not None else [])

    def _is_aws(self, piece: bytes) -> bool:
        # A frame begins with its length, below 16 MB: a zero byte, which no text begins with.
        return self.format == "aws" or (self.format is None and bytes(piece[:1]) == b"\0")

    def _feed_lines(self, text: str) -> list[Any]:
        """Find out whether the pieces are lines that lost their ends: the first one is whole, and the next one begins anew."""
        if self._lines:
            return self._feed_text(text + "\n")
        if self._first_line is None:
            if _is_whole_line(text):
                self._first_line = text
                return []
            self._lines = False if text else None
            return self._feed_text(text)
        first, self._first_line = self._first_line, None
        self._lines = not text or (text[0] not in "\r\n" and _is_whole_line(text))
        end = "\n" if self._lines else ""
        return self._feed_text(first + end) + self._feed_text(text + end)

    def _feed_text(self, text: str, *, ended: bool = False) -> list[Any]:
        if self._decoder is None:
            self._held += text
            if self._is_page and self._held.strip(_BLANK):
                raise _broken("the provider sent a page instead of a stream", self._held)
            if not self._held and not ended:
                return []
            found = self.format or self._sniffer.format(self._held, ended or self._eager)
            if found is None:
                return []
            text, self._held = self._held, ""
            self._decoder = self._start(found, text)
        return self._decoder.feed(text)

    def _start(self, found: str, text: str) -> Decoder:
        if found == "page":
            raise _broken("the provider sent a page instead of a stream", text)
        if found == "text" and self._must_be_known and text.strip(_BLANK):
            raise _broken("the provider sent JSON that is no stream of a known shape", text)
        self.format = cast("Format", found)
        if found == "aws":
            raise _broken("an AWS event stream is binary, this is text", text)
        decoders: dict[str, type[Decoder]] = {
            "sse": SSEDecoder,
            "ndjson": NDJSONDecoder,
            "json": JSONDecoder,
            "aws-json": AWSJSONDecoder,
            "text": TextDecoder,
        }
        return decoders[found]()


def _is_whole_line(text: str) -> bool:
    if not text or "\n" in text or "\r" in text:
        return False
    if text.startswith("data:"):
        data = text[5:].strip()
        return data == "[DONE]" or _is_json(data)
    if text.startswith((":", "id:", "retry:")):
        return True
    return bool(re.fullmatch(r"event: ?[\w.:/-]+", text)) or (text[0] == "{" and _is_chunk(text))


# -- files ---------------------------------------------------------------------------------------------------------------


def open(  # noqa: A001  # the name that the user reads: captures.open
    source: str | Path | Any,
    *,
    format: Format | None = None,  # noqa: A002
    content_type: str | None = None,
) -> Iterator[Any]:
    """The chunks of a recorded stream: dicts, or pieces of text.

    `source` is a path, `"-"` for standard input, or a file object (binary or text). Reads as much as there is, never more, so that
    chunks come out as input comes in. Raises `ProviderError` after the chunks before a fault, `UsageError` for another source,
    `OSError` where the file cannot be read.
    """
    if isinstance(source, str | Path) and source != "-":
        with Path(source).open("rb") as file:
            yield from decode(_pieces(file), format=format, content_type=content_type)
        return
    file = sys.stdin if source == "-" else source
    if not hasattr(file, "read"):
        raise UsageError(f"captures.open takes a path or a file, got {type(source).__name__}")
    yield from decode(_pieces(file), format=format, content_type=content_type)


def decode(
    pieces: Iterator[bytes | str],
    *,
    format: Format | None = None,  # noqa: A002
    content_type: str | None = None,
) -> Iterator[Any]:
    """The chunks of a body that comes in `pieces`."""
    decoder = BodyDecoder(format=format, content_type=content_type)
    for piece in pieces:
        yield from decoder.feed(piece)
    yield from decoder.close()


def _pieces(file: Any) -> Iterator[bytes | str]:
    file = getattr(file, "buffer", file)
    read = getattr(file, "read1", file.read)
    while piece := read(READ_SIZE):
        yield piece
