"""JSON text of any depth: `json` and pydantic give up at a depth that a document may have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, cast

from .dialect import DialectName
from .limits import Limits
from .parser import StreamParser

# What is read here was bounded when it was parsed first.
_UNBOUNDED: Final = Limits(depth=1 << 30, string=1 << 40, key=1 << 40, number=1 << 40, document=1 << 40)


class Written(str):
    """Text that is JSON already."""

    __slots__ = ()


def write(value: Any, scalar: Callable[[Any], Any], indent: int | None = None) -> str:
    """`value` as JSON. Of what is no mapping, list or tuple `scalar` makes `Written`, or another value to write."""
    out: list[str] = []
    work: list[tuple[Any, int]] = [(value, 0)]  # what is still to be written, and its depth
    while work:
        item, depth = work.pop()
        if isinstance(item, Written):
            out.append(item)
        elif isinstance(item, Mapping | list | tuple):
            pieces = _pieces(cast("Mapping[Any, Any] | Sequence[Any]", item), scalar, depth, indent)
            work += [(piece, depth + 1) for piece in reversed(pieces)]
        else:
            work.append((scalar(item), depth))
    return "".join(out)


def _pieces(
    container: Mapping[Any, Any] | Sequence[Any], scalar: Callable[[Any], Any], depth: int, indent: int | None
) -> list[Any]:
    """The members of a container, and the JSON around them."""
    opener, closer = "{}" if isinstance(container, Mapping) else "[]"
    if not container:
        return [Written(opener + closer)]
    margin, last, colon = "", "", ":"
    if indent is not None:
        margin, last, colon = "\n" + " " * indent * (depth + 1), "\n" + " " * indent * depth, ": "
    pieces: list[Any] = []
    if isinstance(container, Mapping):
        for name, member in container.items():
            pieces += (Written(f"{'' if not pieces else ','}{margin}{scalar(str(name))}{colon}"), member)
    else:
        for member in container:
            pieces += (Written(f"{'' if not pieces else ','}{margin}"), member)
    return [Written(opener), *pieces, Written(last + closer)]


def write_int(number: int) -> str:
    """An integer of any size."""
    # CPython refuses to write an int of more than 4300 digits, `Decimal` does not.
    return int.__repr__(number) if number.bit_length() < 14_000 else str(Decimal(int(number)))


def read(text: str, dialect: DialectName, surrogates: str = "replace") -> Any:
    """The value of a JSON text of any depth. Raises `JSONSyntaxError` and `IncompleteJSONError`."""
    parser = StreamParser(dialect=dialect, limits=_UNBOUNDED, surrogates=cast("Any", surrogates))
    parser.feed(text)
    return parser.close().data
