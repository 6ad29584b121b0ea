"""Text that arrives in small pieces, kept for whoever wants it whole: `TextLog`."""

from __future__ import annotations

from typing import Any, Final

from .decode import ends_in_half, join_halves, repair_surrogates

BLOCK: Final = 512  # pieces that are kept apart before they are joined


class TextLog:
    """Text that arrives in small pieces: `recent` ones, and joined `blocks` of older ones. Hands out what is new."""

    __slots__ = ("_blocks_taken", "_chars_taken", "_half", "_pieces_taken", "blocks", "recent")

    def __init__(self) -> None:
        self.recent: list[str] = []
        self.blocks: list[str] = []
        self._blocks_taken = 0
        self._pieces_taken = 0  # of `recent`
        self._chars_taken = 0  # the same in characters: the pieces may be joined to a block meanwhile
        self._half = ""  # of a surrogate pair, that was not handed out: the other may come

    @property
    def empty(self) -> bool:
        """True when there never was any text."""
        return not self.recent and not self.blocks

    def append(self, text: str) -> None:
        """Add a piece."""
        self.recent.append(text)
        if len(self.recent) > BLOCK:
            self.join()

    def join(self) -> None:
        """Make a block of the recent pieces. `recent` stays the same list, for those who append to it themselves."""
        self.blocks.append("".join(self.recent))
        self.recent.clear()

    def drop_half(self) -> None:
        """Take back half a surrogate pair at the end, if there is one: it will come again, with the other."""
        pieces = self.recent or self.blocks
        if pieces and ends_in_half(pieces[-1]):
            pieces[-1] = pieces[-1][:-1]

    def take(self, *, final: bool = False) -> str:
        """The text since the last call. Half a surrogate pair at its end waits, unless the text is `final`."""
        if len(self.blocks) == self._blocks_taken:
            text = "".join(self.recent[self._pieces_taken :])
            self._chars_taken += len(text)
        else:
            first, *others = self.blocks[self._blocks_taken :]
            text = "".join((first[self._chars_taken :], *others, *self.recent))
            self._blocks_taken = len(self.blocks)
            self._chars_taken = sum(map(len, self.recent))
        self._pieces_taken = len(self.recent)
        if self._half or not text.isascii():
            text, self._half = join_halves(self._half + text, final)
        return repair_surrogates(text)

    def text(self) -> str:
        """The whole text."""
        return repair_surrogates("".join((*self.blocks, *self.recent)))

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
