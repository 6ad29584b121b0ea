"""What all adapters share: reading fields of dicts and SDK objects alike, and the base class.

No SDK is imported: an adapter knows the names of the fields that it reads, and nothing else of the objects.
"""

from __future__ import annotations

import base64
import dataclasses
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from math import isfinite
from types import SimpleNamespace
from typing import Any, ClassVar, Literal, TypeGuard, cast

from ..provider import Error, Finish, ProviderEvent, Session, ToolCallDelta, UsageUpdate

Mapped = Literal["stop", "length", "tool_calls", "content_filter", "error", "other"]
Events = list[ProviderEvent]

# Markers for "not sent" that are no None: mistralai's Unset, openai's NotGiven and Omit.
_UNSET = frozenset({"Unset", "NotGiven", "Omit"})
_MAX_DEPTH = 64


def is_dict(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether `value` is a dict; for the type checkers one with text keys, as all JSON has."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Whether `value` is a list (the SDKs use tuples, too)."""
    return isinstance(value, list | tuple)


def get(obj: Any, *names: str) -> Any:
    """The first of `names` that `obj`, a dict or an object, has with a value; None without any."""
    if isinstance(obj, dict):
        found = cast("dict[str, Any]", obj)
        for name in names:
            value = found.get(name)
            if value is not None:
                return value
        return None
    extra = getattr(obj, "__pydantic_extra__", obj)
    if extra is not obj and not isinstance(obj, type):
        # A pydantic model: asking it for an attribute that it lacks would cost more than all the rest of an adapter.
        found = obj.__dict__
        for name in names:
            value = found.get(name)
            if value is None and extra:
                value = extra.get(name)
            if value is not None and (value or type(value).__name__ not in _UNSET):
                return value
        return None
    for name in names:
        value = getattr(obj, name, None)
        if value is not None and (value or type(value).__name__ not in _UNSET):
            return value
    return None


def has(obj: Any, name: str) -> bool:
    """Whether `obj` has a field of this name at all, None included."""
    if isinstance(obj, dict):
        return name in obj
    extra = getattr(obj, "__pydantic_extra__", obj)
    if extra is not obj and not isinstance(obj, type):
        return name in obj.__dict__ or bool(extra and name in extra)
    return hasattr(obj, name)


def text(obj: Any, *names: str) -> str:
    """The first of `names` that holds a string; `""` without any."""
    value = get(obj, *names)
    return value if isinstance(value, str) else ""


def word(obj: Any, *names: str) -> str | None:
    """Like `text`, for ids, names and reasons: an enum counts by its value, and an empty one is None."""
    value = get(obj, *names)
    value = getattr(value, "value", value)
    return value if isinstance(value, str) and value else None


def integer(obj: Any, *names: str) -> int | None:
    """The first of `names` that holds a number, as an int (some providers count tokens in floats)."""
    return as_integer(get(obj, *names))


def number(obj: Any, *names: str) -> float | None:
    """The first of `names` that holds a number."""
    return as_number(get(obj, *names))


def as_integer(value: Any) -> int | None:
    """`value` as an int if it is a number; None otherwise."""
    if type(value) is int:
        return value
    found = as_number(value)
    return int(found) if found is not None and isfinite(found) else None


def as_number(value: Any) -> float | None:
    """`value` if it is a number; None otherwise, and for an integer that no float holds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        float(value)
    except OverflowError:
        return None
    return value


def items(obj: Any, *names: str) -> list[Any]:
    """The first of `names` that holds a list; an empty one without any."""
    value = get(obj, *names)
    return as_list(value)


def as_list(value: Any) -> list[Any]:
    """`value` if it is a list; an empty one otherwise."""
    return list(value) if is_list(value) else []


def as_dict(value: Any) -> dict[str, Any] | None:
    """`value` as plain data if that is a dict; None otherwise."""
    data = plain(value)
    return data if is_dict(data) else None


def as_arguments(value: Any) -> str | dict[str, Any] | None:
    """Tool arguments as they may come: text, or a whole object; None where there are none."""
    return value or None if isinstance(value, str) else as_dict(value)


def thoughts(part: Any) -> str | None:
    """The text of a thinking part (`thinking`: a text, or a list of text parts); None where `part` is none."""
    thinking = get(part, "thinking")
    if thinking is None or isinstance(thinking, str):
        return thinking
    return "".join(piece if isinstance(piece, str) else text(piece, "text") for piece in as_list(thinking))


def is_data(obj: Any) -> bool:
    """Whether `obj` can have fields: not None, text, bytes, a number or a list."""
    return obj is not None and not isinstance(obj, str | bytes | bytearray | int | float | list | tuple)


def plain(value: Any, _depth: int = 0, _sparse: bool = False) -> Any:
    """`value` as JSON-like data: models and dataclasses as dicts without None, enums by value, bytes as base64."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return str(getattr(value, "value", value))
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(cast("bytes", value))).decode("ascii")
    if _depth > _MAX_DEPTH:
        return _shown(value)
    if _is_mapping(value):
        found = {str(name): plain(item, _depth + 1, _sparse) for name, item in value.items()}
        return {name: item for name, item in found.items() if item is not None} if _sparse else found
    if _is_collection(value):
        return [plain(item, _depth + 1, _sparse) for item in value]
    dumped = _dump(value)
    if dumped is not None:
        return plain(dumped, _depth, True)
    return str(value.value) if hasattr(value, "value") else repr(value)


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except RecursionError:
        return reprlib.repr(value)


def _is_mapping(value: Any) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, Mapping)


def _is_collection(value: Any) -> TypeGuard[Collection[Any]]:
    return isinstance(value, list | tuple | set | frozenset)


def _dump(value: Any) -> dict[str, Any] | None:
    """The fields of a dataclass, a pydantic model, a namespace, or an object with `to_dict`."""
    if isinstance(value, SimpleNamespace):
        return vars(value)
    extra: Any = getattr(value, "__pydantic_extra__", value)
    if extra is not value:
        # A pydantic model; its own `model_dump` takes longer, and warns of what SDKs put into their models.
        found: dict[str, Any] = {**value.__dict__, **(extra or {})}
        return {name: item for name, item in found.items() if type(item).__name__ not in _UNSET}
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    for name in ("to_dict", "dict", "model_dump"):
        method: Any = getattr(value, name, None)
        if callable(method):
            try:
                dumped: Any = method()
            except Exception:  # noqa: BLE001  # foreign code; what cannot be dumped is shown
                return None
            if is_dict(dumped):
                return dumped
    return None


def usage_update(usage: Any, **names: tuple[str, ...]) -> UsageUpdate | None:
    """A `UsageUpdate` from a provider's usage object.

    `names` gives each field of `UsageUpdate` the provider's names; a dot goes into an object (`details.cached_tokens`).
    What is at the top and was not taken goes to `extra` as it is; objects that a field was taken from stay whole there.
    """
    data = as_dict(usage)
    if not data:
        return None
    values: dict[str, Any] = {}
    taken: set[str] = set()
    for field, candidates in names.items():
        for candidate in candidates:
            holder: Any = data
            *outer, last = candidate.split(".")
            for part in outer:
                holder = holder.get(part) if is_dict(holder) else None
            value = _usage_value(field, holder.get(last)) if is_dict(holder) else None
            if value is not None:
                values[field] = value
                if not outer:
                    taken.add(last)
                break
    extra = {name: value for name, value in data.items() if name not in taken and value is not None}
    return UsageUpdate(**values, extra=extra or None)


def _usage_value(field: str, value: Any) -> Any:
    if value is None:
        return None
    if field == "tool_usage":
        return as_dict(value) or None
    return as_number(value) if field.endswith("_cost") else as_integer(value)


class Adapter(ABC):
    """Turns one run of an SDK's stream into provider events. Sans-IO: it gets the chunks one by one and keeps what it
    must remember.

    The runner calls `opened` once where it knows the object that it iterates, `feed` for every chunk, and at the end
    `close`, or `failed` where the iteration raised. Any object with these four methods is an adapter
    (`AdapterProtocol`); this class is the easy way to write one: give it a `name`, `matches` and `read`.

    Rules: never raise on what a provider sent (an unknown chunk is a `Raw` event); each piece of text once; never
    invent a finish reason that the stream did not give; at most one terminal event, and none at all where the end says
    nothing: the runner adds it.
    """

    name: ClassVar[str]

    def __init__(self) -> None:
        self.ended = False
        self._session: dict[str, Any] = {}

    @staticmethod
    def matches(chunk: Any) -> bool:
        """Whether `chunk` has the shape that this adapter reads. Decides by fields, not by class names."""
        return False

    @abstractmethod
    def read(self, chunk: Any, out: Events) -> None:
        """Append the events of `chunk` to `out`."""

    def feed(self, chunk: Any) -> Events:
        """The events of one chunk, in order. After a terminal event: none. A `Finish` keeps what it was made of."""
        out: Events = []
        if not self.ended:
            self.read(chunk, out)
        for position, event in enumerate(out):
            if isinstance(event, Finish) and event.raw is None:
                out[position] = dataclasses.replace(event, raw=plain(chunk))
        return out

    def close(self) -> Events:
        """The last events, once the stream has ended by itself."""
        return []

    def opened(self, source: Any) -> Events:
        """What the stream object itself tells before the first chunk: the request id in the headers of its HTTP
        response.
        """
        try:
            headers = get(get(source, "response", "_response") or source, "headers")
        except Exception:  # noqa: BLE001  # a property of a foreign object
            return []
        if not _is_mapping(headers):
            return []
        for header in _REQUEST_ID_HEADERS:
            value = headers.get(header)
            if isinstance(value, str) and value:
                return [Session(request_id=value)]
        return []

    def failed(self, error: BaseException) -> Error:
        """The terminal event for an exception that the SDK raised from its iterator."""
        self.ended = True
        body = get(error, "body", "details")
        response = get(error, "response")
        inner = (get(body, "error") if is_data(body) else None) or get(response, "Error")
        # the provider's own words, where the SDK wraps them in its own
        reason = text(inner, "message", "Message") or text(error, "message", "error") or str(error)
        details = {
            "type": type(error).__name__,
            "status_code": integer(error, "status_code", "code") or integer(response, "status_code"),
            "request_id": word(error, "request_id"),
            "body": plain(body),
        }
        return Error(
            reason=reason or type(error).__name__,
            code=word(error, "code") or word(inner, "code", "type", "Code") or word(body, "code", "type"),
            details={name: value for name, value in details.items() if value is not None},
        )

    def fail(self, out: Events, error: Any, *, code: str | None = None) -> None:
        """Append the terminal `Error` for an error object inside the stream: a dict, an object or a text."""
        self.ended = True
        reason = error if isinstance(error, str) else text(error, "message", "detail", "msg", "error")
        if code is None and is_data(error):
            number_code = get(error, "code")
            code = str(number_code) if isinstance(number_code, int) else word(error, "code", "type", "status")
        out.append(
            Error(reason=reason or f"the provider sent an error: {plain(error)!r}", code=code, details=plain(error))
        )

    def session(self, out: Events, **values: Any) -> None:
        """Append a `Session` with those of `values` that are new."""
        new = {name: value for name, value in values.items() if value and self._session.get(name) != value}
        if new:
            self._session.update(new)
            out.append(Session(**new))


_REQUEST_ID_HEADERS = ("x-request-id", "request-id", "apim-request-id", "x-amzn-requestid", "x-goog-request-id")


class WholeInputs:
    """Arguments that a provider may give whole at the start of a call, or in pieces after it, but not both.

    Anthropic and Google open each call with `{}` and then stream the text; a whole object counts only where no piece
    follows.
    """

    def __init__(self) -> None:
        self._inputs: dict[int | str, Any] = {}

    def start(self, key: int | str, value: Any) -> None:
        """Call `key` began, with `value` as its arguments so far."""
        self._inputs[key] = value

    def piece(self, key: int | str) -> None:
        """A piece of text came for call `key`."""
        if key in self._inputs:
            self._inputs[key] = None

    def stop(self, key: int | str, out: Events, **fields: Any) -> None:
        """Append the event that ends call `key`, if there is such a call."""
        if key in self._inputs:
            value = as_dict(self._inputs.pop(key))
            out.append(ToolCallDelta(key=key, arguments=value or None, done=True, **fields))
