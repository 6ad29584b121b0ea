"""Google `generate_content` streams, Gemini API and Vertex: SDK objects (snake_case) and wire chunks (camelCase).

    field                                               becomes
    responseId, modelVersion                            Session
    candidates[i].content.parts[*].text                 TextDelta, or ReasoningDelta where `thought` is true
    parts[*].functionCall {name, args}                  ToolCallDelta, whole
    parts[*].functionCall {partialArgs, willContinue}   ToolCallDelta: the pairs of path and value, written as JSON text
    parts[*].executableCode, .codeExecutionResult       ToolCallDelta of a hosted call, ToolResult
    candidates[i].finishReason                          Finish
    promptFeedback.blockReason                          Finish without a reason; `block_reason` in the metadata
    usageMetadata                                       UsageUpdate (cumulative, on any chunk)
    error                                               Error

Tool calls end with STOP, like text.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..provider import Finish, Raw, ReasoningDelta, TextDelta, ToolCallDelta, ToolResult, UsageUpdate
from .base import (
    Adapter,
    Events,
    Mapped,
    as_dict,
    as_list,
    get,
    has,
    integer,
    is_data,
    items,
    number,
    plain,
    text,
    usage_update,
    word,
)
from .gemini_args import ArgumentWriter, json_path

FINISH: dict[str, Mapped] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    "MALFORMED_FUNCTION_CALL": "error",
    "UNEXPECTED_TOOL_CALL": "error",
    "TOO_MANY_TOOL_CALLS": "error",
    "MISSING_THOUGHT_SIGNATURE": "error",
    "MALFORMED_RESPONSE": "error",
}

USAGE: dict[str, tuple[str, ...]] = {
    "input_tokens": ("promptTokenCount", "prompt_token_count"),
    "output_tokens": ("candidatesTokenCount", "candidates_token_count"),
    "total_tokens": ("totalTokenCount", "total_token_count"),
    "cached_input_tokens": ("cachedContentTokenCount", "cached_content_token_count"),
    "reasoning_tokens": ("thoughtsTokenCount", "thoughts_token_count"),
}

CANDIDATE_METADATA = {
    "grounding_metadata": "groundingMetadata",
    "citation_metadata": "citationMetadata",
    "url_context_metadata": "urlContextMetadata",
}
WIRE_MARKS = ("usageMetadata", "promptFeedback", "modelVersion")


class _OpenCall:
    __slots__ = ("id", "key", "writer")

    def __init__(self, key: int, identity: str | None) -> None:
        self.key = key
        self.id = identity
        self.writer = ArgumentWriter()


class GeminiAdapter(Adapter):
    """Chunks of a generate_content stream."""

    name: ClassVar[str] = "gemini"

    def __init__(self) -> None:
        super().__init__()
        self._calls = 0
        self._open: dict[int, _OpenCall] = {}
        self._finish: dict[int, Finish] = {}
        self._usage: UsageUpdate | None = None

    @staticmethod
    def matches(chunk: Any) -> bool:
        if not is_data(chunk):
            return False
        if any(has(chunk, mark) for mark in WIRE_MARKS):
            return True
        if not has(chunk, "candidates"):
            return False
        candidates = get(chunk, "candidates")
        if candidates is None:  # an SDK object has all its fields
            return has(chunk, "usage_metadata")
        return isinstance(candidates, list) and all(
            any(has(item, name) for name in ("content", "finishReason", "finish_reason"))
            for item in as_list(candidates)
        )

    def read(self, chunk: Any, out: Events) -> None:
        self.session(
            out, id=word(chunk, "responseId", "response_id"), model=word(chunk, "modelVersion", "model_version")
        )
        for candidate in items(chunk, "candidates"):
            if is_data(candidate):
                self._read_candidate(candidate, out)
        self._read_feedback(get(chunk, "promptFeedback", "prompt_feedback"), out)
        update = usage_update(get(chunk, "usageMetadata", "usage_metadata"), **USAGE)
        if update is not None and update != self._usage:
            self._usage = update
            out.append(update)
        error = get(chunk, "error") if isinstance(chunk, dict) else None
        if error:
            self.fail(out, error)

    def _read_candidate(self, candidate: Any, out: Events) -> None:
        choice = integer(candidate, "index") or 0
        for part in items(get(candidate, "content"), "parts"):
            if is_data(part):
                self._read_part(part, choice, out)
        metadata = {
            name: plain(value) for name, wire in CANDIDATE_METADATA.items() if (value := get(candidate, wire, name))
        }
        if metadata:
            self.session(out, metadata=metadata)
        reason = word(candidate, "finishReason", "finish_reason")
        if reason is None:
            return
        mapped = FINISH.get(reason, "other")
        if mapped == "stop" and choice in self._open:
            self._end_call(choice, out)  # some streams leave out the call that closes the last one
        said = word(candidate, "finishMessage", "finish_message")
        self._add_finish(
            Finish(reason=reason, mapped=mapped, choice=choice, metadata={"finish_message": said} if said else None),
            out,
        )

    def _add_finish(self, finish: Finish, out: Events) -> None:
        if self._finish.get(finish.choice) != finish:
            self._finish[finish.choice] = finish
            out.append(finish)

    def _read_feedback(self, feedback: Any, out: Events) -> None:
        reason = word(feedback, "blockReason", "block_reason")
        if reason is not None:
            metadata: dict[str, Any] = {"block_reason": reason}
            said = word(feedback, "blockReasonMessage", "block_reason_message")
            if said:
                metadata["block_reason_message"] = said
            self._add_finish(Finish(reason=None, mapped="content_filter", metadata=metadata), out)

    def _read_part(self, part: Any, choice: int, out: Events) -> None:
        piece = text(part, "text")
        call = get(part, "functionCall", "function_call")
        signature = get(part, "thoughtSignature", "thought_signature")
        metadata = {"thought_signature": plain(signature)} if signature else None
        if call is not None:
            self._read_call(call, choice, metadata, out)
            return
        if get(part, "thought") is True:
            if piece or metadata:
                out.append(ReasoningDelta(text=piece, choice=choice, metadata=metadata))
            return
        if metadata:
            out.append(ReasoningDelta(text="", choice=choice, metadata=metadata))
        if piece:
            out.append(TextDelta(text=piece, choice=choice))
        code = get(part, "executableCode", "executable_code")
        result = get(part, "codeExecutionResult", "code_execution_result")
        if code is not None:
            out.append(
                ToolCallDelta(
                    key=self._next_key(),
                    id=word(code, "id"),
                    name="code_execution",
                    arguments=as_dict(code),
                    done=True,
                    hosted=True,
                    choice=choice,
                )
            )
        elif result is not None:
            failed = word(result, "outcome") not in (None, "OUTCOME_OK")
            out.append(ToolResult(id=word(result, "id"), name="code_execution", content=plain(result), is_error=failed))
        elif not piece and not metadata and not has(part, "text"):
            out.append(Raw(name="part", payload=plain(part)))

    # -- function calls ------------------------------------------------------------------------------------------------

    def _next_key(self) -> int:
        self._calls += 1
        return self._calls - 1

    def _read_call(self, call: Any, choice: int, metadata: dict[str, Any] | None, out: Events) -> None:
        name, identity = word(call, "name"), word(call, "id")
        pieces = items(call, "partialArgs", "partial_args")
        goes_on = bool(get(call, "willContinue", "will_continue"))
        current = self._open.get(choice)
        whole = get(call, "args")
        if current is not None and _begins(current, name, identity, bool(pieces)):
            self._end_call(choice, out)
            current = None
        if current is None:
            if name is None and not pieces and whole is None:
                return  # closes a call that is closed already
            current = _OpenCall(self._next_key(), identity)
            if not pieces and not goes_on:
                out.append(
                    ToolCallDelta(
                        key=current.key,
                        id=identity,
                        name=name,
                        arguments=as_dict(whole) or {},
                        done=True,
                        choice=choice,
                        metadata=metadata,
                    )
                )
                return
            self._open[choice] = current
            out.append(ToolCallDelta(key=current.key, id=identity, name=name, choice=choice, metadata=metadata))
        written = "".join(_write(current.writer, piece) for piece in pieces)
        if written:
            out.append(ToolCallDelta(key=current.key, arguments=written, choice=choice))
        if not goes_on:
            self._end_call(choice, out)

    def _end_call(self, choice: int, out: Events) -> None:
        call = self._open.pop(choice)
        rest = call.writer.end()
        out.append(
            ToolCallDelta(
                key=call.key, arguments=rest or None, final_arguments=call.writer.final, done=True, choice=choice
            )
        )


def _begins(current: _OpenCall, name: str | None, identity: str | None, has_pieces: bool) -> bool:
    """Whether a function call begins another one, though the current one was not closed."""
    if identity and current.id:
        return identity != current.id
    return name is not None and not has_pieces


def _write(writer: ArgumentWriter, piece: Any) -> str:
    path = json_path(text(piece, "jsonPath", "json_path"))
    return writer.add(path, _value(piece), bool(get(piece, "willContinue", "will_continue")))


def _value(piece: Any) -> str | bool | float | None:
    string = get(piece, "stringValue", "string_value")
    if isinstance(string, str):
        return string
    truth = get(piece, "boolValue", "bool_value")
    if isinstance(truth, bool):
        return truth
    count = number(piece, "numberValue", "number_value")
    # The SDK makes a float of every number.
    return int(count) if isinstance(count, float) and count.is_integer() else count
