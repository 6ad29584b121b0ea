"""Tool arguments that come as pairs of a JSON path and a value (Gemini's `partialArgs`), written as JSON text while they come."""

from __future__ import annotations

import json
import re
from typing import Any

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

    JSON text cannot go back. Where a pair names a place that is closed already, `add` and `end` return "" from then on, and `final`
    holds the whole text at the end; it is None while the text that was returned is right.
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
        goes_on = self._string == path
        self._store(path, value, goes_on)
        if not self._linear:
            self._string = path if more and isinstance(value, str) else None
            return ""
        if goes_on and isinstance(value, str):
            written = _escape(value)
        else:
            written = self._close_string() + self._reach(path)
            if not self._linear:
                self._string = path if more and isinstance(value, str) else None
                return ""
            written += '"' + _escape(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            self._string = path if isinstance(value, str) else None
        return written + ("" if more else self._close_string())

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

    def _reach(self, path: Path) -> str:
        """Close what lies beside `path`, open what is missing of it, and write its last key."""
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
                self._linear = False
                return ""
            if container.is_array and part != container.count:
                self._linear = False
                return ""
            written += "," if container.count else ""
            container.count += 1
            container.part = part
            container.keys.add(part)
            if not container.is_array:
                written += json.dumps(part, ensure_ascii=False) + ":"
        return written

    def _store(self, path: Path, value: Any, goes_on: bool) -> None:
        node: Any = self._tree
        for part, below in zip(path, path[1:], strict=False):
            fresh: Any = [] if isinstance(below, int) else {}
            node = _child(node, part, fresh)
        last = path[-1]
        if goes_on and isinstance(value, str):
            before = _child(node, last, "")
            value = before + value if isinstance(before, str) else value
        _put(node, last, value)


def _child(node: Any, part: str | int, fresh: Any) -> Any:
    """The child of `node` at `part`, made of `fresh` where it is missing or of another kind."""
    if isinstance(node, list):
        present = isinstance(part, int) and part < len(node)
        child = node[part] if present and isinstance(part, int) else None
    else:
        child = node.get(str(part))
    if type(child) is not type(fresh):
        child = fresh
        _put(node, part, child)
    return child


# No call has a list this long; a path that says so must not make us fill memory.
_MAX_INDEX = 100_000


def _put(node: Any, part: str | int, value: Any) -> None:
    if isinstance(node, list):
        index = part if isinstance(part, int) else len(node)
        if index > _MAX_INDEX:
            index = len(node)
        while len(node) <= index:
            node.append(None)
        node[index] = value
    else:
        node[str(part)] = value


def _escape(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]
