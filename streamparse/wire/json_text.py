"""JSON as it goes over the wire: compact, one line for every reader of lines, of any depth and with any number."""

# What is in a container of JSON may be anything, which pyright calls unknown.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from decimal import Decimal
from json.encoder import encode_basestring
from math import isfinite
from typing import Any, Final

from ..json_text import Written, read, write, write_int
from ..values import NumberLexeme, to_int

# Half a surrogate pair has no UTF-8. The others are legal in JSON and in SSE, but readers that use `str.splitlines`
# (Python's HTTP clients do) take them for ends of lines.
_ESCAPED: Final = re.compile("[\x85\u2028\u2029\ud800-\udfff]")


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
    return write(value, _scalar)


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


def _scalar(item: Any) -> Any:
    if isinstance(item, NumberLexeme):
        return Written(item if item[-1:].isdigit() else _not_finite(float(item)))
    if isinstance(item, str):
        return Written(_string(item))
    if item is None or isinstance(item, bool):
        return Written("null" if item is None else "true" if item else "false")
    if isinstance(item, int):
        return Written(write_int(item))
    if isinstance(item, float):
        return Written(float.__repr__(item) if isfinite(item) else _not_finite(item))
    if isinstance(item, Decimal):
        return Written(str(item) if item.is_finite() else _not_finite(float(item)))
    return _plain(item)


def _string(text: str) -> str:
    written = encode_basestring(text)
    return written if written.isascii() else _ESCAPED.sub(_escape, written)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _not_finite(number: float) -> str:
    return "null" if number != number else "1e999" if number > 0 else "-1e999"


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    # What `output=` may have made of a value: a date, an Enum, a model. pydantic is imported where one is met.
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=str)


def from_json(text: str) -> Any:
    """The value of one JSON text of any depth. Raises `ValueError` (or our `JSONSyntaxError`, which is one)."""
    try:
        return json.loads(text, parse_int=to_int)
    except RecursionError:
        return read(text, "strict", "keep")


def number_of(lexeme: str, mode: str = "int_float") -> Any:
    """The value of a number's delta, as `StreamParser(number=mode)` gives it."""
    if mode == "lexeme":
        return NumberLexeme(lexeme)
    if lexeme.removeprefix("-").isdigit():
        return to_int(lexeme)
    return Decimal(lexeme) if mode == "decimal" else float(lexeme)
