"""Coalescing: at most so many sendings a second, with neighbouring deltas of one field as one."""

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
    """Holds messages for at most `1 / max_rate` seconds, and merges the deltas among them that stand side by side.

    What comes after a pause is sent at once. The order never changes; nothing but deltas of one path and source, of
    the reasoning, of the text, or of one tool call is merged, and nothing is dropped: the deltas still add up (law 2).
    Messages are those of frames, before they are numbered. `now` is a monotonic time in seconds.
    """

    def __init__(self, max_rate: float) -> None:
        self._interval = 1 / check_rate(max_rate)
        self._held: list[ResultMessage] = []
        self._key: Any = None  # of the last message that is held; None: it cannot be merged with
        self._pieces: list[str] = []  # the text of that message
        self._next = float("-inf")  # when the next sending may be

    @property
    def due(self) -> float | None:
        """When what is held is to be sent; None where nothing is."""
        return self._next if self._held else None

    def feed(self, message: ResultMessage, now: float) -> list[ResultMessage]:
        """Take one message in; what is to be sent now comes out."""
        key = _merge_key(message)
        if key is not None and key == self._key:
            self._pieces.append(message.data[_TEXT[message.event]])
        else:
            self._join()
            self._held.append(message)
            self._key = key
            if key is not None:
                self._pieces = [message.data[_TEXT[message.event]]]
        return self.tick(now)

    def tick(self, now: float) -> list[ResultMessage]:
        """What is to be sent at `now`."""
        if not self._held or now < self._next:
            return []
        self._next = now + self._interval
        return self.flush()

    def flush(self) -> list[ResultMessage]:
        """All that is held."""
        self._join()
        held, self._held, self._key = self._held, [], None
        return held

    def _join(self) -> None:
        """Give the last message that is held the text of those that were merged into it."""
        if self._key is not None and len(self._pieces) > 1:
            event, data = self._held[-1]
            self._held[-1] = ResultMessage(event, {**data, _TEXT[event]: "".join(self._pieces)})
        self._pieces = []


# where the text of a message stands that may be merged
_TEXT = {"field": "delta", "reasoning_delta": "text", "delta": "text", "original_delta": "text"}
_TEXT["tool_call_delta"] = "arguments"


def _merge_key(message: ResultMessage) -> Any:
    """What two messages must have in common to be one; None where the message stays as it is."""
    event, data = message
    if event == "field":
        # Numbers and booleans come whole, in one delta.
        return (data["path"], data.get("source")) if data["type"] == "delta" and data["kind"] == "string" else None
    if event == "tool_call_delta":
        return (event, data["index"], data["id"], data["name"])
    return event if event in _TEXT else None
