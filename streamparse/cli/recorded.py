"""What the commands read: a file or standard input, decoded as far as it has come, and wrapped."""

from __future__ import annotations

import importlib
import itertools
import json
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from ..captures import FORMATS, BodyDecoder, Format
from ..errors import StreamParseError, UsageError
from ..parser import Documents
from ..result import StreamResult, wrap
from .output import fail

READ_SIZE = 64 * 1024
PIECES_PER_SECOND = 50
"""How fast a model writes, roughly: what `--speed 1` means."""
TOKEN = 4
"""Characters of a piece of plain text that is played back: about a token."""
_END = object()


class Recording:
    """A recorded stream, a context manager: at its end the file is closed, wherever the run stopped.

    `size` is that of the file in bytes (None: not known), `position` how much of it was read.
    """

    def __init__(self, file: str, *, format: str | None = None) -> None:  # noqa: A002  # the option's word
        if format is not None and format not in FORMATS:
            fail(f"unknown format {format!r}; expected {', '.join(FORMATS)}")
        self.name = "standard input" if file == "-" else file
        self.size: int | None = None
        self.position = 0
        self._path = file
        self._format: Format | None = format
        self._file: BinaryIO | None = None

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._file is not None:
            self._file.close()

    def wrap(self, *, adapter: str | None = None, speed: float = 0, **options: Any) -> StreamResult[Any]:
        """The result of the recording, for one reader: no events are kept for later ones, since files may be large.
        `speed` 1 plays it back about as fast as a model writes, 0 as it is read.

        Raises `UsageError` and `SchemaError` for an option that cannot be used. Ends the command with a message where
        the file cannot be opened.
        """
        options = {"adapter": adapter, "replay": False, **options}
        wrap([], **options)  # complain about options before anything is opened
        decoder = BodyDecoder(format=self._format)
        chunks = self._chunks(self._open(), decoder)
        try:
            first = next(chunks, _END)
        except StreamParseError as error:
            return wrap(_failing(error), **options)
        if adapter is None and decoder.format == "text":
            options["adapter"] = "text"  # decided by more than a first piece, which is all that `wrap` would look at
        source = chunks if first is _END else itertools.chain((first,), chunks)
        return wrap(_played(source, speed) if speed else source, **options)

    def _open(self) -> BinaryIO:
        if self._path == "-":
            if sys.stdin.isatty():
                sys.stderr.write("streamparse: reading from the terminal; end with Ctrl-D\n")
            with suppress(OSError):  # where standard input is none of the system's
                self.size = _size_of(sys.stdin.fileno())
            return sys.stdin.buffer
        try:
            self._file = Path(self._path).open("rb")  # noqa: SIM115  # closed by __exit__
        except OSError as error:
            fail(f"cannot read {self._path}: {error.strerror or error}")
        self.size = _size_of(self._file.fileno())
        return self._file

    def _chunks(self, file: BinaryIO, decoder: BodyDecoder) -> Iterator[Any]:
        read: Callable[[int], bytes] = getattr(file, "read1", file.read)  # what there is, without waiting for more
        while piece := read(READ_SIZE):
            self.position += len(piece)
            yield from decoder.feed(piece)
        yield from decoder.close()


def _size_of(descriptor: int) -> int | None:
    """The bytes of an open file; None for a pipe, a terminal and the like, which have no size."""
    status = os.fstat(descriptor)
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _failing(error: StreamParseError) -> Iterator[Any]:
    yield from ()
    raise error


def _played(chunks: Iterator[Any], speed: float) -> Iterator[Any]:
    """`chunks` at the pace of a model, text in small pieces."""
    pause = 1 / (PIECES_PER_SECOND * speed)
    due = time.monotonic()
    for chunk in chunks:
        pieces = [chunk[at : at + TOKEN] for at in range(0, len(chunk), TOKEN)] if isinstance(chunk, str) else [chunk]
        for piece in pieces:
            due = max(due + pause, time.monotonic() - 0.5)  # after a stall do not run to catch up
            time.sleep(max(0, due - time.monotonic()))
            yield piece


def parser_options(*, output: str | None, dialect: str, reasoning: str, documents: str) -> dict[str, Any]:
    """The options of `wrap` that the words of the command line mean.

    `reasoning` is a family, `auto`, `none`, or an opener and a closer with a blank between them; by default that of the
    dialect.
    """
    options: dict[str, Any] = {"dialect": dialect, "documents": cast("Documents", documents)}
    if output is not None:
        options["output"] = load_output(output)
    if reasoning:
        delimiters = tuple(reasoning.split())
        options["reasoning"] = None if reasoning == "none" else reasoning if len(delimiters) == 1 else delimiters
    return options


def load_output(name: str) -> Any:
    """The output specification that `--output` names: a file of JSON Schema, or `module:Name`.

    Raises `UsageError` where there is none.
    """
    module, colon, attribute = name.rpartition(":")
    if colon and not Path(name).exists() and not name.endswith(".json"):
        sys.path.insert(0, str(Path.cwd()))  # a module of the user's, which a script in another folder would not find
        try:
            found: Any = importlib.import_module(module)
            for part in attribute.split("."):
                found = getattr(found, part)
        except Exception as error:  # a module of the user's may raise anything
            raise UsageError(f"cannot load {name!r}: {type(error).__name__}: {error}") from error
        return found
    from ..schema import JsonSchema

    try:
        schema = json.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        hint = "Name a file of JSON Schema, or module:Model."
        raise UsageError(f"cannot read {name!r}: {error.strerror or error}", hint=hint) from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name!r} is no JSON: {error}") from None
    if not isinstance(schema, dict):
        raise UsageError(f"{name!r} is no JSON Schema: it holds {type(schema).__name__}", expected="an object")
    return JsonSchema(cast("dict[str, Any]", schema))
