"""Ollama: `chat(stream=True)` and `generate(stream=True)`, as objects or lines of JSON.

    field                                       becomes
    model                                       Session
    message.content | response                  TextDelta
    message.thinking | thinking                 ReasoningDelta
    message.tool_calls[*]                       ToolCallDelta, whole
    done, done_reason                           Finish (tool turns end with `stop` too)
    prompt_eval_count, eval_count, *_duration   UsageUpdate
    error                                       Error

Each tool call is a call of its own: in some versions the index is 0 for all of them.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..provider import Finish, ReasoningDelta, TextDelta, ToolCallDelta
from .base import Adapter, Events, Mapped, as_arguments, get, has, is_data, items, text, usage_update, word

FINISH: dict[str, Mapped] = {"stop": "stop", "length": "length"}

USAGE: dict[str, tuple[str, ...]] = {"input_tokens": ("prompt_eval_count",), "output_tokens": ("eval_count",)}
USAGE_FIELDS = (
    "prompt_eval_count", "eval_count", "total_duration", "load_duration", "prompt_eval_duration", "eval_duration",
)  # fmt: skip


class OllamaAdapter(Adapter):
    """Responses of a chat or generate stream."""

    name: ClassVar[str] = "ollama"

    def __init__(self) -> None:
        super().__init__()
        self._calls = 0

    @staticmethod
    def matches(chunk: Any) -> bool:
        return (
            is_data(chunk)
            and has(chunk, "done")
            and (is_data(get(chunk, "message")) or isinstance(get(chunk, "response"), str))
        )

    def read(self, chunk: Any, out: Events) -> None:
        self.session(out, model=word(chunk, "model"))
        message = get(chunk, "message")
        holder = chunk if message is None else message
        thinking = text(holder, "thinking")
        if thinking:
            out.append(ReasoningDelta(text=thinking))
        piece = text(chunk, "response") if message is None else text(message, "content")
        if piece:
            out.append(TextDelta(text=piece))
        for call in items(message, "tool_calls"):
            function = get(call, "function")
            out.append(
                ToolCallDelta(
                    key=self._calls,
                    id=word(call, "id"),
                    name=word(function, "name"),
                    arguments=as_arguments(get(function, "arguments")) or {},
                    done=True,
                )
            )
            self._calls += 1
        if get(chunk, "done") is True:
            self._read_end(chunk, out)
        error = get(chunk, "error")
        if error:
            self.fail(out, error)

    def _read_end(self, chunk: Any, out: Events) -> None:
        update = usage_update({name: get(chunk, name) for name in USAGE_FIELDS}, **USAGE)
        if update is not None:
            out.append(update)
        reason = word(chunk, "done_reason")
        # Versions before 0.2 say only that it is done.
        out.append(Finish(reason=reason, mapped="stop" if reason is None else FINISH.get(reason, "other")))
