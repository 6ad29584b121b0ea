"""streamparse: text from a language model in, field events and one typed `Response` out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .dialect import JSON5, LLM, STRICT, Dialect
from .errors import (
    Diagnostic,
    IncompleteJSONError,
    JSONSyntaxError,
    LimitExceeded,
    ProviderError,
    SchemaError,
    StreamParseError,
    UsageError,
)
from .events import ResultMessage, SpecificMessage
from .implementation import IMPLEMENTATION, StreamingData
from .limits import Limits
from .parsed import Parsed
from .parser import StreamParser
from .paths import PathPattern, format_path, parse_path
from .values import NumberLexeme

if TYPE_CHECKING:
    from .response import EventCoverage, Message, Response, ToolCall, Usage
    from .result import StreamResult, Verdict, split_choices, wrap
    from .schema import Hold, Invalid, ItemsReader, JsonSchema, Partial, PartialBuilder, Required, describe, partial_of

__version__ = "0.1.0"

# What needs pydantic is imported when it is asked for, so that the parser alone starts fast.
_LATER = {
    **dict.fromkeys(("EventCoverage", "Message", "Response", "ToolCall", "Usage"), "response"),
    **dict.fromkeys(("StreamResult", "Verdict", "split_choices", "wrap"), "result"),
    **dict.fromkeys(
        (
            "Hold",
            "Invalid",
            "ItemsReader",
            "JsonSchema",
            "Partial",
            "PartialBuilder",
            "Required",
            "describe",
            "partial_of",
        ),
        "schema",
    ),
}

__all__ = [
    "IMPLEMENTATION",
    "JSON5",
    "LLM",
    "STRICT",
    "Diagnostic",
    "Dialect",
    "EventCoverage",
    "Hold",
    "IncompleteJSONError",
    "Invalid",
    "ItemsReader",
    "JSONSyntaxError",
    "JsonSchema",
    "LimitExceeded",
    "Limits",
    "Message",
    "NumberLexeme",
    "Parsed",
    "Partial",
    "PartialBuilder",
    "PathPattern",
    "ProviderError",
    "Required",
    "Response",
    "ResultMessage",
    "SchemaError",
    "SpecificMessage",
    "StreamParseError",
    "StreamParser",
    "StreamResult",
    "StreamingData",
    "ToolCall",
    "Usage",
    "UsageError",
    "Verdict",
    "__version__",
    "describe",
    "format_path",
    "parse_path",
    "partial_of",
    "split_choices",
    "wrap",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f".{_LATER[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
