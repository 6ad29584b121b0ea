"""StreamingData: one event.

Part of the compiled twin: see `machine.py`.
"""

# Events are filled in: a constructor would cost as much as all the rest of one.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any

from .fields import KIND, LIVE, ORIGIN, EventType, Field, Kind, field_at, parts_of, path_of, wildcard_of
from .paths import Parts, PathStyle, format_path
from .values import same_value


class StreamingData:
    """One event: a field grew, or is final. Immutable, compared by value.

    Made by the parser; `StreamingData.from_dict` makes one from `to_dict`.
    """

    __slots__ = ("_delta", "_field", "_type", "_value")

    _delta: str | None
    _field: Field
    _type: EventType
    _value: Any  # on the `delta` of a string: how many pieces of it there were

    @property
    def path(self) -> str:
        """Where: `tips[0].text`; the root is `""`."""
        return path_of(self._field)

    @property
    def wildcard_path(self) -> str:
        """The path with every list index as `[*]`: `tips[*].text`."""
        return wildcard_of(self._field)

    @property
    def parts(self) -> Parts:
        """The path as a tuple: keys are `str`, list indexes `int`."""
        return parts_of(self._field)

    @property
    def indexes(self) -> tuple[int, ...]:
        """The list indexes of the path, outermost first."""
        return tuple(part for part in parts_of(self._field) if isinstance(part, int))

    @property
    def pointer(self) -> str:
        """The path as a JSON Pointer (RFC 6901): `/tips/0/text`."""
        return format_path(parts_of(self._field), "pointer")

    @property
    def delta(self) -> str | None:
        """Text to append to the field's slot: a piece of a string, the whole lexeme of a number or boolean; else
        None.
        """
        return self._delta

    @property
    def value(self) -> Any:
        """On `delta` the value so far (a string is joined when asked for), on `done` the final, on `cut` the partial
        one.
        """
        if self._type == "delta" and self._field[KIND] == "string":
            pieces = self._field[LIVE]
            return "".join(pieces[: self._value]) if pieces is not None else None
        # A `start` carries the offset of its string, for the schema stage: nothing of the value is there yet.
        return None if self._type == "start" else self._value

    @property
    def is_complete(self) -> bool:
        """True exactly on `done`: the value is final."""
        return self._type == "done"

    @property
    def event_type(self) -> EventType:
        """`delta`, `done`, `reset`, `cut` or `start`."""
        return self._type

    @property
    def kind(self) -> Kind:
        """The JSON type: `string`, `number`, `boolean`, `null`, `object` or `array`."""
        return self._field[KIND]  # type: ignore[no-any-return]

    @property
    def source(self) -> str:
        """`content`, or the id of the tool call whose arguments are parsed."""
        return self._field[ORIGIN][0]  # type: ignore[no-any-return]

    def to_dict(self) -> dict[str, Any]:
        """All public attributes as a plain dict, ready for `json.dumps`."""
        return {
            "path": self.path,
            "wildcard_path": self.wildcard_path,
            "parts": list(self.parts),
            "delta": self.delta,
            "value": self.value,
            "is_complete": self.is_complete,
            "event_type": self.event_type,
            "kind": self.kind,
            "source": self.source,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> StreamingData:
        """The event that `to_dict` wrote (in the dot style)."""
        return restore_event(
            tuple(data["parts"]),
            data["kind"],
            data.get("source", "content"),
            "dot",
            data["event_type"],
            data["delta"],
            data["value"],
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StreamingData):
            return NotImplemented
        return (
            self._type == other._type
            and self._delta == other._delta
            and self.parts == other.parts
            and self.kind == other.kind
            and self.source == other.source
            and same_value(self.value, other.value)
        )

    def __hash__(self) -> int:
        return hash((self._type, self._delta, self.path))

    def __repr__(self) -> str:
        return f"StreamingData({self.path!r}, {self._type}, {self.kind}, delta={self._delta!r}, value={self.value!r})"

    def __copy__(self) -> StreamingData:
        return self

    def __deepcopy__(self, memo: Any) -> StreamingData:
        return self

    def __reduce__(self) -> Any:
        field = self._field
        source, style = field[ORIGIN]
        return (restore_event, (parts_of(field), field[KIND], source, style, self._type, self._delta, self.value))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        # Imported here: the core must not need pydantic to be imported.
        from .event_schema import core_schema_for

        return core_schema_for(cls)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        from .event_schema import JSON_SCHEMA

        return {**JSON_SCHEMA}  # pydantic adds to what it is given


def make_event(field: Field, event_type: EventType, delta: str | None, value: Any) -> StreamingData:
    """An event of `field`. For a string's `delta` the value is the number of pieces so far, not the text."""
    event = StreamingData()
    event._field = field
    event._type = event_type
    event._delta = delta
    event._value = value
    return event


def restore_event(
    parts: Parts, kind: Kind, source: str, style: PathStyle, event_type: EventType, delta: str | None, value: Any
) -> StreamingData:
    """An event from its attributes (pickle, `from_dict`)."""
    if event_type == "delta" and kind == "string":
        pieces = None if value is None else [value]
        return make_event(field_at(parts, kind, source, style, pieces), event_type, delta, 1)
    return make_event(field_at(parts, kind, source, style), event_type, delta, value)
