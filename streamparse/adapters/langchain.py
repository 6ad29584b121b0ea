"""LangChain: `AIMessageChunk` from `model.stream()`, also inside LangGraph pairs and `astream_events` dicts.

    field                                       becomes
    id, response_metadata.model_name            Session
    content (str, or a list of typed blocks)    TextDelta, ReasoningDelta
    additional_kwargs.reasoning_content         ReasoningDelta
    additional_kwargs.refusal                   RefusalDelta
    tool_call_chunks[*]                         ToolCallDelta, key = message id and index
    usage_metadata                              UsageUpdate (LangChain's are per chunk and add up)
    response_metadata.finish_reason, …          Finish, by the tables of the provider behind it
    a ToolMessage                               ToolResult; its call is a hosted one

A new message id starts a new message.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

from ..provider import Finish, Raw, ReasoningDelta, RefusalDelta, TextDelta, ToolCallDelta, ToolResult, UsageUpdate
from . import anthropic, bedrock, cohere, gemini, ollama, openai_chat, openai_responses
from .base import Adapter, Events, Mapped, as_arguments, as_list, get, has, integer, is_data, items, plain, text, word

# One word means the same in all tables that have it.
FINISH: dict[str, Mapped] = {
    **ollama.FINISH,
    **cohere.FINISH,
    **bedrock.FINISH,
    **gemini.FINISH,
    **anthropic.FINISH,
    **openai_responses.INCOMPLETE,
    **openai_responses.STATUS,
    **openai_chat.FINISH,
}
REASON_FIELDS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
MODEL_FIELDS = ("model_name", "model", "model_id")
COUNTS = {
    "input_tokens": ("input_tokens", None),
    "output_tokens": ("output_tokens", None),
    "total_tokens": ("total_tokens", None),
    "cached_input_tokens": ("cache_read", "input_token_details"),
    "reasoning_tokens": ("reasoning", "output_token_details"),
}
# Blocks that repeat what `tool_call_chunks` says.
TOOL_BLOCKS = ("tool_use", "input_json_delta", "tool_call_chunk", "tool_call", "function_call", "non_standard")


class LangChainAdapter(Adapter):
    """Message chunks of a LangChain model or graph."""

    name: ClassVar[str] = "langchain"

    def __init__(self) -> None:
        super().__init__()
        self._message: str | None = None
        self._new_message = False
        self._calls: dict[str, str] = {}
        self._totals: dict[str, Any] = {}
        self._extra: dict[str, Any] = {}

    @staticmethod
    def matches(chunk: Any) -> bool:
        if _is_other_event(chunk) and has(chunk, "run_id"):
            return True  # `astream_events` begins with other events than the model's
        message = _message(chunk)
        return (
            is_data(message)
            and has(message, "content")
            and (
                has(message, "tool_call_chunks")
                or (has(message, "response_metadata") and has(message, "additional_kwargs"))
            )
        )

    def read(self, chunk: Any, out: Events) -> None:
        message = _message(chunk)
        if not is_data(message):
            if not _is_other_event(chunk):
                out.append(Raw(payload=plain(chunk)))
            return
        if has(message, "tool_call_id"):
            self._read_tool_message(message, out)
            return
        if not LangChainAdapter.matches(message) or (word(message, "type") or "").lower() in ("human", "system"):
            return
        self._read_message(message, out)

    def _read_message(self, message: Any, out: Events) -> None:
        identity = word(message, "id")
        if identity and identity != self._message:
            self._new_message = self._message is not None
            self._message = identity
        about = get(message, "response_metadata")
        own_id = word(about, "id")
        self.session(out, id=self._session.get("id") or own_id or identity, model=word(about, *MODEL_FIELDS))
        extra = get(message, "additional_kwargs")
        reasoning = text(extra, "reasoning_content", "reasoning")
        if reasoning:
            out.append(ReasoningDelta(text=reasoning))
        self._read_content(get(message, "content"), not reasoning, out)
        refusal = text(extra, "refusal")
        if refusal:
            out.append(RefusalDelta(text=refusal))
        for position, call in enumerate(items(message, "tool_call_chunks")):
            self._read_call(position, call, out)
        self._read_usage(get(message, "usage_metadata"), out)
        reason = word(about, *REASON_FIELDS) or word(about, "status")
        if reason is not None and reason != "in_progress":
            cause = word(get(about, "incomplete_details"), "reason")
            mapped = FINISH.get(cause or reason, "other")
            out.append(
                Finish(
                    reason=reason,
                    mapped=mapped,
                    refusal=reason == "refusal",
                    paused=reason == "pause_turn",
                    unfinished=reason == "incomplete",
                )
            )

    def _read_tool_message(self, message: Any, out: Events) -> None:
        identity = word(message, "tool_call_id")
        key = self._calls.get(identity or "")
        if key is not None:
            out.append(ToolCallDelta(key=key, done=True, hosted=True))  # the graph has run it, the caller need not
        out.append(
            ToolResult(
                id=identity,
                name=word(message, "name"),
                content=plain(get(message, "content")),
                is_error=word(message, "status") == "error",
            )
        )

    def _add_text(self, piece: str, out: Events) -> None:
        if piece:
            out.append(TextDelta(text=piece, message_boundary=self._new_message))
            self._new_message = False

    def _read_content(self, content: Any, with_reasoning: bool, out: Events) -> None:
        if isinstance(content, str):
            self._add_text(content, out)
            return
        for block in as_list(content):
            if isinstance(block, str):
                self._add_text(block, out)
            elif is_data(block):
                self._read_block(block, with_reasoning, out)

    def _read_block(self, block: Any, with_reasoning: bool, out: Events) -> None:
        kind = text(block, "type")
        if kind in ("thinking", "reasoning", "reasoning_content"):
            inner = get(block, "reasoning_content")
            summary = "".join(text(part, "text") for part in items(block, "summary"))
            piece = text(block, "thinking", "reasoning") or text(inner, "text") or summary
            signature = word(block, "signature") or word(inner, "signature")
            if with_reasoning and (piece or signature):
                metadata = {"signature": signature} if signature else None
                out.append(ReasoningDelta(text=piece, block=integer(block, "index"), metadata=metadata))
        elif kind == "refusal":
            if piece := text(block, "refusal"):
                out.append(RefusalDelta(text=piece))
        elif has(block, "text"):
            self._add_text(text(block, "text"), out)
        elif kind not in TOOL_BLOCKS:
            out.append(Raw(name=kind or None, payload=plain(block)))

    def _read_call(self, position: int, call: Any, out: Events) -> None:
        index = get(call, "index")
        index = index if isinstance(index, int | str) else position
        key, identity = f"{self._message or ''}:{index}", word(call, "id")
        if identity:
            self._calls[identity] = key
        out.append(
            ToolCallDelta(
                key=key,
                id=identity,
                name=word(call, "name"),
                arguments=as_arguments(get(call, "args")),
            )
        )

    def _read_usage(self, usage: Any, out: Events) -> None:
        if not is_data(usage):
            return
        for field, (name, holder) in COUNTS.items():
            count = integer(get(usage, holder) if holder else usage, name)
            if count is not None:
                self._totals[field] = self._totals.get(field, 0) + count
        extra = {
            name: plain(value)
            for name in ("input_token_details", "output_token_details")
            if (value := get(usage, name))
        }
        self._extra.update(extra)
        out.append(UsageUpdate(**self._totals, extra=dict(self._extra) or None))


def _message(chunk: Any) -> Any:
    """The message in what came: itself, in a LangGraph `(message, metadata)` pair, or in an `astream_events` dict."""
    if isinstance(chunk, tuple | list):
        pair = as_list(cast("Any", chunk))
        return pair[0] if len(pair) == 2 and is_data(pair[0]) else None
    if get(chunk, "event") == "on_chat_model_stream":
        return get(get(chunk, "data"), "chunk")
    return None if _is_other_event(chunk) else get(chunk, "message") or chunk


def _is_other_event(chunk: Any) -> bool:
    return isinstance(chunk, dict) and text(chunk, "event").startswith("on_")
