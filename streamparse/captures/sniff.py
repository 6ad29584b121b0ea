"""Which format a body has, told from its first characters."""

from __future__ import annotations

import json
import re
from typing import Literal

from ..adapters import recognises
from ..adapters.base import is_dict
from .decoders import BLANK, QUOTED

Format = Literal["sse", "ndjson", "json", "aws", "aws-json", "text"]
Page = Literal["page"]

LOOK_AHEAD = 256 * 1024
"""Characters held back at most until the format is known. A stream's first line may repeat all tools of a request."""

_PAGE = re.compile(r"<(!doctype\s+html|html\b|\?xml\b)", re.IGNORECASE)
_SSE_DECISIVE = re.compile(r"data: ?\S|event: ?[\w.:/-]+$|error: ?\{")
_SSE_NEUTRAL = re.compile(r":|data:\s*$|id: ?\S*$|retry: ?\d*$")
_COMMENTS = re.compile(r"(?::[^\r\n]*[\r\n]+)*(?::[^\r\n]*\Z)?")
_COLON_VALUE = re.compile(r":\s*(?:[\"\[{\d-]|true|false|null)")  # how a text goes on whose beginning the caller wrote
_SSE_PREFIX = ("data:", "event:", "error:", "id:", "retry:")
_FIRST_KEY = re.compile(r'\[?\s*\{\s*"((?:[^"\\]|\\.)*)"\s*:')
_UNFINISHED_KEY = re.compile(r'\[?\s*(\{\s*("[^"]{0,64}"?\s*)?)?')
_PAGE_MARK = len("<!doctype html") + 2  # it may have a second blank
_AWS_JSON_KEYS = ("content_type", "frames", "body_base64")
# The first keys of the chunks of all shapes. Text that begins with another key is the model's own, at once.
_CHUNK_KEYS = frozenset(
    (
        "candidates", "choices", "chunk", "citations", "contentBlockDelta", "contentBlockIndex", "contentBlockStart",
        "created", "created_at", "data", "delta", "done", "error", "event", "event_id", "event_kind", "event_type",
        "finish_reason", "generation", "id", "index", "interaction", "interaction_id", "is_finished", "item", "item_id",
        "message", "messageStart", "messageStop", "metadata", "model", "modelVersion", "object", "output_index", "p",
        "part", "promptFeedback", "provider", "response", "responseId", "sequence_number", "service_tier", "step",
        "system_fingerprint", "text", "type", "usage", "usageMetadata", "x_groq",
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


class Sniffer:
    """Tells the format from the first characters; holds them until it knows.

    The text is looked at again only when a character came that can decide, so that tiny pieces cost no more than large
    ones.
    """

    def __init__(self, *, is_page: bool = False) -> None:
        self._is_page = is_page
        self._parts: list[str] = []
        self._size = 0
        self._awaited = ""
        self._value = _FirstValue()

    def feed(self, piece: str, *, final: bool, eager: bool = False) -> Format | Page | None:
        """The format; None while more text is needed. With `final`, or at `LOOK_AHEAD` characters, it is never None;
        with `eager` only while there is nothing but the beginning of a field's name.
        """
        self._parts.append(piece)
        self._size += len(piece)
        final = final or self._size >= LOOK_AHEAD
        if self._awaited and not (final or eager) and not any(mark in piece for mark in self._awaited):
            return None
        self._awaited = ""
        self._parts = ["".join(self._parts)]
        start = self._parts[0].lstrip(BLANK)
        if not start:
            return "text" if final else None
        rest = start
        if eager and start[0] == ":" and len(start) <= QUOTED:
            # Comments of an event stream, or live text that begins with a colon.
            if _COLON_VALUE.match(start):
                return "text"
            rest = start[_COMMENTS.match(start).end() :]  # type: ignore[union-attr]  # matches always, if nothing
            if final and not rest:
                return "sse" if start[-1] in "\r\n" else "text"
        final = final or (eager and not any(mark.startswith(rest) for mark in _SSE_PREFIX))
        found: Format | Page | None
        if self._is_page or start[0] == "<":
            found = self._page(start, final)
        elif start[0] == "{":
            found = self._object(start, final)
        elif start[0] == "[":
            found = self._array(start)
        else:
            found = self._sse(start, final)
        return found or ("text" if final else None)

    def take(self) -> str:
        """The text that is held."""
        text, self._parts, self._size = "".join(self._parts), [], 0
        return text

    def _await(self, marks: str) -> None:
        self._awaited = marks

    def _page(self, start: str, final: bool) -> Format | Page | None:
        if self._is_page or _PAGE.match(start):
            # The error shows the first line, so it has to be there.
            return "page" if final or "\n" in start or len(start) > QUOTED else None
        return None if len(start) < _PAGE_MARK else "text"

    def _sse(self, start: str, final: bool) -> Format | None:
        lines = re.split(r"\r\n|\r|\n", start)
        for number, line in enumerate(lines):
            whole = final or number < len(lines) - 1
            if not whole and len(line) < len("retry:") and any(mark.startswith(line) for mark in _SSE_PREFIX):
                return None
            if _SSE_DECISIVE.match(line) and (whole or line.startswith(("data:", "error:"))):
                return "sse"
            if line and not _SSE_NEUTRAL.match(line) and not (not whole and line.startswith(_SSE_PREFIX)):
                return "text"
        self._await("\r\n")
        return "sse" if final else None

    def _object(self, start: str, final: bool) -> Format | None:
        key = _FIRST_KEY.match(start)
        if key is None:
            return None if _UNFINISHED_KEY.fullmatch(start) else "text"
        if key[1] in _AWS_JSON_KEYS:
            return "aws-json"
        if key[1] not in _CHUNK_KEYS:
            return "text"
        line, end, _ = start.partition("\n")
        if key[1] == "error" and (not end or not is_json(line)):
            return self._first_chunk(start)  # an error may be printed over several lines
        if not end and not final:
            self._await("\n")
            return None
        return "ndjson" if is_chunk(line) else "text"

    def _array(self, start: str) -> Format | None:
        key = _FIRST_KEY.match(start)
        if key is None:
            return None if _UNFINISHED_KEY.fullmatch(start) else "text"
        return self._first_chunk(start) if key[1] in _CHUNK_KEYS else "text"

    def _first_chunk(self, start: str) -> Format | None:
        end = self._value.end(start)
        if end is None:
            self._await("}")
            return None
        return "json" if is_chunk(start[start.index("{") : end]) else "text"


def is_json(line: str) -> bool:
    """Whether `line` is JSON."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def is_chunk(text: str) -> bool:
    """Whether `text` is the JSON of a chunk: of a known shape, or an error object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if not is_dict(value):
        return False
    return recognises(value) or ("error" in value and value.keys() <= {"error", "type", "request_id"})


def is_whole_line(text: str) -> bool:
    """Whether `text` is one line of a body that lost its end: a field of an event stream, or a chunk."""
    if not text or "\n" in text or "\r" in text:
        return False
    if text.startswith("data:"):
        data = text[5:].strip()
        return data == "[DONE]" or is_json(data)
    if text.startswith((":", "id:", "retry:")):
        return True
    return bool(re.fullmatch(r"event: ?[\w.:/-]+", text)) or (text[0] == "{" and is_chunk(text))
