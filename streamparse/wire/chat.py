"""Chat: what the protocols of chat front ends have in common. One block of text or reasoning is open at a time, tool
calls stand beside it, and all that was opened is closed before the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ..events import ResultMessage
from .frame import Encoder, Options, check_include
from .json_text import from_json

if TYPE_CHECKING:
    from typing_extensions import Unpack

Part = dict[str, Any]
BlockKind = Literal["text", "reasoning"]

NAMELESS = "unnamed_tool"
"""What a call is named that was broken off before its name came."""


def failure_text(data: dict[str, Any]) -> str:
    """The message of an error, which the caller's `describe_error` may have left out."""
    return str(data.get("message", "the stream failed"))


class Call:
    """A tool call on its way. `held` are the arguments that came before its name."""

    __slots__ = ("closed", "held", "id", "name", "opened", "pieces")

    def __init__(self, call_id: str) -> None:
        self.id = call_id
        self.name = NAMELESS
        self.opened = self.closed = False
        self.held = ""
        self.pieces: list[str] = []


class ChatEncoder(Encoder[Part]):
    """Items in, parts of a chat protocol out. `text=False` leaves the text of the answer out."""

    def __init__(self, *, text: bool = True, **options: Unpack[Options]) -> None:
        if text:
            options["include"] = {*check_include(options.get("include", ())), "delta"}
        super().__init__(**options)
        self._begun = False
        self._block: tuple[BlockKind, str] | None = None  # the open one, and its id
        self._blocks = 0
        self._calls: dict[int, Call] = {}
        self._made = 0  # calls of earlier attempts
        self._meta: dict[str, Any] = {}
        self._failure: dict[str, Any] | None = None

    def _encode(self, message: ResultMessage) -> list[Part]:
        out: list[Part] = []
        if not self._begun:
            self._begun = True
            out += self._begin()
        event, data = message
        if event == "delta":
            out += self._grow("text", data["text"])
        elif event == "reasoning_delta":
            out += self._grow("reasoning", data["text"])
        elif event == "reasoning_done":
            out += self._shut("reasoning")
        elif event == "tool_call_delta":
            out += self._feed_call(data)
        elif event == "tool_calls":
            out += self._end_call(data)
        elif event == "field":
            out += self._field(data)
        elif event == "error":
            self._failure = self._failure or data
        elif event == "meta":
            self._meta = data
        elif event == "end":
            out += [*self._shut(), *self._end_calls(data["complete"]), *self._finish(data)]
        else:
            if event == "status" and data.get("state") == "retrying":
                # What was sent cannot be taken back: the next attempt is another message, with other calls.
                out += [*self._shut(), *self._end_calls(False)]
                self._made += len(self._calls)
                self._calls = {}
            out += self._other(event, data)
        return out

    # ---- blocks

    def _grow(self, kind: BlockKind, text: str) -> list[Part]:
        out: list[Part] = []
        if self._block is None or self._block[0] != kind:
            out += self._shut()
            self._blocks += 1
            self._block = (kind, f"{kind}-{self._blocks}")
            out += self._open_block(*self._block)
        return [*out, self._grow_block(*self._block, text)]

    def _shut(self, kind: BlockKind | None = None) -> list[Part]:
        """Close the block that is open, if it is of this kind."""
        if self._block is None or kind not in (None, self._block[0]):
            return []
        block, self._block = self._block, None
        return self._close_block(*block)

    # ---- tool calls

    def _call(self, index: int, call_id: str | None) -> Call:
        call = self._calls.get(index)
        if call is None:
            # Not every provider gives an id; this one is the source of the call's fields, too.
            call = self._calls[index] = Call(call_id or f"call_{index + self._made}")
        return call

    def _feed_call(self, data: dict[str, Any]) -> list[Part]:
        call = self._call(data["index"], data["id"])
        call.held += data["arguments"]
        return self._open_call(call, data["name"]) + self._pass_on(call) if call.opened or data["name"] else []

    def _open_call(self, call: Call, name: str | None) -> list[Part]:
        if call.opened:
            return []
        call.opened = True
        call.name = name or NAMELESS
        return [*self._shut(), self._begin_call(call)]

    def _pass_on(self, call: Call) -> list[Part]:
        held, call.held = call.held, ""
        if not held:
            return []
        call.pieces.append(held)
        return [self._grow_call(call, held)]

    def _end_call(self, data: dict[str, Any]) -> list[Part]:
        call = self._call(data["index"], data["id"])
        out = self._open_call(call, data["name"]) + self._pass_on(call)
        call.closed = True
        return [*out, *self._close_call(call, data["arguments"], data["complete"], hosted=False)]

    def _end_calls(self, complete: bool) -> list[Part]:
        """The calls that no `tool_calls` came for: broken off, or run by the provider itself."""
        out: list[Part] = []
        for call in self._calls.values():
            if not call.closed:
                out += self._open_call(call, None) + self._pass_on(call)
                call.closed = True
                text = "".join(call.pieces)
                value = text
                if complete and text:
                    try:
                        value = from_json(text)
                    except ValueError:  # its input is free text
                        pass
                out += self._close_call(call, value, complete, hosted=complete)
        return out

    # ---- the protocol

    def _begin(self) -> list[Part]:
        raise NotImplementedError

    def _open_block(self, kind: BlockKind, block_id: str) -> list[Part]:
        raise NotImplementedError

    def _grow_block(self, kind: BlockKind, block_id: str, text: str) -> Part:
        raise NotImplementedError

    def _close_block(self, kind: BlockKind, block_id: str) -> list[Part]:
        raise NotImplementedError

    def _begin_call(self, call: Call) -> Part:
        raise NotImplementedError

    def _grow_call(self, call: Call, text: str) -> Part:
        raise NotImplementedError

    def _close_call(self, call: Call, arguments: Any, complete: bool, *, hosted: bool) -> list[Part]:
        raise NotImplementedError

    def _field(self, data: dict[str, Any]) -> list[Part]:
        raise NotImplementedError

    def _other(self, event: str, data: Any) -> list[Part]:
        raise NotImplementedError

    def _finish(self, data: dict[str, Any]) -> list[Part]:
        raise NotImplementedError
