"""Growth: how a text that grows is sent by formats that can only send it whole."""

from __future__ import annotations

from typing import Final, Literal, get_args

from ..errors import UsageError

Strings = Literal["doubling", "append", "replace"]
"""How a string is sent while it grows.

    doubling   whole, each time it has become twice as long, and at its end: three times its length in all at most
    append     piece by piece, in a form that the format does not know by itself
    replace    whole with every piece: the bytes grow with the square of its length
"""

STRINGS: Final[tuple[str, ...]] = get_args(Strings)


class Growth:
    """One string at a time: `begin`, `add` each piece, `end`. `add` and `end` return the whole text where it is due."""

    def __init__(self, strings: Strings) -> None:
        if strings not in STRINGS:
            raise UsageError(f"unknown strings={strings!r}", expected=", ".join(STRINGS))
        self._strings = strings
        self._pieces: list[str] = []
        self._length = self._sent = 0

    @property
    def text(self) -> str:
        """The string so far."""
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    def begin(self, text: str) -> None:
        """A new string, of which `text` was sent."""
        self._pieces = [text]
        self._length = self._sent = len(text)

    def add(self, text: str) -> str | None:
        """One piece more."""
        self._pieces.append(text)
        self._length += len(text)
        if self._strings == "append" or (self._strings == "doubling" and self._length < 2 * self._sent):
            return None
        return self._whole()

    def end(self) -> str | None:
        """The string is whole."""
        return self._whole() if self._sent < self._length and self._strings != "append" else None

    def _whole(self) -> str:
        self._sent = self._length
        return self.text
