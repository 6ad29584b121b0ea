"""Strings in other quotes than JSON's, in three, or in several parts, and escapes that JSON does not know."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ..fields import path_of
from ..states import AFTER, COLON, END, KEY_QUOTED, QUOTED, STRING, TRIPLE
from .marks import QUOTES

if TYPE_CHECKING:
    from ..fields import Field
    from ..machine import Machine
    from ..streaming_data import StreamingData

_HALF: Final = re.compile("[\ud800-\udfff]")
_HEX_PAIR: Final = re.compile(r"[0-9a-fA-F]{0,2}")
_STOPS: Final = {closers: re.compile(f"[\\\\{closers}]") for closers in {*QUOTES.values(), "'", '"'}}


def escape(machine: Machine, text: str, pos: int, pieces: list[str]) -> int:
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
        if pieces is not machine.key_pieces and not machine.pieces:
            machine.pieces.append("")  # the string is not empty: its end is no third quote
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


def bare_text(machine: Machine, text: str, field: Field | None = None) -> str:
    """The text of an unquoted string or key: what is no character is noted, and replaced, as in quotes.

    It is noted at the last place where a word began, since it may have been read long ago; of a string, `field`, once,
    since what stands before a comma may be read again.
    """
    path = None if field is None else path_of(field)

    def replace(match: re.Match[str]) -> str:
        code = "invalid_utf8" if "\udc80" <= match[0] <= "\udcff" else "lone_surrogate"
        if path is None or not any(one.code == code and one.path == path for one in machine.diagnostics):
            machine.diagnose(code, machine.text, machine.atom_at - machine.offset, path=path)
        return match[0] if code == "lone_surrogate" and machine.surrogates == "keep" else "\ufffd"

    return text if text.isascii() else _HALF.sub(replace, text)


def in_quotes(machine: Machine, state: int, text: str, final: bool, out: list[StreamingData]) -> bool:
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


def is_triple(machine: Machine, char: str, text: str) -> bool:
    """A quote right behind an empty string: the third of three."""
    return (
        "triple_quotes" in machine.tolerances
        and machine.offset + machine.pos == machine.pending + 1
        and not machine.pieces
        and not machine.tail
        and char in "\"'"
        and char == (machine.closers if machine.string == QUOTED else '"' if machine.string == STRING else "")
    )


def behind_plus(machine: Machine, char: str, text: str, final: bool, out: list[StreamingData]) -> bool:
    """What follows a plus sign behind a string: another part of it, or the quote was none."""
    if char in QUOTES:
        machine.pending = -1
        machine.held = []
        machine.diagnose("string_concatenation", text, machine.pos, field=machine.leaf)
        machine.pos += 1
        machine.closers = QUOTES[char]
        machine.state = STRING if char == '"' else QUOTED
    else:
        machine.state = machine.reject(out)
    return False
