"""What is left of a text once it is over: `Parsed`."""

from __future__ import annotations

from typing import Any

from .errors import Diagnostic
from .implementation import StreamingData
from .text_log import TextLog


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
        thoughts: TextLog | None,
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
        return "" if self._thoughts is None else self._thoughts.text()

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
