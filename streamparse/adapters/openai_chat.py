"""OpenAI chat completions, the legacy completions, and everyone who speaks that shape.

Azure, DeepSeek, Groq, LiteLLM, llama.cpp, Mistral, Ollama `/v1`, OpenRouter, Perplexity, vLLM, xAI.

    field                                             becomes
    id, model, x_groq.id                              Session
    choices[i].delta.content, choices[i].text         TextDelta (a list of parts, as Mistral sends it, too)
    choices[i].delta.reasoning_content, .reasoning,
        .reasoning_details[]                          ReasoningDelta: the first that is there, never two
    choices[i].delta.refusal                          RefusalDelta
    choices[i].delta.tool_calls[j], .function_call    ToolCallDelta, key = index
    choices[i].finish_reason                          Finish
    usage, x_groq.usage                               UsageUpdate (cumulative where it comes on every chunk)
    error, x_groq.error, object "error" (vLLM)        Error

`choices` may be empty or None, `delta` may be None. The helper stream of the SDK (`client.chat.completions.stream`)
sends each chunk again as events of its own: only its `chunk` events are read.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..provider import Finish, Raw, ReasoningDelta, RefusalDelta, TextDelta, ToolCallDelta, UsageUpdate
from .base import (
    Adapter,
    Events,
    Mapped,
    as_arguments,
    as_list,
    get,
    has,
    integer,
    is_data,
    items,
    plain,
    text,
    thoughts,
    usage_update,
    word,
)

FINISH: dict[str, Mapped] = {
    "stop": "stop",
    "length": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "error": "error",
}

USAGE: dict[str, tuple[str, ...]] = {
    "input_tokens": ("prompt_tokens",),
    "output_tokens": ("completion_tokens",),
    "total_tokens": ("total_tokens",),
    "cached_input_tokens": ("prompt_tokens_details.cached_tokens", "prompt_cache_hit_tokens"),
    "reasoning_tokens": ("completion_tokens_details.reasoning_tokens", "reasoning_tokens"),
    "input_cost": ("cost.input_tokens_cost", "cost_details.upstream_inference_prompt_cost"),
    "output_cost": ("cost.output_tokens_cost", "cost_details.upstream_inference_completions_cost"),
    "total_cost": ("cost", "cost.total_cost"),
    "tool_usage": ("server_tool_use",),
}

REASONING = ("reasoning_content", "reasoning")
METADATA = ("system_fingerprint", "service_tier", "provider", "citations", "search_results", "prompt_filter_results")
HELPER_EVENTS = ("content.", "refusal.", "tool_calls.", "logprobs.")
CHOICE_FIELDS = ("delta", "text", "message", "finish_reason")


class OpenAIChatAdapter(Adapter):
    """Chunks of a chat completion (`ChatCompletionChunk`, its dict, or its look-alikes)."""

    name: ClassVar[str] = "openai"

    def __init__(self) -> None:
        super().__init__()
        self._finish: dict[int, Finish] = {}
        self._usage: UsageUpdate | None = None
        self._started: set[int] = set()

    @staticmethod
    def matches(chunk: Any) -> bool:
        if not is_data(chunk):
            return False
        if get(chunk, "type") == "chunk" and has(chunk, "chunk"):
            chunk = get(chunk, "chunk")
        if not has(chunk, "choices"):
            return False
        choices = get(chunk, "choices")
        if not choices:
            return choices is None or (
                isinstance(choices, list) and any(has(chunk, name) for name in ("object", "usage", "id"))
            )
        return isinstance(choices, list) and all(
            is_data(choice) and any(has(choice, name) for name in CHOICE_FIELDS) for choice in as_list(choices)
        )

    def read(self, chunk: Any, out: Events) -> None:
        chunk = self.unwrap(chunk, out)
        if chunk is None:
            return
        if not self._started:
            self._read_session(chunk, out)
        for choice in items(chunk, "choices"):
            if is_data(choice):
                self._read_choice(choice, out)
        self._read_end(chunk, out)

    def unwrap(self, chunk: Any, out: Events) -> Any:
        """The chat chunk in what came; None where it is a helper event that repeats one, or unknown."""
        if has(chunk, "choices") or has(chunk, "error") or _is_error(chunk):
            return chunk
        kind = text(chunk, "type")
        if kind == "chunk":
            return get(chunk, "chunk")
        if not kind.startswith(HELPER_EVENTS):
            out.append(Raw(name=kind or None, payload=plain(chunk)))
        return None

    def _read_session(self, chunk: Any, out: Events) -> None:
        identity = word(chunk, "id")
        if identity and "id" in self._session:
            identity = self._session["id"]  # the first counts: some routers give every chunk another id
        metadata = {name: plain(value) for name in METADATA if (value := get(chunk, name))}
        self.session(
            out, id=identity, model=word(chunk, "model"), request_id=word(get(chunk, "x_groq"), "id"), metadata=metadata
        )

    def _read_choice(self, choice: Any, out: Events) -> None:
        index = integer(choice, "index") or 0
        delta = get(choice, "delta")
        if delta is None and index not in self._started:
            # A whole completion where a stream was expected; beside deltas `message` only repeats them (Perplexity).
            delta = get(choice, "message")
        if delta is not None:
            self._read_delta(delta, index, out)
        else:
            legacy = text(choice, "text")
            self._started.add(index)
            if legacy:
                out.append(TextDelta(text=legacy, choice=index))
        reason = word(choice, "finish_reason")
        if reason is not None:
            self._read_finish(reason, index, choice, out)

    def _read_delta(self, delta: Any, index: int, out: Events) -> None:
        reasoning = get(delta, *REASONING)
        if reasoning and isinstance(reasoning, str):
            out.append(ReasoningDelta(text=reasoning, choice=index))
        else:
            details = items(delta, "reasoning_details")
            if details:
                self._read_details(details, index, out)
        content = get(delta, "content")
        if content:
            self._read_content(content, index, out)
        refusal = text(delta, "refusal")
        if refusal:
            out.append(RefusalDelta(text=refusal, choice=index))
        for position, call in enumerate(items(delta, "tool_calls")):
            if is_data(call):
                out.append(self._tool_call(call, position, index))
        function = get(delta, "function_call")
        if function is not None:
            out.append(
                ToolCallDelta(
                    key="function_call",
                    name=word(function, "name"),
                    arguments=as_arguments(get(function, "arguments")),
                    choice=index,
                )
            )
        self._started.add(index)

    def _read_content(self, content: Any, index: int, out: Events) -> None:
        if isinstance(content, str):
            out.append(TextDelta(text=content, choice=index))
            return
        for part in as_list(content):
            thought = thoughts(part)
            if thought:
                out.append(ReasoningDelta(text=thought, choice=index))
            elif thought is None and (piece := part if isinstance(part, str) else text(part, "text")):
                out.append(TextDelta(text=piece, choice=index))

    def _read_details(self, details: list[Any], index: int, out: Events) -> None:
        for detail in details:
            piece = text(detail, "text", "summary")
            opaque = {name: value for name in ("signature", "data", "id", "format") if (value := word(detail, name))}
            hidden = opaque if "signature" in opaque or "data" in opaque else None
            if piece or hidden:
                out.append(ReasoningDelta(text=piece, block=integer(detail, "index"), choice=index, metadata=hidden))

    def _tool_call(self, call: Any, position: int, index: int) -> ToolCallDelta:
        key = integer(call, "index")
        identity = word(call, "id")
        custom = get(call, "custom")
        function = get(call, "function") if custom is None else custom
        return ToolCallDelta(
            key=position if key is None else key,
            id=None if identity == "null" else identity,  # mistralai's default is that word
            name=word(function, "name"),
            arguments=as_arguments(get(function, "arguments", "input")),
            free_text=custom is not None,
            choice=index,
        )

    def _read_finish(self, reason: str, index: int, choice: Any, out: Events) -> None:
        native = word(choice, "native_finish_reason")
        finish = Finish(
            reason=reason,
            mapped=FINISH.get(reason, "other"),
            choice=index,
            metadata={"native_finish_reason": native} if native else None,
        )
        if self._finish.get(index) != finish:
            self._finish[index] = finish
            out.append(finish)

    def _read_end(self, chunk: Any, out: Events) -> None:
        groq = get(chunk, "x_groq")
        usage = get(chunk, "usage") or get(groq, "usage")
        if usage is not None:
            update = usage_update(usage, **USAGE)
            if update is not None and update != self._usage:
                self._usage = update
                out.append(update)
        if groq is not None or usage is not None or (out and isinstance(out[-1], Finish)):
            self._read_session(chunk, out)
        error = get(chunk, "error") or get(groq, "error") or (chunk if _is_error(chunk) else None)
        if error:
            self.fail(out, error)


def _is_error(chunk: Any) -> bool:
    return word(chunk, "object") == "error"
