"""JSON values: copies, comparison and numbers, without recursion and without surprises of size."""

# What is in a container of JSON may be anything, which pyright calls unknown.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from decimal import Decimal
from typing import Any


class NumberLexeme(str):
    """A number as the text has it, for `number="lexeme"`. `int()`, `float()` and `Decimal()` take it as it is."""

    __slots__ = ()


def to_int(lexeme: str) -> int:
    """A whole number of any length: CPython's `int` refuses long ones (CVE-2020-10735), `Decimal` does not."""
    return int(lexeme) if len(lexeme) < 640 else int(Decimal(lexeme))


def same_value(left: Any, right: Any) -> bool:
    """Equality of two JSON values by type and content. Key order does not count; NaN equals NaN."""
    pairs = [(left, right)]
    while pairs:
        a, b = pairs.pop()
        if a is b:
            continue
        if type(a) is not type(b):
            return False
        if type(a) is dict:
            if a.keys() != b.keys():
                return False
            pairs.extend((value, b[key]) for key, value in a.items())
        elif type(a) is list:
            if len(a) != len(b):
                return False
            pairs.extend(zip(a, b, strict=True))
        elif a != b and (a == a or b == b):
            return False
    return True


def copy_value(value: Any) -> Any:
    """A deep copy of a JSON value."""
    if type(value) is not dict and type(value) is not list:
        return value
    root: Any = {} if type(value) is dict else []
    work: list[tuple[Any, Any]] = [(value, root)]
    while work:
        source, target = work.pop()
        pairs = source.items() if type(source) is dict else enumerate(source)
        for key, child in pairs:
            if type(child) is dict or type(child) is list:
                fresh: Any = {} if type(child) is dict else []
                work.append((child, fresh))
                child = fresh
            if type(target) is list:
                target.append(child)
            else:
                target[key] = child
    return root


def flatten(value: Any) -> list[Any]:
    """A JSON value as a flat list, so that it pickles at any depth: a container is its type, its size and its items."""
    flat: list[Any] = []
    work: list[Any] = [value]
    while work:
        item = work.pop()
        if type(item) is dict:
            flat += [dict, tuple(item)]
            work.extend(reversed(item.values()))
        elif type(item) is list:
            flat += [list, len(item)]
            work.extend(reversed(item))
        else:
            flat.append(item)
    return flat


def unflatten(flat: list[Any]) -> Any:
    """The value that `flatten` wrote."""
    root: list[Any] = []
    # (container, keys still to fill, how many items are missing)
    work: list[tuple[Any, Any, int]] = [(root, None, 1)]
    at = 0
    while work:
        container, keys, missing = work[-1]
        if not missing:
            work.pop()
            continue
        work[-1] = (container, keys, missing - 1)
        item = flat[at]
        at += 1
        if item is dict or item is list:
            size = flat[at]
            at += 1
            value: Any = item()
            work.append((value, size, len(size)) if item is dict else (value, None, size))
        else:
            value = item
        if keys is None:
            container.append(value)
        else:
            container[keys[len(keys) - missing]] = value
    return root[0]
