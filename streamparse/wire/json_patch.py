"""JSON Patch (RFC 6902): operations that build the document of the answer, from null on.

A field is added when it first shows, a container empty. RFC 6902 has no operation for a string that grows, so one is
replaced: see `Strings`. With `strings="append"` each piece is one operation that the RFC does not know,

    {"op": "append", "path": "/tips/0/text", "value": "the new characters"}

and a client has to apply those itself.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable
from typing import TYPE_CHECKING, Any, overload

from ..events import ResultMessage
from ..paths import Parts, to_pointer
from .frame import Encoder, Options
from .growth import Growth, Strings
from .skins import drive
from .state import Tree

if TYPE_CHECKING:
    from typing_extensions import Unpack

Operation = dict[str, Any]
Patch = list[Operation]


class Patcher:
    """Data of the `field` frames of one source in, operations out. `prefix` is the pointer of the document's place."""

    def __init__(self, *, strings: Strings = "doubling", prefix: str = "") -> None:
        self._tree = Tree()
        self._growth = Growth(strings)
        self._append = strings == "append"
        self._prefix = prefix

    def feed(self, data: dict[str, Any]) -> Patch:
        """The operations of one event."""
        patch: Patch = []
        for change in self._tree.feed(data):
            if change.type == "add":
                if isinstance(change.value, str):
                    self._growth.begin(change.value)
                patch.append(self._operation("add", change.parts, change.value))
            elif change.type == "remove" and not change.parts:
                patch.append(self._operation("replace", (), None))  # the root cannot be taken away
            elif change.type == "remove":
                patch.append({"op": "remove", "path": self._pointer(change.parts)})
            else:
                whole = self._growth.end() if change.type == "finish" else self._growth.add(change.value)
                if whole is not None:
                    patch.append(self._operation("replace", change.parts, whole))
                elif change.type == "grow" and self._append:
                    patch.append(self._operation("append", change.parts, change.value))
        return patch

    def _operation(self, name: str, parts: Parts, value: Any) -> Operation:
        return {"op": name, "path": self._pointer(parts), "value": value}

    def _pointer(self, parts: Parts) -> str:
        return self._prefix + to_pointer(parts)


class JSONPatchEncoder(Encoder[Patch]):
    """Items in, patches out: one for each item, or each sending, that changes the document of `source`."""

    def __init__(
        self,
        *,
        source: str = "content",
        strings: Strings = "doubling",
        prefix: str = "",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(**options)
        self._source = source
        self._patcher = Patcher(strings=strings, prefix=prefix)

    def _send(self, messages: Iterable[ResultMessage]) -> list[Patch]:
        patch = [operation for message in messages for operation in self._operations(message)]
        return [patch] if patch else []

    def _encode(self, message: ResultMessage) -> list[Patch]:
        return self._send([message])

    def _operations(self, message: ResultMessage) -> Patch:
        if message.event != "field" or message.data.get("source", "content") != self._source:
            return []
        return self._patcher.feed(message.data)


class JSONPatchOptions(Options, total=False):
    """The options of JSON Patch: see `to_json_patch`."""

    source: str
    strings: Strings
    prefix: str


@overload
def to_json_patch(items: AsyncIterable[Any], **options: Unpack[JSONPatchOptions]) -> AsyncGenerator[Patch, None]: ...
@overload
def to_json_patch(items: Iterable[Any], **options: Unpack[JSONPatchOptions]) -> Generator[Patch, None, None]: ...
def to_json_patch(items: Any, **options: Unpack[JSONPatchOptions]) -> Any:
    """The document of a run as patches, each a list of operations; applied in order to null they make its data.

    source: whose document: `content`, or the id of a tool call.
    strings: how strings grow: see `Strings`.
    prefix: the JSON Pointer of the place in the client's state where the document goes: `/answer`.

    `items` and the other options are those of `to_frames`. All fields must be among the items: with some filtered out
    a list has gaps, which become null. Errors and the like have no place in a patch.
    """
    return drive(JSONPatchEncoder(**options), items)
