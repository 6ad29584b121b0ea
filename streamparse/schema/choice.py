"""Choice: which of several documents is the one that was asked for."""

from __future__ import annotations

import json
import re
from typing import Final, Literal

from .shape import Shape

RootKind = Literal["object", "array", "string", "number", "boolean", "null"]

_FIRST_KEY: Final = re.compile(r'\{\s*"((?:[^"\\]|\\.)*)"\s*[:=]', re.DOTALL)
_FIRST_KEY_START: Final = re.compile(r'\{\s*(?:"(?:[^"\\]|\\.)*(?:\\|"\s*)?)?', re.DOTALL)


def root_kind(shape: Shape) -> RootKind | None:
    """The one kind that a document may have; None where several are allowed."""
    return next(iter(shape.kinds)) if len(shape.kinds) == 1 else None


def may_begin(shape: Shape, text: str) -> bool | None:
    """Whether `text` may be the beginning of a document that fits: by its bracket and its first key.

    None: it is too early to say.
    """
    if text[0] == "[":
        return "array" in shape.kinds
    if "object" not in shape.kinds:
        return False
    match = _FIRST_KEY.match(text)
    if match is not None:
        try:
            key = json.loads(f'"{match[1]}"', strict=False)
        except ValueError:
            return False
        return _knows(shape.resolve("object"), key)
    return None if _FIRST_KEY_START.fullmatch(text) is not None else True


def _knows(shape: Shape, key: str) -> bool:
    if shape.options:
        return any("object" in option.kinds and _knows(option.resolve("object"), key) for option in shape.options)
    return shape.members is None or shape.opaque or shape.members.get().knows(key)
