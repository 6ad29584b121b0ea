"""Mistral: `chat.stream` (`CompletionEvent` whose `data` is a chat chunk) and `beta.conversations.start_stream`.

The chat chunk has OpenAI's shape; its content may be a list of text and thinking parts, its tool calls may be whole.

    conversation event                      becomes
    conversation.response.started           Session (session_id = the conversation's id)
    message.output.delta                    TextDelta, or ReasoningDelta for a thinking part
    function.call.delta                     ToolCallDelta, key = tool_call_id
    tool.execution.started, .delta, .done   ToolCallDelta of a hosted call
    conversation.response.done              UsageUpdate, Finish
    conversation.response.error             Error
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..provider import Finish, Raw, ReasoningDelta, TextDelta, ToolCallDelta
from .base import Adapter, Events, as_arguments, as_list, get, has, is_data, plain, text, thoughts, usage_update, word
from .openai_chat import USAGE, OpenAIChatAdapter

CONVERSATION = ("conversation.", "message.output.", "function.call.", "tool.execution.", "agent.handoff.")
TYPE = ("type", "TYPE")  # the constant of the older SDK
ENDED = "conversation.response.done"


class MistralChatAdapter(OpenAIChatAdapter):
    """Events of `chat.stream`."""

    name: ClassVar[str] = "mistral"

    @staticmethod
    def matches(chunk: Any) -> bool:
        return is_data(chunk) and not has(chunk, "choices") and OpenAIChatAdapter.matches(get(chunk, "data"))

    def unwrap(self, chunk: Any, out: Events) -> Any:
        """The chunk in a `CompletionEvent`, or the chunk itself."""
        data = get(chunk, "data")
        return super().unwrap(chunk if data is None else data, out)


class MistralConversationAdapter(Adapter):
    """Events of a conversation."""

    name: ClassVar[str] = "mistral-conversations"

    @staticmethod
    def matches(chunk: Any) -> bool:
        return is_data(chunk) and (word(_data(chunk), *TYPE) or "").startswith(CONVERSATION)

    def read(self, chunk: Any, out: Events) -> None:
        data = _data(chunk)
        kind = text(data, *TYPE)
        self.session(out, model=word(data, "model"))
        if kind == "message.output.delta":
            self._read_content(get(data, "content"), out)
        elif kind == "function.call.delta":
            identity = word(data, "tool_call_id")
            out.append(
                ToolCallDelta(
                    key=identity or word(data, "id") or 0,
                    id=identity,
                    name=word(data, "name"),
                    arguments=as_arguments(get(data, "arguments")),
                )
            )
        elif kind.startswith("tool.execution."):
            out.append(
                ToolCallDelta(
                    key=word(data, "id") or 0,
                    id=word(data, "id"),
                    name=word(data, "name"),
                    arguments=as_arguments(get(data, "arguments")),
                    done=kind.endswith(".done"),
                    hosted=True,
                )
            )
        elif kind == "conversation.response.started":
            self.session(out, session_id=word(data, "conversation_id"))
        elif kind == ENDED:
            update = usage_update(get(data, "usage"), **USAGE)
            if update is not None:
                out.append(update)
            out.append(Finish(reason=ENDED, mapped="stop"))
        elif kind == "conversation.response.error" or get(data, "error"):
            self.fail(out, get(data, "error") or data)
        else:
            out.append(Raw(name=kind or None, payload=plain(chunk)))

    def _read_content(self, content: Any, out: Events) -> None:
        for part in as_list(content) or [content]:
            thought = thoughts(part)
            if thought is not None:
                if thought:
                    out.append(ReasoningDelta(text=thought))
            elif isinstance(part, str) or has(part, "text"):
                if piece := part if isinstance(part, str) else text(part, "text"):
                    out.append(TextDelta(text=piece))
            elif is_data(part):
                out.append(Raw(name=word(part, "type"), payload=plain(part)))


def _data(chunk: Any) -> Any:
    data = get(chunk, "data")
    return data if is_data(data) and any(has(data, name) for name in TYPE) else chunk
