"""Provider events: what every adapter makes of an SDK's stream, and all that the turn knows of it.

A run is any number of events and one terminal (`Result` or `Error`). Adapters yield them; `Turn` folds them into a
`Response`. Each is a small frozen dataclass with a `type` name; `to_dict` and `from_dict` are exact inverses for
JSON-like payloads.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from .errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderEvent:
    """Base of all provider events. `raw` is what the event was made of, where it is kept (not part of equality)."""

    type: ClassVar[str] = "event"
    raw: Any = field(default=None, compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Type and fields that are set, without `raw`."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "raw"}
        return {"type": self.type, **{name: value for name, value in values.items() if value is not None}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(ProviderEvent):
    """Who answers: ids and the model. May come more than once; None never overwrites, and the first `id` counts."""

    type: ClassVar[str] = "session"
    id: str | None = None
    request_id: str | None = None
    session_id: str | None = None
    model: str | None = None
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta(ProviderEvent):
    """Text of the answer. `message_boundary` starts a separate assistant message. `choice` is the choice index (n > 1).

    `aside` marks text that the provider itself calls commentary: part of the text, never of the document in it.
    """

    type: ClassVar[str] = "text"
    text: str
    message_boundary: bool = False
    choice: int = 0
    aside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDelta(ProviderEvent):
    """Text of the model's reasoning, from a field of its own. `block` starts a new block where it changes."""

    type: ClassVar[str] = "reasoning"
    text: str
    block: int | str | None = None
    choice: int = 0
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalDelta(ProviderEvent):
    """Text of a refusal, from a field of its own."""

    type: ClassVar[str] = "refusal"
    text: str
    choice: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallDelta(ProviderEvent):
    """A piece of a tool call.

    `key` ties the pieces of one call together within its stream (index, item id, block index: whatever the provider
    uses). `id` and `name` may come once, late, or repeated; empty ones never overwrite. `arguments` is a piece of JSON
    text, or a whole dict where the provider sends it parsed. `final_arguments` replaces the joined pieces (the
    Responses API's finished item). `done` says that the provider closed the call. `free_text` marks input that is not
    JSON. `hosted` marks a call that the provider runs itself, so that the caller must not.
    """

    type: ClassVar[str] = "tool_call"
    key: int | str
    id: str | None = None
    name: str | None = None
    arguments: str | dict[str, Any] | None = None
    final_arguments: str | None = None
    done: bool = False
    free_text: bool = False
    hosted: bool = False
    choice: int = 0
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult(ProviderEvent):
    """What a tool that the provider itself ran gave back."""

    type: ClassVar[str] = "tool_result"
    id: str | None = None
    name: str | None = None
    content: Any = None
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageUpdate(ProviderEvent):
    """Token counts of the turn so far; None never overwrites. `extra` holds provider keys that have no field."""

    type: ClassVar[str] = "usage"
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    input_cost: float | None = None
    output_cost: float | None = None
    total_cost: float | None = None
    tool_usage: dict[str, Any] | None = None
    extra: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish(ProviderEvent):
    """Why the model stopped: `reason` in the provider's own word, `mapped` in ours (by the adapter's table).

    `reason` is None where the stream says that it ended, but in no word of its own.

    `refusal`, `paused` and `unfinished` say what the union cannot: the model refused; the turn is to be resumed; the
    provider says that the answer is not whole. May come more than once: the last one counts.
    """

    type: ClassVar[str] = "finish"
    reason: str | None = None
    mapped: Literal["stop", "length", "tool_calls", "content_filter", "error", "other"]
    choice: int = 0
    refusal: bool = False
    paused: bool = False
    unfinished: bool = False
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw(ProviderEvent):
    """Something the adapter does not know, kept as it came."""

    type: ClassVar[str] = "raw"
    name: str | None = None
    payload: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(ProviderEvent):
    """Terminal: the stream ended without an error. The fields that are given win over what the events added up to.

    `finished` is True where the end itself says that the answer is whole (plain text has no finish reason); giving
    `text` says so too.
    """

    type: ClassVar[str] = "result"
    text: str | None = None
    finished: bool = False
    model: str | None = None
    session_id: str | None = None
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Error(ProviderEvent):
    """Terminal: the run failed. `reason` says why in words, `code` is the provider's own, `details` what it sent."""

    type: ClassVar[str] = "error"
    reason: str
    code: str | None = None
    details: Any = None


TERMINAL: tuple[type[ProviderEvent], ...] = (Result, Error)

BY_TYPE: dict[str, type[ProviderEvent]] = {
    kind.type: kind
    for kind in (
        Session, TextDelta, ReasoningDelta, RefusalDelta, ToolCallDelta, ToolResult, UsageUpdate, Finish, Raw, Result,
        Error,
    )
}  # fmt: skip


def from_dict(data: dict[str, Any]) -> ProviderEvent:
    """The event that `to_dict` wrote. Raises `UsageError` on an unknown type, and on an unknown, missing or wrong
    field.
    """
    name = data.get("type")
    kind = BY_TYPE.get(name) if isinstance(name, str) else None
    if kind is None:
        raise UsageError(f"unknown provider event type {name!r}", expected=", ".join(sorted(BY_TYPE)))
    values = {name: value for name, value in data.items() if name != "type"}
    unknown = sorted(values.keys() - {f.name for f in fields(kind)}, key=str)
    if unknown:
        raise UsageError(f"a {kind.type!r} event has no field {unknown[0]!r}")
    try:
        event = kind(**values)
    except TypeError as error:
        raise UsageError(f"a {kind.type!r} event lacks a field: {error}") from None
    fault = fault_of(event)
    if fault is not None:
        raise fault
    return event


def fault_of(event: ProviderEvent) -> UsageError | None:
    """The error for a field of another type than it is declared with; None where all are right.

    Dataclasses do not look, and adapters are written by anyone.
    """
    if isinstance(event, TextDelta) and type(event.text) is str and type(event.choice) is int:
        return None  # most events of a run
    # A subclass may have fields of its own, and a type that is not in the table.
    for name, kinds, words in _declared(event.type) if BY_TYPE.get(event.type) is type(event) else ():
        value = getattr(event, name)
        if isinstance(value, kinds) and (not words or value in words):
            continue
        what = repr(value) if isinstance(value, str) else type(value).__name__
        expected = ", ".join(words) or " or ".join(one.__name__.replace("NoneType", "None") for one in kinds)
        return UsageError(f"the {name} of a {event.type!r} event is {what}", expected=expected)
    return None


@cache
def _declared(name: str) -> list[tuple[str, tuple[type, ...], tuple[str, ...]]]:
    """Name, types, and the words if it is one of some, of each field of an event that may not hold just anything."""
    hints = get_type_hints(BY_TYPE[name])
    found: list[tuple[str, tuple[type, ...], tuple[str, ...]]] = []
    for one in fields(BY_TYPE[name]):
        hint = hints[one.name]
        if get_origin(hint) is Literal:
            found.append((one.name, (str,), get_args(hint)))
        elif hint is not Any:
            kinds = tuple(get_origin(option) or option for option in get_args(hint) or (hint,))
            found.append((one.name, (*kinds, int) if float in kinds else kinds, ()))
    return found
