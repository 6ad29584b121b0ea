"""Scanning: where a run of plain characters ends, what a bare word is.

Loops over characters, for the compiled twin: see `machine.py`. The interpreted one, to which a regular expression is
the cheaper, has one of these in place of each, here or where it would call the function.
"""

from __future__ import annotations

import re
from typing import Final

COMPILED: Final = False  # setup.py sets it in the copy that it compiles

_HEX: Final = re.compile("[0-9a-fA-F]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")


def plain_end(text: str, pos: int) -> int:
    """The end of the run of characters from `pos` on that a string holds as they are. For the compiled twin."""
    n = len(text)
    while pos < n:
        char = text[pos]
        if char == '"' or char == "\\" or char < " " or "\ud800" <= char <= "\udfff":
            break
        pos += 1
    return pos


def is_whole(text: str) -> bool:
    """True when no half of a surrogate pair is in `text`. For the compiled twin."""
    if text.isascii():
        return True
    for char in text:  # noqa: SIM110  # a generator has no C types
        if "\ud800" <= char <= "\udfff":
            return False
    return True


def hex_end(text: str, start: int) -> int:
    """The end of up to four hexadecimal digits from `start`."""
    if not COMPILED:
        match = _HEX.match(text, start, start + 4)
        return match.end() if match is not None else start
    pos = start
    n = min(start + 4, len(text))
    while pos < n:
        char = text[pos]
        if not ("0" <= char <= "9" or "a" <= char <= "f" or "A" <= char <= "F"):
            break
        pos += 1
    return pos


def number_kind(text: str) -> int:
    """1: an integer as JSON writes it, 2: a number with a fraction or an exponent, 0: neither.

    The compiled twin reads it by characters, which is faster than a regular expression only there.
    """
    if not COMPILED:
        match = _NUMBER.fullmatch(text)
        return 0 if match is None else 1 if match[1] is None and match[2] is None else 2
    # What came: 0 nothing, 1 a minus, 2 a leading zero, 3 digits, 4 a point, 5 its digits, 6 an e, 7 its sign, 8 its
    # digits.
    part = 0
    for char in text:
        if "0" <= char <= "9":
            if part == 2:
                return 0
            if part < 2:
                part = 2 if char == "0" else 3
            elif part == 4:
                part = 5
            elif part > 5:
                part = 8
        elif char == "-" and part == 0:
            part = 1
        elif char == "." and (part == 2 or part == 3):
            part = 4
        elif (char == "e" or char == "E") and (part == 2 or part == 3 or part == 5):
            part = 6
        elif (char == "-" or char == "+") and part == 6:
            part = 7
        else:
            return 0
    return 1 if part == 2 or part == 3 else 2 if part == 5 or part == 8 else 0


def short_int(lexeme: str) -> int:
    """The value of an integer as JSON writes it, with up to 18 characters. For the compiled twin."""
    value = 0
    for char in lexeme:
        if char != "-":
            value = value * 10 + (ord(char) - 48)
    return -value if lexeme[0] == "-" else value
