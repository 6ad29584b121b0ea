"""Google Interactions (`client.interactions.create(stream=True)`): events with an `event_type`.

    event_type                        becomes
    interaction.created               Session
    step.start                        ToolCallDelta for a call, ToolResult for the result of a hosted one
    step.delta: text                  TextDelta
        thought_summary               ReasoningDelta (`thought_signature`: its metadata)
        arguments_delta               ToolCallDelta, key = step index
    step.stop                         ToolCallDelta with done, UsageUpdate
    interaction.completed             Session, UsageUpdate, Finish (its status)
    error                             Error

The first release called steps `content` and the ends `interaction.start` and `interaction.complete`: read alike.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..provider import Finish, Raw, ReasoningDelta, TextDelta, ToolCallDelta, ToolResult
from .base import Adapter, Events, Mapped, WholeInputs, as_dict, get, integer, is_data, plain, text, usage_update, word

FINISH: dict[str, Mapped] = {
    "completed": "stop",
    "requires_action": "tool_calls",
    "failed": "error",
    "cancelled": "error",
    "budget_exceeded": "length",
}

USAGE: dict[str, tuple[str, ...]] = {
    "input_tokens": ("total_input_tokens",),
    "output_tokens": ("total_output_tokens",),
    "total_tokens": ("total_tokens",),
    "cached_input_tokens": ("total_cached_tokens",),
    "reasoning_tokens": ("total_thought_tokens", "total_reasoning_tokens"),
}

UNFINISHED = ("incomplete", "budget_exceeded")
PAUSED = "requires_continuation"
STARTED = ("interaction.created", "interaction.start", "interaction.in_progress", "interaction.requires_action")
ENDED = ("interaction.completed", "interaction.complete", "interaction.failed")
STATUS_UPDATE = "interaction.status_update"
STEP = ("step", "content")
CALLER_TOOL = "function_call"


class InteractionsAdapter(Adapter):
    """Events of an interaction."""

    name: ClassVar[str] = "gemini-interactions"

    def __init__(self) -> None:
        super().__init__()
        self._inputs = WholeInputs()

    @staticmethod
    def matches(chunk: Any) -> bool:
        kind = word(chunk, "event_type") if is_data(chunk) else None
        return kind is not None and (kind.startswith("interaction.") or kind in {f"{step}.start" for step in STEP})

    def read(self, chunk: Any, out: Events) -> None:
        kind = text(chunk, "event_type")
        subject, _, step = kind.rpartition(".")
        index = integer(chunk, "index") or 0
        if subject in STEP and step == "delta":
            self._read_delta(index, get(chunk, "delta"), out)
        elif subject in STEP and step == "start":
            self._read_step(index, get(chunk, "step", "content"), out)
        elif subject in STEP and step == "stop":
            self._inputs.stop(index, out)
            self._read_usage(get(chunk, "usage"), out)
        elif kind in STARTED or kind in ENDED:
            self._read_interaction(get(chunk, "interaction"), kind in ENDED, out)
        elif kind == STATUS_UPDATE:
            self.session(out, id=word(chunk, "interaction_id"))
        elif kind == "error":
            self.fail(out, get(chunk, "error") or chunk)
        else:
            out.append(Raw(name=kind or None, payload=plain(chunk)))

    def _read_interaction(self, interaction: Any, ended: bool, out: Events) -> None:
        self.session(out, id=word(interaction, "id"), model=word(interaction, "model"))
        if not ended:
            return
        self._read_usage(get(interaction, "usage"), out)
        status = word(interaction, "status")
        if status is None:
            return
        out.append(
            Finish(
                reason=status,
                mapped=FINISH.get(status, "other"),
                paused=status == PAUSED,
                unfinished=status in UNFINISHED,
                raw=plain(interaction),
            )
        )
        error = get(interaction, "error")
        if error:
            self.fail(out, error)

    def _read_step(self, index: int, step: Any, out: Events) -> None:
        kind = text(step, "type")
        if kind.endswith("_call"):
            self._inputs.start(index, get(step, "arguments"))
            out.append(
                ToolCallDelta(
                    key=index,
                    id=word(step, "id"),
                    name=word(step, "name") or kind.removesuffix("_call"),
                    hosted=kind != CALLER_TOOL,
                    metadata=_signature(step),
                )
            )
        elif kind.endswith("_result"):
            content = plain(get(step, "result", "content", "items"))
            out.append(
                ToolResult(
                    id=word(step, "call_id", "id"), name=kind, content=content, is_error=get(step, "is_error") is True
                )
            )
        elif piece := text(step, "text"):
            out.append(TextDelta(text=piece))

    def _read_delta(self, index: int, delta: Any, out: Events) -> None:
        kind = text(delta, "type")
        if kind == "text":
            if piece := text(delta, "text"):
                out.append(TextDelta(text=piece))
        elif kind in ("thought_summary", "thought"):
            content = get(delta, "content", "thought")
            piece = content if isinstance(content, str) else text(content, "text")
            if piece:
                out.append(ReasoningDelta(text=piece, block=index))
        elif kind == "thought_signature":
            out.append(ReasoningDelta(text="", block=index, metadata=_signature(delta)))
        elif kind in ("arguments_delta", "arguments"):
            if piece := text(delta, "arguments", "partial_arguments"):
                self._inputs.piece(index)
                out.append(ToolCallDelta(key=index, arguments=piece))
        elif kind.endswith("_call"):
            # The first release: the whole call in one delta.
            out.append(
                ToolCallDelta(
                    key=index,
                    id=word(delta, "id"),
                    name=word(delta, "name") or kind.removesuffix("_call"),
                    arguments=as_dict(get(delta, "arguments")),
                    hosted=kind != CALLER_TOOL,
                    metadata=_signature(delta),
                )
            )
        else:
            out.append(Raw(name=kind or None, payload=plain(delta)))

    def _read_usage(self, usage: Any, out: Events) -> None:
        update = usage_update(usage, **USAGE)
        if update is not None:
            out.append(update)


def _signature(holder: Any) -> dict[str, Any] | None:
    signature = get(holder, "signature")
    return {"thought_signature": plain(signature)} if signature else None
