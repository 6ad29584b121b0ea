"""Turn: provider events in, messages out, and one `Response` at the end.

One parser reads the answer, one each tool call. Every provider event is folded once; the fold is total: an event that is not known is
kept and changes nothing. Sans-IO: `feed(event)` for every event, `close()` once, both return the messages they led to.

A message is `(event, data)`:

    original_delta     str              a piece of the content as the provider sent it, inline reasoning included
    reasoning_delta    str              a piece of the reasoning, from a field of its own or split out of the content
    delta              str              a piece of the answer
    instant            StreamingData    a field of the answer, or of a tool call's arguments (`source` = the call's id)
    tool_call_delta    dict             index, id, name (None: not known yet), arguments (the piece of text)
    tool_calls         ToolCall         a call that is whole; once per call
    reasoning_done     str              all reasoning so far: before the answer, and again at the end if more came after it began
    invalid            dict             a value that does not fit the output
    diagnostic         Diagnostic       a tolerance that was used
    original_done      str              the whole content, once the stream came to its end
    done               str              the whole answer, likewise
    meta               dict             ids, model, usage, finish reason, times
    status             dict             how the run stands: `state` is the end state, or `retrying`, or `refusal` with its `delta`
    error              BaseException    what ended the run
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from .dialect import Dialect, DialectName
from .errors import Diagnostic, IncompleteJSONError, LimitExceeded, ProviderError, StreamParseError
from .events import ResultMessage, StreamingData
from .limits import Limits
from .machine import copy_value, restore_event
from .parser import StreamParser
from .paths import PathStyle
from .provider import TERMINAL, Error, ProviderEvent, Raw, ReasoningDelta, RefusalDelta, Result, TextDelta, ToolCallDelta
from .response import CallState, Response, ResponseBuilder, ToolCall

Messages = list[ResultMessage]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserOptions:
    """The options of `StreamParser`, under the same names, for the answer; those that concern tool calls hold for these too."""

    dialect: DialectName | Dialect = "llm"
    output: Any = None
    reasoning: Any = "auto"
    starts_in_reasoning: bool = False
    documents: Any = "first"
    limits: Limits = Limits()
    path_style: PathStyle = "dot"
    number: Any = "int_float"
    surrogates: Any = "replace"
    emit_starts: bool = False

    def for_answer(self) -> StreamParser:
        """A parser of the answer."""
        return StreamParser(**{field.name: getattr(self, field.name) for field in fields(self)})

    def for_tool_call(self, source: str) -> StreamParser:
        """A parser of the arguments of the tool call `source`: one document, no reasoning, no output specification."""
        return StreamParser(
            dialect=self.dialect,
            reasoning=None,
            limits=self.limits,
            path_style=self.path_style,
            number=self.number,
            surrogates=self.surrogates,
            emit_starts=self.emit_starts,
            source=source,
        )


class _Tool:
    """The parser of one tool call and how far it is."""

    __slots__ = ("announced", "ended", "parser", "shown", "source")

    def __init__(self, source: str, parser: StreamParser) -> None:
        self.source = source
        self.parser = parser
        self.shown = False  # events of it were sent
        self.ended = False  # the parser was closed
        self.announced = False  # `tool_calls` was sent


class Turn:
    """Folds the provider events of one attempt.

    `parser` holds the parsers' options, `choice` the choice that is read where the provider sends several. `answer_tool` names a tool
    whose arguments are the answer (a forced tool call): they become the content, the call is not among the tool calls, and text beside
    it goes to `metadata["commentary"]`; where that tool is never called the text is the answer after all. `lossless` keeps all events
    or raises `LimitExceeded` from `feed`. `clock` gives seconds.

    After `close`: `response`, and `error`, the exception of a run that failed. `feed` sets `error` too, where the text is wrong beyond
    the dialect's tolerance or a limit is reached: there is no use in reading on.
    """

    def __init__(
        self,
        parser: ParserOptions | None = None,
        *,
        choice: int = 0,
        answer_tool: str | None = None,
        lossless: bool = False,
        prompt: Any = None,
        metadata: dict[str, Any] | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._options = parser or ParserOptions()
        self._builder = ResponseBuilder(limits=self._options.limits, lossless=lossless, choice=choice)
        self._parser = self._options.for_answer()
        self._answer_tool = answer_tool
        self._answer_call: CallState | None = None
        self._nameless: dict[int, str] = {}  # arguments of calls that may yet turn out to be the answer
        self._aside: list[str] = []
        self._prompt = prompt
        self._metadata = metadata or {}
        self._clock = clock
        self._started = clock()
        self._first_delta: float | None = None
        self._fed = False
        self._original: list[str] = []
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._reasoning_kind: type[ReasoningDelta] | None = None
        self._reasoning_told = 0  # how many pieces the last `reasoning_done` covered
        self._diagnostics_told = 0
        self._tools: dict[int, _Tool] = {}
        self._terminal: Result | Error | None = None
        self.error: BaseException | None = None
        self.response: Response | None = None

    @property
    def sources(self) -> list[str]:
        """The sources that instant events were sent for."""
        return ["content", *(tool.source for tool in self._tools.values() if tool.shown)]

    @property
    def terminal(self) -> Result | Error | None:
        """The terminal event that counts, once there is one."""
        return self._builder.terminal

    def feed(self, event: ProviderEvent) -> Messages:
        """The messages of one event. After a terminal event nothing counts any more."""
        out: Messages = []
        if self._terminal is not None:
            return out
        if isinstance(event, TERMINAL):
            self._terminal = event
            return out
        if not isinstance(event, ProviderEvent):  # pyright: ignore[reportUnnecessaryIsInstance]  # adapters of other people
            event = Raw(payload=event)
        call = self._builder.add(event)
        piece = self._builder.appended
        if piece and self._first_delta is None:
            self._first_delta = self._clock()
        if call is not None:
            assert isinstance(event, ToolCallDelta)
            self._feed_call(call, piece, out)
        elif piece:
            if isinstance(event, TextDelta):
                self._feed_text(piece, event.aside, out)
            elif isinstance(event, ReasoningDelta):
                self._tell_reasoning(piece, ReasoningDelta, out)
            elif isinstance(event, RefusalDelta):
                out.append(ResultMessage("status", {"state": "refusal", "delta": piece}))
        return out

    # ---- the answer

    def _feed_text(self, piece: str, aside: bool, out: Messages) -> None:
        self._original.append(piece)
        out.append(ResultMessage("original_delta", piece))
        if self._answer_tool is not None:
            self._aside.append(piece)
        elif aside:
            self._tell_text(piece, out)
        else:
            self._parse(piece, out)

    def _parse(self, piece: str, out: Messages) -> None:
        parser = self._parser
        if self.error is not None:
            self._tell_text(piece, out)
            return
        self._fed = True
        events = parser.feed(piece)
        self._take(parser, events, out)
        if parser.error is not None:
            self.error = parser.error

    def _take(self, parser: StreamParser, events: list[StreamingData], out: Messages) -> None:
        """Send what the parser has decided: reasoning, then text, then fields."""
        reasoning = parser.take_reasoning()
        if reasoning:
            self._tell_reasoning(reasoning, None, out)
        if parser.reasoning_done:
            self._end_reasoning(out)
        text = parser.take_text()
        if text:
            self._tell_text(text, out)
        for event in events:
            out.append(ResultMessage("instant", event))

    def _tell_text(self, piece: str, out: Messages) -> None:
        self._end_reasoning(out)
        self._text.append(piece)
        out.append(ResultMessage("delta", piece))

    def _tell_reasoning(self, piece: str, kind: type[ReasoningDelta] | None, out: Messages) -> None:
        if self._reasoning and kind is not self._reasoning_kind:
            piece = "\n\n" + piece  # from a field of its own and inline in one turn: two blocks
        self._reasoning_kind = kind
        self._reasoning.append(piece)
        out.append(ResultMessage("reasoning_delta", piece))

    def _end_reasoning(self, out: Messages) -> None:
        # Only once before the end: a model that goes back and forth must not make this quadratic.
        if self._reasoning and not self._reasoning_told:
            self._reasoning_told = len(self._reasoning)
            out.append(ResultMessage("reasoning_done", "".join(self._reasoning)))

    # ---- tool calls

    def _feed_call(self, call: CallState, piece: str, out: Messages) -> None:
        if self._answer_tool is not None:
            if call.name is None:
                self._nameless[call.index] = "" if call.replaced else self._nameless.get(call.index, "")
                self._nameless[call.index] += piece
                return
            held = self._nameless.pop(call.index, "")
            piece = piece if call.replaced else held + piece
            if call.name == self._answer_tool and self._answer_call in (None, call):
                self._answer_call = call
                self._feed_answer(call, piece, out)
                return
        self._end_reasoning(out)
        data = {"index": call.index, "id": call.id, "name": call.name, "arguments": piece}
        out.append(ResultMessage("tool_call_delta", data))
        closed = False
        if not call.free_text and piece:
            closed = self._parse_arguments(call, piece, out)
        if (closed or call.done) and call.name:
            self._announce(call, out)

    def _feed_answer(self, call: CallState, piece: str, out: Messages) -> None:
        if call.replaced:
            out.append(ResultMessage("instant", reset_event("content", self._options.path_style)))
            self._parser = self._options.for_answer()
            self._original.clear()
            self._text.clear()
        if piece:
            self._original.append(piece)
            out.append(ResultMessage("original_delta", piece))
            self._parse(piece, out)

    def _parse_arguments(self, call: CallState, piece: str, out: Messages) -> bool:
        """Feed the parser of `call`; True when the document was closed by this piece."""
        tool = self._tools.get(call.index)
        if tool is None:
            tool = self._tools[call.index] = _Tool(call.source, self._options.for_tool_call(call.source))
        elif call.replaced:
            if tool.shown:
                out.append(ResultMessage("instant", reset_event(call.source, self._options.path_style)))
            tool.parser, tool.ended = self._options.for_tool_call(call.source), False
        if tool.ended or tool.parser.error is not None:
            return False
        events = tool.parser.feed(piece)
        self._show(call, tool, events, out)
        if isinstance(tool.parser.error, LimitExceeded):
            self.error = tool.parser.error
        return bool(events) and events[-1].is_complete and not events[-1].parts

    def _show(self, call: CallState, tool: _Tool, events: list[StreamingData], out: Messages) -> None:
        if events and not call.hosted:
            tool.shown = True
            for event in events:
                out.append(ResultMessage("instant", event))

    def _announce(self, call: CallState, out: Messages) -> None:
        """Send `tool_calls` for a call that is whole, once. What the provider runs itself is nobody's to run."""
        tool = self._tools.get(call.index)
        if tool is None:
            tool = self._tools[call.index] = _Tool(call.source, self._options.for_tool_call(call.source))
        value, complete = tool.parser.snapshot(), True
        if call.done:
            self._close_call(call, tool, out)
            value, complete = copy_value(call.value), call.complete
        if call.free_text or not call.text:
            value, complete = call.text if call.free_text else {}, True
        if tool.announced or call.hosted:
            return
        tool.announced = True
        metadata = {**call.metadata, "error": call.error} if call.error else dict(call.metadata)
        made = ToolCall(
            id=call.id or call.source,
            name=call.name,
            arguments=value,
            raw_arguments=call.text,
            complete=complete,
            index=call.index,
            metadata=metadata,
        )
        out.append(ResultMessage("tool_calls", made))

    def _close_call(self, call: CallState, tool: _Tool, out: Messages) -> None:
        """Close the parser of a call and give the builder its value."""
        if tool.ended or call.free_text or not call.text:
            return
        tool.ended = True
        try:
            parsed = tool.parser.close()
        except StreamParseError as error:
            if isinstance(error, IncompleteJSONError):
                self._show(call, tool, list(error.events), out)
            self._builder.set_arguments(call.index, tool.parser.snapshot(), complete=False, error=str(error))
            return
        self._show(call, tool, list(parsed.events), out)
        complete = parsed.has_data and parsed.complete
        self._builder.set_arguments(
            call.index, parsed.data, complete=complete, error=None if parsed.has_data else "the arguments hold no JSON"
        )

    # ---- the end

    def close(self, *, error: BaseException | None = None, cancelled: bool = False) -> Messages:
        """The last messages. `error` is what broke the stream off, `cancelled` that the caller did: then nothing is missed in strict
        text that has no end, and no `done` is sent. Sets `response`, and `error` where the run failed."""
        out: Messages = []
        builder = self._builder
        terminal = self._terminal
        if isinstance(terminal, Error) and error is None:
            error = ProviderError(terminal.reason, details=terminal.details, hint=terminal.code and f"The provider's code: {terminal.code}.")
        broken = error is not None or cancelled
        if isinstance(terminal, Result) and terminal.text and not self._fed and not self._aside:
            self._feed_text(terminal.text, False, out)
        if self._answer_call is None and self._aside:
            self._parse("".join(self._aside), out)
        document = self._close_answer(broken, out)
        for index, piece in self._nameless.items():
            self._parse_arguments(builder.calls[index], piece, out)
        for call in builder.calls:
            tool = self._tools.get(call.index)
            if tool is not None:
                self._close_call(call, tool, out)
        if self._answer_call is not None:
            builder.set_arguments(self._answer_call.index, document.data, complete=document.complete)
        if len(self._reasoning) > self._reasoning_told:
            self._reasoning_told = len(self._reasoning)
            out.append(ResultMessage("reasoning_done", "".join(self._reasoning)))
        self.error = error or self.error
        self._end(terminal, broken)
        response = self.response = self._respond(document, cancelled)
        if self.error is None and not cancelled:
            out.append(ResultMessage("original_done", "".join(self._original)))
            out.append(ResultMessage("done", response.text))
            if response.end_state in ("complete", "paused"):
                # The end of the turn closes every call.
                out += [ResultMessage("tool_calls", call) for call in response.tool_calls if not self._announced(call.index)]
        out.append(ResultMessage("meta", meta_of(response)))
        out.append(ResultMessage("status", {"state": response.end_state}))
        if self.error is not None:
            out.append(ResultMessage("error", self.error))
        return out

    def _announced(self, index: int) -> bool:
        tool = self._tools.get(index)
        return tool is not None and tool.announced

    def _close_answer(self, broken: bool, out: Messages) -> _Document:
        parser = self._parser
        document = _Document()
        if not self._fed and (broken or self._builder.calls or self._builder.refusal):
            return document  # a turn of tool calls, or a refusal, has no answer that could be missing
        try:
            parsed = parser.close()
        except StreamParseError as error:
            events = list(error.events) if isinstance(error, IncompleteJSONError) else []
            self._take(parser, events, out)
            if not broken:
                self.error = error
            document.data, document.wanted = parser.snapshot(), True
            document.incomplete = list(error.incomplete) if isinstance(error, IncompleteJSONError) else list(parser.open_paths)
            return document
        self._take(parser, list(parsed.events), out)
        for diagnostic in parsed.diagnostics:
            out.append(ResultMessage("diagnostic", diagnostic))
        document.data, document.incomplete, document.diagnostics = parsed.data, list(parsed.incomplete), list(parsed.diagnostics)
        document.complete = parsed.has_data and parsed.complete
        unclosed = bool(parsed.reasoning) and not parser.reasoning_done
        document.wanted = parsed.has_data or unclosed or self._options.output is not None
        return document

    def _end(self, terminal: Result | Error | None, broken: bool) -> None:
        """Give the builder its one terminal event. A fault in the text ends the run as an error, unless the stream itself fell short."""
        finish = self._builder.finish
        short = terminal is None or isinstance(terminal, Result) and not terminal.finished
        short = short and (finish is None or finish.mapped == "length")
        if self.error is not None and not broken and not (short and isinstance(self.error, IncompleteJSONError)):
            code = self.error.code if isinstance(self.error, StreamParseError) else None
            terminal = Error(reason=str(self.error), code=code)
        try:
            self._builder.add(terminal or Result())
        except LimitExceeded as error:  # a lossless log that is full by exactly this event
            self._builder.terminal = terminal or Result()
            self.error = self.error or error

    def _respond(self, document: _Document, cancelled: bool) -> Response:
        builder = self._builder
        now = self._clock()
        metadata = dict(self._metadata)
        if self._answer_call is not None and self._aside:
            metadata["commentary"] = "".join(self._aside)
        response = builder.build(
            duration_ms=(now - self._started) * 1000,
            time_to_first_delta_ms=None if self._first_delta is None else (self._first_delta - self._started) * 1000,
            prompt=self._prompt,
            text="".join(self._text),
            reasoning="".join(self._reasoning),
            data=document.data,
            document_complete=document.complete if document.wanted else None,
            incomplete=document.incomplete,
            diagnostics=document.diagnostics,
            cancelled=cancelled,
            metadata=metadata,
        )
        if self._answer_call is None:
            return response
        # The caller has no tool to run: the call was the answer.
        calls = [call for call in response.tool_calls if call.index != self._answer_call.index]
        reason = "stop" if response.finish_reason == "tool_calls" and not calls else response.finish_reason
        return response.model_copy(update={"tool_calls": calls, "finish_reason": reason})


class _Document:
    """What the answer's parser came to. `wanted` is False where a turn without a document lacks nothing."""

    __slots__ = ("complete", "data", "diagnostics", "incomplete", "wanted")

    def __init__(self) -> None:
        self.data: Any = None
        self.complete = self.wanted = False
        self.incomplete: list[str] = []
        self.diagnostics: list[Diagnostic] = []


def reset_event(source: str, style: PathStyle) -> StreamingData:
    """The event that takes back all that was sent for `source`."""
    return restore_event((), "object", source, style, "reset", None, None)


def meta_of(response: Response) -> dict[str, Any]:
    """Ids, model, usage, how it ended and how long it took: a Response without its content."""
    return {
        "id": response.id,
        "request_id": response.request_id,
        "session_id": response.session_id,
        "model": response.model,
        "usage": None if response.usage is None else response.usage.model_dump(),
        "finish_reason": response.finish_reason,
        "raw_finish_reason": response.raw_finish_reason,
        "end_state": response.end_state,
        "complete": response.complete,
        "duration_ms": response.duration_ms,
        "time_to_first_delta_ms": response.time_to_first_delta_ms,
        "metadata": dict(response.metadata),
    }
