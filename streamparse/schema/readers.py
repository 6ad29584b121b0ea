"""Readers over the events of one document: partial instances, and the items of a list.

    builder = PartialBuilder(Ticket)              ticket so far, at any moment
    for event in events:
        builder.feed(event)
    ticket = builder.snapshot()                   # Partial[Ticket] | None
    ticket = builder.update(events)               # the two in one

    reader = ItemsReader("tips[*]", Tip)          each element when it closes
    for item in reader.feed(events):
        item.index, item.value, item.error

Both take the public events, from the first on, in order; where they come from (a parser, a replay, the wire) does not
matter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from ..errors import SchemaError
from ..paths import Parts, PathPattern, PathStyle, format_path
from .nodes import Node
from .partial import HIDDEN, Partial
from .shape import is_array, is_object, kind_of
from .spec import Output, compile_output
from .typed import Invalid, TypedTree

if TYPE_CHECKING:
    from ..implementation import StreamingData

T = TypeVar("T")


class PartialBuilder(Generic[T]):
    """Partial instances of an output specification.

    A closed value is its typed value (a nested model that is complete and valid is the real instance), an open string
    its text so far if the field is text, everything else is not there yet: None, or the field's default. No validator
    sees a value that is not closed. `feed` costs O(1) an event, `snapshot` what the open values (from the root to the
    growing field) cost; closed values are shared between snapshots, so do not change them.
    """

    @overload
    def __init__(self, output: type[T]) -> None: ...
    @overload
    def __init__(self, output: Any) -> None: ...
    def __init__(self, output: Any) -> None:
        self.tree = TypedTree(compile_output(output))

    def feed(self, event: StreamingData) -> None:
        """Take one event."""
        self.tree.feed(event)

    def update(self, events: Iterable[StreamingData]) -> Partial[T] | None:
        """Take events; return the snapshot after them."""
        for event in events:
            self.tree.feed(event)
        return self.snapshot()

    def snapshot(self) -> Partial[T] | None:
        """The instance as it is now. None: nothing can be shown yet.

        Once the document is closed and valid it is the real object.
        """
        shown = self.tree.snapshot()
        return None if shown is HIDDEN else cast("Partial[T]", shown)

    def take_invalid(self) -> list[Invalid]:
        """What did not fit since the last call."""
        found, self.tree.invalid = self.tree.invalid, []
        return found


def partial_of(output: Any, value: Any, open_parts: Collection[Parts]) -> Any:
    """The partial instance for a value that was read so far; `open_parts` are the places that are not closed yet.

    What `PartialBuilder` would show there, at the cost of the whole value: for one look, not for each delta. `value` is
    None and nothing open: nothing came yet. Returns None where nothing can be shown.
    """
    tree = TypedTree(compile_output(output))
    opened = set(open_parts)
    if value is None and not opened:
        return PartialBuilder[Any](output).snapshot()
    work: list[tuple[Parts, Any, Node | None]] = [((), value, None)]
    while work:
        parts, item, node = work.pop()
        if node is not None:
            if parts not in opened:
                tree.close(node, item)
            continue
        node = tree.open(parts[-1] if parts else "", kind_of(item))
        work.append((parts, item, node))
        if is_object(item) or is_array(item):
            members = item.items() if is_object(item) else enumerate(item)
            inside = [((*parts, part), member, None) for part, member in members][::-1]
            # The open member is the last to be opened, wherever it stands.
            work.extend(sorted(inside, key=lambda entry: entry[0] not in opened))
        elif parts in opened and isinstance(item, str):
            node.pieces.append(item)
    shown = tree.snapshot()
    return None if shown is HIDDEN else shown


@dataclass(frozen=True, slots=True)
class Item(Generic[T]):
    """One element of a list.

    Either `value` is the validated instance, or `error` says what does not fit; `raw` is the JSON value.
    """

    index: int
    path: str
    value: T | None
    raw: Any
    error: SchemaError | None = None

    @property
    def valid(self) -> bool:
        """True where `value` is the instance."""
        return self.error is None

    def unwrap(self) -> T:
        """The instance. Raises `SchemaError` where the element does not fit."""
        if self.error is not None:
            raise self.error
        return cast("T", self.value)


class ItemsReader(Generic[T]):
    """The elements at `pattern` (`tips[*]`, `groups[*].members[*]`), each validated as `output` when it closes.

    An element that does not fit keeps its index and carries its error. `index` is the last list index of its path.
    """

    @overload
    def __init__(self, pattern: str, output: type[T], *, path_style: PathStyle = "dot") -> None: ...
    @overload
    def __init__(self, pattern: str, output: Any, *, path_style: PathStyle = "dot") -> None: ...
    def __init__(self, pattern: str, output: Any, *, path_style: PathStyle = "dot") -> None:
        self.pattern = PathPattern(pattern, path_style)
        self.output: Output = compile_output(output)

    def feed(self, events: Iterable[StreamingData]) -> list[Item[T]]:
        """The elements that these events close."""
        return [
            self._item(event.parts, event.value)
            for event in events
            if event.event_type == "done" and self.pattern.matches(event.parts)
        ]

    def _item(self, parts: Parts, raw: Any) -> Item[T]:
        index = next((part for part in reversed(parts) if isinstance(part, int)), 0)
        path = format_path(parts)
        try:
            return Item(index, path, self.output.validate(raw), raw)
        except SchemaError as error:
            details = tuple({**details, "loc": (*parts, *details["loc"])} for details in error.errors)
            place = SchemaError(f"{path}: {error.message}", code=error.code, path=path, errors=details)
            return Item(index, path, None, raw, place)
