"""The view as lines, for pipes and terminals that cannot draw again: each field once, when it is final."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from ..implementation import StreamingData
from ..response import ToolCall
from .output import printable, to_json, utf8, write_line


class Lines:
    """Turns the items of `get_generator(type="all")` into lines.

    ~ reasoning, line by line        | text of an answer without a document
    ✓ path: value, once it is final  ✂ path: partial value of a field that was cut
    ! path: why a value does not fit - path: what was there is taken back
    """

    def __init__(self, *, unicode: bool = True) -> None:
        self._done, self._cut = ("✓", "✂") if unicode else ("+", "x")
        self._names: dict[str, str] = {}
        self._thought = self._refusal = ""  # what came of a line
        self._text: list[str] | None = []  # None: a document came, so the text is shown as its fields
        self.fields = 0
        self.state: str | None = None
        self._is_cut = False  # the document is, whatever the stream says of its end

    def feed(self, event: str, data: Any) -> list[str]:
        """The lines that one event makes."""
        if event == "instant":
            return self._field(data)
        if event == "reasoning_delta":
            *whole, self._thought = (self._thought + data).split("\n")
            return [f"~ {printable(line)}" for line in whole]
        if event == "reasoning_done":
            rest, self._thought = self._thought, ""
            return [f"~ {printable(rest)}"] if rest else []
        if event == "delta" and self._text is not None:
            self._text.append(data)
        elif event == "tool_call_delta" and data["name"]:
            self._names.setdefault(data["id"] or f"call_{data['index']}", data["name"])
        elif event == "tool_calls":
            return self._call(data)
        elif event == "invalid":
            return [f"! {printable(data.path or '(root)')}: {printable(data.message)}"]
        elif event == "status":
            return self._status(data)
        return []

    def _field(self, event: StreamingData) -> list[str]:
        if event.source == "content":
            self._text = None
            self._is_cut = event.event_type == "cut"
        if event.event_type not in ("done", "cut", "reset"):
            return []
        name = event.path
        if event.source != "content":
            name = f"{self._names.get(event.source, 'tool')}()" + (f" {name}" if name else "")
        name = printable(name or "(root)")
        if event.event_type == "reset":
            return [f"- {name}"]
        mark = self._done if event.is_complete else self._cut
        if event.kind in ("object", "array"):
            # Its fields have been told; an empty one has none.
            if event.value and event.is_complete:
                return []
            return [f"{mark} {name}: {to_json(event.value)}" if not event.value else f"{mark} {name}"]
        if event.is_complete:
            self.fields += 1
        elif event.value is None:  # half a number is none
            return [f"{mark} {name}"]
        return [f"{mark} {name}: {to_json(event.value)}"]

    def _call(self, call: ToolCall) -> list[str]:
        return [f"{self._done} {printable(call.name or 'tool')}()"] if call.complete else []

    def _status(self, status: dict[str, Any]) -> list[str]:
        state = str(status.get("state"))
        if state == "refusal":
            *whole, self._refusal = (self._refusal + str(status.get("delta") or "")).split("\n")
            return [f"| {printable(line)}" for line in whole if line]
        if state == "retrying":
            return []
        self.state = state = "cut" if state == "complete" and self._is_cut else state
        lines = [f"~ {printable(self._thought)}"] if self._thought else []
        if self._text:
            lines += [f"| {printable(line)}" for line in "".join(self._text).strip("\n").split("\n")]
        if self._refusal:
            lines.append(f"| {printable(self._refusal)}")
        return [*lines, f"{state}, {self.fields} field{'s' if self.fields != 1 else ''}"]


def show(items: Iterable[tuple[str, Any]]) -> Lines:
    """Write a run as lines while it lasts."""
    lines = Lines(unicode=utf8(sys.stdout))
    for event, data in items:
        for line in lines.feed(event, data):
            write_line(line)
    return lines
