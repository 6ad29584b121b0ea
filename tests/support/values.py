"""JSON values as the tests compare them: with their types, without recursion."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

SURROGATE = re.compile("[\ud800-\udfff]")


def show(value: Any) -> str:
    """`value` as text that tells 1 from 1.0 from true, keeps key order and works at any depth."""
    out: list[str] = []
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, _Text):
            out.append(item)
        elif isinstance(item, dict):
            pieces: list[Any] = [_Text("{")]
            for index, (key, member) in enumerate(item.items()):
                pieces += [_Text(", " if index else ""), _Text(_show_leaf(key) + ": "), member]
            stack += reversed([*pieces, _Text("}")])
        elif isinstance(item, list):
            pieces = [_Text("[")]
            for index, member in enumerate(item):
                pieces += [_Text(", " if index else ""), member]
            stack += reversed([*pieces, _Text("]")])
        else:
            out.append(_show_leaf(item))
    return "".join(out)


class _Text(str):
    """Finished output on the stack of `show`, not a JSON string."""

    __slots__ = ()


def _show_leaf(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if type(value) is int:
        return hex(value) if abs(value) >= 10**4000 else str(value)  # str() of a longer int is refused by CPython
    if type(value) is float:
        return repr(value)
    if type(value) is str:
        return json.dumps(value)
    return f"{type(value).__name__}({str(value)!r})"


def difference(got: Any, want: Any, *, ordered: bool, at: str = "$") -> str | None:
    """What differs between a value and the `data` of a case, or None. The `$` objects of the case format are
    understood."""
    if isinstance(want, dict) and len(want) == 1:
        [(name, text)] = want.items()
        if name == "$float":
            return None if type(got) is float and repr(got) == text else f"{at}: {got!r} is not the float {text}"
        if name == "$decimal":
            same = isinstance(got, Decimal) and got == Decimal(text) and str(got) == text
            return None if same else f"{at}: {got!r} is not the decimal {text}"
        if name == "$lexeme":
            return None if str(got) == text else f"{at}: {got!r} is not the lexeme {text}"
    if isinstance(want, dict):
        if not isinstance(got, dict) or set(got) != set(want):
            return f"{at}: {got!r} has not the keys of {want!r}"
        if ordered and list(got) != list(want):
            return f"{at}: keys in the order {list(got)}, not {list(want)}"
        found = (difference(got[key], want[key], ordered=ordered, at=f"{at}.{key}") for key in want)
        return next((one for one in found if one), None)
    if isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            return f"{at}: {got!r} is not like {want!r}"
        found = (
            difference(a, b, ordered=ordered, at=f"{at}[{i}]") for i, (a, b) in enumerate(zip(got, want, strict=True))
        )
        return next((one for one in found if one), None)
    return None if show(got) == show(want) else f"{at}: {got!r} is not {want!r}"


def is_json(text: str) -> bool:
    """True for RFC 8259 text: what `json.loads` takes, without its own NaN and Infinity and without raw surrogates."""
    if SURROGATE.search(text):
        return False
    try:
        json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def loads(text: str, **hooks: Any) -> Any:
    """`json.loads` with the one change of law 5: each half of a surrogate pair is U+FFFD."""
    return repair(json.loads(text, **hooks))


def repair(value: Any) -> Any:
    """`value` with U+FFFD for each lone surrogate, in keys too."""
    if isinstance(value, str):
        return SURROGATE.sub("\ufffd", value) if type(value) is str else value
    if isinstance(value, dict):
        return {repair(key): repair(member) for key, member in value.items()}
    if isinstance(value, list):
        return [repair(member) for member in value]
    return value


def at(value: Any, parts: tuple[str | int, ...]) -> Any:
    """The value that stands at `parts`."""
    for part in parts:
        value = value[part]
    return value
