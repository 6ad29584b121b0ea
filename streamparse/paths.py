"""Paths: where a value stands in a document.

A path is a tuple of parts, `str` for an object key and `int` for a list index. It is written in one of three styles:

    parts                     dot (default)         slash               pointer (RFC 6901)
    ("tips", 0, "text")       tips[0].text          tips/0/text         /tips/0/text
    ("a.b",)                  ["a.b"]               "a.b"               /a.b
    ("x", "a b", "c")         x["a b"].c            x/"a b"/c           /x/a b/c
    ()                        (empty)               (empty)             (empty)

Dot and slash name one place only and parse back. A JSON Pointer cannot tell index 0 from key "0", so it parses back to
keys only. A key that is not a plain word (letters of any script, digits and `_`, no digit first) is written as a JSON
string.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from .errors import UsageError

Part = str | int
Parts = tuple[Part, ...]
PathStyle = Literal["dot", "slash", "pointer"]

STYLES: tuple[PathStyle, ...] = ("dot", "slash", "pointer")


@lru_cache(maxsize=4096)
def dot_key(key: str) -> str:
    """One key as the dot style writes it after a container: `.name`, or `["a.b"]`."""
    return f".{key}" if _is_word(key) else f"[{_quote(key)}]"


def _is_word(key: str) -> bool:
    # Letters and digits of any script. A lone surrogate is neither, so it is quoted, and escaped there.
    return key.replace("_", "a").isalnum() and not key[0].isnumeric()


def _quote(key: str) -> str:
    # Lone surrogates must stay escaped: a path has to encode to UTF-8.
    return json.dumps(key, ensure_ascii=any("\ud800" <= c <= "\udfff" for c in key))


def format_path(parts: Sequence[Part], style: PathStyle = "dot") -> str:
    """Write `parts` in `style`."""
    return _format(parts, style, wild=False)


def wildcard(parts: Sequence[Part], style: PathStyle = "dot") -> str:
    """Write `parts` in `style` with `*` for every list index: `tips[*].text`."""
    return _format(parts, style, wild=True)


def to_pointer(parts: Sequence[Part]) -> str:
    """Write `parts` as a JSON Pointer (RFC 6901): `/tips/0/text`."""
    return _format(parts, "pointer", wild=False)


def _format(parts: Sequence[Part], style: PathStyle, *, wild: bool) -> str:
    if style == "dot":
        text = "".join(dot_key(part) if isinstance(part, str) else "[*]" if wild else f"[{part}]" for part in parts)
        return text.removeprefix(".")
    if style == "slash":
        return "/".join(_slash_key(part) if isinstance(part, str) else "*" if wild else str(part) for part in parts)
    if style == "pointer":
        return "".join(
            "/" + (_pointer_key(part) if isinstance(part, str) else "*" if wild else str(part)) for part in parts
        )
    raise UsageError(f"unknown path style {style!r}", expected=", ".join(STYLES))


def _slash_key(key: str) -> str:
    return key if _is_word(key) else _quote(key)


def _pointer_key(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


_STRING = r'"(?:[^"\\]|\\.)*"'
# Each alternative is one part; the leading dot or slash belongs to it: a text that is not wholly matched is no path.
_DOT_PART = re.compile(
    rf"(?P<dot>\.)?(?P<word>[^\s.\[\]\"*]+)|\[(?P<index>[0-9]{{1,18}}|\*)\]|\[(?P<key>{_STRING})\]"
    r"|(?P<deep>\.?\*\*)|(?P<star>\.?\*)"
)
_SLASH_PART = re.compile(
    rf"(?P<index>[0-9]{{1,18}}|\*)(?=/|\Z)|(?P<key>{_STRING})(?=/|\Z)"
    r"|(?P<word>[^/\"*]+)(?=/|\Z)|(?P<deep>\*\*)(?=/|\Z)"
)

_WORD = re.compile(r"[^\W\d]\w*")

_ANY_INDEX = -1
_ANY_KEY = -2
_DEEP = -3


def parse_path(text: str, style: PathStyle = "dot") -> Parts:
    """Read a path written by `format_path`. Raises `UsageError` where `text` is none (wildcards make a pattern)."""
    parts = _parse(text, style)
    if any(isinstance(part, int) and part < 0 for part in parts):
        raise UsageError(f"{text!r} holds a wildcard, so it names many places", hint="Use PathPattern for patterns.")
    return parts


def _parse(text: str, style: PathStyle) -> Parts:
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without a type checker
        raise UsageError(f"a path is a str, got {type(text).__name__}")
    if style == "dot":
        return _parse_dot(text)
    if style == "slash":
        return _parse_slash(text)
    if style == "pointer":
        return _parse_pointer(text)
    raise UsageError(f"unknown path style {style!r}", expected=", ".join(STYLES))


def _parse_dot(text: str) -> Parts:
    parts: list[Part] = []
    position = 0
    while position < len(text):
        match = _DOT_PART.match(text, position)
        if match is None:
            raise _bad(text, position)
        if match["word"] is not None:
            # A word needs a dot before it unless it comes first, and must be one that format_path does not quote.
            if bool(match["dot"]) != (position > 0) or _WORD.fullmatch(match["word"]) is None:
                raise _bad(text, position)
            parts.append(match["word"])
        elif match["index"] is not None:
            parts.append(_ANY_INDEX if match["index"] == "*" else int(match["index"]))
        elif match["key"] is not None:
            parts.append(_unquote(match["key"], text, position))
        else:
            if match[0].startswith(".") != (position > 0):
                raise _bad(text, position)
            parts.append(_DEEP if match["deep"] is not None else _ANY_KEY)
        position = match.end()
    return tuple(parts)


def _parse_slash(text: str) -> Parts:
    parts: list[Part] = []
    position = 0
    while text:
        match = _SLASH_PART.match(text, position)
        if match is None:
            raise _bad(text, position)
        if match["index"] is not None:
            # Slash style writes a key and an index alike but for the digits; `*` stands for either.
            parts.append(_ANY_INDEX if match["index"] == "*" else int(match["index"]))
        elif match["key"] is not None:
            parts.append(_unquote(match["key"], text, position))
        elif match["word"] is not None:
            if _WORD.fullmatch(match["word"]) is None:
                raise _bad(text, position)
            parts.append(match["word"])
        else:
            parts.append(_DEEP)
        position = match.end()
        if position == len(text):
            break
        position += 1  # the slash
    return tuple(parts)


def _parse_pointer(text: str) -> Parts:
    if text and not text.startswith("/"):
        raise _bad(text, 0)
    tilde = re.search(r"~(?![01])", text)
    if tilde is not None:
        raise _bad(text, tilde.start())
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:])


def _unquote(literal: str, text: str, position: int) -> str:
    try:
        key = json.loads(literal, strict=False)
    except ValueError:
        raise _bad(text, position) from None
    assert isinstance(key, str)
    return key


def _bad(text: str, position: int) -> UsageError:
    return UsageError(
        f"{text!r} is not a path: cannot read it from character {position}",
        hint='Write tips[0].text; quote a key that is not a plain word: ["a.b"].',
    )


class PathPattern:
    """A path with wildcards: `tips[*].text`, `user.*` (any key), `**.text` (any depth, none included).

    `[*]` matches one list index, `*` one object key, `**` any number of parts. A pattern without wildcards matches one
    place. `style` is the style it is written in (slash: `*` matches an index). Raises `UsageError` where `text` is no
    pattern.
    """

    __slots__ = ("parts", "style", "text")

    def __init__(self, text: str, style: PathStyle = "dot") -> None:
        self.text = text
        self.style = style
        self.parts = _parse(text, style)

    def matches(self, parts: Sequence[Part]) -> bool:
        """True when the whole of `parts` fits the pattern."""
        # The usual two-pointer glob: on a mismatch go back to the last `**` and let it take one part more.
        pattern = self.parts
        at = mark = 0
        back = -1
        for_index = 0
        while for_index < len(parts):
            if at < len(pattern) and pattern[at] == _DEEP:
                back, mark = at, for_index
                at += 1
            elif at < len(pattern) and _fits(pattern[at], parts[for_index]):
                at += 1
                for_index += 1
            elif back >= 0:
                mark += 1
                at, for_index = back + 1, mark
            else:
                return False
        return all(part == _DEEP for part in pattern[at:])

    def __repr__(self) -> str:
        return f"PathPattern({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PathPattern) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)


def _fits(pattern: Part, part: Part) -> bool:
    if isinstance(pattern, str):
        return pattern == part and isinstance(part, str)
    if pattern == _ANY_INDEX:
        return isinstance(part, int)
    if pattern == _ANY_KEY:
        return isinstance(part, str)
    return pattern == part and isinstance(part, int)
