"""Decoders of recorded formats: pieces of a body in, chunks out. Sans-IO.

Each hands out every chunk before a fault and raises `ProviderError` at the next call.
"""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from decimal import Decimal
from typing import Any, ClassVar, Protocol

from ..adapters.base import is_dict, is_list
from ..errors import ProviderError

BLANK = "\ufeff \t\r\n"
QUOTED = 2000  # characters of a faulty body that the error keeps


class Decoder(Protocol):
    """Turns the pieces of a body into chunks. `feed` never raises for the piece it is given: the next call does."""

    def feed(self, piece: str) -> list[Any]:
        """The chunks that `piece` completes."""
        ...

    def close(self) -> list[Any]:
        """The last chunks. Raises `ProviderError` where the body ended in the middle of one."""
        ...


def first_line(text: str) -> str:
    """The first line of `text` that is not blank, shortened."""
    line = text.lstrip("\ufeff \t\r\n").split("\n", 1)[0].rstrip("\r")
    return line if len(line) <= 200 else line[:200] + "…"


def broken(what: str, text: str, hint: str | None = None) -> ProviderError:
    """The error for a body that is not what it should be; it quotes the first line of what came."""
    return ProviderError(f"{what}: {first_line(text)!r}", details={"text": text[:2000]}, hint=hint)


class _Faults:
    """Base of the decoders: keeps a fault for the next call."""

    def __init__(self) -> None:
        self._fault: ProviderError | None = None

    def _check(self) -> None:
        if self._fault is not None:
            raise self._fault


class SSEDecoder(_Faults):
    """Server-sent events by the rules of the WHATWG: lines end with CR, LF or CRLF and with nothing else, a blank line
    ends an event.

    A chunk is the JSON in the data of one event. `[DONE]` gives none. A name other than `message` becomes the chunk's
    `type` where it has none. Data that is no JSON is a fault, but under the name `error` it is the message of one. Two
    things that some servers send are errors, though the standard does not know them: a line `error: {…}`, and a line
    that is a JSON object with an `error`. A last event without its blank line counts where it is whole. Fields that are
    not known are skipped, as the standard wants it, but a body that has no other ones is a fault.
    """

    _LINE = re.compile(r"\r\n|\r|\n")
    _FIELDS = frozenset({"data", "event", "id", "retry", "error"})

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[str] = []
        self._after_cr = False
        self._at_start = True
        self._data: list[str] = []
        self._event = ""
        self._first: str | None = None  # the first line that is no field, while there was no field yet
        self._known = False  # whether there was one

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
        if self._fault is None and self._first is not None and not self._known:
            self._fault = broken("a body that is no event stream", self._first)
            raise self._fault
        if self._fault is not None:
            what = "the stream ended in the middle of an event" if rest else self._fault.message.partition(": ")[0]
            raise broken(what, rest or "\n".join(self._data))
        return chunks

    def _line(self, line: str, chunks: list[Any]) -> None:
        if not line:
            self._dispatch(chunks)
            return
        name, colon, value = line.partition(":")
        value = value.removeprefix(" ")
        if not name and colon:
            return  # a comment
        self._known = self._known or name in self._FIELDS
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "error":
            self._event = "error"
            self._data.append(value)
        elif name in self._FIELDS:
            return  # where to go on, and when to come back: of no use here
        elif (error := _bare_error(line)) is not None:
            chunks.append(error)
        elif line.lstrip().startswith(("<", "{", "[")):
            # By the standard an unknown field is skipped; a page or bare JSON is no field.
            self._fault = broken("a line that is no part of an event stream", line)
        elif self._first is None:
            self._first = line

    def _dispatch(self, chunks: list[Any]) -> None:
        data, event = "\n".join(self._data), self._event
        self._data, self._event = [], ""
        if not data.strip() or data.strip() == "[DONE]":
            return
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError):
            if event == "error" and not data.lstrip().startswith(("{", "[")):
                chunks.append({"type": "error", "error": {"message": data}})
                return
            self._data = [data]
            self._fault = broken("invalid JSON in the data of an event", data)
            return
        if not is_dict(chunk):
            chunk = {"error": {"message": chunk}} if event == "error" else {"data": chunk}
        if event == "error" and "error" not in chunk and chunk.get("type") != "error":
            chunk = {"type": "error", "error": chunk}
        elif event and event != "message" and "type" not in chunk and "event_type" not in chunk:
            chunk = {"type": event, **chunk}
        chunks.append(chunk)


def _bare_error(line: str) -> dict[str, Any] | None:
    """The JSON error that a server wrote without its `data:`; None where `line` is none."""
    try:
        value = json.loads(line) if line.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return None
    return value if is_dict(value) and "error" in value else None


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
                self._fault = broken("a line that is no JSON", line)


class JSONDecoder(_Faults):
    """A JSON array of chunks, handed out as they close (`ijson`), or one single chunk."""

    _ENDS = re.compile(r"[}\],]")  # one of these stands where a chunk ends
    _DEPTH = 1000  # about what `json` reads in the other formats

    def __init__(self) -> None:
        super().__init__()
        import ijson

        # Not the C backend, which crashes on an integer of 4,301 digits (ijson 3.6); and events without their prefix,
        # whose length grows with the depth.
        backend: Any = ijson.get_backend("python")  # pyright: ignore[reportUnknownMemberType]
        self._basic_parse: Any = backend.basic_parse_coro
        self._error: type[Exception] = ijson.JSONError
        self._found: Any = ijson.sendable_list()
        self._coroutine: Any = None
        self._builder: Any = ijson.ObjectBuilder()
        self._in_array = False
        self._parts: list[str] = []  # text in which no chunk ends
        self._head = ""

    def feed(self, piece: str) -> list[Any]:
        """The chunks that end in `piece`."""
        self._check()
        if self._coroutine is None:
            piece = piece.lstrip(BLANK)
            if not piece:
                return []
            self._coroutine = self._basic_parse(self._found, use_float=False)
            self._in_array = piece[0] == "["
        if len(self._head) < QUOTED:
            self._head += piece[:QUOTED]
        self._parts.append(piece)
        # ijson looks at an open string again with every piece: it gets them when there may be something to find.
        return self._send() if self._ENDS.search(piece) is not None else []

    def close(self) -> list[Any]:
        """The last chunks."""
        self._check()
        if self._coroutine is None:
            return []
        chunks = self._send()
        self._check()
        try:
            self._coroutine.close()
        except (self._error, ValueError):
            raise broken("the body ended before its JSON did", self._head) from None
        return chunks + self._take()

    def _send(self) -> list[Any]:
        text, self._parts = "".join(self._parts), []
        wrong = False
        if text:  # to ijson an empty piece is the end
            try:
                self._coroutine.send(text.encode("utf-8", "replace"))
            except (self._error, ValueError):
                wrong = True
        chunks = self._take()
        if wrong:
            self._fault = broken("the body is no JSON", self._head)
        return chunks

    def _take(self) -> list[Any]:
        chunks: list[Any] = []
        for event, value in self._found:
            self._builder.event(event, float(value) if isinstance(value, Decimal) else value)
            containers: list[Any] = self._builder.containers
            if len(containers) > self._DEPTH:
                self._fault = broken("the body is nested too deeply", self._head)
                break
            if self._in_array and len(containers) == 1:
                chunks += containers[0]
                containers[0].clear()
            elif not self._in_array and not containers:
                chunks.append(self._builder.value)
        self._found.clear()
        return chunks


class AWSDecoder(_Faults):
    """`application/vnd.amazon.eventstream`: frames of a prelude (two lengths and their CRC), headers, a payload and a
    CRC.

    A chunk is `{event type: payload}`, as botocore gives it; an exception frame is `{exception type: payload}`. Takes
    bytes.
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
                self._fault = broken("a frame of the event stream is damaged", repr(bytes(self._buffer[:32])))
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
            raise broken("the stream ended in the middle of a frame", repr(bytes(self._buffer[:64])))
        return []

    def _frame(self, frame: bytes, header_length: int, chunks: list[Any]) -> None:
        (crc,) = struct.unpack("!I", frame[-4:])
        if zlib.crc32(frame[:-4]) != crc:
            self._fault = broken("a frame of the event stream is damaged", repr(frame[:32]))
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


def _texts(headers: Any) -> dict[str, str]:
    """The headers that hold text, as they are in the binary form."""
    return {name: value for name, value in headers.items() if isinstance(value, str)} if is_dict(headers) else {}


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
            raise broken("the recorded event stream is no JSON", whole) from None
        fields = data if is_dict(data) else {}
        body, frames = fields.get("body_base64"), fields.get("frames")
        if isinstance(body, str):
            decoder = AWSDecoder()
            try:
                chunks = decoder.feed(base64.b64decode(body, validate=True))
            except ValueError:
                raise broken("the recorded event stream is no base64", body) from None
            return chunks + decoder.close()
        if is_list(frames):
            return [aws_chunk(_texts(frame.get("headers")), frame.get("payload")) for frame in frames if is_dict(frame)]
        return [whole]


class TextDecoder:
    """The model's own text, as it is."""

    def feed(self, piece: str) -> list[Any]:
        """The piece itself."""
        return [piece] if piece else []

    def close(self) -> list[Any]:
        """Nothing."""
        return []
