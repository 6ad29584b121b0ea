"""AG-UI (the Agent-User Interaction Protocol, 1.0): a run as its events, each one line of server-sent events.

    RUN_STARTED
    REASONING_START, REASONING_MESSAGE_START / _CONTENT / _END, REASONING_END     the reasoning
    TEXT_MESSAGE_START / _CONTENT / _END                                          the text of the answer
    TOOL_CALL_START / _ARGS / _END                                                tool calls
    STATE_SNAPSHOT, then STATE_DELTA with JSON Patches                            the document of the answer
    CUSTOM (streamparse.diagnostic, .invalid, .status, .field, …)                 what the protocol has no event for
    RUN_FINISHED, or RUN_ERROR

The THINKING events of older versions left the protocol with 1.0; the REASONING events took their place.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any, overload
from uuid import uuid4

from ..errors import UsageError
from ..paths import to_pointer
from .chat import BlockKind, Call, ChatEncoder, Part, failure_text
from .frame import Options
from .growth import Strings
from .json_patch import Patcher
from .skins import drive
from .sse import PartsAsSSE

if TYPE_CHECKING:
    from typing_extensions import Unpack


class AGUIOptions(Options, total=False):
    """The options of AG-UI: see `to_ag_ui`."""

    thread_id: str | None
    run_id: str | None
    text: bool
    state: Mapping[str, Any] | None
    state_key: str | None
    strings: Strings
    fields: bool


class AGUIEncoder(ChatEncoder):
    """Items in, AG-UI events out, as dicts with the names of the protocol."""

    def __init__(
        self,
        *,
        thread_id: str | None = None,
        run_id: str | None = None,
        text: bool = True,
        state: Mapping[str, Any] | None = None,
        state_key: str | None = "answer",
        strings: Strings = "doubling",
        fields: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(text=text, **options)
        if strings == "append":
            raise UsageError("AG-UI has no operation that appends", expected="strings='doubling' or 'replace'")
        self._run = {"threadId": thread_id or str(uuid4()), "runId": run_id or str(uuid4())}
        self._state = dict(state or {})
        self._state_key = state_key
        self._patcher = Patcher(strings=strings, prefix=to_pointer((state_key or "",)))
        self._fields = fields
        self._snapshot_sent = False

    def _begin(self) -> list[Part]:
        return [{"type": "RUN_STARTED", **self._run}]

    def _open_block(self, kind: BlockKind, block_id: str) -> list[Part]:
        message = {"messageId": self._message_id(block_id)}
        if kind == "text":
            return [{"type": "TEXT_MESSAGE_START", **message, "role": "assistant"}]
        start = {"type": "REASONING_MESSAGE_START", **message, "role": "reasoning"}
        return [{"type": "REASONING_START", **message}, start]

    def _grow_block(self, kind: BlockKind, block_id: str, text: str) -> Part:
        name = "TEXT_MESSAGE_CONTENT" if kind == "text" else "REASONING_MESSAGE_CONTENT"
        return {"type": name, "messageId": self._message_id(block_id), "delta": text}

    def _close_block(self, kind: BlockKind, block_id: str) -> list[Part]:
        message = {"messageId": self._message_id(block_id)}
        if kind == "text":
            return [{"type": "TEXT_MESSAGE_END", **message}]
        return [{"type": "REASONING_MESSAGE_END", **message}, {"type": "REASONING_END", **message}]

    def _message_id(self, block_id: str) -> str:
        return f"{self._run['runId']}-{block_id}"

    def _begin_call(self, call: Call) -> Part:
        return {"type": "TOOL_CALL_START", "toolCallId": call.id, "toolCallName": call.name}

    def _grow_call(self, call: Call, text: str) -> Part:
        return {"type": "TOOL_CALL_ARGS", "toolCallId": call.id, "delta": text}

    def _close_call(self, call: Call, arguments: Any, complete: bool, *, hosted: bool) -> list[Part]:
        out: list[Part] = [{"type": "TOOL_CALL_END", "toolCallId": call.id}]
        if not complete:
            out += self._other("tool_call_cut", {"toolCallId": call.id})
        return out

    def _field(self, data: dict[str, Any]) -> list[Part]:
        out = self._other("field", data) if self._fields else []
        if self._state_key is None or data.get("source", "content") != "content":
            return out
        patch = self._patcher.feed(data)
        if not patch:
            return out
        if not self._snapshot_sent:
            self._snapshot_sent = True
            out.append({"type": "STATE_SNAPSHOT", "snapshot": {**self._state, self._state_key: None}})
        return [*out, {"type": "STATE_DELTA", "delta": patch}]

    def _other(self, event: str, data: Any) -> list[Part]:
        return [{"type": "CUSTOM", "name": f"streamparse.{event}", "value": data}]

    def _finish(self, data: dict[str, Any]) -> list[Part]:
        usage = self._usage()
        if self._failure is not None:
            code = {"code": str(self._failure["code"])} if "code" in self._failure else {}
            return [{"type": "RUN_ERROR", "message": failure_text(self._failure), **code, **usage}]
        outcome = "cancelled" if data["end_state"] == "cancelled" else "success"
        return [{"type": "RUN_FINISHED", **self._run, "result": data, "outcome": {"type": outcome}, **usage}]

    def _usage(self) -> Part:
        usage = self._meta.get("usage")
        if usage is None:
            return {}
        names = {
            "inputTokens": "input_tokens",
            "outputTokens": "output_tokens",
            "totalTokens": "total_tokens",
            "reasoningTokens": "reasoning_tokens",
            "cachedInputTokens": "cached_input_tokens",
        }
        counts = {name: usage[ours] for name, ours in names.items() if usage.get(ours) is not None}
        model = self._meta.get("model")
        return {"usage": [{"model": model, **counts} if model is not None else counts]}


@overload
def to_ag_ui(items: AsyncIterable[Any], **options: Unpack[AGUIOptions]) -> AsyncGenerator[str, None]: ...
@overload
def to_ag_ui(items: Iterable[Any], **options: Unpack[AGUIOptions]) -> Generator[str, None, None]: ...
def to_ag_ui(items: Any, **options: Unpack[AGUIOptions]) -> Any:
    """A run as AG-UI events, each a server-sent event ready to be sent.

    thread_id, run_id: those of the request (`RunAgentInput`); new ones by default.
    text: whether the text of the answer is sent as a text message. Turn it off where the answer is a document that
        nobody wants to read as JSON.
    state: the client's state, as the request has it; the snapshot keeps it.
    state_key: under which key of the state the document of the answer is built; None: not at all.
    strings: how its strings grow: see `Strings`. "append" is an error: AG-UI clients do not know it.
    fields: whether all `field` frames are sent as CUSTOM events, too: pieces of text, and what is done or cut.

    `items` and the other options are those of `to_frames`.
    """
    return drive(PartsAsSSE(AGUIEncoder(**options)), items)
