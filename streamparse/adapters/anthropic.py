"""Anthropic messages: raw events (`create(stream=True)`), the helper stream (`messages.stream`), Vertex and Bedrock.

    type                                  becomes
    message_start                         Session, UsageUpdate
    content_block_start                   ToolCallDelta (tool_use), ToolResult, or the text that the block starts with
    content_block_delta: text_delta       TextDelta
        input_json_delta                  ToolCallDelta, key = block index
        thinking_delta, signature_delta   ReasoningDelta
    content_block_stop                    ToolCallDelta with done
    message_delta                         Finish, UsageUpdate (cumulative: it overwrites)
    error                                 Error

The helper stream sends each delta twice, raw and as an event of its own (`text`, `thinking`, `input_json`, …): only the
raw ones are read.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..provider import Finish, Raw, ReasoningDelta, TextDelta, ToolCallDelta, ToolResult
from .base import Adapter, Events, Mapped, WholeInputs, get, integer, is_data, plain, text, usage_update, word

FINISH: dict[str, Mapped] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
    "pause_turn": "other",
}

USAGE: dict[str, tuple[str, ...]] = {
    "input_tokens": ("input_tokens",),
    "output_tokens": ("output_tokens",),
    "cached_input_tokens": ("cache_read_input_tokens",),
    "reasoning_tokens": ("output_tokens_details.thinking_tokens",),
    "tool_usage": ("server_tool_use",),
}

RAW_EVENTS = (
    "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
    "message_stop", "ping",
)  # fmt: skip
HELPER_EVENTS = ("text", "thinking", "signature", "input_json", "citation", "compaction")
HOSTED_TOOLS = ("server_tool_use", "mcp_tool_use")


class AnthropicAdapter(Adapter):
    """Events of a message stream."""

    name: ClassVar[str] = "anthropic"

    def __init__(self) -> None:
        super().__init__()
        self._inputs = WholeInputs()

    @staticmethod
    def matches(chunk: Any) -> bool:
        return is_data(chunk) and word(chunk, "type") in RAW_EVENTS

    def read(self, chunk: Any, out: Events) -> None:
        kind = text(chunk, "type")
        if kind == "content_block_delta":
            self._read_delta(integer(chunk, "index") or 0, get(chunk, "delta"), out)
        elif kind == "content_block_start":
            self._read_block(integer(chunk, "index") or 0, get(chunk, "content_block"), out)
        elif kind == "content_block_stop":
            self._inputs.stop(integer(chunk, "index") or 0, out)
        elif kind == "message_start":
            message = get(chunk, "message")
            self.session(out, id=word(message, "id"), model=word(message, "model"))
            self._read_usage(get(message, "usage"), out)
        elif kind == "message_delta":
            self._read_usage(get(chunk, "usage"), out)
            self._read_finish(get(chunk, "delta"), out)
        elif kind == "error":
            self.fail(out, get(chunk, "error") or chunk)
        elif kind not in ("message_stop", "ping", *HELPER_EVENTS):
            out.append(Raw(name=kind or None, payload=plain(chunk)))

    def _read_delta(self, index: int, delta: Any, out: Events) -> None:
        kind = text(delta, "type")
        if kind == "text_delta":
            piece = text(delta, "text")
            if piece:
                out.append(TextDelta(text=piece))
        elif kind == "input_json_delta":
            piece = text(delta, "partial_json")
            if piece:
                self._inputs.piece(index)
                out.append(ToolCallDelta(key=index, arguments=piece))
        elif kind == "thinking_delta":
            piece = text(delta, "thinking")
            if piece:
                out.append(ReasoningDelta(text=piece, block=index))
        elif kind == "signature_delta":
            out.append(ReasoningDelta(text="", block=index, metadata={"signature": text(delta, "signature")}))
        else:
            out.append(Raw(name=kind or None, payload=plain(delta)))

    def _read_block(self, index: int, block: Any, out: Events) -> None:
        kind = text(block, "type")
        if kind == "text":
            piece = text(block, "text")
            if piece:
                out.append(TextDelta(text=piece))
        elif kind == "thinking":
            piece = text(block, "thinking")
            if piece:
                out.append(ReasoningDelta(text=piece, block=index))
        elif kind == "redacted_thinking":
            out.append(ReasoningDelta(text="", block=index, metadata={"redacted": text(block, "data")}))
        elif kind.endswith("tool_use"):
            self._inputs.start(index, get(block, "input"))
            call = ToolCallDelta(key=index, id=word(block, "id"), name=word(block, "name"), hosted=kind in HOSTED_TOOLS)
            out.append(call)
        elif kind.endswith("tool_result"):
            content = get(block, "content")
            failed = bool(get(block, "is_error")) or text(content, "type").endswith("_error")
            out.append(ToolResult(id=word(block, "tool_use_id"), name=kind, content=plain(content), is_error=failed))
        else:
            out.append(Raw(name=kind or None, payload=plain(block)))

    def _read_finish(self, delta: Any, out: Events) -> None:
        reason = word(delta, "stop_reason")
        if reason is None:
            return
        metadata = {
            name: plain(value) for name in ("stop_sequence", "stop_details", "container") if (value := get(delta, name))
        }
        out.append(
            Finish(
                reason=reason,
                mapped=FINISH.get(reason, "other"),
                refusal=reason == "refusal",
                paused=reason == "pause_turn",
                metadata=metadata or None,
            )
        )

    def _read_usage(self, usage: Any, out: Events) -> None:
        update = usage_update(usage, **USAGE)
        if update is not None:
            out.append(update)
