"""Response: what a run came to, as one typed value, and the fold of provider events that makes it.

`Response` is data: frozen, no unknown fields, an exact JSON round trip. `ResponseBuilder` is the only code that folds provider events
into its fields; `Response.from_events` (a finished list) and `Turn` (live, with parsers) both stand on it. `EventLog` decides which
events are kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import fields
from json.encoder import encode_basestring
from typing import Annotated, Any, Literal, cast

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, InstanceOf, PlainSerializer

from .errors import Diagnostic, LimitExceeded, StreamParseError, UsageError
from .limits import Limits
from .provider import (
    Error,
    Finish,
    ProviderEvent,
    ReasoningDelta,
    RefusalDelta,
    Result,
    Session,
    TextDelta,
    ToolCallDelta,
    ToolResult,
    UsageUpdate,
    from_dict,
)

FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "error", "other"]
"""Why the model stopped, one word for all providers. The provider's own word is `Response.raw_finish_reason`."""

EndState = Literal["complete", "truncated", "cut", "filtered", "refused", "paused", "cancelled", "error"]
"""How the run ended: `truncated` by a token limit, `cut` without any finish reason, `paused` to be resumed by the caller."""


def _event(value: Any) -> Any:
    return from_dict(cast("dict[str, Any]", value)) if isinstance(value, dict) else value


def _diagnostic(value: Any) -> Any:
    return Diagnostic(**cast("dict[str, Any]", value)) if isinstance(value, dict) else value


_to_dict = PlainSerializer(lambda value: value.to_dict(), return_type=dict[str, Any], when_used="unless-none")
EventField = Annotated[InstanceOf[ProviderEvent], BeforeValidator(_event), _to_dict]
DiagnosticField = Annotated[InstanceOf[Diagnostic], BeforeValidator(_diagnostic), _to_dict]


class _Data(BaseModel):
    # `constants`: NaN and Infinity are values that the tolerant dialects can give; they must survive the round trip.
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants", use_attribute_docstrings=True)


class Usage(_Data):
    """Tokens and money of one turn, as the provider counted them. None: it did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    input_cost: float | None = None
    output_cost: float | None = None
    total_cost: float | None = None
    tool_usage: dict[str, Any] | None = None
    """How often the provider's own tools ran, as it reports it."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """Every usage key of the provider that has no field here, under the provider's name."""


class ToolCall(_Data):
    """One tool call that the caller has to run."""

    id: str | None = None
    """The provider's id, or a stable one of ours (`metadata["generated_id"]`) where it sent none."""
    name: str | None = None
    arguments: Any = None
    """The parsed arguments; the partial value where they were cut; the text itself where the input is free text."""
    raw_arguments: str = ""
    """The arguments' text as it came."""
    complete: bool = False
    """Whether `arguments` is whole: cut arguments are partial, and never `{}`."""
    index: int = 0
    """Position among the calls of the turn, from 0."""
    metadata: dict[str, Any] = Field(default_factory=dict)


class Message(_Data):
    """One message. `content` is its text, or a list of structured parts, or None."""

    role: str = "assistant"
    content: str | list[Any] | None = None
    refusal: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class Omission(_Data):
    """Why the first event was not kept: the name of the limit, and the type of that event."""

    limit: Literal["events", "event_bytes"]
    event_kind: str


class EventCoverage(_Data):
    """How much of the run `Response.events` holds. `exact`: every event; `compact`: a prefix of them."""

    mode: Literal["exact", "compact"] = "exact"
    observed_events: int = 0
    retained_events: int = 0
    omitted_events: int = 0
    retained_bytes: int = 0
    """Size of the kept events as compact JSON in UTF-8."""
    first_omission: Omission | None = None


class Response(_Data):
    """What one run of a model came to. Every field has a default, so that one can be built by hand; an unknown field is an error."""

    id: str | None = None
    """The provider's id of the response."""
    request_id: str | None = None
    """The id to quote to the provider's support."""
    session_id: str | None = None
    model: str | None = None
    """The model that really answered."""
    prompt: Any = None
    """What was really sent; None outside a run."""
    message: Message | None = None
    text: str = Field(default="", validation_alias=AliasChoices("text", "output_text"))
    """The whole text of the answer. `output_text` is another name of it."""
    final_message: str | None = None
    """The text given at the end, else the last message that a boundary started, else the whole text."""
    data: Any = None
    """The document in the text, parsed; the partial value where it was cut."""
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[ToolCall] = Field(default_factory=list[ToolCall])
    finish_reason: FinishReason | None = None
    raw_finish_reason: str | None = None
    end_state: EndState | None = None
    complete: bool = False
    """Whether nothing is missing: the run ended by itself, the document and the arguments of every tool call are whole."""
    incomplete: list[str] = Field(default_factory=list)
    """Paths of `data` that were open at the end, innermost first."""
    diagnostics: list[DiagnosticField] = Field(default_factory=list[Diagnostic])
    usage: Usage | None = None
    duration_ms: float = Field(default=0, ge=0)
    time_to_first_delta_ms: float | None = None
    events: list[EventField] = Field(default_factory=list[ProviderEvent])
    """The provider events that were kept, in order of arrival: see `event_coverage`."""
    event_coverage: EventCoverage = Field(default_factory=EventCoverage)
    terminal: EventField | None = None
    """The terminal event, kept even where `events` was cut before it."""
    raw: Any = None
    """The provider's own final object as plain data, where there is one."""
    metadata: dict[str, Any] = Field(default_factory=dict)
    """What has no field: `error`, `provider_tool_calls`, `tool_results`, what the caller adds."""

    @property
    def output_text(self) -> str:
        """The same as `text`."""
        return self.text

    def text_or_none(self) -> str | None:
        """`text`, else the string content of `message`, else None. A list of structured parts is not flattened."""
        if self.text:
            return self.text
        if self.message is not None and isinstance(self.message.content, str):
            return self.message.content
        return None

    @classmethod
    def from_events(
        cls,
        events: Iterable[ProviderEvent | dict[str, Any]],
        *,
        duration_ms: float = 0,
        session_id: str | None = None,
        limits: Limits | None = None,
        lossless: bool = False,
    ) -> Response:
        """The Response of a finished run, from its events (objects, or the dicts that `to_dict` wrote).

        There must be exactly one terminal event (`Result` or `Error`): `UsageError` otherwise. `lossless` raises `LimitExceeded` at the
        first event that `limits` do not let it keep, instead of keeping a prefix. `text` is what the events say, inline reasoning
        included; `data` and the arguments of tool calls are parsed by the `llm` dialect.
        """
        builder = ResponseBuilder(limits=limits, lossless=lossless)
        terminals = 0
        for event in events:
            event = _event(event)
            if not isinstance(event, ProviderEvent):
                raise UsageError(f"from_events takes provider events, got {type(event).__name__}")
            terminals += isinstance(event, Result | Error)
            builder.add(event)
        if terminals != 1:
            raise UsageError(
                f"a finished run has exactly one terminal event, got {terminals}",
                expected="one Result or Error",
                hint="Add Result() where the stream ended by itself, Error(reason=...) where it failed.",
            )
        for call in builder.calls:
            if call.text and not call.free_text:
                parsed = _parse(call.text)
                builder.set_arguments(call.index, parsed.data, complete=parsed.complete, error=parsed.error)
        document = _parse(builder.text)
        return builder.build(
            duration_ms=duration_ms,
            session_id=session_id,
            data=document.data,
            document_complete=document.complete if document.found else None,
            incomplete=document.incomplete,
            diagnostics=document.diagnostics if document.found else (),
            metadata={"parse_error": document.error} if document.error else None,
        )


class _Document:
    """What the parser says of a text: `found` False where it holds no document."""

    __slots__ = ("complete", "data", "diagnostics", "error", "found", "incomplete")

    def __init__(self) -> None:
        self.found = self.complete = False
        self.data: Any = None
        self.incomplete: Sequence[str] = ()
        self.diagnostics: Sequence[Diagnostic] = ()
        self.error: str | None = None


def _parse(text: str) -> _Document:
    from .parser import StreamParser

    document = _Document()
    if not text:
        return document
    parser = StreamParser(dialect="llm")
    try:
        parser.feed(text)
        parsed = parser.close()
    except StreamParseError as error:
        document.found, document.error = True, str(error)
        return document
    document.found, document.complete, document.data = parsed.has_data, parsed.has_data and parsed.complete, parsed.data
    document.incomplete, document.diagnostics = parsed.incomplete, parsed.diagnostics
    return document


class EventLog:
    """The events of a run, as many as the limits allow, counted exactly.

    Kept is a prefix: after the first event that does not fit, no later one is kept, so that the log has no holes. With `lossless` that
    event raises `LimitExceeded` instead.
    """

    __slots__ = ("_first_omission", "_limits", "_lossless", "events", "observed", "retained_bytes")

    def __init__(self, limits: Limits | None = None, *, lossless: bool = False) -> None:
        self._limits = limits or Limits()
        self._lossless = lossless
        self._first_omission: Omission | None = None
        self.events: list[ProviderEvent] = []
        self.observed = 0
        self.retained_bytes = 0

    def add(self, event: ProviderEvent) -> None:
        """Count `event`, and keep it if it fits. Raises `LimitExceeded` where it does not and the log is lossless."""
        self.observed += 1
        if self._first_omission is not None:
            return
        limits = self._limits
        if len(self.events) >= limits.events:
            return self._omit("events", limits.events, event)
        size = event_size(event)
        if self.retained_bytes + size > limits.event_bytes:
            return self._omit("event_bytes", limits.event_bytes, event)
        self.retained_bytes += size
        self.events.append(event)

    def _omit(self, limit: Literal["events", "event_bytes"], value: int, event: ProviderEvent) -> None:
        self._first_omission = Omission(limit=limit, event_kind=event.type)
        if self._lossless:
            raise LimitExceeded(
                f"the run has more provider events than a lossless Response may keep: the first one over is {event.type!r}",
                limit=limit,
                limit_value=value,
                hint=f"Raise Limits.{limit}, or keep a prefix of the events (lossless=False).",
            )

    def coverage(self) -> EventCoverage:
        """What the log holds, in numbers."""
        return EventCoverage(
            mode="exact" if self._first_omission is None else "compact",
            observed_events=self.observed,
            retained_events=len(self.events),
            omitted_events=self.observed - len(self.events),
            retained_bytes=self.retained_bytes,
            first_omission=self._first_omission,
        )


_PLAIN_TEXT_SIZE = len(json.dumps(TextDelta(text="").to_dict(), separators=(",", ":"))) - 2


def event_size(event: ProviderEvent) -> int:
    """The size of `event` in bytes: its `to_dict` as compact JSON in UTF-8."""
    if type(event) is TextDelta and 0 <= event.choice < 10 and not event.message_boundary and not event.aside:
        # Most events of a run; the same number without building the dict.
        return _PLAIN_TEXT_SIZE + len(encode_basestring(event.text).encode("utf-8", "surrogatepass"))
    text = json.dumps(event.to_dict(), ensure_ascii=False, separators=(",", ":"), default=repr)
    return len(text.encode("utf-8", "surrogatepass"))


class CallState:
    """One tool call while it is being put together; `ResponseBuilder.calls` holds them in order of arrival.

    `index` is its position (from 0) and its name for `set_arguments`. `source` is the id for events about it: fixed when it is first
    read, so read it when the first arguments come. `text` is the arguments' text so far. `appended` is what the last event added to
    it; `replaced` is True where that event threw the text before away (start a new parser, then feed `appended`).
    `done`: the provider closed the call. `free_text`: the input is not JSON. `hosted`: the provider runs it itself.
    """

    __slots__ = (
        "_parts", "_source", "appended", "complete", "done", "error", "free_text", "has_value", "hosted", "id", "index", "metadata",
        "name", "replaced", "value",
    )  # fmt: skip

    def __init__(self, index: int) -> None:
        self.index = index
        self.id: str | None = None
        self.name: str | None = None
        self.appended = ""
        self.replaced = self.done = self.free_text = self.hosted = self.complete = self.has_value = False
        self.value: Any = None
        self.error: str | None = None
        self.metadata: dict[str, Any] = {}
        self._parts: list[str] = []
        self._source: str | None = None

    @property
    def text(self) -> str:
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    @property
    def source(self) -> str:
        if self._source is None:
            self._source = self.id or f"call_{self.index}"
        return self._source

    def add(self, event: ToolCallDelta) -> None:
        self.id = self.id or event.id
        self.name = self.name or event.name
        self.free_text = self.free_text or event.free_text
        self.hosted = self.hosted or event.hosted
        self.done = self.done or event.done
        if event.metadata:
            self.metadata.update(event.metadata)
        self.appended, self.replaced = "", False
        if isinstance(event.arguments, str):
            self._append(event.arguments)
        elif event.arguments is not None:
            self._settle(json.dumps(event.arguments, ensure_ascii=False, default=str))
        if event.final_arguments is not None:
            self._settle(event.final_arguments)

    def _append(self, text: str) -> None:
        if text:
            self._parts.append(text)
            self.appended += text

    def _settle(self, text: str) -> None:
        """The whole text is known: mostly what came already, or what is still missing of it."""
        before = self.text
        if text.startswith(before):
            self._append(text[len(before) :])
        elif text:
            # An empty "final" text says nothing: some providers send it for every item.
            self._parts = [text]
            self.appended, self.replaced = text, True


class ResponseBuilder:
    """Folds provider events into the fields of a `Response`, each event once, in O(its size).

        builder = ResponseBuilder(limits=None, lossless=False, choice=0)
        call = builder.add(event)        # CallState for a ToolCallDelta of this choice, else None; never raises but for `lossless`
        builder.appended                 # what that event added to its text (text with the blank line of a boundary, reasoning,
                                         # refusal or tool arguments), "" for all others and for other choices
        builder.text, .reasoning, .refusal, .messages, .calls, .usage, .finish, .terminal, .log      # the state so far
        builder.set_arguments(index, value, complete=..., error=None)    # parsed arguments of builder.calls[index]
        builder.build(...)               # the Response; the builder may go on afterwards

    The fold is total: an event that it does not know is kept in the log and changes nothing. Events of other choices are counted and
    kept, not folded.
    """

    def __init__(self, *, limits: Limits | None = None, lossless: bool = False, choice: int = 0) -> None:
        self.choice = choice
        self.log = EventLog(limits, lossless=lossless)
        self.appended = ""
        self.calls: list[CallState] = []
        self.finish: Finish | None = None
        self.terminal: Result | Error | None = None
        self.id: str | None = None
        self.request_id: str | None = None
        self.session_id: str | None = None
        self.model: str | None = None
        self.metadata: dict[str, Any] = {}
        self._usage: dict[str, Any] | None = None
        self._messages: list[list[str]] = [[]]
        self._bounded = False
        self._boundary_due = False
        self._reasoning: list[str] = []
        self._refusal: list[str] = []
        self._keys: dict[int | str, list[CallState]] = {}

    def add(self, event: ProviderEvent) -> CallState | None:
        """Fold one event. Returns the call that a `ToolCallDelta` belongs to."""
        self.log.add(event)
        self.appended = ""
        if getattr(event, "choice", self.choice) != self.choice:
            return None
        if isinstance(event, TextDelta):
            self._add_text(event)
        elif isinstance(event, ReasoningDelta):
            self._reasoning.append(event.text)
            self.appended = event.text
            self._add_metadata("reasoning", event.metadata)
        elif isinstance(event, ToolCallDelta):
            call = self._find_call(event)
            call.add(event)
            self.appended = call.appended
            return call
        elif isinstance(event, UsageUpdate):
            self._add_usage(event)
        elif isinstance(event, RefusalDelta):
            self._refusal.append(event.text)
            self.appended = event.text
        elif isinstance(event, Finish):
            self.finish = event
            self.metadata.update(event.metadata or {})
        elif isinstance(event, Session):
            self._add_session(event)
        elif isinstance(event, ToolResult):
            self.metadata.setdefault("tool_results", []).append(event.to_dict())
        elif isinstance(event, Result | Error):
            self.terminal = event
        return None

    def _add_text(self, event: TextDelta) -> None:
        if event.message_boundary:
            self._bounded = self._boundary_due = True
        if not event.text:
            return
        self.appended = event.text
        if self._boundary_due:
            # The blank line belongs to the first characters of the new message: a boundary that nothing follows leaves no trace.
            self._boundary_due = False
            if self._messages[-1]:
                self._messages.append([])
                self.appended = "\n\n" + event.text
        self._messages[-1].append(event.text)

    def _add_session(self, event: Session) -> None:
        self.id = self.id or event.id
        self.request_id = event.request_id or self.request_id
        self.session_id = event.session_id or self.session_id
        self.model = event.model or self.model
        self.metadata.update(event.metadata or {})

    def _add_metadata(self, name: str, values: dict[str, Any] | None) -> None:
        if values:
            self.metadata.setdefault(name, []).append(values)

    def _add_usage(self, event: UsageUpdate) -> None:
        if self._usage is None:
            self._usage = {}
        for name in _USAGE_FIELDS:
            value = getattr(event, name)
            if value is not None:
                self._usage[name] = value
        if event.extra:
            extra = self._usage.setdefault("extra", {})
            extra.update({name: value for name, value in event.extra.items() if value is not None})

    def _find_call(self, event: ToolCallDelta) -> CallState:
        """The call of this key; a *different non-empty id* on a key that is taken makes a new call, nothing else does."""
        calls = self._keys.setdefault(event.key, [])
        if calls:
            latest = calls[-1]
            if not event.id or latest.id in (None, "", event.id):
                return latest
            for call in calls:
                if call.id == event.id:
                    return call
        call = CallState(len(self.calls))
        self.calls.append(call)
        calls.append(call)
        return call

    @property
    def messages(self) -> list[str]:
        """The assistant messages: one, or as many as boundaries made."""
        return ["".join(parts) for parts in self._messages if parts]

    @property
    def text(self) -> str:
        """The text so far: the messages with a blank line between them."""
        return "\n\n".join(self.messages)

    @property
    def reasoning(self) -> str | None:
        """The native reasoning so far, as the provider sent it; None without any."""
        return "".join(self._reasoning) or None

    @property
    def refusal(self) -> str | None:
        """The refusal so far; None without any."""
        return "".join(self._refusal) or None

    @property
    def usage(self) -> Usage | None:
        """The usage so far, merged field by field; None where none was reported."""
        return None if self._usage is None else Usage(**self._usage)

    def set_arguments(self, index: int, value: Any, *, complete: bool, error: str | None = None) -> None:
        """Give call `index` its parsed arguments (the partial value, where `complete` is False) and what was wrong with them."""
        call = self.calls[index]
        call.value, call.complete, call.error, call.has_value = value, complete, error, True

    def build(
        self,
        *,
        duration_ms: float = 0,
        time_to_first_delta_ms: float | None = None,
        prompt: Any = None,
        session_id: str | None = None,
        request_id: str | None = None,
        text: str | None = None,
        reasoning: str | None = None,
        data: Any = None,
        document_complete: bool | None = None,
        incomplete: Sequence[str] = (),
        diagnostics: Sequence[Diagnostic] = (),
        cancelled: bool = False,
        raw: Any = None,
        metadata: dict[str, Any] | None = None,
    ) -> Response:
        """The Response so far.

        `text` and `reasoning` replace what the events added up to (where reasoning was split out of the text). `document_complete` says
        whether the document in the text is whole; None: there is none, which leaves nothing incomplete. `cancelled`: the caller stopped.
        """
        terminal = self.terminal
        all_text = self.text if text is None else text
        messages = self.messages
        final = messages[-1] if self._bounded and len(messages) > 1 else all_text
        extra = {**self.metadata, **(metadata or {})}
        model = self.model
        if isinstance(terminal, Result):
            if terminal.text is not None:
                all_text = final = terminal.text
            model = terminal.model or model
            session_id = session_id or terminal.session_id
            extra.update(terminal.metadata or {})
        elif isinstance(terminal, Error):
            extra["error"] = terminal.reason
        end_state = self._end_state(cancelled)
        calls = [self._tool_call(call, end_state) for call in self.calls]
        hosted = [calls[call.index].model_dump() for call in self.calls if call.hosted]
        if hosted:
            extra["provider_tool_calls"] = hosted
        calls = [calls[call.index] for call in self.calls if not call.hosted]
        refusal = self.refusal
        return Response(
            id=self.id,
            request_id=request_id or self.request_id,
            session_id=session_id or self.session_id,
            model=model,
            prompt=prompt,
            message=Message(content=all_text or None, refusal=refusal),
            text=all_text,
            final_message=final,
            data=data,
            reasoning=(reasoning if reasoning is not None else self.reasoning) or None,
            refusal=refusal,
            tool_calls=calls,
            finish_reason=self._finish_reason(bool(calls)),
            raw_finish_reason=self.finish.reason if self.finish else None,
            end_state=end_state,
            complete=end_state == "complete"
            and document_complete is not False
            and all(call.complete for call in calls),
            incomplete=list(incomplete),
            diagnostics=list(diagnostics),
            usage=self.usage,
            duration_ms=duration_ms,
            time_to_first_delta_ms=time_to_first_delta_ms,
            events=list(self.log.events),
            event_coverage=self.log.coverage(),
            terminal=terminal,
            raw=raw,
            metadata=extra,
        )

    def _finish_reason(self, has_calls: bool) -> FinishReason | None:
        if isinstance(self.terminal, Error):
            return "error"
        if self.finish is None:
            return None
        return "tool_calls" if self.finish.mapped == "stop" and has_calls else self.finish.mapped

    def _end_state(self, cancelled: bool) -> EndState:
        finish, terminal = self.finish, self.terminal
        if cancelled:
            return "cancelled"
        if isinstance(terminal, Error):
            return "error"
        if finish is None:
            if self._refusal:
                return "refused"
            return "complete" if terminal is not None and (terminal.finished or terminal.text is not None) else "cut"
        if finish.refusal or (self._refusal and finish.mapped in ("stop", "content_filter")):
            return "refused"
        if finish.paused:
            return "paused"
        if finish.mapped == "content_filter":
            return "filtered"
        if finish.mapped == "error":
            return "error"
        return "truncated" if finish.mapped == "length" or finish.unfinished else "complete"

    def _tool_call(self, call: CallState, end_state: EndState) -> ToolCall:
        text = call.text
        value, complete = call.value, call.complete
        if not text:
            # A call without parameters has no text at all. It is whole once the provider closed it or said why it stopped.
            complete = call.done or (self.finish is not None and end_state in ("complete", "paused"))
            value = {} if complete else None
        elif call.free_text:
            value, complete = text, call.done or end_state == "complete"
        metadata = dict(call.metadata)
        if call.error:
            metadata["error"] = call.error
        if not call.id:
            metadata["generated_id"] = True
        return ToolCall(
            id=call.id or call.source,
            name=call.name,
            arguments=value,
            raw_arguments=text,
            complete=complete,
            index=call.index,
            metadata=metadata,
        )


_USAGE_FIELDS = tuple(field.name for field in fields(UsageUpdate) if field.name not in ("raw", "extra"))
