"""Bare words: literals and numbers in other forms than JSON's, and unquoted strings."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

from ..implementation import make_event
from ..states import AFTER, BARE, COLON, GAP, WORDS
from ..values import NumberLexeme, to_int
from .marks import COMMAS, QUOTES, SPACE, is_wide_space
from .strings import bare_text

if TYPE_CHECKING:
    from ..fields import Field, Kind
    from ..machine import Machine
    from ..streaming_data import StreamingData

_LITERALS: Final = ("true", "false", "null")
_PYTHON: Final[dict[str, Any]] = {
    "True": True, "False": False, "None": None, "TRUE": True, "FALSE": False, "NULL": None, "Null": None,
}  # fmt: skip
_NON_FINITE: Final = {"NaN": "nan", "Infinity": "inf", "nan": "nan", "inf": "inf", "Inf": "inf"}
_ALL_LITERALS: Final = (*_LITERALS, *_PYTHON, *_NON_FINITE, "undefined", "-Infinity", "+Infinity", "-inf", "-NaN")
_BLANKS: Final = (" ", "\t", "\n", "\r")
_LOOSE_NUMBER: Final = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|([0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]+)?)")
_UNDERSCORED: Final = re.compile(r"[0-9](?:_?[0-9])*(?:\.[0-9](?:_?[0-9])*)?(?:[eE][-+]?[0-9]+)?")
_NUMBER_START: Final = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]*|[0-9_]*\.?[0-9_]*(?:[eE][-+]?[0-9]*)?)")
_WORDS_AND_KEY: Final = re.compile(r"(.*?\S)(\s+)([^\W\d]\w*)", re.DOTALL)
_WORDS_STOP: Final = re.compile(r"[,;，；}\]:：\"]")


def atom(machine: Machine, lexeme: str, out: list[StreamingData]) -> int:
    """The state behind a bare word that is neither a literal nor a number of JSON."""
    odd = _odd_atom(machine, lexeme)
    if odd is not None:
        machine.diagnose(odd[0], machine.text, machine.atom_at - machine.offset)
        return machine.scalar(odd[1], odd[2], odd[3], out)
    if "unquoted_string" in machine.tolerances and machine.depth:
        machine.atom = lexeme
        return WORDS
    return machine.bad_atom(lexeme)


def is_atom(machine: Machine, lexeme: str) -> bool:
    """Whether a bare word is a literal or number in a form that the dialect takes."""
    if _odd_atom(machine, lexeme) is not None:
        return True
    # While a quote is pending: dates and versions (`2024-05-01`), and a word right between two commas.
    return (
        machine.pending >= 0
        and "unquoted_string" in machine.tolerances
        and (lexeme[:1].isdigit() or (not machine.gap and machine.state == BARE))
    )


def finish(machine: Machine, state: int, out: list[StreamingData]) -> Field | None:
    """The text ends in or behind a bare word. Returns the field that stays open; None: it was whole."""
    raw = machine.atom if state != WORDS else machine.atom + machine.buffer
    words = raw.rstrip()
    if state == BARE:
        machine.atom_at = machine.offset - len(raw)
    if not machine.words:
        # A number at the very end may go on, unless it is all there is; a literal may not.
        whole = state != BARE or not machine.depth or words in _LITERALS or words in _PYTHON
        if whole and machine.is_atom(words):
            machine.state = machine.end_atom(words, out)
            return None
        half = _NUMBER_START.fullmatch(words) is not None or any(one.startswith(words) for one in _ALL_LITERALS)
        if not machine.depth and not half:
            machine.state = machine.bad_atom(words)
            return None
        if "unquoted_string" not in machine.tolerances or (half and state == BARE):
            return machine.open_atom(words, out)
    _begin_words(machine, out)
    machine.emit(bare_text(machine, words, machine.leaf), out)
    machine.state = WORDS
    machine.put_open()
    value = "".join(machine.pieces) if machine.keep_data else None
    out.append(make_event(machine.leaf, "cut", None, value))
    return machine.leaf


def _odd_atom(machine: Machine, lexeme: str) -> tuple[str, Kind, str | None, Any] | None:
    """(diagnostic code, kind, lexeme in JSON form, value) of a literal or number that JSON does not know."""
    allowed = machine.tolerances
    if lexeme in _PYTHON and "python_literal" in allowed:
        value = _PYTHON[lexeme]
        if value is None:
            return "python_literal", "null", None, None
        return "python_literal", "boolean", lexeme.lower(), value
    if lexeme == "undefined" and "js_literal" in allowed:
        return "js_literal", "null", None, None
    sign = lexeme[:1] if lexeme[:1] in ("+", "-") else ""
    bare = lexeme[len(sign) :]
    if bare in _NON_FINITE and "non_finite" in allowed and (bare in ("NaN", "Infinity") or "python_literal" in allowed):
        number = float(sign + _NON_FINITE[bare])
        shown = "NaN" if number != number else "-Infinity" if number < 0 else "Infinity"
        return "non_finite", "number", shown, _as_number(machine, shown, number)
    if "number_form" not in allowed or len(bare) > machine.max_number:
        return None
    if "_" in bare and "loose_number" in allowed and _UNDERSCORED.fullmatch(bare) is not None:
        bare = bare.replace("_", "")
    match = _LOOSE_NUMBER.fullmatch(sign + bare)
    if match is None:
        return None
    minus = "-" if sign == "-" else ""
    if match[2] is not None:
        shown = f"{minus}{Decimal(int(match[2], 16)):f}"
    else:
        digits, fraction = match[3], match[4]
        if not digits and (fraction is None or fraction == "."):
            return None
        if len(digits) > 1 and digits[0] == "0" and "loose_number" not in allowed:
            return None
        shown = minus + (digits.lstrip("0") or "0")
        if fraction is not None:
            shown += fraction if len(fraction) > 1 else ".0"
        shown += match[5] or ""
    value = to_int(shown) if shown.lstrip("-").isdigit() else float(shown)
    return "number_form", "number", shown, _as_number(machine, shown, value)


def _as_number(machine: Machine, shown: str, value: float) -> Any:
    if machine.number == "lexeme":
        return NumberLexeme(shown)
    if machine.number == "decimal" and isinstance(value, float):
        try:
            return Decimal(shown)
        except InvalidOperation:
            return Decimal(value)  # beyond what Decimal can hold: zero or infinite
    return value


def behind_atom(machine: Machine, state: int, text: str, final: bool, out: list[StreamingData]) -> bool:
    """In BARE or GAP: the word is over, or it was the first of several."""
    char = text[machine.pos]
    loose = "unquoted_string" in machine.tolerances and machine.depth > 0
    if char == "/" and machine.pos + 1 == len(text) and loose and not final:
        return True  # `4/5`, or a comment
    if char in ".…" and state == GAP and not machine.in_object and "ellipsis" in machine.tolerances:
        # `[1, 2 ...]`
        if len(text) - machine.pos < 3 and text[machine.pos :] in (".", "..") and loose and not final:
            return True
        if text.startswith(("...", "…"), machine.pos) and machine.is_atom(machine.atom):
            machine.state = machine.end_atom(machine.atom, out)
            return False
    ends = char in ",;，；、}]{[" or not loose or (char in QUOTES and (state == GAP or char == '"'))
    ends = ends or text.startswith(("//", "/*"), machine.pos) or (char == "#" and state == GAP)
    # `[1 2]`: two numbers, not one string; `[true⏎false]`: two literals. A space is no way to write a number.
    apart = char.isdigit() or char == "-" or "\n" in machine.gap
    ends = ends or (state == GAP and not machine.in_object and apart and machine.is_atom(machine.atom))
    if ends:
        machine.state = machine.end_atom(machine.atom, out)
        if machine.state == WORDS and state == GAP:
            machine.atom += machine.gap
    elif machine.pending >= 0:
        machine.state = machine.reject(out)
    else:
        if state == GAP:
            machine.atom += machine.gap
        machine.state = WORDS
    return False


def in_words(machine: Machine, state: int, text: str, final: bool, out: list[StreamingData]) -> bool:
    """Inside an unquoted string. It is sent when its end is read, or when it is longer than may be held."""
    pos = machine.pos
    held = machine.limits.held
    scan = pos
    while True:
        match = _WORDS_STOP.search(text, scan)
        at = len(text) if match is None else match.start()
        while len(machine.atom) + at - pos > held:
            # Exactly as much as may not be held any longer, so that the splits do not matter.
            end = max(pos + held + 1 - len(machine.atom), pos)
            _begin_words(machine, out)
            machine.emit(bare_text(machine, machine.atom + text[pos:end], machine.leaf), out)
            machine.atom = ""
            pos = end
        if match is None:
            break
        scan = at + 1
        char = match[0]
        if char == '"' and (machine.atom + text[pos:at])[-1:] not in _BLANKS:
            continue
        words = machine.atom + text[pos:at]
        if char in ":：":
            parts = _WORDS_AND_KEY.fullmatch(words) if machine.in_object and not machine.words else None
            if parts is None or not ("\n" in parts[2] or machine.is_atom(parts[1])):
                continue
            # What looked like one more word is the next key.
            machine.pos = at
            _end_words(machine, parts[1], out)
            machine.diagnose("missing_comma", text, at)
            machine.diagnose("unquoted_key", text, at)
            machine.key = parts[3]
            machine.key_closers = ""
            machine.gap = ""
            machine.state = COLON
            return False
        machine.pos = at
        words = _without_space(words, machine)
        if char in COMMAS and machine.in_object and (machine.words or not machine.is_atom(words)):
            # As with a quote: the string ends here if a key follows, else the comma belongs to it.
            _begin_words(machine, out)
            machine.tail = bare_text(machine, words, machine.leaf)
            machine.pending = machine.offset + at
            machine.string = WORDS
            machine.undo = machine.diagnostic_count
            machine.state = AFTER
        else:
            _end_words(machine, words, out)
        return False
    machine.pos = len(text)
    machine.atom += text[pos:]
    return False


def _without_space(words: str, machine: Machine) -> str:
    """The words without the white space behind them, visible or not."""
    end = len(words)
    while end and (words[end - 1] in _BLANKS or is_wide_space(words[end - 1], machine.tolerances)):
        end -= 1
    if words[end:].strip(SPACE):
        machine.diagnose("bom", machine.text, machine.pos)
    return words[:end]


def _begin_words(machine: Machine, out: list[StreamingData]) -> None:
    if not machine.words:
        machine.words = True
        machine.begin_string(machine.atom_at, out)
        machine.diagnose("unquoted_string", machine.text, machine.atom_at - machine.offset, field=machine.leaf)


def _end_words(machine: Machine, words: str, out: list[StreamingData]) -> None:
    machine.atom = ""
    if not machine.words and machine.is_atom(words):
        machine.state = machine.end_atom(words, out)
        return
    if not machine.words and not machine.in_object and "missing_comma" in machine.tolerances:
        parts = words.split()
        if len(parts) > 1 and all(machine.is_atom(part) for part in parts):
            # `[true false]`: nothing but literals and numbers.
            for index, part in enumerate(parts):
                if index:
                    machine.diagnose("missing_comma", machine.text, machine.pos)
                machine.state = machine.end_atom(part, out)
            return
    _begin_words(machine, out)
    machine.tail = bare_text(machine, words, machine.leaf)
    machine.end_string(out)
    machine.state = AFTER
