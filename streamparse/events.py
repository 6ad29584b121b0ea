"""The public names of what comes out of a stream, for annotations."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from .fields import EventType, Kind
from .implementation import StreamingData

EventName = Literal[
    "error",
    "original_delta",
    "reasoning_delta",
    "delta",
    "tool_call_delta",
    "tool_calls",
    "original_done",
    "reasoning_done",
    "done",
    "meta",
    "status",
    "invalid",
    "diagnostic",
    "instant",
]


class SpecificMessage(NamedTuple):
    """One item of `get_generator(type="specific")`: the name of an event and its data."""

    event: str
    data: Any


class ResultMessage(NamedTuple):
    """One item of `get_generator(type="all")`: the name of an event and its data."""

    event: str
    data: Any


__all__ = ["EventName", "EventType", "Kind", "ResultMessage", "SpecificMessage", "StreamingData"]
