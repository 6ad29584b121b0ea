"""The OpenAI Responses API: events with a `type`, also from Azure, DeepSeek, OpenRouter, vLLM and xAI.

    type                                          becomes
    response.created, .in_progress, .queued       Session
    response.output_text.delta                    TextDelta (`aside` for a message whose phase is commentary)
    response.refusal.delta                        RefusalDelta
    response.reasoning_text.delta,
        .reasoning_summary_text.delta             ReasoningDelta
    response.output_item.added, .done             ToolCallDelta: call_id and name first, then the final arguments
    response.function_call_arguments.delta        ToolCallDelta
    response.custom_tool_call_input.delta         ToolCallDelta with free text
    response.mcp_call_arguments.delta             ToolCallDelta of a hosted call
    response.completed, .incomplete               Session, UsageUpdate, Finish
    response.failed, error                        Error

Items are told apart by `item_id`; where a proxy changes the ids on the way, by `output_index`. Tools that the provider
runs itself are hosted calls.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..provider import Finish, Raw, ReasoningDelta, RefusalDelta, TextDelta, ToolCallDelta
from .base import Adapter, Events, Mapped, as_dict, get, integer, is_data, items, plain, text, usage_update, word

STATUS: dict[str, Mapped] = {"completed": "stop", "failed": "error", "cancelled": "error"}
INCOMPLETE: dict[str, Mapped] = {"max_output_tokens": "length", "content_filter": "content_filter"}

USAGE: dict[str, tuple[str, ...]] = {
    "input_tokens": ("input_tokens",),
    "output_tokens": ("output_tokens",),
    "total_tokens": ("total_tokens",),
    "cached_input_tokens": ("input_tokens_details.cached_tokens",),
    "reasoning_tokens": ("output_tokens_details.reasoning_tokens",),
    "total_cost": ("cost",),
    "tool_usage": ("server_side_tool_usage_details",),
}

STARTED = ("response.created", "response.in_progress", "response.queued")
ENDED = ("response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done")
TEXT = "response.output_text"
REFUSAL = "response.refusal"
REASONING = (
    "response.reasoning_text",
    "response.reasoning_summary_text",
    "response.reasoning",
    "response.reasoning_summary",
)
ARGUMENTS = ("response.function_call_arguments", "response.mcp_call_arguments")
FREE_TEXT = ("response.custom_tool_call_input", "response.code_interpreter_call_code")

# Item type -> the field that holds its input, whole, in the finished item.
CALLER_TOOLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "computer_call": "action",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
}
HOSTED_TOOLS = {
    "web_search_call": "action",
    "x_search_call": "action",
    "file_search_call": "queries",
    "code_interpreter_call": "code",
    "image_generation_call": "revised_prompt",
    "mcp_call": "arguments",
}
FREE_TEXT_TOOLS = ("custom_tool_call", "code_interpreter_call", "image_generation_call")
# Events that repeat what others said.
QUIET = (
    "response.content_part.added", "response.content_part.done",
    "response.reasoning_summary_part.added", "response.reasoning_summary_part.done",
)  # fmt: skip


class OpenAIResponsesAdapter(Adapter):
    """Events of a Responses stream."""

    name: ClassVar[str] = "openai-responses"

    def __init__(self) -> None:
        super().__init__()
        self._by_id: dict[str, int] = {}
        self._by_index: dict[int, int] = {}
        self._count = 0
        self._types: dict[int, str] = {}
        self._asides: set[int] = set()
        self._lengths: dict[tuple[int, str, int], int] = {}
        self._calls: set[int] = set()

    @staticmethod
    def matches(chunk: Any) -> bool:
        kind = word(chunk, "type") if is_data(chunk) else None
        return kind is not None and (
            kind.startswith("response.") or (kind == "error" and integer(chunk, "sequence_number") is not None)
        )

    def read(self, chunk: Any, out: Events) -> None:
        kind = text(chunk, "type")
        base, _, step = kind.rpartition(".")
        if step == "delta" and base in _DELTAS:
            self._read_delta(base, chunk, out)
        elif kind in STARTED or kind in ENDED:
            self._read_response(kind, get(chunk, "response"), out)
        elif kind in ("response.output_item.added", "response.output_item.done"):
            self._read_item(get(chunk, "item"), integer(chunk, "output_index"), step == "done", out)
        elif step == "done" and base in _DELTAS:
            self._read_done(base, chunk, out)
        elif kind == "error":
            self.fail(out, get(chunk, "error") or chunk)
        elif kind not in QUIET:
            out.append(Raw(name=kind or None, payload=plain(chunk)))

    # -- items ---------------------------------------------------------------------------------------------------------

    def _key(self, identity: str | None, index: int | None, *, begins: bool = False) -> int:
        """The number of an item. An unknown id at a known place is the same item under another id, unless an item
        begins there.
        """
        key = self._by_id.get(identity) if identity else None
        if key is None and index is not None and not begins:
            key = self._by_index.get(index)
        if key is None:
            key = self._count
            self._count += 1
        if identity:
            self._by_id[identity] = key
        if index is not None:
            self._by_index[index] = key
        return key

    def _read_item(self, item: Any, index: int | None, done: bool, out: Events) -> None:
        if not is_data(item):
            return
        kind = word(item, "type") or ""
        call_id = word(item, "call_id")
        known = self._by_id.get(call_id) if call_id else None
        key = known if known is not None else self._key(word(item, "id"), index, begins=not done)
        if call_id:
            self._by_id[call_id] = key
        self._types[key] = kind
        if kind == "message":
            if word(item, "phase") == "commentary":
                self._asides.add(key)
            if done:
                for position, part in enumerate(items(item, "content")):
                    self._rest(key, TEXT, position, text(part, "text"), out)
                    self._rest(key, REFUSAL, position, text(part, "refusal"), out)
        elif kind == "reasoning" and done:
            self._read_reasoning(key, item, out)
        elif kind in CALLER_TOOLS or kind in HOSTED_TOOLS:
            self._read_call(key, kind, item, done, out)
        elif kind != "reasoning":
            out.append(Raw(name=kind or None, payload=plain(item)))

    def _read_reasoning(self, key: int, item: Any, out: Events) -> None:
        for field, base in (("content", REASONING[0]), ("summary", REASONING[1])):
            for position, part in enumerate(items(item, field)):
                self._rest(key, base, position, text(part, "text"), out)
        opaque = text(item, "encrypted_content")
        if opaque:
            metadata = {"id": word(item, "id"), "encrypted_content": opaque}
            out.append(ReasoningDelta(text="", block=key, metadata=metadata))

    def _read_call(self, key: int, kind: str, item: Any, done: bool, out: Events) -> None:
        self._calls.add(key)
        field = CALLER_TOOLS.get(kind) or HOSTED_TOOLS[kind]
        value = get(item, field) if done else None
        whole = None if value is None or isinstance(value, str) else as_dict(value) or {field: plain(value)}
        out.append(
            ToolCallDelta(
                key=key,
                id=word(item, "call_id") or word(item, "id"),
                name=word(item, "name") or kind.removesuffix("_call"),
                arguments=whole,
                final_arguments=value if isinstance(value, str) else None,
                done=done,
                free_text=kind in FREE_TEXT_TOOLS,
                hosted=kind in HOSTED_TOOLS,
            )
        )

    # -- pieces --------------------------------------------------------------------------------------------------------

    def _read_delta(self, base: str, chunk: Any, out: Events) -> None:
        piece = get(chunk, "delta")
        if is_data(piece):
            piece = text(piece, "text")
        if not isinstance(piece, str) or not piece:
            return
        key = self._key(word(chunk, "item_id"), integer(chunk, "output_index"))
        if base in ARGUMENTS or base in FREE_TEXT:
            self._calls.add(key)
            kind = self._types.get(key, "")
            free = base in FREE_TEXT
            out.append(
                ToolCallDelta(key=key, arguments=piece, free_text=free, hosted=kind in HOSTED_TOOLS or "mcp" in base)
            )
            return
        self._emit(key, base, self._part(chunk), piece, out)

    def _read_done(self, base: str, chunk: Any, out: Events) -> None:
        key = self._key(word(chunk, "item_id"), integer(chunk, "output_index"))
        if base in ARGUMENTS or base in FREE_TEXT:
            self._calls.add(key)
            kind = self._types.get(key, "")
            final = text(chunk, "arguments", "input", "code")
            free = base in FREE_TEXT
            if final:
                out.append(
                    ToolCallDelta(
                        key=key, final_arguments=final, free_text=free, hosted=kind in HOSTED_TOOLS or "mcp" in base
                    )
                )
            return
        self._rest(key, base, self._part(chunk), text(chunk, "text", "refusal"), out)

    @staticmethod
    def _part(chunk: Any) -> int:
        return integer(chunk, "content_index", "summary_index") or 0

    def _emit(self, key: int, base: str, part: int, piece: str, out: Events) -> None:
        place = (key, base, part)
        self._lengths[place] = self._lengths.get(place, 0) + len(piece)
        if base == TEXT:
            out.append(TextDelta(text=piece, aside=key in self._asides))
        elif base == REFUSAL:
            out.append(RefusalDelta(text=piece))
        else:
            out.append(ReasoningDelta(text=piece, block=f"{key}.{part}"))

    def _rest(self, key: int, base: str, part: int, whole: str, out: Events) -> None:
        """Emit what a finished part holds beyond its deltas: all of it where a resumed stream or a proxy sent none."""
        seen = self._lengths.get((key, base, part), 0)
        if len(whole) > seen:
            self._emit(key, base, part, whole[seen:], out)

    # -- the response --------------------------------------------------------------------------------------------------

    def _read_response(self, kind: str, response: Any, out: Events) -> None:
        if not is_data(response):
            return
        metadata = {name: value for name in ("service_tier", "previous_response_id") if (value := word(response, name))}
        self.session(out, id=word(response, "id"), model=word(response, "model"), metadata=metadata)
        if kind in STARTED:
            return
        self._read_output(response, out)
        update = usage_update(get(response, "usage"), **USAGE)
        if update is not None:
            out.append(update)
        status = word(response, "status") or kind.rpartition(".")[2]
        cause = word(get(response, "incomplete_details"), "reason")
        mapped = INCOMPLETE.get(cause or "", "other") if status == "incomplete" else STATUS.get(status, "other")
        about = {"incomplete_reason": cause} if cause else None
        out.append(
            Finish(reason=status, mapped=mapped, unfinished=status == "incomplete", metadata=about, raw=plain(response))
        )
        if status == "failed":
            self.fail(out, get(response, "error") or "the response failed")

    def _read_output(self, response: Any, out: Events) -> None:
        """Items that no event told of: a stream that was resumed at its end, or a provider that streams nothing but the
        frame.
        """
        if self._count == 0:
            for index, item in enumerate(items(response, "output")):
                self._read_item(item, index, True, out)


_DELTAS = frozenset((TEXT, REFUSAL, *REASONING, *ARGUMENTS, *FREE_TEXT))
