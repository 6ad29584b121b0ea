"""JSON that can always be written and read again: whole characters, and any depth.

pydantic writes 255 levels and reads 200; a document may have as many as `Limits.depth` says. What is deeper goes
through `write` and `read`, which have a stack of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any, Final, cast

from pydantic_core import to_jsonable_python

from ..limits import Limits
from ..parser import StreamParser

_SURROGATE = re.compile("[\ud800-\udfff]")

# What is read here was bounded when it was parsed first.
_UNBOUNDED: Final = Limits(depth=1 << 30, string=1 << 40, key=1 << 40, number=1 << 40, document=1 << 40)


def whole_text(text: str) -> str:
    """`text` with surrogate halves that belong together joined, and U+FFFD for the others, so that it encodes to UTF-8.

    JSON may escape one character as two halves, and providers cut between them: the pieces of a stream hold halves.
    """
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class _Written(str):
    """Text that is JSON already."""

    __slots__ = ()


def write(value: Any, indent: int | None = None) -> str:
    """`value` as JSON, as pydantic would write it; NaN and the infinities under these names."""
    out: list[str] = []
    work: list[tuple[Any, int]] = [(value, 0)]  # what is still to be written, and its depth
    while work:
        item, depth = work.pop()
        if isinstance(item, _Written):
            out.append(item)
        elif isinstance(item, Mapping | list | tuple):
            pieces = _pieces(cast("Mapping[Any, Any] | Sequence[Any]", item), depth, indent)
            work += [(piece, depth + 1) for piece in reversed(pieces)]
        else:
            out.append(_scalar(item))
    return "".join(out)


def _pieces(container: Mapping[Any, Any] | Sequence[Any], depth: int, indent: int | None) -> list[Any]:
    """The members of a container, and the JSON around them."""
    opener, closer = "{}" if isinstance(container, Mapping) else "[]"
    if not container:
        return [_Written(opener + closer)]
    margin, last, colon = "", "", ":"
    if indent is not None:
        margin, last, colon = "\n" + " " * indent * (depth + 1), "\n" + " " * indent * depth, ": "
    pieces: list[Any] = []
    if isinstance(container, Mapping):
        for name, member in container.items():
            pieces += (_Written(f"{'' if not pieces else ','}{margin}{_scalar(str(name))}{colon}"), member)
    else:
        for member in container:
            pieces += (_Written(f"{'' if not pieces else ','}{margin}"), member)
    return [_Written(opener), *pieces, _Written(last + closer)]


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return encode_basestring(whole_text(value))
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true" if value else "false"
    if isinstance(value, int):
        # CPython refuses to write an int of more than 4300 digits, `Decimal` does not.
        return int.__repr__(value) if value.bit_length() < 14_000 else str(Decimal(int(value)))
    if isinstance(value, float):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text := float.__repr__(value), text)
    return write(to_jsonable_python(value))


def read(text: str) -> Any:
    """The value of a JSON text."""
    parser = StreamParser(dialect="json5", limits=_UNBOUNDED)  # strict JSON has no NaN
    parser.feed(text)
    return parser.close().data
