"""The independent model: from a text, by `json.loads` alone, to the exact list of merged events.

`predict` takes a whole document, `CutModel` the beginning of one. Both are small recursive readers.
"""

from __future__ import annotations

import json
import re
from typing import Any

from .runner import Parts, Row
from .values import repair, show


class Number(str):
    """A number as written."""

    __slots__ = ()


class Members(list[Any]):
    """The members of an object as written, duplicates included."""


def predict(text: str, *, starts: bool = False) -> list[Row]:
    """The merged events of a whole RFC 8259 text, in every dialect."""
    rows: list[Row] = []
    _walk(json.loads(text, parse_int=Number, parse_float=Number, object_pairs_hook=Members), (), rows, starts)
    return rows


def _walk(node: Any, parts: Parts, rows: list[Row], starts: bool) -> Any:
    """Append the rows of one value; give back the value."""
    kind, delta = _kind(node)
    if starts:
        rows.append(Row("start", parts, kind))
    value: Any
    if isinstance(node, Members):
        value = {}
        for key, member in node:
            key = repair(key)
            if key in value:
                rows.append(Row("reset", (*parts, key), None))
            value[key] = _walk(member, (*parts, key), rows, starts)
    elif isinstance(node, list):
        value = [_walk(item, (*parts, index), rows, starts) for index, item in enumerate(node)]
    else:
        value = json.loads(node) if isinstance(node, Number) else repair(node)
        if delta:
            rows.append(Row("delta", parts, kind, delta))
    rows.append(Row("done", parts, kind, None, show(value)))
    return value


def _kind(node: Any) -> tuple[str, str | None]:
    """The JSON kind of a value and the text of its delta."""
    if isinstance(node, Members):
        return "object", None
    if isinstance(node, list):
        return "array", None
    if isinstance(node, Number):
        return "number", str(node)
    if isinstance(node, str):
        return "string", repair(node)
    if isinstance(node, bool):
        return "boolean", "true" if node else "false"
    return "null", None


class _Cut(Exception):
    """The text ended here."""


class CutModel:
    """What a document that was cut off leaves: `rows`, the partial `value`, the `incomplete` parts (innermost first).

    `text` must be a beginning of RFC 8259 text whose strings hold whole surrogate pairs, with a container as the root.
    A value of which nothing is known yet (a colon, then the end) has the kind None.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.rows: list[Row] = []
        self.incomplete: list[Parts] = []
        self.value: Any = None
        self._at = 0
        try:
            self._read((), None, None)
        except _Cut:
            pass

    def _read(self, parts: Parts, holder: Any, slot: Any) -> None:
        """Read the value at `parts` and put it into `holder[slot]`; on a cut, put in what there is."""
        head = self._peek()
        if head is None:
            self._cut(parts, None, None)
        elif head == '"':
            text, whole = self._string()
            if text:
                self.rows.append(Row("delta", parts, "string", text))
            self._put(holder, slot, text)
            if not whole:
                self._cut(parts, "string", text)
            self._done(parts, "string", text)
        elif head in "{[":
            self._at += 1
            container: Any = {} if head == "{" else []
            kind = "object" if head == "{" else "array"
            self._put(holder, slot, container)
            try:
                self._members(parts, container)
            except _Cut:
                self._cut(parts, kind, container)
            self._done(parts, kind, container)
        else:
            match = re.compile(r"[-+.0-9a-zA-Z]+").match(self.text, self._at)
            assert match is not None
            lexeme = match[0]
            self._at = match.end()
            self._leaf(parts, holder, slot, lexeme)

    def _leaf(self, parts: Parts, holder: Any, slot: Any, lexeme: str) -> None:
        if lexeme[0] in "-0123456789":
            if self._at == len(self.text):
                self._cut(parts, "number", None)
            value, kind, delta = json.loads(lexeme), "number", lexeme
        else:
            kind = "null" if lexeme[0] == "n" else "boolean"
            if lexeme not in ("true", "false", "null"):
                self._cut(parts, kind, None)
            value, delta = json.loads(lexeme), None if lexeme == "null" else lexeme
        if delta is not None:
            self.rows.append(Row("delta", parts, kind, delta))
        self._put(holder, slot, value)
        self._done(parts, kind, value)

    def _members(self, parts: Parts, container: Any) -> None:
        closer = "}" if isinstance(container, dict) else "]"
        if self._need() == closer:
            self._at += 1
            return
        while True:
            if isinstance(container, list):
                self._need()
                self._read((*parts, len(container)), container, len(container))
            else:
                self._need()
                key, whole = self._string()
                if not whole:
                    raise _Cut
                assert self._need() == ":"
                self._at += 1
                self._read((*parts, key), container, key)
            mark = self._need()
            self._at += 1
            if mark == closer:
                return
            assert mark == ","

    def _string(self) -> tuple[str, bool]:
        """(the text, True when its closing quote is there)."""
        match = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL).match(self.text, self._at)
        if match is not None:
            self._at = match.end()
            return json.loads(match[0]), True
        body = self.text[self._at + 1 :]
        self._at = len(self.text)
        while True:  # drop what is only half of an escape or of a pair
            try:
                text = json.loads(f'"{body}"')
            except ValueError:
                pass
            else:
                if not (text and "\ud800" <= text[-1] <= "\udbff"):
                    return text, False
            body = body[:-1]

    def _peek(self) -> str | None:
        while self._at < len(self.text) and self.text[self._at] in " \t\r\n":
            self._at += 1
        return self.text[self._at] if self._at < len(self.text) else None

    def _need(self) -> str:
        """The next character that is no white space; the end of the text is a cut of the container around it."""
        head = self._peek()
        if head is None:
            raise _Cut
        return head

    def _put(self, holder: Any, slot: Any, value: Any) -> None:
        if holder is None:
            self.value = value
        elif isinstance(holder, list):
            holder.append(value)
        else:
            holder[slot] = value

    def _done(self, parts: Parts, kind: str, value: Any) -> None:
        self.rows.append(Row("done", parts, kind, None, show(value)))

    def _cut(self, parts: Parts, kind: str | None, value: Any) -> None:
        self.rows.append(Row("cut", parts, kind, None, show(value)))
        self.incomplete.append(parts)
        raise _Cut
