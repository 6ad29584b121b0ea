"""What is left of a text once it is over: `Parsed`, and the log that its text is joined from."""

from __future__ import annotations

from typing import Any

from .decode import repair_surrogates
from .errors import Diagnostic
from .implementation import StreamingData


class TextLog:
    """Text that arrives in small pieces: `recent` ones, and joined `blocks` of older ones. Hands out what is new."""

    __slots__ = ("_blocks_taken", "_chars_taken", "_pieces_taken", "blocks", "recent")

    def __init__(self, recent: list[str], blocks: list[str]) -> None:
        self.recent = recent
        self.blocks = blocks
        self._blocks_taken = 0
        self._pieces_taken = 0  # of `recent`
        self._chars_taken = 0  # the same in characters: the pieces may be joined to a block meanwhile

    @property
    def empty(self) -> bool:
        """True when there never was any text."""
        return not self.recent and not self.blocks

    def append(self, text: str) -> None:
        """Add a piece."""
        self.recent.append(text)
        if len(self.recent) > 4096:
            self.blocks.append("".join(self.recent))
            self.recent.clear()

    def take(self) -> str:
        """The text since the last call."""
        if len(self.blocks) == self._blocks_taken:
            text = "".join(self.recent[self._pieces_taken :])
            self._chars_taken += len(text)
        else:
            first, *others = self.blocks[self._blocks_taken :]
            text = "".join((first[self._chars_taken :], *others, *self.recent))
            self._blocks_taken = len(self.blocks)
            self._chars_taken = sum(map(len, self.recent))
        self._pieces_taken = len(self.recent)
        return repair_surrogates(text)

    def text(self) -> str:
        """The whole text."""
        return repair_surrogates("".join((*self.blocks, *self.recent)))

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)


class Parsed:
    """What a text held, once it is over.

    `data` is the value (None without one: see `has_data`), `complete` says that a document was found and closed;
    `incomplete` lists the paths that were open at the end, innermost first. `diagnostics` are the first of them,
    `diagnostic_count` counts all. `reasoning` and `text` are the two parts of the text, joined when asked for; `events`
    the last events, those that only the end of the text made certain. Compared by value.
    """

    __slots__ = (
        "_answer", "_thoughts", "complete", "data", "diagnostic_count", "diagnostics", "events", "has_data",
        "incomplete",
    )  # fmt: skip

    def __init__(
        self,
        data: Any,
        has_data: bool,
        complete: bool,
        incomplete: tuple[str, ...],
        diagnostics: tuple[Diagnostic, ...],
        diagnostic_count: int,
        thoughts: TextLog,
        answer: TextLog,
        events: tuple[StreamingData, ...],
    ) -> None:
        self.data = data
        self.has_data = has_data
        self.complete = complete
        self.incomplete = incomplete
        self.diagnostics = diagnostics
        self.diagnostic_count = diagnostic_count
        self.events = events
        self._thoughts = thoughts
        self._answer = answer

    @property
    def reasoning(self) -> str:
        """What the model thought."""
        return self._thoughts.text()

    @property
    def text(self) -> str:
        """The answer as it came (empty with `keep_data=False`)."""
        return self._answer.text()

    def _values(self) -> tuple[Any, ...]:
        return (
            self.data,
            self.has_data,
            self.complete,
            self.incomplete,
            self.diagnostics,
            self.diagnostic_count,
            self.reasoning,
            self.text,
            self.events,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parsed) and self._values() == other._values()

    __hash__ = None  # type: ignore[assignment]  # the data is mutable

    def __repr__(self) -> str:
        return (
            f"Parsed(data={self.data!r}, has_data={self.has_data}, complete={self.complete}, "
            f"incomplete={self.incomplete!r}, diagnostics={self.diagnostics!r}, "
            f"diagnostic_count={self.diagnostic_count}, reasoning={self.reasoning!r}, text={self.text!r})"
        )
