"""The fold: provider events in, the fields of a `Response` out, for finished lists and live."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from ..errors import Diagnostic, StreamParseError, UsageError
from ..limits import Limits
from ..provider import (
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
    fault_of,
    from_dict,
)
from .log import EventLog
from .model import EndState, FinishReason, Message, Response, ToolCall, Usage

NO_DOCUMENT = "the arguments hold no JSON"


class CallState:
    """One tool call while it is being put together; `ResponseBuilder.calls` holds them in order of arrival.

    `index` is its position (from 0) and its name for `set_arguments`. `source` is the id for events about it: fixed
    when it is first read, so read it when the first arguments come. `text` is the arguments' text so far. `appended` is
    what the last event added to it; `replaced` is True where that event threw the text before away (start a new parser,
    then feed `appended`). `done`: the provider closed the call. `free_text`: the input is not JSON. `hosted`: the
    provider runs it itself.
    """

    __slots__ = (
        "_parts", "_source", "_sources", "appended", "complete", "diagnostics", "done", "error", "free_text", "hosted",
        "id", "index", "metadata", "name", "replaced", "value",
    )  # fmt: skip

    def __init__(self, index: int, sources: set[str]) -> None:
        self.index = index
        self._sources = sources  # those of the other calls
        self.id: str | None = None
        self.name: str | None = None
        self.appended = ""
        self.replaced = self.done = self.free_text = self.hosted = self.complete = False
        self.value: Any = None
        self.error: str | None = None
        self.diagnostics: Sequence[Diagnostic] = ()
        self.metadata: dict[str, Any] = {}
        self._parts: list[str] = []
        self._source: str | None = None

    @property
    def text(self) -> str:
        """The arguments' text so far."""
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    @property
    def source(self) -> str:
        """The id for events about this call; it never changes once it was read."""
        if self._source is None:
            source = self.id or f"call_{self.index}"
            # Two calls may carry one id. Their events must not be taken for those of one.
            self._source = f"{source}#{self.index}" if source in self._sources else source
            self._sources.add(self._source)
        return self._source

    def add(self, event: ToolCallDelta) -> None:
        """Take in one piece. Empty ids and names never overwrite, and the first ones count."""
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

    def made(self, value: Any, *, complete: bool) -> ToolCall:
        """The call as a value."""
        metadata = dict(self.metadata)
        if self.error:
            metadata["error"] = self.error
        if self.diagnostics:
            metadata["diagnostics"] = [remark.to_dict() for remark in self.diagnostics]
        if not self.id:
            metadata["generated_id"] = True
        return ToolCall(
            id=self.id or self.source,
            name=self.name,
            arguments=value,
            raw_arguments=self.text,
            complete=complete,
            index=self.index,
            metadata=metadata,
        )

    def is_over(self, event: ToolCallDelta) -> bool:
        """Whether `event`, which has no id, cannot belong to this call: it begins one, and this one is whole."""
        if not (event.name and event.arguments and self.name and self.text.rstrip().endswith("}")):
            return False
        try:
            json.loads(self.text)
        except (ValueError, RecursionError):
            return False
        return True

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
        call = builder.add(event)   # CallState for a ToolCallDelta of this choice, else None; may raise if `lossless`
        builder.appended            # what that event added to its text, reasoning, refusal or arguments: "" for others
        builder.text, .reasoning, .refusal, .messages, .calls, .usage, .finish, .terminal, .log    # the state so far
        builder.set_arguments(index, value, complete=...)    # parsed arguments of builder.calls[index]
        builder.build(...)          # the Response; the builder may go on afterwards

    The fold is total: an event that it does not know is kept in the log and changes nothing. Events of other choices
    are counted and kept, not folded.
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
        self.raw: Any = None
        self.metadata: dict[str, Any] = {}
        self._usage: dict[str, Any] | None = None
        self._messages: list[list[str]] = [[]]
        self._bounded = False
        self._boundary_due = False
        self._reasoning: list[str] = []
        self._refusal: list[str] = []
        self._keys: dict[int | str, list[CallState]] = {}
        self._sources: set[str] = set()

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
            self.raw = self.raw if event.raw is None else event.raw
            self.metadata.update(event.metadata or {})
        elif isinstance(event, Session):
            self._add_session(event)
        elif isinstance(event, ToolResult):
            self.metadata.setdefault("tool_results", []).append(event.to_dict())
        elif isinstance(event, Result | Error):
            self.terminal = event
            self.raw = self.raw if event.raw is None else event.raw
        return None

    def _add_text(self, event: TextDelta) -> None:
        if event.message_boundary:
            self._bounded = self._boundary_due = True
        if not event.text:
            return
        self.appended = event.text
        if self._boundary_due:
            # The blank line comes with the first characters after it: a boundary that nothing follows leaves no trace.
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
        """The call of this key. On a key that is taken only a different, non-empty id makes a new one, or, without any
        id, a name with arguments where those of the call before are whole already.
        """
        calls = self._keys.setdefault(event.key, [])  # the one that was spoken of last comes last
        if calls and (calls[-1].id in (None, "", event.id) if event.id else not calls[-1].is_over(event)):
            return calls[-1]
        known = next((call for call in calls if event.id and call.id == event.id), None)
        if known is not None:
            calls.remove(known)
            calls.append(known)
            return known
        call = CallState(len(self.calls), self._sources)
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

    def set_arguments(
        self,
        index: int,
        value: Any,
        *,
        complete: bool,
        error: str | None = None,
        diagnostics: Sequence[Diagnostic] = (),
    ) -> None:
        """Give call `index` its parsed arguments, the partial value where not `complete`, what was wrong with them, and
        what was tolerated.
        """
        call = self.calls[index]
        call.value, call.complete, call.error, call.diagnostics = value, complete, error, diagnostics

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
        omitted_diagnostics: int = 0,
        cancelled: bool = False,
        raw: Any = None,
        metadata: dict[str, Any] | None = None,
    ) -> Response:
        """The Response so far.

        `text` and `reasoning` replace what the events added up to (where reasoning was split out of the text).
        `document_complete` says whether the document in the text is whole; None: there is none, which leaves nothing
        incomplete. `cancelled`: the caller stopped. `raw` replaces what the last `Finish` was made of.
        """
        terminal = self.terminal
        all_text = self.text if text is None else text
        messages = self.messages
        final = (messages[-1] if self._bounded and len(messages) > 1 else all_text) or None
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
            omitted_diagnostics=omitted_diagnostics,
            usage=self.usage,
            duration_ms=duration_ms,
            time_to_first_delta_ms=time_to_first_delta_ms,
            events=list(self.log.events),
            event_coverage=self.log.coverage(),
            terminal=terminal,
            raw=self.raw if raw is None else raw,
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
            # A call without parameters has no text at all; whole once the provider closed it or said why it stopped.
            complete = call.done or (self.finish is not None and end_state in ("complete", "paused"))
            empty: dict[str, Any] = {}
            value = empty if complete else None
        elif call.free_text:
            value, complete = text, call.done or end_state == "complete"
        return call.made(value, complete=complete)


_USAGE_FIELDS = tuple(field.name for field in fields(UsageUpdate) if field.name not in ("raw", "extra"))


def fold(
    events: Iterable[ProviderEvent | dict[str, Any]],
    *,
    duration_ms: float,
    session_id: str | None,
    limits: Limits | None,
    lossless: bool,
) -> Response:
    """`Response.from_events`: see there."""
    if not isinstance(events, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]  # untyped callers
        raise UsageError(f"from_events takes a list of provider events, got {type(events).__name__}")
    builder = ResponseBuilder(limits=limits, lossless=lossless)
    terminals = 0
    asides = False
    answer: list[str] = []  # the text without what the provider calls commentary
    for given in events:
        event: Any = from_dict(given) if isinstance(given, dict) else given
        if not isinstance(event, ProviderEvent):
            raise UsageError(f"from_events takes provider events, got {type(event).__name__}")
        fault = fault_of(event)
        if fault is not None:
            raise fault
        terminals += isinstance(event, Result | Error)
        builder.add(event)
        if isinstance(event, TextDelta):
            asides = asides or event.aside
            answer.append("" if event.aside else builder.appended)
    if terminals != 1:
        raise UsageError(
            f"a finished run has exactly one terminal event, got {terminals}",
            expected="one Result or Error",
            hint="Add Result() where the stream ended by itself, Error(reason=...) where it failed.",
        )
    for call in builder.calls:
        if call.text and not call.free_text:
            parsed = _Document(call.text, reasoning=None)
            error = parsed.error if parsed.found else NO_DOCUMENT
            builder.set_arguments(
                call.index, parsed.data, complete=parsed.complete, error=error, diagnostics=parsed.diagnostics
            )
    terminal = builder.terminal
    text = builder.text if terminal is None or isinstance(terminal, Error) or terminal.text is None else terminal.text
    document = _Document("".join(answer) if asides and text == builder.text else text)
    return builder.build(
        duration_ms=duration_ms,
        session_id=session_id,
        data=document.data,
        document_complete=document.complete if document.found else None,
        incomplete=document.incomplete,
        diagnostics=document.diagnostics,
        omitted_diagnostics=document.omitted_diagnostics,
        metadata={"parse_error": document.error} if document.error else None,
    )


class _Document:
    """What the parser says of a text; `found` is False, and nothing is said, where it is not meant to be a document."""

    def __init__(self, text: str, **options: Any) -> None:
        from ..parser import StreamParser

        self.found = self.complete = False
        self.data: Any = None
        self.incomplete: Sequence[str] = ()
        self.diagnostics: Sequence[Diagnostic] = ()
        self.omitted_diagnostics = 0
        self.error: str | None = None
        if not text:
            return
        parser = StreamParser(dialect="llm", **options)
        try:
            parser.feed(text)
            parsed = parser.close()
        except StreamParseError as error:
            self.found, self.error, self.data = True, str(error), parser.snapshot()
            self.incomplete, self.diagnostics = parser.open_paths, parser.diagnostics
        else:
            self.found = parsed.has_data or any(remark.code == "unclosed_reasoning" for remark in parsed.diagnostics)
            if not self.found:
                return
            self.complete, self.data = parsed.complete, parsed.data
            self.incomplete, self.diagnostics = parsed.incomplete, parsed.diagnostics
        self.omitted_diagnostics = parser.diagnostic_count - len(self.diagnostics)
