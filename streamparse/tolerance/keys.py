"""Keys: before, in and behind them."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from ..states import AFTER, BARE_KEY, COLON, FIRST_KEY, KEY_QUOTED, KEY_STRING, NEXT_KEY, STATES, VALUE
from .marks import COMMAS, QUOTES, SEPARATORS
from .pending import ahead, end_pending
from .strings import bare_text

if TYPE_CHECKING:
    from ..machine import Machine
    from ..streaming_data import StreamingData

_LOOSE_KEY: Final = re.compile(r"[^:=：,;，；{}\[\]\"“”`]*")
_LETTERS: Final = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nl"})
_LETTERS_AND_MARKS: Final = _LETTERS | {"Mn", "Mc", "Nd", "Pc"}
_UNICODE_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
_PAIR: Final = re.compile(r'"(?:[^"\\]|\\.)*"\s*(?:\}|,\s*"(?:[^"\\]|\\.)*"\s*[:=：])', re.DOTALL)
_PAIR_START: Final = re.compile(r'"(?:[^"\\]|\\.)*(?:\\|"\s*(?:,\s*(?:"(?:[^"\\]|\\.)*(?:\\|"\s*)?)?)?)?', re.DOTALL)


def before_key(machine: Machine, char: str, text: str, final: bool, out: list[StreamingData]) -> bool:
    """Something else than a key in double quotes, where a key is due."""
    pos = machine.pos
    allowed = machine.tolerances
    pending = machine.pending >= 0
    if char == "}" or char in COMMAS:
        if pending:
            end_pending(machine, out)
        if char == "}" and "trailing_comma" in allowed:
            machine.diagnose("trailing_comma", text, pos)
            machine.state = AFTER
        elif char != "}" and "extra_comma" in allowed:
            machine.diagnose("extra_comma", text, pos)
            machine.pos = pos + 1
        else:
            machine.unexpected()
    elif (char == "'" and "single_quotes" in allowed) or (char in QUOTES and "odd_quotes" in allowed):
        machine.diagnose("single_quotes" if char == "'" else "odd_quotes", text, pos)
        machine.pos = pos + 1
        machine.key_pieces = []
        machine.key_barrier = machine.offset + pos + 1 + machine.max_key
        machine.key_closers = QUOTES[char]
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


def _is_identifier(char: str, *, first: bool) -> bool:
    """Whether `char` may stand in an unquoted key of JSON5, an identifier of ECMAScript 5."""
    kinds = _LETTERS if first else _LETTERS_AND_MARKS
    return char in "$_" or unicodedata.category(char) in kinds or (not first and char in "\u200c\u200d")


def in_bare_key(machine: Machine, state: int, text: str, final: bool, out: list[StreamingData]) -> bool:
    """Inside an unquoted key."""
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
    elif char not in SEPARATORS and (pending or char not in ",;，；、}{["):
        if pending:
            machine.state = machine.reject(out)
        else:
            machine.unexpected()
        return False
    machine.diagnose(code, text, start)
    machine.key = bare_text(machine, key)
    machine.key_closers = ""
    machine.gap = ""
    machine.state = COLON
    return False


def _decode_escape(match: re.Match[str]) -> str:
    return chr(int(match[1], 16))


def behind_key(machine: Machine, char: str, text: str, final: bool, out: list[StreamingData]) -> bool:
    """Something else than a colon behind a key."""
    pos = machine.pos
    allowed = machine.tolerances
    pending = machine.pending >= 0
    if (char == "=" and "wrong_separator" in allowed) or (char == "：" and "fullwidth_punctuation" in allowed):
        if char == "=" and pos + 1 == len(text) and not final:
            return True
        if pending:
            end_pending(machine, out)
        machine.diagnose("wrong_separator" if char == "=" else "fullwidth_punctuation", text, pos)
        machine.pos = pos + (2 if text.startswith("=>", pos) else 1)
        _take_key(machine, text, pos, out)
    elif pending and not ("missing_colon" in allowed and machine.key_closers and _leads_on(machine, char)):
        if char == '"' and "missing_colon" in allowed and machine.key_closers and machine.gap:
            # `"k" "v"` in the middle of prose, or a key without its colon: what follows says it.
            is_pair = ahead(machine, _PAIR, _PAIR_START, pos, final)
            if is_pair is None:
                return True
            if is_pair:
                end_pending(machine, out)
                machine.diagnose("missing_colon", text, pos)
                _take_key(machine, text, pos, out)
                return False
        machine.state = machine.reject(out)
    elif pending:
        end_pending(machine, out)
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
    return char in QUOTES or char in "{[-+." or char.isdigit() or char in "tfnTFN"


def _take_key(machine: Machine, text: str, pos: int, out: list[StreamingData]) -> None:
    """The key is certain. The same as the machine does at a colon."""
    if machine.keep_data:
        machine.key = machine.memo.setdefault(machine.key, machine.key)
    if machine.key in machine.container:
        machine.key_again(text, pos, out)
    machine.state = VALUE
