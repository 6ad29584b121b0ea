"""Lines: what the decoders of line formats have in common."""

from __future__ import annotations

import codecs
import re
from typing import Any, Final

from .frame import Frame

# Lines end with these and with nothing else: `str.splitlines` knows more ends than the standards do.
_END: Final = re.compile(r"\r\n|\r|\n")


class LineDecoder:
    """Text and bytes in pieces of any size in, lines out; what is not whole is kept in `rest`."""

    due = None

    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._parts: list[str] = []  # of the line that has not ended
        self._after_cr = False
        self._at_start = True

    @property
    def rest(self) -> str:
        """The last line, which has not ended."""
        return "".join(self._parts)

    def lines(self, piece: str | bytes) -> list[str]:
        """The lines that end in `piece`."""
        text = piece if isinstance(piece, str) else self._utf8.decode(piece)
        if self._at_start and text:
            text, self._at_start = text.removeprefix("\ufeff"), False
        if self._after_cr and text:
            # The CR ended a line at once, so that its event does not wait; an LF that follows belongs to it.
            text = text.removeprefix("\n")
            self._after_cr = False
        lines: list[str] = []
        position = 0
        for match in _END.finditer(text):
            self._parts.append(text[position : match.start()])
            lines.append("".join(self._parts))
            self._parts = []
            position = match.end()
            self._after_cr = match[0] == "\r" and position == len(text)
        if position < len(text):
            self._parts.append(text[position:])
        return lines

    def takes(self, error: BaseException) -> bool:
        """An error of the connection is the caller's."""
        return False

    def tick(self, now: float) -> list[Frame]:
        """Nothing is held for a time."""
        return []


def whole(pieces: Any) -> Any:
    """`pieces`, or the one piece that it is."""
    return (pieces,) if isinstance(pieces, str | bytes | bytearray) else pieces
