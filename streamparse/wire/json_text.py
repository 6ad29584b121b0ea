"""JSON as it goes over the wire: compact, one line for every reader of lines, of any depth and with any number."""

# What is in a container of JSON may be anything, which pyright calls unknown.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from json.encoder import encode_basestring
from math import isfinite
from typing import Any, Final

from ..dialect import STRICT
from ..limits import Limits
from ..parser import StreamParser
from ..values import NumberLexeme, to_int

# Half a surrogate pair has no UTF-8. The others are legal in JSON and in SSE, but readers that use `str.splitlines`
# (Python's HTTP clients do) take them for ends of lines.
_ESCAPED: Final = re.compile("[\x85\u2028\u2029\ud800-\udfff]")


class _Written(str):
    """Text that is JSON already."""

    __slots__ = ()


def to_json(value: Any) -> str:
    """`value` as JSON without white space, in characters that UTF-8 can hold and that end no line.

    An infinity is written as a number that is too large (`1e999`), which readers take for one; NaN, for which JSON
    has nothing, becomes null. What JSON does not know (a date, a model) is written as pydantic would write it, or else
    as its `str`.
    """
    if _is_plain(value, 3):
        try:
            written = _ENCODER.encode(value)
            return written if written.isascii() else _ESCAPED.sub(_escape, written)
        except ValueError:  # a number that the standard library cannot write
            pass
    return _to_json(value)


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":"))
_PLAIN: Final = frozenset((str, int, float, bool, type(None)))


def _is_plain(value: Any, levels: int) -> bool:
    """Whether the standard library's fast encoder writes `value` as we do: nothing in it is deep or of another type."""
    if type(value) in _PLAIN:
        return True
    if not levels or type(value) not in (dict, list):
        return False
    items: Iterable[Any] = value.values() if isinstance(value, dict) else value
    return all(_is_plain(item, levels - 1) for item in items)


def _to_json(value: Any) -> str:
    out: list[str] = []
    work: list[Any] = [value]  # a stack of its own: `json.dumps` gives up at a depth that a document may have
    while work:
        item = work.pop()
        if isinstance(item, _Written):
            out.append(item)
        elif isinstance(item, NumberLexeme):
            out.append(item if item[-1:].isdigit() else _not_finite(float(item)))
        elif isinstance(item, str):
            out.append(_string(item))
        elif item is None or isinstance(item, bool):
            out.append("null" if item is None else "true" if item else "false")
        elif isinstance(item, int):
            out.append(_int(item))
        elif isinstance(item, float):
            out.append(float.__repr__(item) if isfinite(item) else _not_finite(item))
        elif isinstance(item, Decimal):
            out.append(str(item) if item.is_finite() else _not_finite(float(item)))
        elif isinstance(item, dict):
            work.extend(reversed(_object(item)))
        elif isinstance(item, list | tuple):
            work.extend(reversed(_array(item)))
        else:
            work.append(_plain(item))
    return "".join(out)


def _string(text: str) -> str:
    written = encode_basestring(text)
    return written if written.isascii() else _ESCAPED.sub(_escape, written)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _int(number: int) -> str:
    # CPython refuses to write an int of more than 4300 digits, `Decimal` does not.
    return int.__repr__(number) if number.bit_length() < 14_000 else str(Decimal(int(number)))


def _not_finite(number: float) -> str:
    return "null" if number != number else "1e999" if number > 0 else "-1e999"


def _object(value: dict[Any, Any]) -> list[Any]:
    pieces: list[Any] = [_Written("{")]
    comma = ""
    for name, item in value.items():
        pieces += (_Written(f"{comma}{_string(name if isinstance(name, str) else str(name))}:"), item)
        comma = ","
    pieces.append(_Written("}"))
    return pieces


def _array(value: Sequence[Any]) -> list[Any]:
    pieces: list[Any] = [_Written("[")]
    for index, item in enumerate(value):
        if index:
            pieces.append(_Written(","))
        pieces.append(item)
    pieces.append(_Written("]"))
    return pieces


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    # What `output=` may have made of a value: a date, an Enum, a model. pydantic is imported where one is met.
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=str)


# What comes over the wire was bounded where it was parsed.
_UNBOUNDED: Final = Limits(depth=1 << 30, string=1 << 40, key=1 << 40, number=1 << 40, document=1 << 40)


def from_json(text: str) -> Any:
    """The value of one JSON text of any depth. Raises `ValueError` (or our `JSONSyntaxError`, which is one)."""
    try:
        return json.loads(text, parse_int=to_int)
    except RecursionError:
        parser = StreamParser(dialect=STRICT, limits=_UNBOUNDED, surrogates="keep")
        parser.feed(text)
        return parser.close().data


def number_of(lexeme: str, mode: str = "int_float") -> Any:
    """The value of a number's delta, as `StreamParser(number=mode)` gives it."""
    if mode == "lexeme":
        return NumberLexeme(lexeme)
    if lexeme.removeprefix("-").isdigit():
        return to_int(lexeme)
    return Decimal(lexeme) if mode == "decimal" else float(lexeme)
