"""Coalescing: at most so many sendings a second, with the deltas of one field in between as one."""

from __future__ import annotations

from typing import Any

from ..errors import UsageError
from ..events import ResultMessage


def check_rate(max_rate: float) -> float:
    """`max_rate`, or a `UsageError` where it is no positive number."""
    if not max_rate > 0:
        raise UsageError(f"max_rate is a positive number of sendings per second, got {max_rate!r}")
    return max_rate


class Coalescer:
    """Holds messages for at most `1 / max_rate` seconds, and merges the deltas among them that belong together.

    What comes after a pause is sent at once. Nothing is dropped, and deltas add up as before (law 2). Only deltas are
    merged: those of one string field, and pieces of one text (of the answer, of the reasoning, of a call's arguments).
    The order of a source's fields never changes, nor that of texts among each other, nor does anything pass a message
    that is no delta. A text and the fields that come out of it are told side by side, piece by piece; these merge each
    with its own.

    Messages are those of frames, before they are numbered. `now` is a monotonic time in seconds.
    """

    def __init__(self, max_rate: float) -> None:
        self._interval = 1 / check_rate(max_rate)
        self._held: list[ResultMessage] = []
        self._open: dict[str, _Open] = {}  # by lane, the held message that may still grow
        self._next = float("-inf")  # when the next sending may be

    @property
    def due(self) -> float | None:
        """When what is held is to be sent; None where nothing is."""
        return self._next if self._held else None

    def feed(self, message: ResultMessage, now: float) -> list[ResultMessage]:
        """Take one message in; what is to be sent now comes out."""
        place = _place(message)
        if place is None:
            self._join_all()
            self._held.append(message)
            return self.tick(now)
        lane, key = place
        text: str = message.data[_TEXT[message.event]]
        last = self._open.get(lane)
        if last is not None and last.key == key:
            last.pieces.append(text)
        else:
            if last is not None:
                self._join(last)
            self._open[lane] = _Open(key, len(self._held), text)
            self._held.append(message)
        return self.tick(now)

    def tick(self, now: float) -> list[ResultMessage]:
        """What is to be sent at `now`."""
        if not self._held or now < self._next:
            return []
        self._next = now + self._interval
        return self.flush()

    def flush(self) -> list[ResultMessage]:
        """All that is held."""
        self._join_all()
        held, self._held = self._held, []
        return held

    def _join_all(self) -> None:
        for one in self._open.values():
            self._join(one)
        self._open.clear()

    def _join(self, one: _Open) -> None:
        """Give a held message the text of those that were merged into it."""
        if len(one.pieces) > 1:
            event, data = self._held[one.position]
            self._held[one.position] = ResultMessage(event, {**data, _TEXT[event]: "".join(one.pieces)})


class _Open:
    """A held message that may grow: what another must have in common with it, its position, and its texts."""

    __slots__ = ("key", "pieces", "position")

    def __init__(self, key: Any, position: int, text: str) -> None:
        self.key = key
        self.position = position
        self.pieces = [text]


# where the text of a message stands that may be merged
_TEXT = {"field": "delta", "reasoning_delta": "text", "delta": "text", "original_delta": "text"}
_TEXT["tool_call_delta"] = "arguments"


def _place(message: ResultMessage) -> tuple[str, Any] | None:
    """The lane of a delta, in which the order counts, and what two in it must have in common to be one. None: it stays
    as it is.
    """
    event, data = message
    if event == "field":
        if data["type"] != "delta" or data["kind"] != "string":
            return None  # numbers and booleans come whole
        return (f"field {data.get('source', 'content')}", data["path"])
    if event == "tool_call_delta":
        return ("speech", (event, data["index"], data["id"], data["name"]))
    if event == "original_delta":
        return (event, event)
    return ("speech", event) if event in _TEXT else None
