"""Events on the wire: the events of a run in the formats that front ends read, and back.

    for text in to_sse(result.get_generator("all")): ...
    async for text in to_sse(result.get_async_generator("all"), max_rate=20): ...

Each `to_…` is a loop round an encoder without I/O (`feed`, `tick`, `close`), for servers that do their own.
"""

from __future__ import annotations

from .coalesce import Coalescer
from .frame import Encoder, Frame, FrameEncoder, describe_error, to_frames
from .ndjson import NDJSONDecoder, NDJSONEncoder, from_ndjson, to_ndjson, write_ndjson
from .sse import SSEDecoder, SSEEncoder, from_sse, to_sse, write_sse
from .state import Document, EventDecoder, FieldView, Replica, Tree, from_frames

__all__ = [
    "Coalescer",
    "Document",
    "Encoder",
    "EventDecoder",
    "FieldView",
    "Frame",
    "FrameEncoder",
    "NDJSONDecoder",
    "NDJSONEncoder",
    "Replica",
    "SSEDecoder",
    "SSEEncoder",
    "Tree",
    "describe_error",
    "from_frames",
    "from_ndjson",
    "from_sse",
    "to_frames",
    "to_ndjson",
    "to_sse",
    "write_ndjson",
    "write_sse",
]
