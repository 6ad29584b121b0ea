"""Response: what a run came to, as one typed value, and the fold of provider events that makes it.

model.py   Response, Message, ToolCall, Usage, EventCoverage and their literals: data
json_text.py  JSON of any depth, for what pydantic cannot write
log.py     EventLog: which events are kept
fold.py    ResponseBuilder: the only code that folds provider events into these fields, for `Response.from_events` (a
           finished list) and for `Turn` (live, with parsers)
"""

from __future__ import annotations

from .fold import NO_DOCUMENT, CallState, ResponseBuilder
from .log import EventLog, event_size
from .model import EndState, EventCoverage, FinishReason, Message, Omission, Response, ToolCall, Usage

__all__ = [
    "NO_DOCUMENT",
    "CallState",
    "EndState",
    "EventCoverage",
    "EventLog",
    "FinishReason",
    "Message",
    "Omission",
    "Response",
    "ResponseBuilder",
    "ToolCall",
    "Usage",
    "event_size",
]
