"""The UI message stream of the AI SDK (the npm package `ai`, versions 5 and 6; stream protocol v1).

start, start-step
reasoning-start / -delta / -end                          the reasoning
text-start / -delta / -end                               the text of the answer
tool-input-start / -delta / -available (or -error)       tool calls
data-field                                               the fields of the answer: one part for each, by its id
data-field-delta, data-diagnostic, data-status           transient: they go to `onData` only
data-invalid                                             values that do not fit the output
finish-step, finish, or error and finish, or abort
[DONE]
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable
from typing import TYPE_CHECKING, Any, Final, overload
from uuid import uuid4

from .chat import BlockKind, Call, ChatEncoder, Part, failure_text
from .frame import SCALARS, Options
from .growth import Growth, Strings
from .skins import drive
from .sse import PartsAsSSE
from .state import Places

if TYPE_CHECKING:
    from typing_extensions import Unpack

HEADERS: Final = {
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
    "connection": "keep-alive",
    "x-vercel-ai-ui-message-stream": "v1",
    "x-accel-buffering": "no",
}
"""The headers that the AI SDK's own server sends."""

DONE: Final = "data: [DONE]\n\n"

_FINISH_REASONS: Final = {"content_filter": "content-filter", "tool_calls": "tool-calls"}


class AISDKEncoder(ChatEncoder):
    """Items in, UI message chunks out, as dicts."""

    def __init__(
        self,
        *,
        message_id: str | None = None,
        text: bool = True,
        strings: Strings = "doubling",
        dynamic_tools: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(text=text, **options)
        self._message_id = message_id or str(uuid4())
        Growth(strings)  # so that a wrong option fails here
        self._strings: Strings = strings
        # By source, the path of the string that grows and what came of it: the calls of a model may come side by side.
        self._growing: dict[str, tuple[str, Growth]] = {}
        self._sent: dict[str, Places[dict[str, Any]]] = {}  # by source, the fields that were sent
        self._dynamic = {"dynamic": True} if dynamic_tools else {}

    def _begin(self) -> list[Part]:
        return [{"type": "start", "messageId": self._message_id}, {"type": "start-step"}]

    def _open_block(self, kind: BlockKind, block_id: str) -> list[Part]:
        return [{"type": f"{kind}-start", "id": block_id}]

    def _grow_block(self, kind: BlockKind, block_id: str, text: str) -> Part:
        return {"type": f"{kind}-delta", "id": block_id, "delta": text}

    def _close_block(self, kind: BlockKind, block_id: str) -> list[Part]:
        return [{"type": f"{kind}-end", "id": block_id}]

    def _begin_call(self, call: Call) -> Part:
        return {"type": "tool-input-start", "toolCallId": call.id, "toolName": call.name, **self._dynamic}

    def _grow_call(self, call: Call, text: str) -> Part:
        return {"type": "tool-input-delta", "toolCallId": call.id, "inputTextDelta": text}

    def _close_call(self, call: Call, arguments: Any, complete: bool, *, hosted: bool) -> list[Part]:
        part = {"toolCallId": call.id, "toolName": call.name, "input": arguments, **self._dynamic}
        if not complete:
            return [{"type": "tool-input-error", **part, "errorText": "the arguments are not whole"}]
        return [{"type": "tool-input-available", **part, **({"providerExecuted": True} if hosted else {})}]

    # ---- fields

    def _field(self, data: dict[str, Any]) -> list[Part]:
        source = data.get("source", "content")
        key = (source, data["path"])
        event_type, kind = data["type"], data["kind"]
        if event_type == "reset":
            return self._reset(source, data["parts"])
        if event_type == "delta" and kind in SCALARS:
            return []  # its `done`, which comes at once, has the value
        if event_type == "delta":
            return self._grow_field(key, data)
        if event_type == "start":
            return [self._data(key, data, "growing")]
        field = {}
        if kind in SCALARS:
            field["value"] = data["value"]
        elif kind == "string":
            path, growth = self._growing.pop(source, ("", None))
            field["text"] = growth.text if growth is not None and path == data["path"] else ""
        return [self._data(key, data, event_type, **field)]

    def _grow_field(self, key: tuple[str, str], data: dict[str, Any]) -> list[Part]:
        source, path = key
        growing = self._growing.get(source)
        if growing is None or growing[0] != path:
            growing = self._growing[source] = path, Growth(self._strings)
        whole = growing[1].add(data["delta"])
        if whole is not None:
            return [self._data(key, data, "growing", text=whole)]
        if self._strings != "append":
            return []
        delta = {"path": path, "parts": data["parts"], "source": source, "delta": data["delta"]}
        return [{"type": "data-field-delta", "data": delta, "transient": True}]

    def _reset(self, source: str, parts: list[Any]) -> list[Part]:
        """A part cannot be taken out of a message: those that no longer count say so."""
        self._growing.pop(source, None)
        taken = self._sent[source].take(tuple(parts)) if source in self._sent else []
        return [self._part((source, field["path"]), field, "reset") for field in taken]

    def _data(self, key: tuple[str, str], data: dict[str, Any], state: str, **field: Any) -> Part:
        places = self._sent.setdefault(key[0], Places())
        places.put(tuple(data["parts"]), {"path": data["path"], "parts": data["parts"]})
        return self._part(key, data, state, kind=data["kind"], **field)

    def _part(self, key: tuple[str, str], data: dict[str, Any], state: str, **field: Any) -> Part:
        view = {"path": data["path"], "parts": data["parts"], "source": key[0], "state": state, **field}
        return {"type": "data-field", "id": f"{key[0]}:{key[1]}", "data": view}

    # ---- the rest

    def _other(self, event: str, data: Any) -> list[Part]:
        part: Part = {"type": f"data-{event}", "data": data}
        return [part if event == "invalid" else {**part, "transient": True}]

    def _finish(self, data: dict[str, Any]) -> list[Part]:
        metadata = {**data, "model": self._meta.get("model"), "usage": self._meta.get("usage")}
        out: list[Part] = []
        if self._failure is not None:
            out.append({"type": "error", "errorText": failure_text(self._failure)})
        out.append({"type": "finish-step"})
        if data["end_state"] == "cancelled":
            return [*out, {"type": "message-metadata", "messageMetadata": metadata}, {"type": "abort"}]
        finish: Part = {"type": "finish", "messageMetadata": metadata}
        reason = "error" if self._failure is not None else data["finish_reason"]
        if reason is not None:
            finish["finishReason"] = _FINISH_REASONS.get(reason, reason)
        return [*out, finish]


class AISDKOptions(Options, total=False):
    """The options of the AI SDK's stream: see `to_ai_sdk`."""

    message_id: str | None
    text: bool
    strings: Strings
    dynamic_tools: bool


@overload
def to_ai_sdk(items: AsyncIterable[Any], **options: Unpack[AISDKOptions]) -> AsyncGenerator[str, None]: ...
@overload
def to_ai_sdk(items: Iterable[Any], **options: Unpack[AISDKOptions]) -> Generator[str, None, None]: ...
def to_ai_sdk(items: Any, **options: Unpack[AISDKOptions]) -> Any:
    """A run as a UI message stream, each chunk a server-sent event ready to be sent; answer with `HEADERS`.

    message_id: id of the message; a new one by default.
    text: whether the text of the answer is sent as a text part. Turn it off where the answer is a document that nobody
        wants to read as JSON.
    strings: how the text of a `data-field` part grows: see `Strings`. With "append" the pieces come in transient
        `data-field-delta` parts, and the part itself at its end.
    dynamic_tools: whether tool calls are for `dynamic-tool` parts, which need no type on the client.

    `items` and the other options are those of `to_frames`.
    """
    return drive(PartsAsSSE(AISDKEncoder(**options), last=(DONE,)), items)
