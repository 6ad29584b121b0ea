"""Turn: provider events in, messages out, and one `Response` at the end.

One parser reads the answer, one each tool call. Every provider event is folded once; the fold is total: an event that
is not known is kept and changes nothing. Sans-IO: `feed(event)` for every event, `close()` once; both return the
messages that they led to.

A message is `(event, data)`:

    original_delta     str            a piece of the content as the provider sent it, inline reasoning included
    reasoning_delta    str            a piece of the reasoning, from a field of its own or split out of the content
    delta              str            a piece of the answer
    instant            StreamingData  a field of the answer, or of a tool call's arguments (`source`: the call's id)
    tool_call_delta    dict           index, id, name (None: not known yet), arguments (the piece of text)
    tool_calls         ToolCall       a call that is whole; once per call
    reasoning_done     str            all reasoning so far: before the answer, and at the end if more came since
    invalid            Invalid        a value that does not fit the output
    diagnostic         Diagnostic     a tolerance that was used
    original_done      str            the whole content, once the stream came to its end
    done               str            the whole answer, likewise
    meta               dict           ids, model, usage, finish reason, times
    status             dict           `state`: the end state, `retrying`, or `refusal` (with its `delta`)
    error              BaseException  what ended the run
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from .decode import Decoder, repair_surrogates
from .dialect import Dialect, DialectName
from .errors import Diagnostic, IncompleteJSONError, LimitExceeded, ProviderError, StreamParseError
from .events import ResultMessage, StreamingData
from .implementation import restore_event
from .limits import Limits
from .parser import DEFAULT, Documents, NumberMode, StreamParser, SurrogateMode
from .paths import PathStyle
from .provider import (
    Error,
    ProviderEvent,
    Raw,
    ReasoningDelta,
    RefusalDelta,
    Result,
    TextDelta,
    ToolCallDelta,
    fault_of,
)
from .reasoning import InlineCall
from .response import NO_DOCUMENT, CallState, Response, ResponseBuilder
from .values import copy_value

if TYPE_CHECKING:
    from .schema import Output

Messages = list[ResultMessage]
OnInvalid = Literal["continue", "stop", "raise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserOptions:
    """The options of `StreamParser`, under the same names, for the answer; most hold for tool calls too."""

    dialect: DialectName | Dialect = "llm"
    output: Output | None = None
    reasoning: Any = DEFAULT
    starts_in_reasoning: bool = False
    documents: Documents = "first"
    limits: Limits | None = None
    path_style: PathStyle = "dot"
    number: NumberMode = "int_float"
    surrogates: SurrogateMode = "replace"
    emit_starts: bool = False

    def for_answer(self) -> StreamParser:
        """A parser of the answer."""
        return StreamParser(**{field.name: getattr(self, field.name) for field in fields(self)})

    def for_tool_call(self, source: str) -> StreamParser:
        """A parser of the arguments of a tool call: one document, no reasoning, no output specification."""
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
    """The parser of one tool call, and how far it is."""

    __slots__ = ("announced", "closed", "ended", "parser", "shown", "source")

    def __init__(self, source: str, parser: StreamParser) -> None:
        self.source = source
        self.parser = parser
        self.shown = False  # events of it were sent
        self.closed = False  # its document is closed
        self.ended = False  # its parser is closed
        self.announced = False  # `tool_calls` was sent


class _Document:
    """What the answer's parser came to. `wanted` is False where a turn without a document lacks nothing."""

    __slots__ = ("complete", "data", "diagnostics", "incomplete", "omitted_diagnostics", "wanted")

    def __init__(self) -> None:
        self.data: Any = None
        self.complete = self.wanted = False
        self.incomplete: list[str] = []
        self.diagnostics: list[Diagnostic] = []
        self.omitted_diagnostics = 0


class Turn:
    """Folds the provider events of one attempt.

    `parser` holds the parsers' options, `choice` the choice that is read where the provider sends several.
    `answer_tool` names a tool whose arguments are the answer (a forced tool call): they become the content, the call is
    not among the tool calls, and text beside it goes to `metadata["commentary"]`; where that tool is never called, the
    text is the answer after all. `on_invalid` says what a value that does not fit the output does beside being told:
    nothing, "stop" (the turn is over, cut short on purpose) or "raise" (it has failed). `lossless` keeps every event,
    or ends the turn with `LimitExceeded`. `clock` gives seconds.

    `feed` never raises. It sets `error` where the text is wrong beyond the dialect's tolerance, a limit is reached or a
    field of an event has a wrong type; after that, and after a terminal event, `over` says that there is no use in
    reading on. `close` sets `response`, and `error` where the turn failed.
    """

    def __init__(
        self,
        parser: ParserOptions | None = None,
        *,
        choice: int = 0,
        answer_tool: str | None = None,
        on_invalid: OnInvalid = "continue",
        lossless: bool = False,
        prompt: Any = None,
        metadata: dict[str, Any] | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._options = parser or ParserOptions()
        self._builder = ResponseBuilder(limits=self._options.limits, lossless=lossless, choice=choice)
        self._parser = self._options.for_answer()
        self._answer_tool = answer_tool
        self._on_invalid = on_invalid
        self.stopped = False
        self._answer_call: CallState | None = None
        self._nameless: dict[int, str] = {}  # arguments of calls that may yet turn out to be the answer
        self._aside: list[str] = []  # text beside the answer tool
        self._prompt = prompt
        self._metadata = metadata or {}
        self._clock = clock
        self._started = clock()
        self._first_delta: float | None = None
        self._fed = False
        self._thought = False  # the answer's parser has no reasoning to give any more
        # Half a surrogate pair waits for the other: no message holds a half.
        self._halves = {"original": Decoder(), "text": Decoder(), "reasoning": Decoder()}
        self._original: list[str] = []
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._reasoning_is_native = False
        self._reasoning_told = 0  # how many pieces the last `reasoning_done` covered
        self._diagnostic_count = 0
        self._remarks: set[Diagnostic] = set()  # those that were told
        self._tools: dict[int, _Tool] = {}
        self._terminal: Result | Error | None = None
        self.error: BaseException | None = None
        self.response: Response | None = None

    @property
    def over(self) -> bool:
        """True when nothing that could still come would count."""
        return self._terminal is not None or self.error is not None or self.stopped

    @property
    def terminal(self) -> Result | Error | None:
        """The terminal event that counts, after `close`."""
        return self._builder.terminal

    @property
    def sources(self) -> list[str]:
        """The sources of the instant events so far; `content` always."""
        return ["content", *(tool.source for tool in self._tools.values() if tool.shown)]

    def feed(self, event: ProviderEvent) -> Messages:
        """The messages of one event."""
        out: Messages = []
        if self._terminal is not None:
            return out
        event = _known(event)
        fault = fault_of(event)
        if fault is not None:
            self.error = self.error or fault
            return out
        if isinstance(event, Result | Error):
            self._terminal = event
            return out
        try:
            call = self._builder.add(event)
        except LimitExceeded as error:
            self.error = self.error or error
            return out
        piece = self._builder.appended
        if piece and self._first_delta is None:
            self._first_delta = self._clock()
        if call is not None:
            self._feed_call(call, piece, out)
        elif piece:
            if isinstance(event, TextDelta):
                self._feed_text(piece, out, aside=event.aside)
            elif isinstance(event, ReasoningDelta):
                self._tell_reasoning(piece, out, native=True)
            elif isinstance(event, RefusalDelta):
                out.append(ResultMessage("status", {"state": "refusal", "delta": piece}))
        return out

    # ---- the answer

    def _feed_text(self, piece: str, out: Messages, *, aside: bool = False) -> None:
        self._tell_original(self._whole("original", piece), out)
        if self._answer_tool is not None:
            self._aside.append(piece)
        elif aside:
            self._tell_text(piece, out)
        else:
            self._parse(piece, out)

    def _parse(self, piece: str, out: Messages) -> None:
        if self.error is not None:
            self._tell_text(piece, out)
            return
        parser = self._parser
        self._fed = True
        events = parser.feed(piece)
        self._take(parser, events, out)
        if parser.error is not None:
            self.error = parser.error

    def _take(self, parser: StreamParser, events: list[StreamingData], out: Messages) -> None:
        """Send what the parser has decided: reasoning, then text, then fields, then remarks."""
        if not self._thought:
            reasoning = parser.take_reasoning()
            if reasoning:
                self._tell_reasoning(reasoning, out, native=False)
            if parser.reasoning_done:
                self._thought = True
                self._end_reasoning(out)
        text = parser.take_text()
        if text:
            self._tell_text(text, out)
        for piece in parser.take_tool_calls():
            self._add_inline(piece, out)
        out += [ResultMessage("instant", event) for event in events]
        if parser.diagnostic_count > self._diagnostic_count:
            self._diagnostic_count = parser.diagnostic_count
            new = [remark for remark in parser.diagnostics if remark not in self._remarks]
            self._remarks.update(new)
            out += [ResultMessage("diagnostic", remark) for remark in new]
        if self._options.output is not None:
            self._judge(parser, out)

    def _judge(self, parser: StreamParser, out: Messages) -> None:
        """Tell what does not fit the output, and end the turn if it is to end by that."""
        invalid = parser.take_invalid()
        out += [ResultMessage("invalid", one) for one in invalid]
        if invalid and self._on_invalid == "stop":
            self.stopped = True
        elif invalid and self._on_invalid == "raise":
            self.error = self.error or invalid[0].to_error()

    def _whole(self, channel: str, piece: str) -> str:
        return repair_surrogates(self._halves[channel].feed(piece))

    def _rest(self, channel: str) -> str:
        return repair_surrogates(self._halves[channel].close())

    def _tell_original(self, piece: str, out: Messages) -> None:
        if piece:
            self._original.append(piece)
            out.append(ResultMessage("original_delta", piece))

    def _tell_text(self, piece: str, out: Messages) -> None:
        self._end_reasoning(out)
        self._show_text(self._whole("text", piece), out)

    def _show_text(self, piece: str, out: Messages) -> None:
        if not piece:
            return
        self._text.append(piece)
        out.append(ResultMessage("delta", piece))

    def _tell_reasoning(self, piece: str, out: Messages, *, native: bool) -> None:
        self._show_reasoning(self._whole("reasoning", piece), out, native=native)

    def _show_reasoning(self, piece: str, out: Messages, *, native: bool) -> None:
        if not piece:
            return
        if self._reasoning and native != self._reasoning_is_native:
            piece = "\n\n" + piece  # from a field of its own and inline in one turn: two blocks
        self._reasoning_is_native = native
        self._reasoning.append(piece)
        out.append(ResultMessage("reasoning_delta", piece))

    def _end_reasoning(self, out: Messages) -> None:
        # Once before the end: to repeat it for a model that goes back and forth would be quadratic.
        if self._reasoning and not self._reasoning_told:
            self._tell_all_reasoning(out)

    def _tell_all_reasoning(self, out: Messages) -> None:
        self._reasoning_told = len(self._reasoning)
        out.append(ResultMessage("reasoning_done", "".join(self._reasoning)))

    # ---- tool calls

    def _add_inline(self, piece: InlineCall, out: Messages) -> None:
        """A piece of a tool call that stood in the text is one like any other."""
        event = ToolCallDelta(
            key=f"inline-{piece.number}", name=piece.name, arguments=piece.arguments or None, done=piece.done
        )
        try:
            call = self._builder.add(event)
        except LimitExceeded as error:
            self.error = self.error or error
            return
        if call is not None:
            self._feed_call(call, self._builder.appended, out)

    def _feed_call(self, call: CallState, piece: str, out: Messages) -> None:
        if self._answer_tool is not None:
            held = self._nameless.pop(call.index, "")
            piece = piece if call.replaced else held + piece
            if call.name is None:
                self._nameless[call.index] = piece
                return
            if call.name == self._answer_tool and self._answer_call in (None, call):
                self._answer_call = call
                self._feed_answer(call, piece, out)
                return
        self._end_reasoning(out)
        data = {"index": call.index, "id": call.id, "name": call.name, "arguments": piece}
        out.append(ResultMessage("tool_call_delta", data))
        tool = self._tool(call)
        if piece and not call.free_text:
            self._parse_arguments(call, tool, piece, out)
        if call.name and (call.done or tool.closed):
            self._announce(call, tool, out)

    def _tool(self, call: CallState) -> _Tool:
        tool = self._tools.get(call.index)
        if tool is None:
            tool = self._tools[call.index] = _Tool(call.source, self._options.for_tool_call(call.source))
        return tool

    def _feed_answer(self, call: CallState, piece: str, out: Messages) -> None:
        if call.replaced and self._fed:
            out.append(ResultMessage("instant", reset_event("content", self._options.path_style)))
            self._parser = self._options.for_answer()
            self._diagnostic_count = 0
            self._thought = False
            self._original.clear()
            self._text.clear()
            self._rest("original")
            self._rest("text")
        if piece:
            self._tell_original(self._whole("original", piece), out)
            self._parse(piece, out)

    def _parse_arguments(self, call: CallState, tool: _Tool, piece: str, out: Messages) -> None:
        if call.replaced:
            if tool.shown:
                out.append(ResultMessage("instant", reset_event(tool.source, self._options.path_style)))
            tool.parser = self._options.for_tool_call(tool.source)
            tool.ended = tool.closed = False
        parser = tool.parser
        if tool.ended or parser.status == "error":
            return
        self._show(call, tool, parser.feed(piece), out)
        if isinstance(parser.error, LimitExceeded):
            self.error = parser.error

    def _show(self, call: CallState, tool: _Tool, events: list[StreamingData], out: Messages) -> None:
        if not events:
            return
        tool.closed = tool.closed or (events[-1].is_complete and not events[-1].parts)
        if not call.hosted:
            tool.shown = True
            out += [ResultMessage("instant", event) for event in events]

    def _announce(self, call: CallState, tool: _Tool, out: Messages) -> None:
        """Send `tool_calls` for a call that is whole, once. What the provider runs itself is nobody else's to run."""
        if call.done:
            self._end_call(call, tool, out)
        if tool.announced or call.hosted:
            return
        tool.announced = True
        value: Any = {}
        complete = True
        if call.free_text:
            value = call.text
        elif call.done and call.text:
            value, complete = copy_value(call.value), call.complete
        elif call.text:
            value = tool.parser.snapshot()
        if not call.done:
            call.diagnostics = tool.parser.diagnostics
        made = call.made(value, complete=complete)
        out.append(ResultMessage("tool_calls", made))

    def _end_call(self, call: CallState, tool: _Tool, out: Messages) -> None:
        """Close the parser of a call, and give the builder its value."""
        if tool.ended or call.free_text or not call.text:
            return
        tool.ended = True
        fault: str | None
        try:
            parsed = tool.parser.close()
        except StreamParseError as error:
            if isinstance(error, IncompleteJSONError):
                self._show(call, tool, list(error.events), out)
            data, complete, fault = tool.parser.snapshot(), False, str(error)
        else:
            self._show(call, tool, list(parsed.events), out)
            data, complete, fault = parsed.data, parsed.complete, None if parsed.has_data else NO_DOCUMENT
        self._builder.set_arguments(
            call.index, data, complete=complete, error=fault, diagnostics=tool.parser.diagnostics
        )

    # ---- the end

    def close(self, *, error: BaseException | None = None, cancelled: bool = False) -> Messages:
        """The last messages.

        `error` is what broke the stream off, `cancelled` says that the caller did; a text that is not whole is then no
        fault of its own, and no `done` is sent.
        """
        out: Messages = []
        terminal = self._terminal
        if isinstance(terminal, Error) and error is None:
            hint = f"The provider's code: {terminal.code}." if terminal.code else None
            error = ProviderError(terminal.reason, details=terminal.details, hint=hint)
        cancelled = cancelled or self.stopped
        broken = error is not None or cancelled
        if isinstance(terminal, Result) and terminal.text and not self._original:
            self._feed_text(terminal.text, out)
        if self._answer_call is None and self._aside:
            self._parse("".join(self._aside), out)
        document = self._close_answer(out, broken=broken)
        self._close_calls(document, out)
        self._tell_original(self._rest("original"), out)
        self._show_text(self._rest("text"), out)
        self._show_reasoning(self._rest("reasoning"), out, native=self._reasoning_is_native)
        if len(self._reasoning) > self._reasoning_told:
            self._tell_all_reasoning(out)
        self.error = error or self.error
        self._end(terminal, broken=broken)
        response = self.response = self._respond(document, cancelled=cancelled)
        if self.error is None and not cancelled:
            out.append(ResultMessage("original_done", "".join(self._original)))
            out.append(ResultMessage("done", response.text))
        if response.end_state in ("complete", "paused"):  # then the end closes every call
            for call in response.tool_calls:
                tool = self._tools.get(call.index)
                if tool is not None and not tool.announced:
                    out.append(ResultMessage("tool_calls", call))
        out.append(ResultMessage("meta", meta_of(response)))
        out.append(ResultMessage("status", {"state": response.end_state}))
        if self.error is not None:
            out.append(ResultMessage("error", self.error))
        return out

    def _close_answer(self, out: Messages, *, broken: bool) -> _Document:
        parser = self._parser
        document = _Document()
        if not self._fed and (broken or self._builder.calls or self._builder.refusal):
            return document  # a turn of tool calls, or a refusal, has no answer that could be missing
        try:
            parsed = parser.close()
        except StreamParseError as error:
            if isinstance(error, IncompleteJSONError):
                self._take(parser, list(error.events), out)
                document.incomplete = list(error.incomplete)
            else:
                self._take(parser, [], out)
                document.incomplete = parser.open_paths
            if not broken:
                self.error = self.error or error
            document.data, document.wanted = parser.snapshot(), True
            self._take_remarks(parser, document)
            return document
        self._take(parser, list(parsed.events), out)
        document.data, document.complete = parsed.data, parsed.complete
        document.incomplete = list(parsed.incomplete)
        self._take_remarks(parser, document)
        if self._builder.calls and not parsed.has_data and not parsed.text.strip():
            return document  # the text held tool calls alone
        unclosed = any(remark.code == "unclosed_reasoning" for remark in parsed.diagnostics)
        document.wanted = parsed.has_data or unclosed or self._options.output is not None
        return document

    @staticmethod
    def _take_remarks(parser: StreamParser, document: _Document) -> None:
        document.diagnostics = list(parser.diagnostics)
        document.omitted_diagnostics = parser.diagnostic_count - len(document.diagnostics)

    def _close_calls(self, document: _Document, out: Messages) -> None:
        for index, piece in self._nameless.items():
            call = self._builder.calls[index]
            self._parse_arguments(call, self._tool(call), piece, out)
        for call in self._builder.calls:
            if call is self._answer_call:
                self._builder.set_arguments(call.index, document.data, complete=document.complete)
            elif call.index in self._tools:
                self._end_call(call, self._tools[call.index], out)

    def _end(self, terminal: Result | Error | None, *, broken: bool) -> None:
        """Give the builder its one terminal event. A fault in the text makes it an error, unless the stream itself fell
        short: then that is what the text lacks.
        """
        finish = self._builder.finish
        finished = isinstance(terminal, Result) and (terminal.finished or terminal.text is not None)
        short = not finished and (finish is None or finish.mapped == "length")
        if self.error is not None and not broken and not (short and isinstance(self.error, IncompleteJSONError)):
            code = self.error.code if isinstance(self.error, StreamParseError) else None
            terminal = Error(reason=str(self.error), code=code)
        terminal = terminal or Result()
        try:
            self._builder.add(terminal)
        except LimitExceeded as error:  # the log of a lossless turn is full by exactly this event
            self._builder.terminal = terminal
            self.error = self.error or error

    def _respond(self, document: _Document, *, cancelled: bool) -> Response:
        now = self._clock()
        metadata = dict(self._metadata)
        if self._answer_call is not None and self._aside:
            metadata["commentary"] = "".join(self._aside)
        if self._options.output is not None and document.data is not None:
            missing = self._options.output.missing(document.data)
            if missing:
                metadata["missing"] = list(missing)
        response = self._builder.build(
            duration_ms=(now - self._started) * 1000,
            time_to_first_delta_ms=None if self._first_delta is None else (self._first_delta - self._started) * 1000,
            prompt=self._prompt,
            text="".join(self._text),
            reasoning="".join(self._reasoning),
            data=document.data,
            document_complete=document.complete if document.wanted else None,
            incomplete=document.incomplete,
            diagnostics=document.diagnostics,
            omitted_diagnostics=document.omitted_diagnostics,
            cancelled=cancelled,
            metadata=metadata,
        )
        if self._answer_call is None:
            return response
        # The caller has no tool to run: the call was the answer.
        calls = [call for call in response.tool_calls if call.index != self._answer_call.index]
        reason = "stop" if response.finish_reason == "tool_calls" and not calls else response.finish_reason
        return response.model_copy(update={"tool_calls": calls, "finish_reason": reason})


def _known(event: Any) -> ProviderEvent:
    return event if isinstance(event, ProviderEvent) else Raw(payload=event)  # adapters of others may do as they like


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
