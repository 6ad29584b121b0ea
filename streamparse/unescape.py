"""Unescape: a document that was escaped as if it stood inside a string, `{\\"a\\":1}`, without its escapes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

# Looked for in the text that begins with the document.
# As far as the locator waits for it, so that the splits cannot matter.
ESCAPED_START: Final = re.compile(r"[{\[](?:[{\[\s]|\\[nrt]){0,63}\\\"")

_SIMPLE: Final = {'"': '"', "\\": "\\", "/": "/", "n": "\n", "r": "\r", "t": "\t"}
_UNICODE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")


class Unescaper:
    """`feed(text)` yields `(piece, end)`: text without its escapes, and how much of `text` was used for it so far."""

    __slots__ = ("held",)

    def __init__(self) -> None:
        self.held = ""
        """The beginning of an escape."""

    def feed(self, text: str) -> Iterator[tuple[str, int]]:
        """The pieces of `text`. One escape makes one piece, so that the reader can stop behind any of them."""
        before = len(self.held)
        text = self.held + text
        self.held = ""
        pos = 0
        while pos < len(text):
            back = text.find("\\", pos)
            if back < 0:
                back = len(text)
            if back > pos:
                yield text[pos:back], back - before
            pos = back
            if pos == len(text):
                break
            match = _UNICODE.match(text, pos)
            if match is not None:
                pos += 6
                yield chr(int(match[1], 16)), pos - before
            elif pos + 1 == len(text) or (text[pos + 1] == "u" and len(text) - pos < 6):
                self.held = text[pos:]
                break
            else:
                char = _SIMPLE.get(text[pos + 1])
                pos += 1 if char is None else 2
                yield "\\" if char is None else char, pos - before
