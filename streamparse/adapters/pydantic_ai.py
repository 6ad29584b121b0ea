"""pydantic-ai stream events: of a model request, of `agent.run_stream_events()`, of nodes that are iterated by hand.

    event_kind                        becomes
    part_start, part_delta, part_end  TextDelta, ReasoningDelta, ToolCallDelta (key = part), by the kind of the part
    function_tool_call                the call is run by the agent: ToolCallDelta with hosted
    function_tool_result              ToolResult
    agent_run_result                  Session, UsageUpdate, Finish of the last response

Part indexes start again at 0 with each request of a run; text of a later request starts a new message. The events of a
single model request have no finish reason: it is read from the stream object, where the runner gave it to `opened`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..provider import Finish, Raw, ReasoningDelta, TextDelta, ToolCallDelta, ToolResult
from .base import Adapter, Events, Mapped, as_arguments, get, integer, is_data, plain, text, usage_update, word

FINISH: dict[str, Mapped] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content_filter",
    "tool_call": "tool_calls",
    "error": "error",
}

USAGE: dict[str, tuple[str, ...]] = {
    "input_tokens": ("input_tokens",),
    "output_tokens": ("output_tokens",),
    "cached_input_tokens": ("cache_read_tokens",),
    "reasoning_tokens": ("details.reasoning_tokens",),
}

PART_EVENTS = ("part_start", "part_delta", "part_end")
TOOL_CALL_EVENTS = ("function_tool_call", "output_tool_call", "builtin_tool_call")
TOOL_RESULT_EVENTS = ("function_tool_result", "output_tool_result", "builtin_tool_result")
QUIET = ("final_result",)
CALLS = ("tool-call", "builtin-tool-call")
HOSTED = "builtin-tool-call"
RETURNS = "builtin-tool-return"


class PydanticAIAdapter(Adapter):
    """Events of a pydantic-ai model or agent stream."""

    name: ClassVar[str] = "pydantic-ai"

    def __init__(self) -> None:
        super().__init__()
        self._source: Any = None
        self._request = 0
        self._last_index = -1
        self._calls: dict[str, str] = {}
        self._written: set[int] = set()
        self._boundary = False
        self._finished = False

    @staticmethod
    def matches(chunk: Any) -> bool:
        return is_data(chunk) and word(chunk, "event_kind") in (
            *PART_EVENTS,
            *TOOL_CALL_EVENTS,
            *TOOL_RESULT_EVENTS,
            *QUIET,
        )

    def opened(self, source: Any) -> Events:
        self._source = source
        return []

    def read(self, chunk: Any, out: Events) -> None:
        kind = text(chunk, "event_kind")
        index = integer(chunk, "index") or 0
        if kind == "part_delta":
            self._read_delta(index, get(chunk, "delta"), out)
        elif kind == "part_start":
            self._read_part(index, get(chunk, "part"), out)
        elif kind == "part_end":
            part = get(chunk, "part")
            if text(part, "part_kind") in CALLS:
                out.append(ToolCallDelta(key=self._key(index), done=True))
        elif kind in TOOL_CALL_EVENTS:
            part = get(chunk, "part")
            key = self._calls.get(word(part, "tool_call_id") or "")
            if key is not None:
                out.append(ToolCallDelta(key=key, hosted=True))
        elif kind in TOOL_RESULT_EVENTS:
            self._read_result(get(chunk, "part", "result"), out)
        elif kind == "agent_run_result":
            self._read_end(get(chunk, "result"), out)
            if not any(isinstance(event, Finish) for event in out):
                out.append(Finish(reason=None, mapped="stop"))  # the run is over, though its model gave no reason
        elif kind not in QUIET:
            out.append(Raw(name=kind or None, payload=plain(chunk)))

    def close(self) -> Events:
        out: Events = []
        if not self._finished and self._source is not None:
            self._read_end(self._source, out)
        return out

    def _key(self, index: int) -> str:
        return f"{self._request}.{index}"

    def _read_part(self, index: int, part: Any, out: Events) -> None:
        if index <= self._last_index:
            self._request += 1
            self._boundary = True
        self._last_index = index
        kind = text(part, "part_kind")
        if kind == "text":
            self._add_text(text(part, "content"), out)
        elif kind == "thinking":
            self._add_reasoning(index, text(part, "content"), word(part, "signature"), out)
        elif kind in CALLS:
            key, identity = self._key(index), word(part, "tool_call_id")
            if identity:
                self._calls[identity] = key
            out.append(
                ToolCallDelta(
                    key=key,
                    id=identity,
                    name=word(part, "tool_name"),
                    arguments=as_arguments(get(part, "args")),
                    hosted=kind == HOSTED,
                )
            )
        elif kind == RETURNS:
            self._read_result(part, out)
        else:
            out.append(Raw(name=kind or None, payload=plain(part)))

    def _read_delta(self, index: int, delta: Any, out: Events) -> None:
        kind = text(delta, "part_delta_kind")
        if kind == "text":
            self._add_text(text(delta, "content_delta"), out)
        elif kind == "thinking":
            self._add_reasoning(index, text(delta, "content_delta"), word(delta, "signature_delta"), out)
        elif kind == "tool_call":
            out.append(
                ToolCallDelta(
                    key=self._key(index),
                    id=word(delta, "tool_call_id"),
                    name=word(delta, "tool_name_delta"),
                    arguments=as_arguments(get(delta, "args_delta")),
                )
            )
        else:
            out.append(Raw(name=kind or None, payload=plain(delta)))

    def _add_text(self, piece: str, out: Events) -> None:
        if piece:
            out.append(TextDelta(text=piece, message_boundary=self._boundary))
            self._boundary = False

    def _add_reasoning(self, index: int, piece: str, signature: str | None, out: Events) -> None:
        if piece or signature:
            metadata = {"signature": signature} if signature else None
            out.append(ReasoningDelta(text=piece, block=self._key(index), metadata=metadata))

    def _read_result(self, part: Any, out: Events) -> None:
        failed = text(part, "part_kind") == "retry-prompt"
        out.append(
            ToolResult(
                id=word(part, "tool_call_id"),
                name=word(part, "tool_name"),
                content=plain(get(part, "content")),
                is_error=failed,
            )
        )

    def _read_end(self, holder: Any, out: Events) -> None:
        """What the result of a run, or the stream of a request, says at its end."""
        self._finished = True
        response = _value(holder, "response") or holder
        self.session(
            out,
            id=word(response, "provider_response_id"),
            model=word(response, "model_name"),
            session_id=word(holder, "run_id"),
        )
        update = usage_update(_value(holder, "usage"), **USAGE)
        if update is not None:
            out.append(update)
        reason = word(response, "finish_reason")
        if reason is not None:
            native = word(get(response, "provider_details"), "finish_reason")
            metadata = {"native_finish_reason": native} if native else None
            out.append(Finish(reason=reason, mapped=FINISH.get(reason, "other"), metadata=metadata))


def _value(holder: Any, name: str) -> Any:
    """A field that is a method in some versions; what cannot be had yet counts as missing."""
    try:
        value = get(holder, name)
        return value() if callable(value) else value
    except Exception:  # noqa: BLE001  # foreign code
        return None
