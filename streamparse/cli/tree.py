"""The state of a live view: the fields of each source as a tree that grows with the events, and the texts beside it.

Knows nothing of terminals. Texts are kept up to a bound, so that what is shown of a long answer costs no more than of a
short one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ..errors import Diagnostic
from ..implementation import StreamingData
from ..paths import Part
from ..response import ToolCall
from .output import to_json

Mark = Literal["growing", "done", "cut", "invalid"]
KEPT = 2000
"""Characters kept of the beginning of a text, and again of its end."""


class Excerpt:
    """A text that grows, of which the beginning and the end are kept."""

    __slots__ = ("_end", "_start", "length")

    def __init__(self, text: str = "") -> None:
        self._start = self._end = ""
        self.length = 0
        self.add(text)

    def add(self, text: str) -> None:
        """Append `text`."""
        self.length += len(text)
        if len(self._start) < KEPT:
            room = KEPT - len(self._start)
            self._start, text = self._start + text[:room], text[room:]
        if text:
            self._end = (self._end + text)[-KEPT:]

    def start(self) -> str:
        """The text, or its first characters."""
        return self._start if not self._end else self._start + (self._end if self.length <= 2 * KEPT else "")

    def end(self) -> str:
        """The text, or its last characters."""
        return self._start + self._end if self.length <= 2 * KEPT else self._end


class Node:
    """One field: its name in its parent, its children in the order in which they came, and how far it is."""

    __slots__ = ("children", "kind", "mark", "name", "text")

    def __init__(self, name: Part) -> None:
        self.name = name
        self.kind = "object"
        self.mark: Mark = "growing"
        self.text = Excerpt()
        self.children: dict[Part, Node] = {}


class Tree:
    """All that a run has shown so far. `feed` takes the items of `get_generator(type="all")`."""

    def __init__(self) -> None:
        self.roots: dict[str, Node] = {}
        self.reasoning = Excerpt()
        self.thinking = False
        self.text = Excerpt()
        self.refusal = Excerpt()
        self.remarks: list[Diagnostic] = []
        self.invalid: list[str] = []
        self.fields = 0  # leaves that are done
        self.state: str | None = None  # the end state, once it is there
        self.error: str | None = None
        self._is_cut = False  # the document is, whatever the stream says of its end
        self._calls: dict[str, str] = {}  # names of tools, by the source of their events
        self._last: tuple[str, tuple[Part, ...], Node] | None = None

    def feed(self, event: str, data: Any) -> None:
        """Take one event of the run."""
        if event == "instant":
            self._take(data)
        elif event == "reasoning_delta":
            self.thinking = True
            self.reasoning.add(data)
        elif event == "reasoning_done":
            self.thinking = False
        elif event == "delta":
            self.text.add(data)
        elif event == "tool_call_delta":
            if data["name"]:
                self._calls.setdefault(data["id"] or f"call_{data['index']}", data["name"])
        elif event == "tool_calls":
            self._name_call(data)
        elif event == "status":
            self._take_status(data)
        elif event == "diagnostic":
            self.remarks.append(data)
        elif event == "invalid":
            self._take_invalid(data)
        elif event == "error":
            self.error = str(data) or type(data).__name__

    def label(self, source: str) -> str:
        """What the root of a source is called: nothing for the answer, the tool's name for a call."""
        return "" if source == "content" else f"{self._calls.get(source, 'tool')}()"

    def _name_call(self, call: ToolCall) -> None:
        source = call.id or f"call_{call.index}"
        self._calls[source] = call.name or "tool"
        if source not in self.roots:  # a call without arguments, or with free text, has no fields
            root = self.roots[source] = Node("")
            root.mark = "done" if call.complete else "cut"
            if isinstance(call.arguments, str):
                root.kind = "string"
                root.text.add(call.arguments)

    def _take_status(self, status: dict[str, Any]) -> None:
        state = status.get("state")
        if state == "refusal":
            self.refusal.add(status.get("delta") or "")
        elif state != "retrying":
            self.state = "cut" if state == "complete" and self._is_cut else state

    def _take_invalid(self, invalid: Any) -> None:
        self.invalid.append(f"{invalid.path or 'the answer'}: {invalid.message}")
        root = self.roots.get("content")
        if root is not None:
            self._find(root, invalid.parts).mark = "invalid"

    def _take(self, event: StreamingData) -> None:
        parts = event.parts
        kind = event.event_type
        if event.source == "content":
            self._is_cut = kind == "cut"
        if kind == "reset":
            self._reset(event.source, parts)
            return
        if self._last is not None and self._last[0] == event.source and self._last[1] == parts:
            node = self._last[2]  # a field's events mostly come in a row
        else:
            root = self.roots.get(event.source)
            if root is None:
                root = self.roots[event.source] = Node("")
                root.kind = "object" if not parts or isinstance(parts[0], str) else "array"
            node = self._find(root, parts)
            self._last = (event.source, parts, node)
        node.kind = event.kind
        if kind == "delta":
            node.text.add(event.delta or "")
        elif kind == "done":
            if node.mark != "invalid":
                node.mark = "done"
            if event.kind not in ("object", "array"):
                self.fields += 1
                if event.delta:
                    node.text.add(event.delta)
                elif event.kind == "null":
                    node.text = Excerpt("null")
                elif not node.text.length and event.kind != "string":
                    node.text = Excerpt(to_json(event.value))
        elif kind == "cut":
            node.mark = "cut"

    def _find(self, root: Node, parts: Sequence[Part]) -> Node:
        node = root
        for position, part in enumerate(parts):
            child = node.children.get(part)
            if child is None:
                child = node.children[part] = Node(part)
                if position + 1 < len(parts):
                    child.kind = "object" if isinstance(parts[position + 1], str) else "array"
            node = child
        return node

    def _reset(self, source: str, parts: tuple[Part, ...]) -> None:
        self._last = None
        root = self.roots.get(source)
        if root is None:
            return
        if not parts:
            del self.roots[source]
            return
        parent: Node | None = root
        for part in parts[:-1]:
            parent = parent.children.get(part) if parent is not None else None
        if parent is not None:
            parent.children.pop(parts[-1], None)
