"""Fields: where a value stands, made once per value and shared by all its events.

A field is a list, not an object: CPython frees a long chain of lists without recursion, and a list display is the
cheapest thing to make.

    [parent field | None, key or index, kind, (source, path style), path | None, wildcard path | None, live | None]

Paths are made when they are asked for. `live` is what grows while the value is open: the pieces of a string, which stay
for its events, or the list or dict itself, which does not (without data the keys of an object, and nothing of a list).
The machine finds its way back from a closed container by these.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from .paths import Parts, PathStyle, dot_key, format_path, wildcard

EventType = Literal["delta", "done", "reset", "cut", "start"]
Kind = Literal["string", "number", "boolean", "null", "object", "array"]

Field = list[Any]
PARENT: Final = 0
KEY: Final = 1
KIND: Final = 2
ORIGIN: Final = 3
PATH: Final = 4
WILD: Final = 5
LIVE: Final = 6


def path_of(field: Field) -> str:
    """The path of a field in its style. That of its container is kept too: the next child only adds its own part."""
    text = field[PATH]
    if text is None:
        parent = field[PARENT]
        style = field[ORIGIN][1]
        if parent is None:
            text = ""
        else:
            base = parent[PATH]
            if base is None:
                base = parent[PATH] = format_path(parts_of(parent), style)
            text = _join(base, field[KEY], style)
        field[PATH] = text
    return text  # type: ignore[no-any-return]


def _join(base: str, key: str | int, style: PathStyle) -> str:
    if style == "dot":
        if isinstance(key, int):
            return f"{base}[{key}]"
        step = dot_key(key)
        return base + step if base or step[0] != "." else step[1:]
    step = format_path((key,), style)
    return base + step if style == "pointer" or not base else f"{base}/{step}"


def wildcard_of(field: Field) -> str:
    """The path of a field with a wildcard for every list index."""
    text = field[WILD]
    if text is None:
        text = field[WILD] = wildcard(parts_of(field), field[ORIGIN][1])
    return text  # type: ignore[no-any-return]


def parts_of(field: Field) -> Parts:
    """The path of a field as a tuple of keys and indexes."""
    parts: list[str | int] = []
    while field[PARENT] is not None:
        parts.append(field[KEY])
        field = field[PARENT]
    parts.reverse()
    return tuple(parts)


def field_at(parts: Parts, kind: Kind, source: str, style: PathStyle, pieces: list[str] | None = None) -> Field:
    """A field that stands at `parts`, for events that come from elsewhere than a machine (a pickle, the wire)."""
    origin = (source, style)
    kinds = [*("array" if isinstance(part, int) else "object" for part in parts), kind]  # of what each part is in
    field: Field = [None, "", kinds[0], origin, "", "", None]
    for part, own in zip(parts, kinds[1:], strict=True):
        field = [field, part, own, origin, None, None, None]
    field[LIVE] = pieces
    return field
