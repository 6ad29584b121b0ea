"""Which format a body has, told from its first characters."""

from __future__ import annotations

import json
import re
from typing import Literal

from ..adapters import recognises
from ..adapters.base import is_dict
from .decoders import BLANK

Format = Literal["sse", "ndjson", "json", "aws", "aws-json", "text"]
Page = Literal["page"]

LOOK_AHEAD = 256 * 1024
"""Characters held back at most until the format is known. A stream's first line may repeat all tools of a request."""

_PAGE = re.compile(r"<(!doctype\s+html|html\b|\?xml\b)", re.IGNORECASE)
_SSE_DECISIVE = re.compile(r"data: ?\S|event: ?[\w.:/-]+$|error: ?\{")
_SSE_NEUTRAL = re.compile(r":|data:\s*$|id: ?\S*$|retry: ?\d*$")
_SSE_PREFIX = ("data:", "event:", "error:", "id:", "retry:")
_FIRST_KEY = re.compile(r'\[?\s*\{\s*"((?:[^"\\]|\\.)*)"\s*:')
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
    """Tells the format from the first characters."""

    def __init__(self) -> None:
        self._value = _FirstValue()

    def format(self, text: str, ended: bool) -> Format | Page | None:
        """The format; None while more text is needed. With `ended`, or at `LOOK_AHEAD` characters, it is never None."""
        start = text.lstrip(BLANK)
        final = ended or len(text) >= LOOK_AHEAD
        if not start:
            return "text" if final else None
        found: Format | Page | None
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
            if key[1] == "error" and not is_json(line):
                return self._single(start)
            if key[1] not in _CHUNK_KEYS:
                return "text"
            if not end and not final:
                return None
            return "ndjson" if is_chunk(line) else "text"
        if key[1] not in _CHUNK_KEYS:
            return "text"
        end_of_first = self._value.end(start)
        if end_of_first is None:
            return None
        return "json" if is_chunk(start[start.index("{") : end_of_first]) else "text"

    def _single(self, start: str) -> Format | None:
        end = self._value.end(start)
        if end is None:
            return None
        return "json" if is_chunk(start[:end]) else "text"


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
