"""What the commands write: JSON for programs, printable text for terminals, and how a command ends."""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NoReturn, cast

import typer

from ..errors import StreamParseError, UsageError
from ..implementation import StreamingData
from ..response import Response, ToolCall

INCOMPLETE = 1
"""Exit status: the document is not complete, or the stream ended in an error."""
BAD_USAGE = 2
"""Exit status: the command cannot be run like this."""
INTERRUPTED = 130
CLOSED_PIPE = 141

# What a terminal may act on although JSON leaves it as it is: DEL, the C1 controls, line separators, directions, and
# halves of surrogate pairs (which do not encode).
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
_JOINERS = "\u200c\u200d"  # invisible, but part of words and of emoji
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _escape(character: str) -> str:
    if character in _NAMED:
        return _NAMED[character]
    if unicodedata.category(character) == "Zs":
        return " "  # of another width than the usual one
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def printable(text: str) -> str:
    """`text` with everything that a terminal might act on written as an escape: `\\x1b[2J`. Line ends and tabs too."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _JOINERS else _escape(c) for c in text)


def utf8(stream: Any) -> bool:
    """Whether `stream` can write every character."""
    return "utf" in (getattr(stream, "encoding", None) or "ascii").lower()


def to_json(value: Any, indent: int | None = None) -> str:
    """`value` as JSON that is safe to print: what a terminal might act on is escaped, which means the same in JSON."""
    text = _encoder(not utf8(sys.stdout), indent).encode(plain(value))
    return _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@lru_cache
def _encoder(ascii_only: bool, indent: int | None) -> json.JSONEncoder:
    return json.JSONEncoder(ensure_ascii=ascii_only, indent=indent, default=plain)


def plain(value: Any) -> Any:
    """What JSON can hold of `value`: events, remarks, errors, models, dates and the like as dicts and strings."""
    if isinstance(value, StreamingData):
        return event_dict(value)
    if isinstance(value, Response | ToolCall):
        # Field by field, what is in them later: pydantic goes down 255 levels at most, a document may have more.
        fields = {name: getattr(value, name) for name in type(value).model_fields}
        if isinstance(value, Response):
            fields["diagnostics"] = [remark.to_dict() for remark in value.diagnostics]
        return fields
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, BaseException):
        return {"type": type(value).__name__, "message": str(value)}
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    if value is None or isinstance(value, str | int | float | list | tuple | dict):
        return cast("Any", value)
    from pydantic_core import to_jsonable_python  # what `output=` may have made of a value: a date, an Enum, a UUID

    return to_jsonable_python(value, fallback=str)


def event_dict(event: StreamingData) -> dict[str, Any]:
    """An event as a dict. A `delta` comes without its `value`, the string so far: with it the output would grow with
    the square of the text.
    """
    if event.event_type != "delta":
        return event.to_dict()
    return {
        "path": event.path,
        "wildcard_path": event.wildcard_path,
        "parts": list(event.parts),
        "delta": event.delta,
        "is_complete": False,
        "event_type": "delta",
        "kind": event.kind,
        "source": event.source,
    }


def write_line(text: str) -> None:
    """Write a line and flush it: what comes out must not wait for what comes in."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def complain(message: str) -> None:
    """Say on stderr what went wrong."""
    sys.stderr.write(f"streamparse: {printable(message)}\n")  # stderr writes what it cannot encode as escapes


def fail(message: str, status: int = BAD_USAGE) -> NoReturn:
    """Say what went wrong and end the command."""
    complain(message)
    raise typer.Exit(status)


@contextmanager
def quiet_end() -> Generator[None, None, None]:
    """Ctrl-C and a closed pipe end the command without a word."""
    try:
        yield
        sys.stdout.flush()
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # Python flushes stdout once more at its end; that must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(CLOSED_PIPE) from None


@contextmanager
def usage_errors() -> Generator[None, None, None]:
    """What the library says of options becomes a message and exit status 2."""
    try:
        yield
    except StreamParseError as error:
        fail(str(error), BAD_USAGE if isinstance(error, UsageError) or error.code == "schema" else INCOMPLETE)
