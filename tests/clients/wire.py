"""A `Reply` in the wire formats of the providers, as their documentation and recordings show them.

Each function gives the frames of one body; `Wire` names what must come out besides the reply itself.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from clients.replies import ERROR_TEXT, Reply, pieces

MODEL = "model-1"
MAPPED = {"stop": "stop", "length": "length", "calls": "tool_calls"}
REASONS = {"stop": "stop", "length": "length", "calls": "tool_calls"}


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def sse(value: Any, event: str | None = None) -> bytes:
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {dumps(value)}\n\n".encode()


def line(value: Any) -> bytes:
    return f"{dumps(value)}\n".encode()


def ending(reply: Reply) -> str:
    return "calls" if reply.calls and reply.end == "stop" else reply.end


@dataclass(frozen=True)
class Wire:
    """A wire format. `usage` are the fields that it carries, `reasons` its words for stop, length and calls, `mapped`
    ours for them.
    """

    frames: Callable[[Reply], Iterator[bytes]]
    reasons: dict[str, str | None] = field(default_factory=lambda: dict(REASONS))
    content_type: str = "text/event-stream"
    id: str | None = None
    model: str | None = MODEL
    session_id: str | None = None
    usage: dict[str, int] = field(default_factory=dict[str, int])
    reasoning: bool = True
    call_ids: bool = True
    mapped: dict[str, str] = field(default_factory=lambda: dict(MAPPED))

    def body(self, reply: Reply) -> bytes:
        return b"".join(self.frames(reply))


def cost(reply: Reply, **names: str) -> dict[str, int]:
    """Usage counts by the names of a provider."""
    return {name: reply.usage[field] for field, name in names.items()}


# -- OpenAI chat completions, and who copies it ----------------------------------------------------------------------


def chat_chunks(reply: Reply, reasoning_field: str = "reasoning_content") -> Iterator[dict[str, Any]]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {**head, "choices": [choice], "usage": None}

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces(reply.reasoning):
        yield chunk({reasoning_field: piece})
    for piece in pieces(reply.text):
        yield chunk({"content": piece})
    for index, call in enumerate(reply.calls):
        function = {"name": call.name, "arguments": ""}
        yield chunk({"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]})
        for piece in call.pieces:
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    if reply.end == "error":
        yield {"error": {"message": ERROR_TEXT, "type": "server_error", "code": "overloaded"}}
    elif reply.end != "nothing":
        yield chunk({}, REASONS[ending(reply)])
        usage = {
            **cost(reply, input="prompt_tokens", output="completion_tokens"),
            "total_tokens": 46,
            "prompt_tokens_details": cost(reply, cached="cached_tokens"),
            "completion_tokens_details": cost(reply, reasoning="reasoning_tokens"),
        }
        yield {**head, "choices": [], "usage": usage}


def openai_chat(reply: Reply) -> Iterator[bytes]:
    yield from map(sse, chat_chunks(reply))
    if reply.end not in ("nothing", "error"):
        yield b"data: [DONE]\n\n"


def groq_chat(reply: Reply) -> Iterator[bytes]:
    for chunk in chat_chunks(reply, "reasoning"):
        yield sse(chunk, "error" if "error" in chunk else None)
    if reply.end not in ("nothing", "error"):
        yield b"data: [DONE]\n\n"


CHAT_USAGE = {
    "input_tokens": 12,
    "output_tokens": 34,
    "total_tokens": 46,
    "cached_input_tokens": 3,
    "reasoning_tokens": 5,
}
OPENAI_CHAT = Wire(openai_chat, id="chatcmpl-1", usage=CHAT_USAGE)
GROQ = Wire(groq_chat, id="chatcmpl-1", usage=CHAT_USAGE)


def mistral_chat(reply: Reply) -> Iterator[bytes]:
    """Mistral's own: thinking as parts, whole calls, usage on the chunk that finishes, CRLF-free SSE."""
    head = {"id": "cmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL}

    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        return sse({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more})

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces(reply.reasoning):
        yield chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": piece}]}]})
    for at, piece in enumerate(pieces(reply.text)):
        yield chunk({"content": [{"type": "text", "text": piece}] if at % 2 else piece})
    for index, call in enumerate(reply.calls):
        function = {"name": call.name, "arguments": call.text}
        yield chunk({"content": "", "tool_calls": [{"id": call.id, "index": index, "function": function}]})
    if reply.end == "error":
        yield chunk({"content": ""}, "error")
    elif reply.end != "nothing":
        usage = {**cost(reply, input="prompt_tokens", output="completion_tokens"), "total_tokens": 46}
        yield chunk({"content": ""}, REASONS[ending(reply)], usage=usage)
    if reply.end != "nothing":
        yield b"data: [DONE]\n\n"


MISTRAL = Wire(mistral_chat, id="cmpl-1", usage={"input_tokens": 12, "output_tokens": 34, "total_tokens": 46})


def mistral_conversation(reply: Reply) -> Iterator[bytes]:
    def event(kind: str, **fields: Any) -> bytes:
        return sse({"type": kind, "created_at": "2026-01-01T00:00:00Z", **fields}, kind)

    yield event("conversation.response.started", conversation_id="conv_1")
    output = {"output_index": 0, "id": "msg_1", "content_index": 0, "model": MODEL, "role": "assistant"}
    for piece in pieces(reply.reasoning):
        content = {"type": "thinking", "thinking": [{"type": "text", "text": piece}]}
        yield event("message.output.delta", **output, content=content)
    for piece in pieces(reply.text):
        yield event("message.output.delta", **output, content=piece)
    for index, call in enumerate(reply.calls, 1):
        about = {"output_index": index, "id": f"fc_{index}", "name": call.name, "tool_call_id": call.id}
        for piece in call.pieces:
            yield event("function.call.delta", **about, arguments=piece)
    if reply.end == "error":
        yield event("conversation.response.error", message=ERROR_TEXT, code=503)
    elif reply.end != "nothing":
        usage = {**cost(reply, input="prompt_tokens", output="completion_tokens"), "total_tokens": 46}
        yield event("conversation.response.done", usage=usage)


MISTRAL_CONVERSATION = Wire(
    mistral_conversation,
    reasons=dict.fromkeys(("stop", "calls"), "conversation.response.done"),
    session_id="conv_1",
    usage={"input_tokens": 12, "output_tokens": 34, "total_tokens": 46},
)


# -- OpenAI responses ------------------------------------------------------------------------------------------------


def responses_events(reply: Reply) -> Iterator[dict[str, Any]]:
    def response(status: str, **more: Any) -> dict[str, Any]:
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "model": MODEL,
            "status": status,
            "output": [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            **more,
        }

    def typed(kind: str, **fields: Any) -> dict[str, Any]:
        return {"type": kind, **fields}

    yield typed("response.created", response=response("in_progress"))
    index = 0
    if reply.reasoning:
        place = {"item_id": "rs_1", "output_index": index}
        item = {"id": "rs_1", "type": "reasoning", "summary": []}
        yield typed("response.output_item.added", output_index=index, item=item)
        for piece in pieces(reply.reasoning):
            yield typed("response.reasoning_summary_text.delta", **place, summary_index=0, delta=piece)
        yield typed("response.reasoning_summary_text.done", **place, summary_index=0, text=reply.reasoning)
        yield typed("response.output_item.done", output_index=index, item=item)
        index += 1
    if reply.text:
        place = {"item_id": "msg_1", "output_index": index, "content_index": 0}
        item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
        yield typed("response.output_item.added", output_index=index, item=item)
        part = {"type": "output_text", "text": "", "annotations": []}
        yield typed("response.content_part.added", **place, part=part)
        for piece in pieces(reply.text):
            yield typed("response.output_text.delta", **place, delta=piece, logprobs=[])
        if reply.end == "stop":
            part = {**part, "text": reply.text}
            yield typed("response.output_text.done", **place, text=reply.text, logprobs=[])
            yield typed("response.content_part.done", **place, part=part)
            item = {**item, "status": "completed", "content": [part]}
            yield typed("response.output_item.done", output_index=index, item=item)
        index += 1
    for position, call in enumerate(reply.calls, index):
        place = {"item_id": f"fc_{position}", "output_index": position}
        item = {
            "id": f"fc_{position}",
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": "",
            "status": "in_progress",
        }
        yield typed("response.output_item.added", output_index=position, item=item)
        for piece in call.pieces:
            yield typed("response.function_call_arguments.delta", **place, delta=piece)
        yield typed("response.function_call_arguments.done", **place, arguments=call.text, name=call.name)
        yield typed(
            "response.output_item.done",
            output_index=position,
            item={**item, "arguments": call.text, "status": "completed"},
        )
    usage = {
        **cost(reply, input="input_tokens", output="output_tokens"),
        "total_tokens": 46,
        "input_tokens_details": {**cost(reply, cached="cached_tokens"), "cache_write_tokens": 0},
        "output_tokens_details": cost(reply, reasoning="reasoning_tokens"),
    }
    if reply.end == "stop":
        yield typed("response.completed", response=response("completed", usage=usage))
    elif reply.end == "length":
        details = {"reason": "max_output_tokens"}
        yield typed("response.incomplete", response=response("incomplete", incomplete_details=details, usage=usage))
    elif reply.end == "error":
        yield typed("error", code="server_error", message=ERROR_TEXT, param=None)


def openai_responses(reply: Reply) -> Iterator[bytes]:
    for number, event in enumerate(responses_events(reply)):
        yield sse({**event, "sequence_number": number}, event["type"])


RESPONSES = Wire(
    openai_responses,
    reasons={"stop": "completed", "length": "incomplete", "calls": "completed"},
    id="resp_1",
    usage=CHAT_USAGE,
)


# -- Anthropic -------------------------------------------------------------------------------------------------------


def anthropic(reply: Reply) -> Iterator[bytes]:
    def event(kind: str, **fields: Any) -> bytes:
        return sse({"type": kind, **fields}, kind)

    usage = {"input_tokens": 12, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 0, "output_tokens": 1}
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    yield event("message_start", message=message)
    yield event("ping")
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if reply.reasoning:
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(reply.reasoning)]
        deltas.append({"type": "signature_delta", "signature": "c2ln"})
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, deltas))
    if reply.text:
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(reply.text)]
        blocks.append(({"type": "text", "text": ""}, deltas))
    for call in reply.calls:
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *call.pieces)]
        blocks.append(({"type": "tool_use", "id": call.id, "name": call.name, "input": {}}, deltas))
    for index, (block, deltas) in enumerate(blocks):
        yield event("content_block_start", index=index, content_block=block)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        if reply.end in ("stop", "length"):
            yield event("content_block_stop", index=index)
    if reply.end == "error":
        yield event("error", error={"type": "overloaded_error", "message": ERROR_TEXT})
    elif reply.end != "nothing":
        reason = {"stop": "end_turn", "length": "max_tokens", "calls": "tool_use"}[ending(reply)]
        delta = {"stop_reason": reason, "stop_sequence": None}
        yield event("message_delta", delta=delta, usage={"output_tokens": 34})
        yield event("message_stop")


ANTHROPIC = Wire(
    anthropic,
    reasons={"stop": "end_turn", "length": "max_tokens", "calls": "tool_use"},
    id="msg_1",
    usage={"input_tokens": 12, "output_tokens": 34, "cached_input_tokens": 3},
)


# -- Google ----------------------------------------------------------------------------------------------------------


def gemini(reply: Reply) -> Iterator[bytes]:
    """CRLF line ends, whole calls without an id, usage on every chunk."""

    def chunk(parts: list[dict[str, Any]], **more: Any) -> bytes:
        usage = {
            "promptTokenCount": 12,
            "candidatesTokenCount": 34,
            "totalTokenCount": 46,
            "cachedContentTokenCount": 3,
            "thoughtsTokenCount": 5,
        }
        candidate = {"index": 0, "content": {"role": "model", "parts": parts}, **more}
        value = {"candidates": [candidate], "modelVersion": MODEL, "responseId": "gr_1", "usageMetadata": usage}
        return f"data: {dumps(value)}\r\n\r\n".encode()

    for piece in pieces(reply.reasoning):
        yield chunk([{"text": piece, "thought": True}])
    for piece in pieces(reply.text):
        yield chunk([{"text": piece}])
    for call in reply.calls:
        yield chunk([{"functionCall": {"name": call.name, "args": call.arguments}, "thoughtSignature": "c2ln"}])
    if reply.end == "error":
        error = {"error": {"code": 503, "message": ERROR_TEXT, "status": "UNAVAILABLE"}}
        yield f"data: {dumps(error)}\r\n\r\n".encode()
    elif reply.end != "nothing":
        yield chunk([{"text": ""}], finishReason={"stop": "STOP", "length": "MAX_TOKENS"}[reply.end])


GEMINI = Wire(
    gemini,
    reasons={"stop": "STOP", "length": "MAX_TOKENS", "calls": "STOP"},
    id="gr_1",
    usage=CHAT_USAGE,
    call_ids=False,
)


def interactions(reply: Reply) -> Iterator[bytes]:
    def event(kind: str, **fields: Any) -> bytes:
        return sse({"event_type": kind, **fields}, kind)

    about = {"id": "int_1", "object": "interaction", "model": MODEL}
    yield event("interaction.created", interaction={**about, "status": "in_progress"})
    steps: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if reply.reasoning:
        deltas = [
            {"type": "thought_summary", "content": {"type": "text", "text": piece}} for piece in pieces(reply.reasoning)
        ]
        steps.append(({"type": "thought"}, deltas))
    if reply.text:
        steps.append(({"type": "model_output"}, [{"type": "text", "text": piece} for piece in pieces(reply.text)]))
    for call in reply.calls:
        deltas = [{"type": "arguments_delta", "arguments": piece} for piece in call.pieces]
        steps.append(({"type": "function_call", "id": call.id, "name": call.name, "arguments": {}}, deltas))
    for index, (step, deltas) in enumerate(steps):
        yield event("step.start", index=index, step=step)
        for delta in deltas:
            yield event("step.delta", index=index, delta=delta)
        if reply.end == "stop":
            yield event("step.stop", index=index)
    if reply.end == "error":
        yield event("error", error={"code": "unavailable", "message": ERROR_TEXT})
    elif reply.end != "nothing":
        usage = {
            "total_input_tokens": 12,
            "total_output_tokens": 34,
            "total_tokens": 46,
            "total_cached_tokens": 3,
            "total_thought_tokens": 5,
        }
        status = {"stop": "completed", "length": "incomplete", "calls": "requires_action"}[ending(reply)]
        yield event("interaction.completed", interaction={**about, "status": status, "usage": usage})
    if reply.end == "stop":
        yield b"event: done\ndata: [DONE]\n\n"


INTERACTIONS = Wire(
    interactions,
    reasons={"stop": "completed", "length": "incomplete", "calls": "requires_action"},
    mapped={**MAPPED, "length": "other"},  # the status does not say why the answer is not whole
    id="int_1",
    usage=CHAT_USAGE,
)


# -- Cohere, Ollama --------------------------------------------------------------------------------------------------


def cohere(reply: Reply) -> Iterator[bytes]:
    def event(kind: str, **fields: Any) -> bytes:
        return sse({"type": kind, **fields}, kind)

    def message(**fields: Any) -> dict[str, Any]:
        return {"message": fields}

    empty = message(role="assistant", content=[], tool_plan="", tool_calls=[], citations=[])
    yield event("message-start", id="co_1", delta=empty)
    index = 0
    for kind, name, whole in (("thinking", "thinking", reply.reasoning), ("text", "text", reply.text)):
        if whole:
            yield event("content-start", index=index, delta=message(content={"type": kind, name: ""}))
            for piece in pieces(whole):
                yield event("content-delta", index=index, delta=message(content={name: piece}))
            if reply.end in ("stop", "length"):
                yield event("content-end", index=index)
            index += 1
    for position, call in enumerate(reply.calls):
        start = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        yield event("tool-call-start", index=position, delta=message(tool_calls=start))
        for piece in call.pieces:
            delta = message(tool_calls={"function": {"arguments": piece}})
            yield event("tool-call-delta", index=position, delta=delta)
        yield event("tool-call-end", index=position)
    if reply.end == "error":
        yield event("message-end", delta={"error": ERROR_TEXT, "finish_reason": "ERROR"})
    elif reply.end != "nothing":
        reason = {"stop": "COMPLETE", "length": "MAX_TOKENS", "calls": "TOOL_CALL"}[ending(reply)]
        usage = {
            "billed_units": {"input_tokens": 9.0, "output_tokens": 34.0},
            "tokens": {"input_tokens": 12.0, "output_tokens": 34.0},
            "cached_tokens": 3.0,
        }
        yield event("message-end", delta={"finish_reason": reason, "usage": usage})
    if reply.end != "nothing":
        yield b"data: [DONE]\n\n"


COHERE = Wire(
    cohere,
    reasons={"stop": "COMPLETE", "length": "MAX_TOKENS", "calls": "TOOL_CALL"},
    id="co_1",
    model=None,
    usage={"input_tokens": 12, "output_tokens": 34, "cached_input_tokens": 3},
)


def ollama(reply: Reply, generate: bool = False) -> Iterator[bytes]:
    head = {"model": MODEL, "created_at": "2026-01-01T00:00:00.5Z"}

    def chunk(text: str, thinking: str = "", calls: Iterable[Any] = (), **more: Any) -> bytes:
        said: dict[str, Any] = {"thinking": thinking} if thinking else {}
        if generate:
            return line({**head, "response": text, **said, "done": False, **more})
        if calls:
            said["tool_calls"] = list(calls)
        return line({**head, "message": {"role": "assistant", "content": text, **said}, "done": False, **more})

    for piece in pieces(reply.reasoning):
        yield chunk("", piece)
    for piece in pieces(reply.text):
        yield chunk(piece)
    for call in reply.calls:
        yield chunk("", calls=[{"function": {"name": call.name, "arguments": call.arguments}}])
    if reply.end == "error":
        yield line({"error": ERROR_TEXT})
    elif reply.end != "nothing":
        counts = {"total_duration": 9, "load_duration": 1, "prompt_eval_count": 12, "eval_count": 34}
        yield chunk("", done=True, done_reason=reply.end, **counts)


def ollama_generate(reply: Reply) -> Iterator[bytes]:
    yield from ollama(reply, generate=True)


NDJSON = "application/x-ndjson"
OLLAMA_USAGE = {"input_tokens": 12, "output_tokens": 34}
OLLAMA = Wire(
    ollama,
    reasons={"stop": "stop", "length": "length", "calls": "stop"},
    content_type=NDJSON,
    usage=OLLAMA_USAGE,
    call_ids=False,
)
OLLAMA_GENERATE = Wire(ollama_generate, content_type=NDJSON, usage=OLLAMA_USAGE)


# -- AWS -------------------------------------------------------------------------------------------------------------


def aws_message(headers: dict[str, str], payload: bytes) -> bytes:
    """One message of `application/vnd.amazon.eventstream`: lengths, checksum, headers, payload, checksum."""
    head = b"".join(
        struct.pack(">B", len(name)) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + payload
    return message + struct.pack(">I", zlib.crc32(message))


def aws_event(kind: str, payload: Any) -> bytes:
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return aws_message(headers, dumps(payload).encode())


def aws_exception(kind: str, text: str) -> bytes:
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return aws_message(headers, dumps({"message": text}).encode())


def bedrock(reply: Reply) -> Iterator[bytes]:
    yield aws_event("messageStart", {"role": "assistant", "p": "abcdef"})
    blocks: list[tuple[dict[str, Any] | None, list[dict[str, Any]]]] = []
    if reply.reasoning:
        deltas = [{"reasoningContent": {"text": piece}} for piece in pieces(reply.reasoning)]
        blocks.append((None, [*deltas, {"reasoningContent": {"signature": "c2ln"}}]))
    if reply.text:
        blocks.append((None, [{"text": piece} for piece in pieces(reply.text)]))
    for call in reply.calls:
        start = {"toolUse": {"toolUseId": call.id, "name": call.name}}
        blocks.append((start, [{"toolUse": {"input": piece}} for piece in call.pieces]))
    for index, (start, deltas) in enumerate(blocks):
        if start:
            yield aws_event("contentBlockStart", {"contentBlockIndex": index, "start": start})
        for delta in deltas:
            yield aws_event("contentBlockDelta", {"contentBlockIndex": index, "delta": delta, "p": "abc"})
        if reply.end in ("stop", "length"):
            yield aws_event("contentBlockStop", {"contentBlockIndex": index})
    if reply.end == "error":
        yield aws_exception("modelStreamErrorException", ERROR_TEXT)
    elif reply.end != "nothing":
        reason = {"stop": "end_turn", "length": "max_tokens", "calls": "tool_use"}[ending(reply)]
        yield aws_event("messageStop", {"stopReason": reason})
        usage = {"inputTokens": 12, "outputTokens": 34, "totalTokens": 46, "cacheReadInputTokens": 3}
        yield aws_event("metadata", {"usage": usage, "metrics": {"latencyMs": 7}})


BEDROCK = Wire(
    bedrock,
    reasons={"stop": "end_turn", "length": "max_tokens", "calls": "tool_use"},
    content_type="application/vnd.amazon.eventstream",
    model=None,
    usage={"input_tokens": 12, "output_tokens": 34, "total_tokens": 46, "cached_input_tokens": 3},
)


def bedrock_invoke(reply: Reply) -> Iterator[bytes]:
    """`invoke_model_with_response_stream` of an Anthropic model: its events as base64, one a message."""
    for frame in anthropic(reply):
        event = frame.split(b"data: ", 1)[1].strip()
        if b'"type":"error"' in event:
            yield aws_exception("modelStreamErrorException", ERROR_TEXT)
        elif b'"ping"' not in event:
            yield aws_event("chunk", {"bytes": base64.b64encode(event).decode(), "p": "abcd"})


BEDROCK_INVOKE = Wire(
    bedrock_invoke,
    reasons=ANTHROPIC.reasons,
    content_type="application/vnd.amazon.eventstream",
    id="msg_1",
    usage=ANTHROPIC.usage,
)
