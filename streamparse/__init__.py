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
from .parser import Parsed, StreamParser
from .paths import PathPattern, format_path, parse_path
from .values import NumberLexeme

if TYPE_CHECKING:
    from .response import Response
    from .result import StreamResult, wrap
    from .schema import JsonSchema

__version__ = "0.1.0"

# What needs pydantic is imported when it is asked for, so that the parser alone starts fast.
_LATER = {"JsonSchema": "schema", "Response": "response", "StreamResult": "result", "wrap": "result"}

__all__ = [
    "IMPLEMENTATION",
    "JSON5",
    "LLM",
    "STRICT",
    "Diagnostic",
    "Dialect",
    "IncompleteJSONError",
    "JSONSyntaxError",
    "JsonSchema",
    "LimitExceeded",
    "Limits",
    "NumberLexeme",
    "Parsed",
    "PathPattern",
    "ProviderError",
    "Response",
    "ResultMessage",
    "SchemaError",
    "SpecificMessage",
    "StreamParseError",
    "StreamParser",
    "StreamResult",
    "StreamingData",
    "UsageError",
    "__version__",
    "format_path",
    "parse_path",
    "wrap",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        from importlib import import_module

        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
