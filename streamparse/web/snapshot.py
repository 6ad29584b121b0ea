"""Snapshot: what a log of frames adds up to, as the fewest frames that lead there.

A client that asks for frames which are no longer kept gets these instead. The order stays, the deltas of one field are
one, and what a `reset` took back is gone.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ..turn import reset_event
from ..wire.frame import field_data

SNAPSHOT: Final = "snapshot"
"""The event that says: forget all that you hold, what it adds up to follows."""

# Frames that carry a piece of text, and where in their data it stands.
_TEXTS: Final = {"reasoning_delta": "text", "delta": "text", "original_delta": "text", "tool_call_delta": "arguments"}
# What one attempt of a run told, beside its fields: those are taken back by resets of their own.
_OF_ONE_ATTEMPT: Final = frozenset(
    {*_TEXTS, "reasoning_done", "original_done", "done", "tool_calls", "diagnostic", "invalid", "meta"}
)


class Message(NamedTuple):
    """A frame without its number."""

    event: str
    data: Any


class _Node:
    """A place of the document: which entries tell of it, and what is below."""

    __slots__ = ("children", "delta", "entries")

    def __init__(self) -> None:
        self.children: dict[str | int, _Node] = {}
        self.entries: list[int] = []
        self.delta: int | None = None


class _Entry:
    """A message. `pieces` are those of the text at `slot` of its data, as they came."""

    __slots__ = ("data", "event", "pieces", "slot")

    def __init__(self, event: str, data: Any, slot: str | None = None) -> None:
        self.event = event
        self.data = data
        self.slot = slot
        self.pieces: list[str] = [] if slot is None else [data[slot]]

    def message(self) -> Message:
        if self.slot is None:
            return Message(self.event, self.data)
        self.pieces = ["".join(self.pieces)]
        return Message(self.event, {**self.data, self.slot: self.pieces[0]})


class State:
    """The sum of the frames that it was fed. It takes the memory of the texts in them, whatever their number."""

    def __init__(self) -> None:
        self._entries: dict[int, _Entry] = {}
        self._next = 0
        self._roots: dict[str, _Node] = {}
        self._sources: dict[str, None] = {"content": None}
        self._texts: dict[tuple[str, Any], int] = {}

    def feed(self, event: str, data: Any) -> None:
        """Add one frame; `end` is none of the sum: it is the last frame of a log, which is always kept."""
        if event == "field":
            self._feed_field(data)
        elif event == SNAPSHOT:
            self._entries, self._roots, self._texts = {}, {}, {}
        elif event in _TEXTS:
            key = data["index"] if event == "tool_call_delta" else None
            self._feed_text((event, key), event, data, _TEXTS[event])
        elif event == "status" and isinstance(data.get("delta"), str):
            self._feed_text((event, data.get("state")), event, data, "delta")
        elif event != "end":
            if event == "status" and data.get("state") == "retrying":
                self._forget_attempt()
            self._add(_Entry(event, data))

    def snapshot(self) -> list[Message]:
        """What leads a client that holds anything at all to this state."""
        return [Message(SNAPSHOT, {}), *self.resets(), *(entry.message() for entry in self._entries.values())]

    def resets(self) -> list[Message]:
        """What takes back the fields of all sources: of the answer, and of each tool call that there was."""
        return [Message("field", field_data(reset_event(source, "dot"))) for source in self._sources]

    def _add(self, entry: _Entry) -> int:
        number = self._next
        self._next += 1
        self._entries[number] = entry
        return number

    def _feed_text(self, key: tuple[str, Any], event: str, data: dict[str, Any], slot: str) -> None:
        number = self._texts.get(key)
        if number is None:
            self._texts[key] = self._add(_Entry(event, data, slot))
            return
        entry = self._entries[number]
        entry.pieces.append(data[slot])
        for name, value in data.items():  # the id and the name of a tool call may come late
            if entry.data.get(name) is None and value is not None:
                entry.data = {**entry.data, name: value}

    def _feed_field(self, data: dict[str, Any]) -> None:
        source: str = data.get("source", "content")
        self._sources[source] = None
        if data["type"] == "reset":
            self._reset(source, data["parts"])
            return
        node = self._roots.get(source)
        if node is None:
            node = self._roots[source] = _Node()
        for part in data["parts"]:
            child = node.children.get(part)
            if child is None:
                child = node.children[part] = _Node()
            node = child
        if data["type"] != "delta":
            node.entries.append(self._add(_Entry("field", data)))
        elif node.delta is None:
            node.delta = self._add(_Entry("field", data, "delta"))
            node.entries.append(node.delta)
        else:
            self._entries[node.delta].pieces.append(data["delta"])

    def _reset(self, source: str, parts: list[str | int]) -> None:
        if parts:
            holder = self._roots.get(source)
            for part in parts[:-1]:
                holder = None if holder is None else holder.children.get(part)
            gone = None if holder is None else holder.children.pop(parts[-1], None)
        else:
            gone = self._roots.pop(source, None)
        work = [] if gone is None else [gone]
        while work:
            node = work.pop()
            work.extend(node.children.values())
            for number in node.entries:
                del self._entries[number]

    def _forget_attempt(self) -> None:
        self._texts = {key: number for key, number in self._texts.items() if key[0] not in _OF_ONE_ATTEMPT}
        self._entries = {number: entry for number, entry in self._entries.items() if entry.event not in _OF_ONE_ATTEMPT}
