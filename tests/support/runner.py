"""Run the parser over chunks and write down all that came out, so that two runs can be compared as one equation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from streamparse import IncompleteJSONError, StreamingData, StreamParseError, StreamParser

from .dotpath import read_dot
from .values import show

Parts = tuple[str | int, ...]
KINDS = {"string", "number", "boolean", "null", "object", "array"}


class Row(NamedTuple):
    """One merged event. `value` is shown text on `done` and `cut`, else None; a `reset` has no kind of its own."""

    type: str
    parts: Parts
    kind: str | None
    delta: str | None = None
    value: str | None = None


class Remark(NamedTuple):
    """One diagnostic."""

    code: str
    message: str
    offset: int
    line: int
    column: int
    path: str


class Fault(NamedTuple):
    """One error."""

    type: str
    code: str
    offset: int | None
    line: int | None
    column: int | None
    path: str | None
    expected: str | None


@dataclass(frozen=True)
class Outcome:
    """All that law 1 compares."""

    events: list[Row]
    data: str
    has_data: bool
    complete: bool
    incomplete: list[str]
    reasoning: str
    text: str
    diagnostics: list[Remark]
    diagnostic_count: int
    error: Fault | None

    @property
    def codes(self) -> set[str]:
        return {remark.code for remark in self.diagnostics}


class Run:
    """One parser run to its end. `events` are the raw events, `outcome` what may be compared, `error` the exception or
    None."""

    def __init__(self, chunks: Iterable[str | bytes], **options: Any) -> None:
        parser = StreamParser(**options)
        self.events: list[StreamingData] = []
        self.error: StreamParseError | None = None
        self.parsed: Any = None
        taken: list[str] = []
        texts: list[str] = []
        try:
            for chunk in chunks:
                self.events += parser.feed(chunk)
                taken.append(parser.take_reasoning())
                texts.append(parser.take_text())
            self.parsed = parser.close()
            self.events += self.parsed.events
        except StreamParseError as error:
            self.error = error
            if isinstance(error, IncompleteJSONError):
                self.events += error.events
        taken.append(parser.take_reasoning())
        texts.append(parser.take_text())
        self.taken_reasoning = "".join(taken)
        self.taken_text = "".join(texts)
        self.data = self.parsed.data if self.parsed is not None else parser.snapshot()
        self.outcome = self._outcome()

    def _outcome(self) -> Outcome:
        parsed, error = self.parsed, self.error
        remarks = (
            [Remark(*(getattr(one, name) for name in Remark._fields)) for one in parsed.diagnostics] if parsed else []
        )
        fault = None
        if error is not None:
            place = (getattr(error, name) for name in Fault._fields[1:])
            fault = Fault(type(error).__name__, *place)
        if parsed is not None:
            assert self.taken_reasoning == parsed.reasoning, "take_reasoning() and Parsed.reasoning tell two stories"
            assert self.taken_text == parsed.text, "take_text() and Parsed.text tell two stories"
        return Outcome(
            events=merge(self.events),
            data=show(self.data),
            has_data=parsed is not None and parsed.has_data,
            complete=parsed is not None and parsed.complete,
            incomplete=list(parsed.incomplete if parsed is not None else getattr(error, "incomplete", ())),
            reasoning=self.taken_reasoning,
            text=parsed.text if parsed is not None else "",
            diagnostics=remarks,
            diagnostic_count=parsed.diagnostic_count if parsed is not None else 0,
            error=fault,
        )


def run(chunks: Iterable[str | bytes], **options: Any) -> Outcome:
    """The outcome of one run, its raw events checked on the way."""
    done = Run(chunks, **options)
    check_events(done.events)
    return done.outcome


def merge(events: Iterable[StreamingData]) -> list[Row]:
    """The events as rows, neighbouring deltas of one path joined (law 1)."""
    rows: list[Row] = []
    for event in events:
        last = rows[-1] if rows else None
        if last is not None and event.event_type == "delta" == last.type and event.parts == last.parts:
            rows[-1] = last._replace(delta=f"{last.delta}{event.delta}")
        else:
            final = event.event_type in ("done", "cut")
            kind = None if event.event_type == "reset" else event.kind
            rows.append(Row(event.event_type, event.parts, kind, event.delta, show(event.value) if final else None))
    return rows


def check_events(events: Sequence[StreamingData], *, source: str = "content", values: bool = True) -> None:
    """What holds of every list of events, whatever the input: the table of part 2 of the design, and law 3.

    `values` is False for a parser that keeps no data: its events cannot know what the string was so far.
    """
    closed: set[Parts] = set()
    so_far: dict[Parts, str] = {}
    for event in events:
        parts, kind = event.parts, event.event_type
        assert event.source == source
        assert event.kind in KINDS
        assert event.is_complete == (kind == "done")
        assert read_dot(event.path) == parts
        if kind == "reset":
            closed = {one for one in closed if one[: len(parts)] != parts}
            so_far = {one: text for one, text in so_far.items() if one[: len(parts)] != parts}
            continue
        for length in range(len(parts) + 1):
            assert parts[:length] not in closed, f"{kind} of {event.path!r} came after {parts[:length]} was done"
        if kind == "done":
            closed.add(parts)
        if kind != "delta":
            assert event.delta is None, f"{kind} of {event.path!r} has a delta"
            continue
        assert event.kind in ("string", "number", "boolean")
        assert isinstance(event.delta, str)
        assert event.delta, f"empty delta for {event.path!r}"
        event.delta.encode()
        so_far[parts] = so_far.get(parts, "") + event.delta
        if event.kind == "string":
            assert event.value == (so_far[parts] if values else None)


def joined(rows: Iterable[Row]) -> dict[Parts, str]:
    """Path -> all its delta texts joined, after its last reset (or one of a path above)."""
    texts: dict[Parts, str] = {}
    for row in rows:
        if row.type == "reset":
            texts = {parts: text for parts, text in texts.items() if parts[: len(row.parts)] != row.parts}
        elif row.delta is not None:
            texts[row.parts] = texts.get(row.parts, "") + row.delta
    return texts


def final_rows(rows: Iterable[Row]) -> dict[Parts, Row]:
    """Path -> its `done` row, without those that a later reset took back."""
    done: dict[Parts, Row] = {}
    for row in rows:
        if row.type == "reset":
            done = {parts: one for parts, one in done.items() if parts[: len(row.parts)] != row.parts}
        elif row.type == "done":
            done[row.parts] = row
    return done
