"""Tolerance: what a dialect makes of text that RFC 8259 does not know.

The machine hands over at a character that JSON does not have in its state. Each tolerance is a state of the machine
too, so that it streams and does not depend on the splits; each leaves a diagnostic. What a dialect does not tolerate is
a fault.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

from .decode import repair_surrogates
from .fields import KEY
from .states import (
    AFTER,
    BARE,
    BARE_KEY,
    BLOCK_COMMENT,
    CLOSER,
    COLON,
    DOUBLED,
    END,
    FIRST_KEY,
    FIRST_VALUE,
    GAP,
    JOIN,
    KEY_QUOTED,
    KEY_STRING,
    LINE_COMMENT,
    NEXT_KEY,
    OTHER_CLOSER,
    QUOTED,
    STATES,
    STRING,
    TRIPLE,
    VALUE,
    WORDS,
)
from .values import NumberLexeme, to_int

if TYPE_CHECKING:
    from .fields import Field, Kind
    from .machine import Machine, StreamingData

_LITERALS: Final = ("true", "false", "null")
_PYTHON: Final[dict[str, Any]] = {
    "True": True, "False": False, "None": None, "TRUE": True, "FALSE": False, "NULL": None, "Null": None,
}  # fmt: skip
_NON_FINITE: Final = {"NaN": "nan", "Infinity": "inf", "nan": "nan", "inf": "inf", "Inf": "inf"}
_ALL_LITERALS: Final = (*_LITERALS, *_PYTHON, *_NON_FINITE, "undefined", "-Infinity", "+Infinity", "-inf", "-NaN")
_ATOM: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-._"
_SPACE: Final = " \t\n\r"
_BLANKS: Final = (" ", "\t", "\n", "\r")
_QUOTES: Final = {
    "'": "'", '"': '"', "`": "`´", "´": "`´", "“": "“”", "”": "“”",
    "„": "“”", "‘": "‘’", "’": "‘’", "«": "»", "＂": "＂",
    "「": "」", "『": "』",
}  # fmt: skip
_SEPARATORS: Final = ":=："
_COMMAS: Final = ",;，；、"

_LOOSE_NUMBER: Final = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|([0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]+)?)")
_UNDERSCORED: Final = re.compile(r"[0-9](?:_?[0-9])*(?:\.[0-9](?:_?[0-9])*)?(?:[eE][-+]?[0-9]+)?")
_NUMBER_START: Final = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]*|[0-9_]*\.?[0-9_]*(?:[eE][-+]?[0-9]*)?)")
_HEX_PAIR: Final = re.compile(r"[0-9a-fA-F]{0,2}")
_LOOSE_KEY: Final = re.compile(r"[^:=：,;，；{}\[\]\"“”`]*")
_LETTERS: Final = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nl"})
_LETTERS_AND_MARKS: Final = _LETTERS | {"Mn", "Mc", "Nd", "Pc"}
_LINE_END: Final = re.compile("[\n\r\u2028\u2029]")
_UNICODE_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
_KEY_AND_COLON: Final = re.compile(r'"(?:[^"\\]|\\.)*"\s*[:=：]', re.DOTALL)
_KEY_AND_COLON_START: Final = re.compile(r'"(?:[^"\\]|\\.)*(?:"\s*|\\)?', re.DOTALL)
_PAIR: Final = re.compile(r'"(?:[^"\\]|\\.)*"\s*(?:\}|,\s*"(?:[^"\\]|\\.)*"\s*[:=：])', re.DOTALL)
_PAIR_START: Final = re.compile(r'"(?:[^"\\]|\\.)*(?:\\|"\s*(?:,\s*(?:"(?:[^"\\]|\\.)*(?:\\|"\s*)?)?)?)?', re.DOTALL)
# What follows a bracket of the wrong kind when the root did not end with it.
_ROOT_GOES_ON: Final = {
    "}": re.compile(r'\s*,\s*"(?:[^"\\]|\\.)*"\s*:', re.DOTALL),
    "]": re.compile(r"\s*,\s*[{\[\"]"),
}
_ROOT_GOES_ON_START: Final = {
    "}": re.compile(r'\s*(?:,\s*(?:"(?:[^"\\]|\\.)*(?:\\|"\s*)?)?)?', re.DOTALL),
    "]": re.compile(r"\s*(?:,\s*)?"),
}
_WORDS_AND_KEY: Final = re.compile(r"(.*?\S)(\s+)([^\W\d]\w*)", re.DOTALL)
_WORDS_STOP: Final = re.compile(r"[,;，；}\]:：\"]")


def is_wide_space(char: str, allowed: frozenset[str]) -> bool:
    """White space beyond JSON's four: what JSON5 names, and the invisible characters that come with pasted text."""
    if "around" not in allowed:
        return char in "\v\f\ufeff\u2028\u2029" or unicodedata.category(char) == "Zs"
    return char in "\ufeff\u200b\u200c\u200d\u2060\u180e" or (char.isspace() and char not in _SPACE)


def _is_identifier(char: str, *, first: bool) -> bool:
    """Whether `char` may stand in an unquoted key of JSON5, an identifier of ECMAScript 5."""
    kinds = _LETTERS if first else _LETTERS_AND_MARKS
    return char in "$_" or unicodedata.category(char) in kinds or (not first and char in "\u200c\u200d")


def tolerance_for(tolerances: frozenset[str]) -> Tolerant | None:
    """The tolerance of a dialect; None for one that tolerates nothing, so that it pays nothing."""
    return _TOLERANT if tolerances else None


class Tolerant:
    """The tolerances of a dialect, applied to a machine. It has no state of its own."""

    __slots__ = ()

    def read(self, machine: Machine, state: int, text: str, final: bool, out: list[StreamingData]) -> bool:
        """Take the character at `machine.pos`, or fail. True: more text is needed to say what it is."""
        inside = _INSIDE.get(state)
        if inside is not None:
            return inside(machine, state, text, final, out)
        pos = machine.pos
        char = text[pos]
        allowed = machine.tolerances
        # Half a mark at the end of the text is cut off with the document, unless that is closed.
        ends = final and state == END
        if char == "/" and "comment" in allowed:
            if pos + 1 == len(text) and not ends:
                return True
            if text.startswith(("//", "/*"), pos):
                _open_comment(machine, state, LINE_COMMENT if text[pos + 1] == "/" else BLOCK_COMMENT, 2)
                return False
        elif char == "#" and "shell_comment" in allowed:
            _open_comment(machine, state, LINE_COMMENT, 1)
            return False
        elif "wide_space" in allowed and is_wide_space(char, allowed):
            machine.diagnose("bom", text, pos)
            machine.pos = pos + 1
            if state == COLON:
                machine.gap += char
            return False
        elif char == "`" and "around" in allowed:
            if text.startswith("```", pos):
                # The fence ends here, so the document does. What is open is cut.
                if machine.pending >= 0:
                    machine.state = machine.accept(out)
                else:
                    machine.stop()
                return False
            if len(text) - pos < 3 and text[pos:] in ("`", "``") and not ends:
                return True
        elif char == "." and "ellipsis" in allowed and state != COLON and state != END:
            if text.startswith("...", pos):
                if machine.pending >= 0:
                    machine.state = machine.accept(out)
                else:
                    machine.diagnose("ellipsis", text, pos)
                    machine.pos = pos + 3
                return False
            if len(text) - pos < 3 and text[pos:] in (".", "..") and not ends:
                return True
        elif char == "…" and "ellipsis" in allowed and state != COLON and state != END:
            if machine.pending >= 0:
                machine.state = machine.accept(out)
            else:
                machine.diagnose("ellipsis", text, pos)
                machine.pos = pos + 1
            return False
        between = _BETWEEN.get(state)
        if between is not None:
            return between(machine, char, text, final, out)
        machine.unexpected()
        return False

    def atom(self, machine: Machine, lexeme: str, out: list[StreamingData]) -> int:
        """The state behind a bare word that is neither a literal nor a number of JSON."""
        odd = _odd_atom(machine, lexeme)
        if odd is not None:
            machine.diagnose(odd[0], machine.text, machine.atom_at - machine.offset)
            return machine.scalar(odd[1], odd[2], odd[3], out)
        if "unquoted_string" in machine.tolerances and machine.depth:
            machine.atom = lexeme
            return WORDS
        return machine.bad_atom(lexeme)

    def is_atom(self, machine: Machine, lexeme: str) -> bool:
        """Whether a bare word is a literal or number in a form that the dialect takes."""
        if _odd_atom(machine, lexeme) is not None:
            return True
        # While a quote is pending: dates and versions (`2024-05-01`), and a word right between two commas.
        return (
            machine.pending >= 0
            and "unquoted_string" in machine.tolerances
            and (lexeme[:1].isdigit() or (not machine.gap and machine.state == BARE))
        )

    def escape(self, machine: Machine, text: str, pos: int, pieces: list[str]) -> int:
        """The length of an escape that JSON does not know; 0: more text is needed; -1: a fault."""
        char = text[pos + 1]
        allowed = machine.tolerances
        if char == "u":
            if "broken_unicode_escape" in allowed:
                machine.diagnose("broken_unicode_escape", text, pos)
                pieces.append("\\u")
                return 2
            machine.fail("invalid_escape", text, pos, "four hexadecimal digits after \\u")
            return -1
        if char == "x" and "hex_escape" in allowed:
            match = _HEX_PAIR.match(text, pos + 2)
            end = match.end() if match is not None else pos + 2
            if end == pos + 4:
                machine.diagnose("hex_escape", text, pos)
                pieces.append(chr(int(text[pos + 2 : end], 16)))
                return 4
            if end == len(text):
                return 0
        elif char in "\n\r\u2028\u2029" and "line_continuation" in allowed:
            if char == "\r" and pos + 2 == len(text):
                return 0
            machine.diagnose("line_continuation", text, pos)
            return 3 if text.startswith("\r\n", pos + 1) else 2
        elif char == "v" and "hex_escape" in allowed:
            machine.diagnose("hex_escape", text, pos)
            pieces.append("\v")
            return 2
        elif char == "0" and "hex_escape" in allowed:
            if pos + 2 == len(text):
                return 0
            if text[pos + 2 : pos + 3] not in tuple("0123456789"):
                machine.diagnose("hex_escape", text, pos)
                pieces.append("\0")
                return 2
        if "invalid_escape" not in allowed or ("around" not in allowed and (char in "123456789x0")):
            machine.fail("invalid_escape", text, pos, 'one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX')
            return -1
        machine.diagnose("invalid_escape", text, pos)
        if "around" not in allowed or char == "'":
            # JSON5: a backslash in front of any other character is dropped.
            if char < " " or "\ud800" <= char <= "\udfff":
                return 1
            pieces.append(char)
            return 2
        # What starts no escape is text: models write Windows paths, LaTeX and regular expressions.
        pieces.append("\\")
        return 1

    def finish(self, machine: Machine, state: int, out: list[StreamingData]) -> Field | None:
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
        machine.emit(repair_surrogates(words), out)
        machine.state = WORDS
        machine.put_open()
        value = "".join(machine.pieces) if machine.keep_data else None
        out.append(_event(machine, value))
        return machine.leaf


def _event(machine: Machine, value: Any) -> StreamingData:
    from .implementation import make_event

    return make_event(machine.leaf, "cut", None, value)


# ---------------------------------------------------------------------------------------------------- numbers, literals


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


def _behind_atom(machine: Machine, state: int, text: str, final: bool, out: list[StreamingData]) -> bool:
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
    ends = char in ",;，；、}]{[" or not loose or (char in _QUOTES and (state == GAP or char == '"'))
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


# ----------------------------------------------------------------------------------------------------- unquoted strings


def _in_words(machine: Machine, state: int, text: str, final: bool, out: list[StreamingData]) -> bool:
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
            machine.emit(repair_surrogates(machine.atom + text[pos:end]), out)
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
        if char in _COMMAS and machine.in_object and (machine.words or not machine.is_atom(words)):
            # As with a quote: the string ends here if a key follows, else the comma belongs to it.
            _begin_words(machine, out)
            machine.tail = repair_surrogates(words)
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
    if words[end:].strip(_SPACE):
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
    machine.tail = repair_surrogates(words)
    machine.end_string(out)
    machine.state = AFTER


# ------------------------------------------------------------------------------------------------------------- comments


def _open_comment(machine: Machine, state: int, comment: int, length: int) -> None:
    machine.diagnose("comment", machine.text, machine.pos)
    machine.comment = state
    machine.state = comment
    machine.pos += length


def _in_comment(machine: Machine, state: int, text: str, final: bool, out: list[StreamingData]) -> bool:
    pos = machine.pos
    if state == LINE_COMMENT:
        line_end = _LINE_END.search(text, pos)
        machine.pos = len(text) if line_end is None else line_end.start()
        if line_end is not None:
            machine.state = machine.comment
        return False
    end = text.find("*/", pos)
    if end >= 0:
        machine.pos = end + 2
        machine.state = machine.comment
        return False
    # A star at the very end may be half of the closing mark.
    star = text.endswith("*") and not final
    machine.pos = max(pos, len(text) - 1) if star else len(text)
    return star


# ---------------------------------------------------------------------------------------------------------- odd strings


def _in_quotes(machine: Machine, state: int, text: str, final: bool, out: list[StreamingData]) -> bool:
    """Inside a string or key in other quotes, or in three."""
    key = state == KEY_QUOTED
    pieces: list[str] = machine.key_pieces if key else []
    waits = _read_quotes(machine, state, text, final, pieces, out)
    if (not key and machine.state == state) or machine.error is not None:
        machine.emit("" if key else "".join(pieces), out)
    return waits


def _read_quotes(
    machine: Machine, state: int, text: str, final: bool, pieces: list[str], out: list[StreamingData]
) -> bool:
    key = state == KEY_QUOTED
    closers = machine.key_closers if key else machine.closers
    barrier = (machine.key_barrier if key else machine.barrier) - machine.offset
    stops = _STOPS[closers]
    pos = machine.pos
    n = len(text)
    while pos < n or pos > barrier:  # an escape goes over the bound as a whole
        match = stops.search(text, pos)
        stop = n if match is None else match.start()
        if stop > barrier:
            stop = max(barrier, pos)
        if stop > pos:
            machine.triple = state == TRIPLE
            pieces.append(machine.raw_text(text, pos, stop))
            machine.triple = False
            if machine.error is not None:
                return False
            machine.pos = pos = stop
        if pos >= barrier and (pos > barrier or (pos < n and text[pos] not in closers)):
            if key:
                machine.limit("key", machine.max_key, text, barrier)
            else:
                machine.limit("string", machine.max_string, text, barrier)
            return False
        if pos == n:
            break
        if text[pos] == "\\":
            if pos + 1 < n and text[pos + 1] in closers and text[pos + 1] not in "\"'":
                pieces.append(text[pos + 1])
                used = 2
            else:
                used = machine.escape(text, pos, pieces)
            if used <= 0:
                return used == 0
            machine.pos = pos = pos + used
            continue
        if state == TRIPLE:
            if text.startswith(closers * 3, pos):
                machine.pos = pos + 3
                machine.emit("".join(pieces), out)
                machine.end_string(out)
                machine.state = AFTER if machine.depth else END
                return False
            if n - pos < 3 and text[pos:] in (closers, closers * 2) and not final:
                return True
            pieces.append(closers)
            machine.pos = pos = pos + 1
            continue
        machine.pos = pos + 1
        if key:
            machine.key = "".join(pieces)
            machine.key_pieces = []
            machine.gap = ""
            machine.state = COLON
            return False
        machine.emit("".join(pieces), out)
        if machine.lenient and machine.depth:
            machine.pending = machine.offset + pos
            machine.string = QUOTED
            machine.undo = machine.diagnostic_count
            machine.state = AFTER
        else:
            machine.end_string(out)
            machine.state = AFTER if machine.depth else END
        return False
    return False


def _behind_plus(machine: Machine, char: str, text: str, final: bool, out: list[StreamingData]) -> bool:
    if char in _QUOTES:
        machine.pending = -1
        machine.held = []
        machine.diagnose("string_concatenation", text, machine.pos, field=machine.leaf)
        machine.pos += 1
        machine.closers = _QUOTES[char]
        machine.state = STRING if char == '"' else QUOTED
    else:
        machine.state = machine.reject(out)
    return False


# ------------------------------------------------------------------------------------------------------- behind a value


def _behind_value(machine: Machine, char: str, text: str, final: bool, out: list[StreamingData]) -> bool:
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
    elif pending and _is_triple(machine, char, text):
        machine.pending = -1
        machine.held = []
        machine.diagnose("triple_quotes", text, pos - 2, field=machine.leaf)
        machine.closers = char
        machine.pos = pos + 1
        machine.state = TRIPLE
    elif "missing_comma" in allowed and _may_begin(machine, char):
        if pending and machine.in_object:
            # A quoted key may stand on the same line, a bare one not: there it is more likely text.
            if char not in _QUOTES and "\n" not in machine.behind_quote():
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
            if not spaced or (char not in _QUOTES and char not in "{["):
                machine.state = machine.reject(out)
                return False
            _end_pending(machine, out)
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


def _is_triple(machine: Machine, char: str, text: str) -> bool:
    """A quote right behind an empty string: the third of three."""
    return (
        "triple_quotes" in machine.tolerances
        and machine.offset + machine.pos == machine.pending + 1
        and not machine.pieces
        and not machine.tail
        and char in "\"'"
        and char == (machine.closers if machine.string == QUOTED else '"' if machine.string == STRING else "")
    )


def _may_begin(machine: Machine, char: str) -> bool:
    if machine.in_object:
        return char in _QUOTES or char.isalpha() or char in "_$"
    return char in _QUOTES or char in "{[-+" or char.isalnum()


def _mismatch(machine: Machine, char: str, text: str, final: bool, out: list[StreamingData]) -> bool:
    """A closing bracket that is not the one of the current container."""
    if "mismatched_bracket" not in machine.tolerances:
        machine.unexpected()
        return False
    opened = machine.objects if char == "}" else machine.depth - machine.objects
    if opened and _closes_root(machine, char):
        # `{"a": [1, 2}, "b": 3}`: the root goes on, so the bracket was meant for the current container.
        goes_on = _ahead(machine, _ROOT_GOES_ON[char], _ROOT_GOES_ON_START[char], machine.pos + 1, final)
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


def _ahead(machine: Machine, whole: re.Pattern[str], start: re.Pattern[str], pos: int, final: bool) -> bool | None:
    """Whether `whole` stands at `pos`, as far as text may be held; None where it began and more text is needed."""
    text = machine.text
    end = pos + machine.limits.held
    if whole.match(text, pos, end) is not None:
        return True
    return None if not final and len(text) <= end and start.fullmatch(text, pos) is not None else False


def _behind_closer(machine: Machine, char: str, text: str, final: bool, out: list[StreamingData]) -> bool:
    """A bracket was read while a quote is pending: what follows it decides."""
    pos = machine.pos
    assert machine.node is not None
    in_object = type(machine.node[KEY]) is str  # where the closed container stands
    ends: bool | None
    item = not in_object and machine.depth > 1 and (char in "{[" or (char in _QUOTES and machine.gap))
    if char in ",}];，；、" or item:
        ends = True
    elif char == '"' and in_object:
        ends = _ahead(machine, _KEY_AND_COLON, _KEY_AND_COLON_START, pos, final)
    elif char == "<" and pos + 1 == len(text) and not final:
        ends = None
    else:
        # So begins the text behind a document. What a string goes on with looks more like `dict["key"] = 1`.
        prose = "\n" in machine.gap or (machine.gap and char.isalpha()) or text.startswith(("<|", "</"), pos)
        ends = bool(prose) and _closes_root(machine, _bracket(machine))
    if ends is not None:
        machine.state = machine.accept(out) if ends else machine.reject(out)
    return ends is None


def _bracket(machine: Machine) -> str:
    """The bracket that was read behind the pending quote."""
    return machine.behind_quote().rstrip()[-1:]


def _closes_root(machine: Machine, char: str) -> bool:
    """Whether a closing bracket of the wrong kind closes everything: the root is the nearest container of its kind."""
    if machine.depth == 1:
        return True
    opened = machine.objects if char == "}" else machine.depth - machine.objects
    return opened == 1 and machine.object_root == (char == "}")


def _end_pending(machine: Machine, out: list[StreamingData]) -> None:
    """The pending quote ended its string, and what was read behind it stands."""
    machine.pending = -1
    machine.held = []
    machine.end_string(out)


def _behind_doubled(machine: Machine, char: str, text: str, final: bool, out: list[StreamingData]) -> bool:
    machine.state = AFTER if machine.depth else END
    if char == "}":
        machine.pos += 1
    return False


# ------------------------------------------------------------------------------------------------------- before a value


def _before_value(machine: Machine, char: str, text: str, final: bool, out: list[StreamingData]) -> bool:
    pos = machine.pos
    allowed = machine.tolerances
    if machine.pending >= 0:
        # Behind a comma in an array. What is listed here ends the string; so does a bare word that is a literal.
        if char in ",;，；、]" or char in _QUOTES:
            _end_pending(machine, out)
        elif char in _ATOM:
            machine.atom = ""
            # Prose has a blank behind a comma; a bare word right behind it may be an item.
            machine.gap = "" if _char_before(machine) in _COMMAS else " "
            machine.state = BARE
            return False
        else:
            machine.state = machine.reject(out)
            return False
    inside = machine.depth > 0
    if (char == "'" and "single_quotes" in allowed) or (char in _QUOTES and "odd_quotes" in allowed):
        machine.begin_string(machine.offset + pos + 1, out)
        machine.diagnose("single_quotes" if char == "'" else "odd_quotes", text, pos, field=machine.leaf)
        machine.pos = pos + 1
        machine.closers = _QUOTES[char]
        machine.state = QUOTED
    elif char == "]" and not machine.in_object and inside and "trailing_comma" in allowed:
        machine.diagnose("trailing_comma", text, pos)
        machine.state = AFTER
    elif char in ",;，；、]}" and machine.in_object and inside:
        _no_value(machine, 0, out)
    elif char in _COMMAS and inside and "extra_comma" in allowed:
        machine.diagnose("extra_comma", text, pos)
        machine.pos = pos + 1
    elif char == "}" and inside and "mismatched_bracket" in allowed:
        if machine.state == VALUE:
            machine.diagnose("trailing_comma", text, pos)
        machine.state = AFTER
    elif char == "?" and "missing_value" in allowed and inside:
        _no_value(machine, 1, out)
    elif char in _SEPARATORS and machine.in_object and inside and "wrong_separator" in allowed:
        machine.diagnose("wrong_separator", text, pos)
        machine.pos = pos + 1
    elif char in _ATOM and (char not in "+." or "number_form" in allowed):
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


# ----------------------------------------------------------------------------------------------------------------- keys


def _before_key(machine: Machine, char: str, text: str, final: bool, out: list[StreamingData]) -> bool:
    pos = machine.pos
    allowed = machine.tolerances
    pending = machine.pending >= 0
    if char == "}" or char in _COMMAS:
        if pending:
            _end_pending(machine, out)
        if char == "}" and "trailing_comma" in allowed:
            machine.diagnose("trailing_comma", text, pos)
            machine.state = AFTER
        elif char != "}" and "extra_comma" in allowed:
            machine.diagnose("extra_comma", text, pos)
            machine.pos = pos + 1
        else:
            machine.unexpected()
    elif (char == "'" and "single_quotes" in allowed) or (char in _QUOTES and "odd_quotes" in allowed):
        machine.diagnose("single_quotes" if char == "'" else "odd_quotes", text, pos)
        machine.pos = pos + 1
        machine.key_pieces = []
        machine.key_barrier = machine.offset + pos + 1 + machine.max_key
        machine.key_closers = _QUOTES[char]
        machine.state = KEY_QUOTED
    elif _may_begin_key(machine, char):
        machine.atom_at = machine.offset + pos
        machine.key_pieces = []
        machine.state = BARE_KEY
    elif pending:
        machine.state = machine.reject(out)
    elif char == "{" and machine.state == FIRST_KEY and "doubled_braces" in allowed and not _is_doubled(machine):
        machine.diagnose("doubled_braces", text, pos)
        machine.doubled.append(machine.depth - 1)
        machine.pos = pos + 1
    elif char == "]" and "mismatched_bracket" in allowed:
        if machine.state == NEXT_KEY:
            machine.diagnose("trailing_comma", text, pos)
        machine.state = AFTER
    else:
        machine.unexpected()
    return False


def _is_doubled(machine: Machine) -> bool:
    return bool(machine.doubled) and machine.doubled[-1] == machine.depth - 1


def _may_begin_key(machine: Machine, char: str) -> bool:
    if "unquoted_key" not in machine.tolerances:
        return False
    if "loose_key" in machine.tolerances:
        return char.isalnum() or char in "_$-@*"
    return char == "\\" or _is_identifier(char, first=True)


def _in_bare_key(machine: Machine, state: int, text: str, final: bool, out: list[StreamingData]) -> bool:
    pos = machine.pos
    loose = "loose_key" in machine.tolerances
    if loose:
        stop = _LOOSE_KEY.match(text, pos).end()  # type: ignore[union-attr]  # matches always, if nothing
    else:
        stop = pos
        while stop < len(text) and (text[stop] == "\\" or _is_identifier(text[stop], first=False)):
            stop += 1
    start = machine.atom_at - machine.offset
    if stop - start > machine.max_key:
        machine.pos = start + machine.max_key + 1  # the first character too many decides, wherever the text was cut
        if machine.pending >= 0:
            machine.state = machine.reject(out)
        else:
            machine.limit("key", machine.max_key, text, start + machine.max_key)
        return False
    machine.key_pieces.append(text[pos:stop])
    machine.pos = stop
    if stop == len(text):
        return False
    char = text[stop]
    key = "".join(machine.key_pieces).rstrip()
    machine.key_pieces = []
    pending = machine.pending >= 0
    code = "unquoted_key"
    if not loose:
        raw, key = key, _UNICODE_ESCAPE.sub(_decode_escape, key)
        if not all(_is_identifier(one, first=not index) for index, one in enumerate(key)):
            machine.fail("unexpected_character", text, start, STATES[BARE_KEY].expected, found=raw[:1])
            return False
    elif char in '"“”' and "missing_quote" in machine.tolerances:
        code = "missing_quote"
        machine.pos = stop + 1
    elif char not in _SEPARATORS and (pending or char not in ",;，；、}{["):
        if pending:
            machine.state = machine.reject(out)
        else:
            machine.unexpected()
        return False
    machine.diagnose(code, text, start)
    machine.key = repair_surrogates(key)
    machine.key_closers = ""
    machine.gap = ""
    machine.state = COLON
    return False


def _decode_escape(match: re.Match[str]) -> str:
    return chr(int(match[1], 16))


def _behind_key(machine: Machine, char: str, text: str, final: bool, out: list[StreamingData]) -> bool:
    pos = machine.pos
    allowed = machine.tolerances
    pending = machine.pending >= 0
    if (char == "=" and "wrong_separator" in allowed) or (char == "：" and "fullwidth_punctuation" in allowed):
        if char == "=" and pos + 1 == len(text) and not final:
            return True
        if pending:
            _end_pending(machine, out)
        machine.diagnose("wrong_separator" if char == "=" else "fullwidth_punctuation", text, pos)
        machine.pos = pos + (2 if text.startswith("=>", pos) else 1)
        _take_key(machine, text, pos, out)
    elif pending and not ("missing_colon" in allowed and machine.key_closers and _leads_on(machine, char)):
        if char == '"' and "missing_colon" in allowed and machine.key_closers and machine.gap:
            # `"k" "v"` in the middle of prose, or a key without its colon: what follows says it.
            is_pair = _ahead(machine, _PAIR, _PAIR_START, pos, final)
            if is_pair is None:
                return True
            if is_pair:
                _end_pending(machine, out)
                machine.diagnose("missing_colon", text, pos)
                _take_key(machine, text, pos, out)
                return False
        machine.state = machine.reject(out)
    elif pending:
        _end_pending(machine, out)
        machine.diagnose("missing_colon", text, pos)
        _take_key(machine, text, pos, out)
    elif "missing_colon" in allowed and (char in "{[" or (machine.gap and _begins_value(machine, char))):
        machine.diagnose("missing_colon", text, pos)
        _take_key(machine, text, pos, out)
    elif char in ",;，；、}]" and "missing_value" in allowed:
        _take_key(machine, text, pos, out)
    elif machine.lenient and machine.key_closers:
        # The quote was not the end of the key.
        machine.diagnose("unescaped_quote", text, pos)
        before = len(machine.gap) + 1 + len(machine.key)
        machine.key_barrier = machine.offset + pos - before + machine.max_key
        if machine.key_barrier < machine.offset + pos:
            machine.limit("key", machine.max_key, text, pos)
            return False
        machine.key_pieces = [machine.key, machine.key_closers[-1], machine.gap]
        machine.state = KEY_STRING if machine.key_closers == '"' else KEY_QUOTED
    elif "missing_colon" in allowed and not machine.key_closers and machine.gap:
        machine.diagnose("missing_colon", text, pos)
        _take_key(machine, text, pos, out)
    else:
        machine.unexpected()
    return False


def _leads_on(machine: Machine, char: str) -> bool:
    """Whether a quoted key without its colon is one all the same, while a quote before it is pending."""
    return char in "{[" or (bool(machine.gap) and (char.isdigit() or char in "-tfn"))


def _begins_value(machine: Machine, char: str) -> bool:
    return char in _QUOTES or char in "{[-+." or char.isdigit() or char in "tfnTFN"


def _take_key(machine: Machine, text: str, pos: int, out: list[StreamingData]) -> None:
    """The key is certain. The same as the machine does at a colon."""
    if machine.keep_data:
        machine.key = machine.memo.setdefault(machine.key, machine.key)
    if machine.key in machine.container:
        machine.key_again(text, pos, out)
    machine.state = VALUE


Inside = Callable[["Machine", int, str, bool, "list[StreamingData]"], bool]
Between = Callable[["Machine", str, str, bool, "list[StreamingData]"], bool]

_STOPS: Final = {closers: re.compile(f"[\\\\{closers}]") for closers in {*_QUOTES.values(), "'", '"'}}
_INSIDE: Final[dict[int, Inside]] = {
    BARE: _behind_atom,
    GAP: _behind_atom,
    WORDS: _in_words,
    QUOTED: _in_quotes,
    KEY_QUOTED: _in_quotes,
    TRIPLE: _in_quotes,
    BARE_KEY: _in_bare_key,
    LINE_COMMENT: _in_comment,
    BLOCK_COMMENT: _in_comment,
}
_BETWEEN: Final[dict[int, Between]] = {
    VALUE: _before_value,
    FIRST_VALUE: _before_value,
    NEXT_KEY: _before_key,
    FIRST_KEY: _before_key,
    COLON: _behind_key,
    AFTER: _behind_value,
    CLOSER: _behind_closer,
    OTHER_CLOSER: _behind_closer,
    JOIN: _behind_plus,
    DOUBLED: _behind_doubled,
}
_TOLERANT: Final = Tolerant()
