"""Cohere: `ClientV2.chat_stream` (events with a `type`) and the older v1 `chat_stream` (events with an `event_type`).

    v2 type                           becomes
    message-start                     Session
    content-start, content-delta      TextDelta, or ReasoningDelta for `thinking`
    tool-plan-delta                   Raw "tool_plan", and the whole plan in the metadata
    tool-call-start, -delta, -end     ToolCallDelta, key = index
    message-end                       UsageUpdate, Finish, Error where it carries one

    v1 event_type                     becomes
    stream-start                      Session
    text-generation                   TextDelta
    tool-calls-chunk, -generation     ToolCallDelta
    stream-end                        UsageUpdate, Finish

The tool plan is neither answer nor reasoning: it says what the calls are for.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..provider import Finish, Raw, ReasoningDelta, Session, TextDelta, ToolCallDelta
from .base import (
    Adapter,
    Events,
    Mapped,
    as_dict,
    as_list,
    get,
    has,
    integer,
    is_data,
    items,
    plain,
    text,
    usage_update,
    word,
)

FINISH: dict[str, Mapped] = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool_calls",
    "ERROR": "error",
    "ERROR_TOXIC": "content_filter",
    "ERROR_LIMIT": "length",
    "TIMEOUT": "error",
    "USER_CANCEL": "error",
}

USAGE: dict[str, tuple[str, ...]] = {
    "input_tokens": ("tokens.input_tokens", "billed_units.input_tokens"),
    "output_tokens": ("tokens.output_tokens", "billed_units.output_tokens"),
    "cached_input_tokens": ("cached_tokens",),
    "reasoning_tokens": ("tokens.reasoning_tokens",),
}

# What v1 bills is what it calls the usage.
USAGE_V1: dict[str, tuple[str, ...]] = {
    "input_tokens": ("billed_units.input_tokens", "tokens.input_tokens"),
    "output_tokens": ("billed_units.output_tokens", "tokens.output_tokens"),
}

V2_EVENTS = (
    "message-start", "content-start", "content-delta", "content-end", "tool-plan-delta", "tool-call-start",
    "tool-call-delta", "tool-call-end", "citation-start", "citation-end", "message-end", "debug",
)  # fmt: skip
V2_QUIET = ("content-end", "citation-end")
V1_EVENTS = (
    "stream-start", "search-queries-generation", "search-results", "text-generation", "citation-generation",
    "tool-calls-chunk", "tool-calls-generation", "stream-end", "debug",
)  # fmt: skip


class CohereAdapter(Adapter):
    """Events of the v2 chat stream."""

    name: ClassVar[str] = "cohere"

    def __init__(self) -> None:
        super().__init__()
        self._plan: list[str] = []

    @staticmethod
    def matches(chunk: Any) -> bool:
        return is_data(chunk) and word(chunk, "type") in V2_EVENTS

    def read(self, chunk: Any, out: Events) -> None:
        kind = text(chunk, "type")
        delta = get(chunk, "delta")
        message = get(delta, "message")
        if kind in ("content-delta", "content-start"):
            self._read_content(integer(chunk, "index"), get(message, "content"), out)
        elif kind in ("tool-call-start", "tool-call-delta", "tool-call-end"):
            self._end_plan(out)
            self._read_call(integer(chunk, "index") or 0, get(message, "tool_calls"), kind == "tool-call-end", out)
        elif kind == "tool-plan-delta":
            piece = text(message, "tool_plan")
            if piece:
                self._plan.append(piece)
                out.append(Raw(name="tool_plan", payload=piece))
        elif kind == "message-start":
            self.session(out, id=word(chunk, "id"))
        elif kind == "message-end":
            self._end_plan(out)
            self._read_end(delta, out)
        elif get(chunk, "error"):
            self.fail(out, get(chunk, "error"))
        elif kind not in V2_QUIET:
            out.append(Raw(name=kind or None, payload=plain(chunk)))

    def _read_content(self, index: int | None, content: Any, out: Events) -> None:
        thinking = text(content, "thinking")
        if thinking:
            out.append(ReasoningDelta(text=thinking, block=index))
        piece = text(content, "text")
        if piece:
            out.append(TextDelta(text=piece))

    def _read_call(self, index: int, call: Any, done: bool, out: Events) -> None:
        call = next(iter(as_list(call)), None) if isinstance(call, list | tuple) else call
        function = get(call, "function")
        arguments = text(function, "arguments") or None
        out.append(
            ToolCallDelta(key=index, id=word(call, "id"), name=word(function, "name"), arguments=arguments, done=done)
        )

    def _end_plan(self, out: Events) -> None:
        if self._plan:
            out.append(Session(metadata={"tool_plan": "".join(self._plan)}))
            self._plan = []

    def _read_end(self, delta: Any, out: Events) -> None:
        update = usage_update(get(delta, "usage"), **USAGE)
        if update is not None:
            out.append(update)
        reason = word(delta, "finish_reason")
        if reason is not None:
            out.append(Finish(reason=reason, mapped=FINISH.get(reason, "other")))
        error = get(delta, "error")
        if error:
            self.fail(out, error)


class CohereV1Adapter(Adapter):
    """Events of the v1 chat stream."""

    name: ClassVar[str] = "cohere-v1"

    def __init__(self) -> None:
        super().__init__()
        self._streamed: set[int] = set()

    @staticmethod
    def matches(chunk: Any) -> bool:
        return is_data(chunk) and word(chunk, "event_type") in V1_EVENTS and not has(chunk, "interaction")

    def read(self, chunk: Any, out: Events) -> None:
        kind = text(chunk, "event_type")
        if kind == "text-generation":
            piece = text(chunk, "text")
            if piece:
                out.append(TextDelta(text=piece))
        elif kind == "stream-start":
            self.session(out, id=word(chunk, "generation_id"))
        elif kind == "tool-calls-chunk":
            self._read_call_piece(get(chunk, "tool_call_delta"), out)
        elif kind == "tool-calls-generation":
            self._read_calls(items(chunk, "tool_calls"), out)
        elif kind == "stream-end":
            self._read_end(chunk, out)
        else:
            out.append(Raw(name=kind or None, payload=plain(chunk)))

    def _read_call_piece(self, delta: Any, out: Events) -> None:
        index = integer(delta, "index") or 0
        if is_data(delta):
            self._streamed.add(index)
            name, piece = word(delta, "name"), text(delta, "parameters")
            out.append(ToolCallDelta(key=index, name=name, arguments=piece or None))

    def _read_calls(self, calls: list[Any], out: Events) -> None:
        for index, call in enumerate(calls):
            whole = None if index in self._streamed else as_dict(get(call, "parameters"))
            out.append(ToolCallDelta(key=index, name=word(call, "name"), arguments=whole, done=True))

    def _read_end(self, chunk: Any, out: Events) -> None:
        response = get(chunk, "response")
        self.session(out, id=self._session.get("id") or word(response, "generation_id"))
        meta = get(response, "meta")
        usage = {name: value for name in ("billed_units", "tokens", "cached_tokens") if (value := get(meta, name))}
        update = usage_update(usage, **USAGE_V1)
        if update is not None:
            out.append(update)
        reason = word(chunk, "finish_reason") or word(response, "finish_reason")
        if reason is not None:
            out.append(Finish(reason=reason, mapped=FINISH.get(reason, "other")))
        error = get(chunk, "error")
        if error:
            self.fail(out, error)
