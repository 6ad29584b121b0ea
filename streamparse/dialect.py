"""Dialect: what is tolerated beyond RFC 8259.

A dialect is a set of tolerances, each named by the code of the diagnostic that it leaves. `STRICT` has none, `JSON5`
those of json5.org, `LLM` all that language models have been seen to need.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from .errors import UsageError

DialectName = Literal["strict", "json5", "llm"]

_JSON5 = frozenset(
    {
        "trailing_comma",
        "single_quotes",
        "unquoted_key",
        "non_finite",
        "number_form",
        "comment",
        "control_character",
        "hex_escape",
        "line_continuation",
        "invalid_escape",
        "wide_space",
    }
)
_LLM = frozenset(
    {
        *_JSON5,
        "around",
        "broken_unicode_escape",
        "doubled_braces",
        "ellipsis",
        "escaped_document",
        "extra_bracket",
        "extra_comma",
        "fullwidth_punctuation",
        "invalid_utf8",
        "js_literal",
        "loose_key",
        "loose_number",
        "mismatched_bracket",
        "missing_colon",
        "missing_comma",
        "missing_quote",
        "missing_value",
        "odd_quotes",
        "python_literal",
        "raw_line_end",
        "shell_comment",
        "string_concatenation",
        "triple_quotes",
        "truncated",
        "unescaped_quote",
        "unquoted_string",
        "wrong_separator",
    }
)
_NAMED: dict[str, frozenset[str]] = {"strict": frozenset(), "json5": _JSON5, "llm": _LLM}

TOLERANCES: frozenset[str] = _LLM
"""Every tolerance there is. Most are diagnostic codes; the others: `around` (text, fences and wrappers round the
document), `raw_line_end` (CR and LF inside strings), `loose_key` (unquoted keys that are no identifiers),
`loose_number` (`007`, `1_000`), `shell_comment` (`#`), `wide_space` (white space beyond JSON's four).
"""


class Dialect:
    """A set of tolerances: `Dialect("llm", except_={"unquoted_string"})`, `Dialect("strict", also={"trailing_comma"})`.

    `name` is the dialect it started from; `tolerances` the resulting set. Raises `UsageError` on a name that does not
    exist.
    """

    __slots__ = ("name", "tolerances")

    name: DialectName
    tolerances: frozenset[str]

    def __init__(self, name: DialectName = "llm", *, except_: Iterable[str] = (), also: Iterable[str] = ()) -> None:
        if name not in _NAMED:
            raise UsageError(f"unknown dialect {name!r}", expected=", ".join(_NAMED))
        minus, plus = frozenset(except_), frozenset(also)
        unknown = sorted((minus | plus) - TOLERANCES)
        if unknown:
            raise UsageError(f"unknown tolerance {unknown[0]!r}", expected=", ".join(sorted(TOLERANCES)))
        self.name = name
        self.tolerances = (_NAMED[name] | plus) - minus

    def __contains__(self, tolerance: object) -> bool:
        return tolerance in self.tolerances

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dialect) and self.tolerances == other.tolerances

    def __hash__(self) -> int:
        return hash(self.tolerances)

    def __repr__(self) -> str:
        base = _NAMED[self.name]
        details = [f"except_={sorted(base - self.tolerances)}"] if base - self.tolerances else []
        details += [f"also={sorted(self.tolerances - base)}"] if self.tolerances - base else []
        return f"Dialect({', '.join([repr(self.name), *details])})"


STRICT = Dialect("strict")
JSON5 = Dialect("json5")
LLM = Dialect("llm")
_DIALECTS = {"strict": STRICT, "json5": JSON5, "llm": LLM}


def as_dialect(value: DialectName | Dialect) -> Dialect:
    """The dialect that `value` names. Raises `UsageError`."""
    if isinstance(value, Dialect):
        return value
    return _DIALECTS.get(value) or Dialect(value)
