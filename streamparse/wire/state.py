"""What a client holds: frames folded back into documents, and into events.

The JavaScript client does the same. Here it is the model that tests compare with, the decoder of a Python client, and
what the encoders of JSON Patch know their document by.
"""

# What is in a container of JSON may be anything, which pyright calls unknown.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from ..fields import Field, field_at
from ..implementation import StreamingData, make_event, restore_event
from ..parser import NumberMode
from ..paths import Part, Parts, PathStyle
from .frame import SCALARS, Frame
from .json_text import number_of

T = TypeVar("T")
ChangeType = Literal["add", "grow", "finish", "remove"]


class Change(NamedTuple):
    """What one `field` message did to a document.

    `add` puts a value at `parts` (a container is empty), `grow` appends text to the string there, `finish` says that
    the string there is whole or cut, `remove` takes the value away.
    """

    type: ChangeType
    parts: Parts
    value: Any = None


class Tree:
    """The document of one source, built from the data of its `field` frames.

    `value` is the tree itself, to be read and not to be changed; None while there is nothing.
    """

    def __init__(self) -> None:
        self._holder: list[Any] = []  # the root is its one item
        self._text: tuple[Parts, list[str]] | None = None  # the string that grows, not yet joined in the tree

    @property
    def value(self) -> Any:
        """The document so far."""
        self._join()
        return self._holder[0] if self._holder else None

    def feed(self, data: dict[str, Any]) -> list[Change]:
        """Take in one event. Returns what it changed, outermost first."""
        parts: Parts = tuple(data["parts"])
        event_type, kind = data["type"], data["kind"]
        if event_type == "reset":
            return self._remove(parts)
        if kind in SCALARS:
            # A number has its delta and its done side by side; a cut one has no value.
            return self._put(parts, data["value"]) if event_type == "done" else []
        if kind == "string":
            return self._feed_string(parts, event_type, data.get("delta"))
        changes: list[Change] = []
        container, key = self._place(parts, changes)
        _enter(container, key, list if kind == "array" else dict, parts, changes)
        return changes

    def at(self, parts: Parts) -> Any:
        """The value at `parts`; None where there is none."""
        self._join()
        container: Any = self._holder
        key: Part = 0
        for part in parts:
            if not _has(container, key):
                return None
            container, key = container[key], part
        return container[key] if _has(container, key) else None

    def _feed_string(self, parts: Parts, event_type: str, delta: str | None) -> list[Change]:
        if self._text is not None and self._text[0] == parts:
            if delta is not None:
                self._text[1].append(delta)
                return [Change("grow", parts, delta)]
            changes: list[Change] = []
        else:
            changes = self._put(parts, delta or "")
            self._text = (parts, [delta or ""])
        if event_type in ("done", "cut"):
            self._join()
            self._text = None
            changes.append(Change("finish", parts))
        return changes

    def _join(self) -> None:
        if self._text is not None:
            parts, pieces = self._text
            pieces[:] = ["".join(pieces)]
            container, key = self._place(parts, [])
            container[key] = pieces[0]

    def _put(self, parts: Parts, value: Any) -> list[Change]:
        """Set the value at `parts`, and make the containers that it needs."""
        self._join()
        self._text = None
        changes: list[Change] = []
        container, key = self._place(parts, changes)
        _set(container, key, value, parts, changes)
        return changes

    def _place(self, parts: Parts, changes: list[Change]) -> tuple[Any, Any]:
        """The container that holds `parts`, and its key or index there."""
        container: Any = self._holder
        key: Part = 0
        for depth, part in enumerate(parts):
            container = _enter(container, key, list if isinstance(part, int) else dict, parts[:depth], changes)
            key = part
        return container, key

    def _remove(self, parts: Parts) -> list[Change]:
        self._join()
        self._text = None
        container: Any = self._holder
        key: Part = 0
        for part in parts:
            if not _has(container, key):
                return []
            container, key = container[key], part
        if not _has(container, key):
            return []
        del container[key]
        return [Change("remove", parts)]


def _has(container: Any, key: Part) -> bool:
    if isinstance(container, dict):
        return key in container
    return isinstance(container, list) and isinstance(key, int) and key < len(container)


def _enter(container: Any, key: Part, kind: type, parts: Parts, changes: list[Change]) -> Any:
    """The container at `key`, which is a new one where there is none of that kind."""
    if _has(container, key) and type(container[key]) is kind:
        return container[key]
    fresh = kind()
    _set(container, key, fresh, parts, changes)
    return fresh


def _set(container: Any, key: Part, value: Any, parts: Parts, changes: list[Change]) -> None:
    if type(container) is list:
        assert isinstance(key, int)
        for index in range(len(container), key):  # where other fields were filtered out
            container.append(None)
            changes.append(Change("add", (*parts[:-1], index)))
        container[key:] = [value]
    else:
        container[key] = value
    # what is put into a container of the tree later is told on its own
    changes.append(Change("add", parts, {} if value == {} else [] if value == [] else value))


class Places(Generic[T]):
    """Things at places in a document, which can be taken out with all that is below without a look at the others."""

    def __init__(self) -> None:
        self._things: dict[Parts, T] = {}
        self._below: dict[Parts, list[Parts]] = {}
        self._known: set[Parts] = set()  # the places that stand in the list of the one above

    def put(self, parts: Parts, thing: T) -> None:
        """Set the thing at `parts`."""
        self._things[parts] = thing
        while parts and parts not in self._known:
            self._known.add(parts)
            self._below.setdefault(parts[:-1], []).append(parts)
            parts = parts[:-1]

    def take(self, parts: Parts) -> list[T]:
        """Take out what is at `parts` and below, in order."""
        taken: list[T] = []
        work = [parts]
        while work:
            place = work.pop()
            if place in self._things:
                taken.append(self._things.pop(place))
            below = self._below.pop(place, [])
            self._known.difference_update(below)
            work += reversed(below)
        return taken


FieldState = Literal["growing", "done", "cut", "invalid"]


class FieldView:
    """One field as a client shows it: `text` is what its deltas add up to, `value` that of a number or literal."""

    __slots__ = ("_pieces", "kind", "parts", "state", "value")

    def __init__(self, parts: Parts, kind: str) -> None:
        self.parts = parts
        self.kind = kind
        self.state: FieldState = "growing"
        self.value: Any = None
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        """The text so far."""
        self._pieces[:] = ["".join(self._pieces)]
        return self._pieces[0]

    def feed(self, data: dict[str, Any]) -> None:
        """Take in one event of this field."""
        if data["type"] == "delta":
            self._pieces.append(data["delta"])
        elif data["type"] in ("done", "cut"):
            self.value = data.get("value")
            if self.state != "invalid":
                self.state = data["type"]


class Document:
    """What the frames of one source came to: its `fields` by path, and its `tree`."""

    def __init__(self) -> None:
        self.fields: dict[str, FieldView] = {}
        self.tree = Tree()
        self._places: Places[str] = Places()

    def feed(self, data: dict[str, Any]) -> list[Change]:
        """Take in the data of one `field` frame."""
        parts: Parts = tuple(data["parts"])
        if data["type"] == "reset":
            for path in self._places.take(parts):
                del self.fields[path]
        else:
            path = data["path"]
            if path not in self.fields:
                self.fields[path] = FieldView(parts, data["kind"])
                self._places.put(parts, path)
            self.fields[path].feed(data)
        return self.tree.feed(data)


class Replica:
    """What a client holds after some frames: of each source a document, and all else that was told.

    Frames that come again (a client that came back got more than it asked for) are dropped by their number. A server
    that no longer keeps the frames that were asked for sends a `snapshot`, which says that all is to be forgotten, and
    what those frames add up to, under the number 0 but for the last.
    """

    def __init__(self) -> None:
        self.last_id = 0
        self.documents: dict[str, Document] = {"content": Document()}
        self.status: dict[str, Any] | None = None
        self.error: dict[str, Any] | None = None
        self.end: dict[str, Any] | None = None
        self._forget_attempt()

    def _forget_attempt(self) -> None:
        """What one attempt of a run told beside its fields, which are taken back by resets of their own."""
        self.reasoning: list[str] = []
        self.tool_calls: list[dict[str, Any]] = []
        self.invalid: list[dict[str, Any]] = []
        self.diagnostics: list[dict[str, Any]] = []
        self.meta: dict[str, Any] | None = None

    @property
    def data(self) -> Any:
        """The document of the answer so far."""
        return self.documents["content"].tree.value

    def feed(self, frame: Frame) -> None:
        """Take in one frame."""
        if frame.id and frame.id <= self.last_id:
            return
        self.last_id = frame.id or self.last_id
        event, data = frame.event, frame.data
        if event == "snapshot":
            self.documents, self.status, self.error = {"content": Document()}, None, None
        if event == "snapshot" or (event == "status" and data.get("state") == "retrying"):
            self._forget_attempt()
        if event == "field":
            self.documents.setdefault(data.get("source", "content"), Document()).feed(data)
        elif event == "reasoning_delta":
            self.reasoning.append(data["text"])
        elif event == "tool_calls":
            self.tool_calls.append(data)
        elif event == "invalid":
            self.invalid.append(data)
            field = self.documents["content"].fields.get(data["path"])
            if field is not None:
                field.state = "invalid"
        elif event == "diagnostic":
            self.diagnostics.append(data)
        elif event in ("meta", "status", "error", "end"):
            setattr(self, event, data)


class EventDecoder:
    """Frames in, the events of their fields out, with their values. `feed` one frame after the other."""

    def __init__(self, *, path_style: PathStyle = "dot", number: NumberMode = "int_float") -> None:
        self._style: PathStyle = path_style
        self._number: NumberMode = number
        self._trees: dict[str, Tree] = {}
        self._lexeme: Any = None  # the value of the number or boolean whose `done` comes next
        self._growing: dict[str, tuple[Parts, Field]] = {}  # by source, the string that grows

    def feed(self, frame: Frame) -> list[StreamingData]:
        """The event of a `field` frame, and a reset of every root for a `snapshot`; none of another frame."""
        if frame.event == "snapshot":
            return [
                self._event({"type": "reset", "parts": [], "kind": "object", "source": source})
                for source in self._trees
            ]
        return [self._event(frame.data)] if frame.event == "field" else []

    def _event(self, data: dict[str, Any]) -> StreamingData:
        source: str = data.get("source", "content")
        parts: Parts = tuple(data["parts"])
        event_type, kind = data["type"], data["kind"]
        tree = self._trees.setdefault(source, Tree())
        value: Any = None
        if event_type == "delta" and kind == "string":
            return self._growth(tree, data, source, parts)
        if event_type == "delta":
            text = data["delta"]
            value = self._lexeme = text == "true" if kind == "boolean" else number_of(text, self._number)
        elif kind in SCALARS:
            value = data.get("value")
            if event_type == "done" and kind == "number":
                value = self._lexeme  # as exact as the text: JSON in between may have lost what it cannot hold
            data = {**data, "value": value}
        tree.feed(data)
        if kind not in SCALARS and event_type in ("done", "cut"):
            value = tree.at(parts)
        self._growing.pop(source, None)
        return restore_event(parts, kind, source, self._style, event_type, data.get("delta"), value)

    def _growth(self, tree: Tree, data: dict[str, Any], source: str, parts: Parts) -> StreamingData:
        tree.feed(data)
        growing = self._growing.get(source)
        if growing is None or growing[0] != parts:
            growing = self._growing[source] = parts, field_at(parts, "string", source, self._style, [])
        field = growing[1]
        pieces: list[str] = field[-1]
        pieces.append(data["delta"])
        return make_event(field, "delta", data["delta"], len(pieces))


def from_frames(
    frames: Iterable[Frame], *, path_style: PathStyle = "dot", number: NumberMode = "int_float"
) -> Iterator[StreamingData]:
    """The events of the fields, as the parser made them, but for deltas that were merged on the way.

    The value of a string or container is that of its deltas. `path_style` and `number` are those of the parser.
    """
    decoder = EventDecoder(path_style=path_style, number=number)
    for frame in frames:
        yield from decoder.feed(frame)
