"""What the parser needs of a stage behind the machine: with this protocol it does without `schema`, and pydantic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from .errors import Diagnostic

if TYPE_CHECKING:
    from .schema.typed import Invalid
    from .streaming_data import StreamingData


class Stage(Protocol):
    """Events of the machine in, events for the user out."""

    diagnostics: list[Diagnostic]
    waiting: bool
    """All events have to come for now, not only those that the machine tells of."""

    def feed(self, events: list[StreamingData]) -> list[StreamingData]:
        """The events that are to be seen, of those of the machine."""
        ...

    def feed_end(self, events: list[StreamingData]) -> list[StreamingData]:
        """`feed`, where nothing has to be seen but that the document is closed: the last event."""
        ...

    def take_invalid(self) -> list[Invalid]:
        """What did not fit since the last call."""
        ...

    def finish(self) -> None:
        """The text is over: what was to wait for a better document is told."""
        ...

    def partial(self) -> Any:
        """The output as far as it is there."""
        ...

    def fits(self, value: Any) -> bool:
        """Whether a document looks like what is wanted."""
        ...

    def may_begin(self, text: str) -> bool | None:
        """Whether a document that begins like `text` may look like it. None: too early to say."""
        ...

    def root(self, value: Any) -> Any:
        """The data, of the machine's tree."""
        ...

    def overlay(self, value: Any) -> Any:
        """The same of a copy of the tree, with what is being read inside a string."""
        ...

    def open_paths(self, paths: list[str]) -> list[str]:
        """The machine's open paths, with those inside a string."""
        ...
