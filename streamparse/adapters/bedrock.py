"""AWS Bedrock: `converse_stream()["stream"]`, dicts of one key, and `invoke_model_with_response_stream`.

    key                               becomes
    contentBlockStart.start.toolUse   ToolCallDelta, key = contentBlockIndex
    contentBlockDelta.delta.text      TextDelta
        .reasoningContent             ReasoningDelta (text; signature and redactedContent as metadata)
        .toolUse.input                ToolCallDelta
    contentBlockStop                  ToolCallDelta with done
    messageStop.stopReason            Finish
    metadata.usage                    UsageUpdate (after the finish)
    …Exception                        Error
    chunk.bytes                       what the shape of the model inside says: Anthropic, Nova, Cohere, OpenAI, Titan, …

The ids are in the `ResponseMetadata` of the response that holds the stream, not in the events.
"""

from __future__ import annotations

import base64
import json
from typing import Any, ClassVar

from ..provider import Finish, Raw, ReasoningDelta, Session, TextDelta, ToolCallDelta, ToolResult
from .anthropic import AnthropicAdapter
from .base import (
    Adapter,
    Events,
    Mapped,
    as_arguments,
    as_dict,
    get,
    has,
    integer,
    is_data,
    is_dict,
    items,
    plain,
    text,
    usage_update,
    word,
)
from .cohere import CohereAdapter, CohereV1Adapter
from .openai_chat import OpenAIChatAdapter

FINISH: dict[str, Mapped] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
    # Titan, Llama and Mistral, as they spell it in their own bodies
    "FINISH": "stop",
    "FINISHED": "stop",
    "LENGTH": "length",
    "CONTENT_FILTERED": "content_filter",
    "stop": "stop",
    "length": "length",
}

USAGE: dict[str, tuple[str, ...]] = {
    "input_tokens": ("inputTokens", "inputTextTokenCount", "prompt_token_count", "inputTokenCount"),
    "output_tokens": ("outputTokens", "totalOutputTextTokenCount", "generation_token_count", "outputTokenCount"),
    "total_tokens": ("totalTokens",),
    "cached_input_tokens": ("cacheReadInputTokens", "cacheReadInputTokenCount"),
    "tool_usage": ("serverToolUsage",),
}

EVENTS = ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop")
INVOKED: tuple[type[Adapter], ...] = (AnthropicAdapter, CohereAdapter, CohereV1Adapter, OpenAIChatAdapter)
METRICS = "amazon-bedrock-invocationMetrics"  # on the last chunk, whatever the model
COUNTS = ("inputTextTokenCount", "totalOutputTextTokenCount", "prompt_token_count", "generation_token_count")


class BedrockAdapter(Adapter):
    """Events of a converse stream, or the chunks of an invoke stream."""

    name: ClassVar[str] = "bedrock"

    def __init__(self) -> None:
        super().__init__()
        self._tools: set[int] = set()
        self._inner: Adapter | None = None

    @staticmethod
    def matches(chunk: Any) -> bool:
        if not is_dict(chunk):
            return False
        if any(is_data(chunk.get(name)) for name in EVENTS) or has(get(get(chunk, "metadata"), "usage"), "inputTokens"):
            return True
        return has(chunk.get("chunk"), "bytes") or (_exception(chunk) or "error") != "error"

    def opened(self, source: Any) -> Events:
        metadata = get(get(source, "ResponseMetadata"), "RequestId")
        return [Session(request_id=metadata)] if isinstance(metadata, str) else super().opened(source)

    def read(self, chunk: Any, out: Events) -> None:
        block = get(chunk, "contentBlockDelta")
        if block is not None:
            self._read_delta(integer(block, "contentBlockIndex") or 0, get(block, "delta"), out)
        elif (inner := get(chunk, "chunk")) is not None and has(inner, "bytes"):
            self._read_invoked(get(inner, "bytes"), out)
        elif (start := get(chunk, "contentBlockStart")) is not None:
            self._read_start(integer(start, "contentBlockIndex") or 0, get(start, "start"), out)
        elif (stop := get(chunk, "contentBlockStop")) is not None:
            index = integer(stop, "contentBlockIndex") or 0
            if index in self._tools:
                out.append(ToolCallDelta(key=index, done=True))
        elif (end := get(chunk, "messageStop")) is not None:
            self._read_stop(end, out)
        elif (metadata := get(chunk, "metadata")) is not None:
            self._read_metadata(metadata, out)
        elif is_dict(chunk) and (name := _exception(chunk)) is not None:
            self.fail(out, chunk[name] or name, code=name)
        elif get(chunk, "messageStart") is None:
            out.append(Raw(payload=plain(chunk)))

    def _read_start(self, index: int, start: Any, out: Events) -> None:
        tool = get(start, "toolUse")
        result = get(start, "toolResult")
        if tool is not None:
            self._tools.add(index)
            hosted = word(tool, "type") == "server_tool_use"
            out.append(ToolCallDelta(key=index, id=word(tool, "toolUseId"), name=word(tool, "name"), hosted=hosted))
        elif result is not None:
            failed = word(result, "status") == "error"
            out.append(ToolResult(id=word(result, "toolUseId"), name=word(result, "type"), is_error=failed))

    def _read_delta(self, index: int, delta: Any, out: Events) -> None:
        piece = text(delta, "text")
        tool = get(delta, "toolUse")
        reasoning = get(delta, "reasoningContent")
        if piece:
            out.append(TextDelta(text=piece))
        elif tool is not None:
            self._tools.add(index)
            arguments = as_arguments(get(tool, "input"))
            if arguments:
                out.append(ToolCallDelta(key=index, arguments=arguments))
        elif reasoning is not None:
            thought = text(reasoning, "text")
            opaque = {
                name: plain(value) for name in ("signature", "redactedContent") if (value := get(reasoning, name))
            }
            if thought or opaque:
                out.append(ReasoningDelta(text=thought, block=index, metadata=opaque or None))
        elif not has(delta, "text"):
            out.append(Raw(name="contentBlockDelta", payload=plain(delta)))

    def _read_stop(self, end: Any, out: Events) -> None:
        reason = word(end, "stopReason")
        extra = plain(get(end, "additionalModelResponseFields"))
        if reason is not None:
            metadata = {"additional_model_response_fields": extra} if extra else None
            out.append(Finish(reason=reason, mapped=FINISH.get(reason, "other"), metadata=metadata))

    def _read_metadata(self, metadata: Any, out: Events) -> None:
        update = usage_update(get(metadata, "usage"), **USAGE)
        if update is not None:
            out.append(update)
        extra = {
            name: plain(value) for name in ("metrics", "trace", "performanceConfig") if (value := get(metadata, name))
        }
        if extra:
            self.session(out, metadata=extra)

    # -- invoke_model_with_response_stream -----------------------------------------------------------------------------

    def _read_invoked(self, data: Any, out: Events) -> None:
        inner = _load(data)
        if not is_dict(inner):
            out.append(Raw(name="chunk", payload=plain(data)))
            return
        if self._inner is None:
            kind = next((kind for kind in INVOKED if kind.matches(inner)), None)
            self._inner = kind() if kind is not None else None
        if self._inner is not None:
            out.extend(self._inner.feed(inner))
            self.ended = self._inner.ended
        elif any(name in inner for name in (*EVENTS, "metadata")):
            self.read(inner, out)
        else:
            self._read_text_model(inner, out)

    def _read_text_model(self, inner: dict[str, Any], out: Events) -> None:
        """Titan (`outputText`), Llama (`generation`) and Mistral (`outputs`): text and a stop reason."""
        outputs = items(inner, "outputs")
        holder = outputs[0] if outputs else inner
        piece = text(holder, "outputText", "generation", "text")
        if piece:
            out.append(TextDelta(text=piece))
        counts = {name: inner[name] for name in COUNTS if name in inner}
        update = usage_update(counts | (as_dict(inner.get(METRICS)) or {}), **USAGE)
        if update is not None and (update.input_tokens or update.output_tokens):
            out.append(update)
        reason = word(holder, "completionReason", "stop_reason")
        if reason is not None:
            out.append(Finish(reason=reason, mapped=FINISH.get(reason, "other"), raw=plain(inner)))
        elif not piece and not any(name in inner for name in ("outputText", "generation", "outputs")):
            out.append(Raw(name="chunk", payload=plain(inner)))


def _exception(chunk: dict[str, Any]) -> str | None:
    """The name of the exception that a chunk of one key is."""
    if len(chunk) != 1:
        return None
    name = str(next(iter(chunk)))
    is_error = name == "error" and has(chunk[name], "code")
    return name if is_error or name.endswith(("Exception", "Error")) else None


def _load(data: Any) -> Any:
    """The JSON in a chunk's bytes; botocore gives them decoded, the wire and recordings in base64."""
    try:
        if isinstance(data, str) and not data.lstrip().startswith("{"):
            return json.loads(base64.b64decode(data, validate=True))
        return json.loads(data) if isinstance(data, str | bytes | bytearray) else None
    except (ValueError, RecursionError):  # binascii.Error is a ValueError
        return None
