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

The format is found in the first characters (`LOOK_AHEAD` at most) or named. A decoder hands out every chunk before a
fault and raises `ProviderError` at the next call, so that what came before it is never lost.
"""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from ..decode import INVALID
from ..errors import UsageError
from .decoders import (
    BLANK,
    AWSDecoder,
    AWSJSONDecoder,
    Decoder,
    JSONDecoder,
    NDJSONDecoder,
    SSEDecoder,
    TextDecoder,
    broken,
)
from .sniff import LOOK_AHEAD, Format, Sniffer, is_whole_line

__all__ = ["FORMATS", "LOOK_AHEAD", "BodyDecoder", "Format", "decode", "open"]

READ_SIZE = 64 * 1024

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

    Pieces may be lines without their ends, as `iter_lines()` of an HTTP client gives them. `eager` decides by the first
    piece, and holds it back only where it may be the beginning of a field's name (`da`) or a comment (`: ping`): for
    live text, which must not wait until it is known not to be a body. After the first chunks `format` is set. A body
    that is no stream at all (a page) raises at once.
    """

    def __init__(self, *, format: Format | None = None, content_type: str | None = None, eager: bool = False) -> None:  # noqa: A002
        if format is not None and format not in FORMATS:
            raise UsageError(f"unknown format {format!r}", expected=", ".join(FORMATS))
        kind = (content_type or "").partition(";")[0].strip().lower()
        self.format: Format | None = format or _CONTENT_TYPES.get(kind)
        self._must_be_known = kind == "application/json"
        self._eager = eager
        self._utf8 = codecs.getincrementaldecoder("utf-8")(INVALID)
        self._decoder: Decoder | None = None
        self._aws: AWSDecoder | None = None
        self._sniffer = Sniffer(is_page=kind in _PAGES)
        self._begun = False
        self._lines: bool | None = None
        self._first_line: str | None = None

    def feed(self, piece: bytes | str) -> list[Any]:
        """The chunks that `piece` completes."""
        if isinstance(piece, str):
            text, self._begun = piece, True
        else:
            if not self._begun and self._is_aws(piece):
                self.format = "aws"
                self._aws = AWSDecoder()
            self._begun = self._begun or bool(piece)
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
        """Find out whether the pieces are lines that lost their ends: the first is whole, and the next begins anew."""
        if self._lines:
            return self._feed_text(text + "\n")
        if self._first_line is None:
            if is_whole_line(text):
                self._first_line = text
                return []
            self._lines = False if text else None
            return self._feed_text(text)
        first, self._first_line = self._first_line, None
        self._lines = not text or (text[0] not in "\r\n" and is_whole_line(text))
        end = "\n" if self._lines else ""
        return self._feed_text(first + end) + self._feed_text(text + end)

    def _feed_text(self, text: str, *, ended: bool = False) -> list[Any]:
        if self._decoder is None:
            found: str | None = self.format
            if found is None:
                found = self._sniffer.feed(text, final=ended, eager=self._eager)
                if found is None:
                    return []
                text = self._sniffer.take()
            self._decoder = self._start(found, text)
        return self._decoder.feed(text)

    def _start(self, found: str, text: str) -> Decoder:
        if found == "page":
            raise broken("the provider sent a page instead of a stream", text)
        if found == "text" and self._must_be_known and text.strip(BLANK):
            raise broken("the provider sent JSON that is no stream of a known shape", text)
        self.format = cast("Format", found)
        if found == "aws":
            raise broken("an AWS event stream is binary, this is text", text)
        decoders: dict[str, type[Decoder]] = {
            "sse": SSEDecoder,
            "ndjson": NDJSONDecoder,
            "json": JSONDecoder,
            "aws-json": AWSJSONDecoder,
            "text": TextDecoder,
        }
        return decoders[found]()


def open(  # noqa: A001  # the name that the user reads: captures.open
    source: str | Path | Any,
    *,
    format: Format | None = None,  # noqa: A002
    content_type: str | None = None,
) -> Iterator[Any]:
    """The chunks of a recorded stream: dicts, or pieces of text.

    `source` is a path, `"-"` for standard input, or a file object (binary or text). Reads as much as there is, never
    more, so that chunks come out as input comes in. Raises `ProviderError` after the chunks before a fault,
    `UsageError` for another source, `OSError` where the file cannot be read.
    """
    if isinstance(source, str | Path) and source != "-":
        with Path(source).open("rb") as file:
            yield from decode(_pieces(file), format=format, content_type=content_type)
        return
    stream: Any = sys.stdin if source == "-" else source
    if not hasattr(stream, "read"):
        raise UsageError(f"captures.open takes a path or a file, got {type(source).__name__}")
    yield from decode(_pieces(stream), format=format, content_type=content_type)


def decode(
    pieces: Iterable[bytes | str],
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
