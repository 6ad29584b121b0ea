"""Events on the wire: the events of a run in the formats that front ends read, and back.

    for text in to_sse(result.get_generator("all")): ...
    async for text in to_sse(result.get_async_generator("all"), max_rate=20): ...

Each `to_…` is a loop round an encoder without I/O (`feed`, `tick`, `close`), for servers that do their own.
"""

from __future__ import annotations

from .ag_ui import AGUIEncoder, to_ag_ui
from .ai_sdk import HEADERS as AI_SDK_HEADERS
from .ai_sdk import AISDKEncoder, to_ai_sdk
from .coalesce import Coalescer
from .frame import Encoder, Frame, FrameEncoder, describe_error, to_frames
from .growth import Strings
from .json_patch import JSONPatchEncoder, to_json_patch
from .json_text import from_json, to_json
from .ndjson import NDJSONDecoder, NDJSONEncoder, from_ndjson, to_ndjson, write_ndjson
from .sse import SSEDecoder, SSEEncoder, from_sse, to_sse, write_sse
from .state import Document, EventDecoder, FieldView, Replica, Tree, from_frames

__all__ = [
    "AI_SDK_HEADERS",
    "AGUIEncoder",
    "AISDKEncoder",
    "Coalescer",
    "Document",
    "Encoder",
    "EventDecoder",
    "FieldView",
    "Frame",
    "FrameEncoder",
    "JSONPatchEncoder",
    "NDJSONDecoder",
    "NDJSONEncoder",
    "Replica",
    "SSEDecoder",
    "SSEEncoder",
    "Strings",
    "Tree",
    "describe_error",
    "from_frames",
    "from_json",
    "from_ndjson",
    "from_sse",
    "to_ag_ui",
    "to_ai_sdk",
    "to_frames",
    "to_json",
    "to_json_patch",
    "to_ndjson",
    "to_sse",
    "write_ndjson",
    "write_sse",
]
