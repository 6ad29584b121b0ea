"""Before and behind a value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ..states import AFTER, BARE, DOUBLED, END, JOIN, NEXT_KEY, OTHER_CLOSER, QUOTED, TRIPLE, VALUE, WORDS
from .marks import ATOM, COMMAS, QUOTES, SEPARATORS
from .pending import ahead, closes_root, end_pending
from .strings import is_triple

if TYPE_CHECKING:
    from ..machine import Machine
    from ..streaming_data import StreamingData

# What follows a bracket of the wrong kind when the root did not end with it.
_ROOT_GOES_ON: Final = {
    "}": re.compile(r'\s*,\s*"(?:[^"\\]|\\.)*"\s*:', re.DOTALL),
    "]": re.compile(r"\s*,\s*[{\[\"]"),
}
_ROOT_GOES_ON_START: Final = {
    "}": re.compile(r'\s*(?:,\s*(?:"(?:[^"\\]|\\.)*(?:\\|"\s*)?)?)?', re.DOTALL),
    "]": re.compile(r"\s*(?:,\s*)?"),
}


def before_value(machine: Machine, char: str, text: str, final: bool, out: list[StreamingData]) -> bool:
    """Something else than a value of JSON, where one is due."""
    pos = machine.pos
    allowed = machine.tolerances
    if machine.pending >= 0:
        # Behind a comma in an array. What is listed here ends the string; so does a bare word that is a literal.
        if char in ",;，；、]" or char in QUOTES:
            end_pending(machine, out)
        elif char in ATOM:
            machine.atom = ""
            # Prose has a blank behind a comma; a bare word right behind it may be an item.
            machine.gap = "" if _char_before(machine) in COMMAS else " "
            machine.state = BARE
            return False
        else:
            machine.state = machine.reject(out)
            return False
    inside = machine.depth > 0
    if (char == "'" and "single_quotes" in allowed) or (char in QUOTES and "odd_quotes" in allowed):
        machine.begin_string(machine.offset + pos + 1, out)
        machine.diagnose("single_quotes" if char == "'" else "odd_quotes", text, pos, field=machine.leaf)
        machine.pos = pos + 1
        machine.closers = QUOTES[char]
        machine.state = QUOTED
    elif char == "]" and not machine.in_object and inside and "trailing_comma" in allowed:
        machine.diagnose("trailing_comma", text, pos)
        machine.state = AFTER
    elif char in ",;，；、]}" and machine.in_object and inside:
        _no_value(machine, 0, out)
    elif char in COMMAS and inside and "extra_comma" in allowed:
        machine.diagnose("extra_comma", text, pos)
        machine.pos = pos + 1
    elif char == "}" and inside and "mismatched_bracket" in allowed:
        if machine.state == VALUE:
            machine.diagnose("trailing_comma", text, pos)
        machine.state = AFTER
    elif char == "?" and "missing_value" in allowed and inside:
        _no_value(machine, 1, out)
    elif char in SEPARATORS and machine.in_object and inside and "wrong_separator" in allowed:
        machine.diagnose("wrong_separator", text, pos)
        machine.pos = pos + 1
    elif char in ATOM and (char not in "+." or "number_form" in allowed):
        machine.atom = ""
        machine.state = BARE
    elif "unquoted_string" in allowed and inside and char not in "{}[]":
        machine.atom = ""
        machine.atom_at = machine.offset + pos
        machine.state = WORDS
    else:
        machine.unexpected()
    return False


def _char_before(machine: Machine) -> str:
    text = machine.text[: machine.pos] or "".join(machine.held)[: -len(machine.text) or None]
    return text[-1:] or " "


def _no_value(machine: Machine, length: int, out: list[StreamingData]) -> None:
    """A key, and nothing where its value should be."""
    if "missing_value" not in machine.tolerances:
        machine.unexpected()
        return
    machine.diagnose("missing_value", machine.text, machine.pos)
    machine.pos += length
    machine.state = machine.scalar("null", None, None, out)


def behind_value(machine: Machine, char: str, text: str, final: bool, out: list[StreamingData]) -> bool:
    """Something else than a comma or the closing bracket behind a value."""
    pos = machine.pos
    pending = machine.pending >= 0
    allowed = machine.tolerances
    if _is_comma(machine, char):
        machine.diagnose("wrong_separator" if char == ";" else "fullwidth_punctuation", text, pos)
        machine.pos = pos + 1
        machine.state = NEXT_KEY if machine.in_object else VALUE
    elif char == "}" or char == "]":
        if pending:
            machine.pos = pos + 1
            machine.gap = ""
            machine.state = OTHER_CLOSER
        else:
            return _mismatch(machine, char, text, final, out)
    elif char == "+" and pending and machine.string != WORDS and "string_concatenation" in allowed:
        machine.pos = pos + 1
        machine.state = JOIN
    elif pending and is_triple(machine, char, text):
        machine.pending = -1
        machine.held = []
        machine.diagnose("triple_quotes", text, pos - 2, field=machine.leaf)
        machine.closers = char
        machine.pos = pos + 1
        machine.state = TRIPLE
    elif "missing_comma" in allowed and _may_begin(machine, char):
        if pending and machine.in_object:
            # A quoted key may stand on the same line, a bare one not: there it is more likely text.
            if char not in QUOTES and "\n" not in machine.behind_quote():
                machine.state = machine.reject(out)
                return False
        elif pending:
            # In an array white space and an opening are enough; a bare word is not, unless it is a number or literal.
            spaced = machine.offset + pos > machine.pending + 1
            if spaced and (char.isdigit() or char in "-tfnTFN"):
                machine.diagnose("missing_comma", text, pos)
                machine.atom = ""
                machine.gap = " "
                machine.state = BARE
                return False
            if not spaced or (char not in QUOTES and char not in "{["):
                machine.state = machine.reject(out)
                return False
            end_pending(machine, out)
        machine.diagnose("missing_comma", text, pos)
        machine.state = NEXT_KEY if machine.in_object else VALUE
    elif pending:
        machine.state = machine.reject(out)
    else:
        machine.unexpected()
    return False


def _is_comma(machine: Machine, char: str) -> bool:
    return (
        (char == ";" and "wrong_separator" in machine.tolerances)
        or (char in "，；、" and "fullwidth_punctuation" in machine.tolerances)
    )  # fmt: skip


def _may_begin(machine: Machine, char: str) -> bool:
    if machine.in_object:
        return char in QUOTES or char.isalpha() or char in "_$"
    return char in QUOTES or char in "{[-+" or char.isalnum()


def _mismatch(machine: Machine, char: str, text: str, final: bool, out: list[StreamingData]) -> bool:
    """A closing bracket that is not the one of the current container."""
    if "mismatched_bracket" not in machine.tolerances:
        machine.unexpected()
        return False
    opened = machine.objects if char == "}" else machine.depth - machine.objects
    if opened and closes_root(machine, char):
        # `{"a": [1, 2}, "b": 3}`: the root goes on, so the bracket was meant for the current container.
        goes_on = ahead(machine, _ROOT_GOES_ON[char], _ROOT_GOES_ON_START[char], machine.pos + 1, final)
        if goes_on is None:
            return True
        if goes_on:
            opened = 0
    machine.diagnose("mismatched_bracket", text, machine.pos)
    if not opened:
        machine.pos += 1  # it can only be meant for the current one
    # Else the current container ends without a bracket of its own, and the next pass looks at this one again.
    machine.state = machine.pop(out)
    if machine.state == DOUBLED and opened:
        machine.state = AFTER
    return False


def behind_doubled(machine: Machine, char: str, text: str, final: bool, out: list[StreamingData]) -> bool:
    """The inner one of two closing braces was read: the other one is due."""
    machine.state = AFTER if machine.depth else END
    if char == "}":
        machine.pos += 1
    return False
