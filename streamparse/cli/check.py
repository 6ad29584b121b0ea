"""`streamparse check`: what was tolerated and what is wrong, each with its line of the text and a caret."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ..errors import Diagnostic, SchemaError, StreamParseError
from ..result import StreamResult
from .output import INCOMPLETE, printable, utf8

BEFORE = 2 / 3
"""Which part of a long line is shown before the caret."""


class Report:
    """Collects a run, then prints what is to be said of it. `name` stands before each place, as compilers do."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._console = Console(highlight=False, soft_wrap=True)
        self._more = "…" if utf8(sys.stdout) else "..."
        self._text = ""
        self._found = False  # a document, or a tool call
        self._remarks: list[Diagnostic] = []
        self._invalid: list[Any] = []

    def read(self, items: Iterable[tuple[str, Any]]) -> BaseException | None:
        """Read the run to its end. Returns what it ended in."""
        pieces: list[str] = []
        error: BaseException | None = None
        for event, data in items:
            if event == "original_delta":
                pieces.append(data)
            elif event in ("instant", "tool_calls"):
                self._found = True
            elif event == "diagnostic":
                self._remarks.append(data)
            elif event == "invalid":
                self._invalid.append(data)
            elif event == "error":
                error = data
                break
        self._text = "".join(pieces)
        return error

    def show(self, result: StreamResult[Any], error: BaseException | None, *, has_output: bool) -> int:
        """Print everything, in the order of the text. Returns the exit status."""
        for remark in sorted(self._remarks, key=lambda remark: remark.offset):
            self._place(remark.code, remark.message, "yellow", remark.offset, remark.line, remark.column, remark.path)
        for invalid in self._invalid:
            self._head(None, None, "invalid_value", invalid.message, "magenta", invalid.path or "(root)")
        if error is not None:
            self._error(error)
        elif has_output and not self._invalid:
            error = self._misfit(result)
        return self._sum_up(result, error)

    def _misfit(self, result: StreamResult[Any]) -> SchemaError | None:
        try:
            result.get_data_object()
        except SchemaError as error:
            self._head(None, None, error.code, error.message, "magenta", error.path or "(root)")
            return error
        return None

    def _error(self, error: BaseException) -> None:
        if not isinstance(error, StreamParseError):
            self._head(None, None, type(error).__name__, str(error), "red", None)
        elif error.offset is None or error.line is None or error.column is None:
            self._head(None, None, error.code, str(error), "red", error.path or None)
        else:
            message = error.message + (f"; expected {error.expected}" if error.expected else "")
            message += f". {error.hint}" if error.hint else ""
            self._place(error.code, message, "red", error.offset, error.line, error.column, error.path or "")

    def _sum_up(self, result: StreamResult[Any], error: BaseException | None) -> int:
        response = result.response
        shown = len(self._remarks)
        total = shown if response is None else max(shown, response.diagnostic_count)
        count = f"{total} remark{'s' if total != 1 else ''}" + (f", the first {shown} shown" if total > shown else "")
        if error is not None or self._invalid:
            broken = error is not None and not isinstance(error, SchemaError)
            verdict, style, ok = "error" if broken else "does not fit", "red", False
        elif not self._found:
            verdict, style, ok = "no document", "red", False
        elif response is None or not response.complete:
            verdict, style, ok = "not complete", "red", False
        else:
            verdict, style, ok = "complete", "green", True
        line = Text(f"{printable(self._name)}: ").append(verdict, style=f"bold {style}")
        if response is not None and response.incomplete:
            open_paths = [printable(path) if path else "(root)" for path in response.incomplete]
            names = ", ".join(open_paths[:4]) + (f" and {len(open_paths) - 4} more" if len(open_paths) > 4 else "")
            line.append(f"; open at the end: {names}")
        if response is not None and response.end_state not in (None, "complete", "error"):
            line.append(f"; the stream ended as {response.end_state}")
        self._console.print(line.append(f"; {count}"))
        return 0 if ok else INCOMPLETE

    def _head(
        self, line: int | None, column: int | None, code: str, message: str, style: str, path: str | None
    ) -> None:
        place = self._name if line is None else f"{self._name}:{line}:{column}"
        text = Text(f"{printable(place)}: ").append(code, style=f"bold {style}").append(f": {printable(message)}")
        if path:
            text.append(f" (at {printable(path)})", style="dim")
        self._console.print(text)

    def _place(self, code: str, message: str, style: str, offset: int, line: int, column: int, path: str) -> None:
        self._head(line, column, code, message, style, path)
        before, after = self._line_at(offset)
        number = f"{line:>4} | "
        room = max(self._console.width - len(number) - 1, 16)
        before, after = self._fit(printable(before.replace("\t", " ")), printable(after.replace("\t", " ")), room)
        self._console.print(Text(number, style="dim").append(before + after, style="default"))
        caret = Text(" " * 4 + " | ", style="dim").append(" " * cell_len(before)).append("^", style=f"bold {style}")
        self._console.print(caret)

    def _line_at(self, offset: int) -> tuple[str, str]:
        """The line in which `offset` is, before it and from it on."""
        text = self._text
        start = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
        ends = [at for at in (text.find("\n", offset), text.find("\r", offset)) if at >= 0]
        return text[start:offset], text[offset : min(ends, default=len(text))]

    def _fit(self, before: str, after: str, room: int) -> tuple[str, str]:
        """The two parts of a line, cut so that both sides of the caret are seen in `room` cells."""
        left = max(int(room * BEFORE), room - cell_len(after) - 1)
        if cell_len(before) > left:
            before = before[-left:]
            while cell_len(before) > left - len(self._more):
                before = before[1:]
            before = self._more + before
        right = max(room - cell_len(before), 1)
        if cell_len(after) > right:
            after = after[:right]
            while cell_len(after) > right - len(self._more):
                after = after[:-1]
            after += self._more
        return before, after
