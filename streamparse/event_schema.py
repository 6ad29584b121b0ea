"""What pydantic needs to know of an event, so that it can stand in a model. Only its hooks import this module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast, get_args

from pydantic_core import core_schema

from .fields import EventType, Kind

if TYPE_CHECKING:
    from .streaming_data import StreamingData

JSON_SCHEMA: Final[dict[str, Any]] = {
    "title": "StreamingData",
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "wildcard_path": {"type": "string"},
        "parts": {"type": "array", "items": {"type": ["string", "integer"]}},
        "delta": {"type": ["string", "null"]},
        "value": {},
        "is_complete": {"type": "boolean"},
        "event_type": {"enum": [*get_args(EventType)]},
        "kind": {"enum": [*get_args(Kind)]},
        "source": {"type": "string"},
    },
    "required": ["parts", "delta", "value", "event_type", "kind"],
}


def core_schema_for(kind: type[StreamingData]) -> core_schema.CoreSchema:
    """An event, or the dict that its `to_dict` writes; serialized as that dict."""

    def validate(value: Any) -> StreamingData:
        if isinstance(value, kind):
            return value
        if isinstance(value, dict):
            try:
                return kind.from_dict(cast("dict[str, Any]", value))
            except (KeyError, TypeError) as error:
                raise ValueError(f"not a StreamingData: {error}") from None
        raise ValueError(f"a StreamingData or its dict is wanted, got {type(value).__name__}")

    return core_schema.no_info_plain_validator_function(
        validate, serialization=core_schema.plain_serializer_function_ser_schema(kind.to_dict)
    )
