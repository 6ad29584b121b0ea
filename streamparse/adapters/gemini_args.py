"""Gemini's `partialArgs`: tool arguments as pairs of a JSON path and a value, written as JSON text while they come."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any, cast

_PART = re.compile(
    r"""\.?(?P<name>[^.\[\]'"$\s]+)|\[(?P<index>\d+)\]|\[(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]"""
)

Path = tuple[str | int, ...]


def json_path(text: str) -> Path:
    """The parts of a JSON path: `$.a[0]['b c']` -> ("a", 0, "b c"). What cannot be read of it is one key."""
    parts: list[str | int] = []
    position = 1 if text.startswith("$") else 0
    while position < len(text):
        match = _PART.match(text, position)
        if match is None:
            return (*parts, text[position:])
        if match["index"] is not None:
            parts.append(int(match["index"]))
        elif match["quoted"] is not None:
            parts.append(re.sub(r"\\(.)", r"\1", match["quoted"][1:-1]))
        else:
            parts.append(match["name"])
        position = match.end()
    return tuple(parts)


class _Open:
    """One container that is being written: its part of the path below it, the keys it has, or how many items."""

    __slots__ = ("count", "is_array", "keys", "part")

    def __init__(self, is_array: bool) -> None:
        self.is_array = is_array
        self.part: str | int | None = None
        self.keys: set[str | int] = set()
        self.count = 0


class ArgumentWriter:
    """Turns path and value pairs into one growing JSON text.

        add(path, value, more)   the text to append; `more`: this string goes on in the next pair of the same path
        end()                    the text that closes the object

    JSON text cannot go back. Where a pair names a place that is closed already, `add` and `end` return "" from then on,
    and `final` holds the whole text at the end; it is None while the text that was returned is right.
    """

    def __init__(self) -> None:
        self.final: str | None = None
        self._tree: dict[str, Any] = {}
        self._stack: list[_Open] = []
        self._string: Path | None = None
        self._linear = True

    def add(self, path: Path, value: Any, more: bool) -> str:
        """Write one pair."""
        if not path or isinstance(path[0], int):
            return ""
        goes_on = isinstance(value, str) and self._string == path
        self._store(path, value, goes_on)
        written = _escape(value) if goes_on else self._begin(path, value)
        if written is None:
            self._linear = False
        if not self._linear:
            self._string = path if more and isinstance(value, str) else None
            return ""
        return (written or "") + ("" if more else self._close_string())

    def _begin(self, path: Path, value: Any) -> str | None:
        if not self._linear:
            return None
        closing = self._close_string()
        way = self._reach(path)
        if way is None:
            return None
        self._string = path if isinstance(value, str) else None
        return closing + way + ('"' + _escape(value) if isinstance(value, str) else json.dumps(value))

    def end(self) -> str:
        """Close all that is open."""
        if not self._linear:
            self.final = json.dumps(self._tree, ensure_ascii=False)
            return ""
        if not self._stack:
            return "{}"
        return self._close_string() + self._close_to(0)

    def _close_string(self) -> str:
        was_open, self._string = self._string, None
        return "" if was_open is None else '"'

    def _close_to(self, depth: int) -> str:
        written = ""
        while len(self._stack) > depth:
            written += "]" if self._stack.pop().is_array else "}"
        return written

    def _reach(self, path: Path) -> str | None:
        """Close what lies beside `path`, open what is missing of it, and write its last key. None: it is closed
        already.
        """
        depth = 0
        while depth < len(self._stack) - 1 and depth < len(path) - 1 and self._stack[depth].part == path[depth]:
            depth += 1
        written = self._close_to(depth + 1)
        for level in range(depth, len(path)):
            part = path[level]
            if level == len(self._stack):
                self._stack.append(_Open(isinstance(part, int)))
                written += "[" if isinstance(part, int) else "{"
            container = self._stack[level]
            if container.is_array != isinstance(part, int) or part in container.keys:
                return None
            if container.is_array and part != container.count:
                return None
            written += "," if container.count else ""
            container.count += 1
            container.part = part
            container.keys.add(part)
            if not container.is_array:
                written += json.dumps(part, ensure_ascii=False) + ":"
        return written

    def _store(self, path: Path, value: Any, goes_on: bool) -> None:
        node: _Node = self._tree
        for part, below in pairwise(path):
            node = _child(node, part, is_list=isinstance(below, int))
        key = path[-1]
        if goes_on and isinstance(value, str):
            before = _read(node, key)
            value = before + value if isinstance(before, str) else value
        _write(node, key, value)


_Node = dict[str, Any] | list[Any]


def _read(node: _Node, part: str | int) -> Any:
    if isinstance(node, dict):
        return node.get(str(part))
    return node[part] if isinstance(part, int) and part < len(node) else None


def _child(node: _Node, part: str | int, *, is_list: bool) -> _Node:
    """The container of `node` at `part`, made where there is none of that kind."""
    child = _read(node, part)
    if isinstance(child, list) if is_list else isinstance(child, dict):
        return cast("_Node", child)
    fresh: _Node = [] if is_list else {}
    _write(node, part, fresh)
    return fresh


# No call has a list this long; a path that says so must not make us fill memory.
_MAX_INDEX = 100_000


def _write(node: _Node, part: str | int, value: Any) -> None:
    if isinstance(node, dict):
        node[str(part)] = value
        return
    index = part if isinstance(part, int) and part <= _MAX_INDEX else len(node)
    node.extend([None] * (index + 1 - len(node)))
    node[index] = value


def _escape(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]
