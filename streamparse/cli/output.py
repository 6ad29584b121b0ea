"""What the commands write: JSON for programs, printable text for terminals, and how a command ends."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, cast

import typer

from ..errors import StreamParseError, UsageError
from ..implementation import StreamingData

INCOMPLETE = 1
"""Exit status: the document is not complete, or the stream ended in an error."""
BAD_USAGE = 2
"""Exit status: the command cannot be run like this."""
INTERRUPTED = 130
CLOSED_PIPE = 141

# What a terminal may act on although JSON leaves it as it is: DEL, the C1 controls, line separators, directions, halves of
# surrogate pairs (which do not encode).
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
_JOINERS = "\u200c\u200d"  # invisible, but part of words and of emoji


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def printable(text: str) -> str:
    """`text` with everything that a terminal might act on written as an escape: `\\x1b[2J`. Line ends and tabs too."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in _JOINERS else " " if c.isspace() and c not in "\t\n\r\v\f\x1c\x1d\x1e\x1f\x85\u2028\u2029"
        else _named(c)
        for c in text
    )  # fmt: skip


def _named(character: str) -> str:
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character) or _escape(character)


def utf8(stream: Any) -> bool:
    """Whether `stream` can write every character."""
    return "utf" in (getattr(stream, "encoding", None) or "ascii").lower()


def to_json(value: Any, indent: int | None = None) -> str:
    """`value` as JSON that is safe to print: what a terminal might act on is escaped, which means the same in JSON."""
    text = json.dumps(plain(value), ensure_ascii=not utf8(sys.stdout), indent=indent, default=plain)
    return text if text.isascii() and "\x7f" not in text else _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def plain(value: Any) -> Any:
    """What JSON can hold of `value`: events, remarks, errors, models, dates and the like as dicts and strings."""
    if isinstance(value, StreamingData):
        return event_dict(value)
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
    """An event as a dict. A `delta` comes without its `value`, the string so far: with it the output would grow with the
    square of the text.
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
    sys.stderr.write(f"streamparse: {printable(message).encode(sys.stderr.encoding, 'backslashreplace').decode(sys.stderr.encoding)}\n")


def fail(message: str, status: int = BAD_USAGE) -> NoReturn:
    """Say what went wrong and end the command."""
    complain(message)
    raise typer.Exit(status)


@contextmanager
def quiet_end() -> Iterator[None]:
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
def usage_errors() -> Iterator[None]:
    """What the library says of options becomes a message and exit status 2."""
    try:
        yield
    except StreamParseError as error:
        fail(str(error), BAD_USAGE if isinstance(error, UsageError) or error.code == "schema" else INCOMPLETE)
