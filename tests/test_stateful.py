"""feed, snapshot, copy, pickle, a fork that goes its own way, and close, in any order: nobody disturbs anybody."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.runner import Outcome, check_events, merge, run
from support.splits import chop, cuts
from support.texts import any_texts, dialects, json_texts
from support.values import show

from streamparse import IncompleteJSONError, JsonSchema, StreamingData, StreamParseError, StreamParser, UsageError


class Stream(RuleBasedStateMachine):
    """One text, fed in pieces to a parser that is copied, pickled and looked at on the way."""

    def __init__(self) -> None:
        super().__init__()
        self.forks: list[tuple[StreamParser, list[StreamingData], int]] = []
        self.ended = False

    @initialize(text=any_texts, dialect=dialects, which=st.sampled_from(["first", "last", "all"]), starts=st.booleans())
    def begin(self, text: str, dialect: str, which: str, starts: bool) -> None:
        self.options: dict[str, Any] = {
            "dialect": dialect,
            "documents": which if dialect == "llm" else "first",
            "emit_starts": starts,
        }
        self.text = text
        self.want = run([text], **self.options)
        self.parser = StreamParser(**self.options)
        self.events: list[StreamingData] = []
        self.at = 0

    @precondition(lambda self: not self.ended)
    @rule(length=st.integers(0, 12), as_bytes=st.booleans())
    def feed(self, length: int, as_bytes: bool) -> None:
        if self.parser.error is not None:
            return
        piece = self.text[self.at : self.at + length]
        self.events += self.parser.feed(piece.encode() if as_bytes else piece)
        self.at += len(piece)

    @rule()
    def look(self) -> None:
        """Looking changes nothing, before the end and after it, and a snapshot is the caller's own."""
        first, second = self.parser.snapshot(), self.parser.snapshot()
        assert show(first) == show(second)
        if isinstance(first, (list, dict)):
            first.clear()
        assert show(self.parser.snapshot()) == show(second)
        assert isinstance(self.parser.status, str)
        assert all(isinstance(path, str) for path in self.parser.open_paths)

    @precondition(lambda self: not self.ended)
    @rule(how=st.sampled_from(["copy", "deepcopy", "pickle"]), keep=st.sampled_from(["old", "new"]))
    def move(self, how: str, keep: str) -> None:
        """Go on with the twin or with the original; the other one becomes a fork and waits."""
        twin = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda one: pickle.loads(pickle.dumps(one))}[
            how
        ](self.parser)
        assert show(twin.snapshot()) == show(self.parser.snapshot())
        other, self.parser = (twin, self.parser) if keep == "old" else (self.parser, twin)
        self.forks.append((other, list(self.events), self.at))

    @precondition(lambda self: not self.ended and self.forks)
    @rule(data=st.data())
    def finish_a_fork(self, data: st.DataObject) -> None:
        """A fork that is fed the rest gives the rest."""
        parser, events, place = self.forks.pop(data.draw(st.integers(0, len(self.forks) - 1)))
        self.finish(parser, events, self.text[place:])

    @precondition(lambda self: not self.ended)
    @rule()
    def close(self) -> None:
        self.finish(self.parser, self.events, self.text[self.at :])
        self.ended = True

    def finish(self, parser: StreamParser, events: list[StreamingData], rest: str) -> None:
        error: StreamParseError | None = None
        try:
            if rest:
                events = events + parser.feed(rest)
            parsed = parser.close()
        except StreamParseError as caught:
            error = caught
            if isinstance(caught, IncompleteJSONError):
                events = events + list(caught.events)
        else:
            events = events + list(parsed.events)
            assert show(parsed.data) == self.want.data
            assert (parsed.complete, list(parsed.incomplete), parsed.reasoning, parsed.text) == of(self.want)
            assert [one.code for one in parsed.diagnostics] == [one.code for one in self.want.diagnostics]
        assert merge(events) == self.want.events
        if self.want.error is None:
            assert error is None
        else:
            assert error is not None
            assert (error.code, error.offset) == (self.want.error.code, self.want.error.offset)

    @invariant()
    def events_are_in_order(self) -> None:
        if hasattr(self, "events"):
            check_events(self.events)


def of(want: Outcome) -> tuple[bool, list[str], str, str]:
    return want.complete, want.incomplete, want.reasoning, want.text


TestStream = Stream.TestCase
TestStream.settings = settings(stateful_step_count=25)


@given(text=json_texts, places=cuts(), how=st.sampled_from(["copy", "deepcopy", "pickle"]))
def test_a_new_parser_at_every_chunk(text: str, places: list[float], how: str) -> None:
    """A stream that moves to another worker after every chunk."""
    move = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda one: pickle.loads(pickle.dumps(one))}[how]
    parser = StreamParser()
    events: list[StreamingData] = []
    for chunk in chop(text.encode(), places):
        events += parser.feed(chunk)
        parser = move(parser)
    parsed = move(parser).close()
    want = run([text])
    assert merge(events + list(parsed.events)) == want.events
    assert show(parsed.data) == want.data


def test_options_travel_along() -> None:
    """Schema, dialect, limits and styles are part of what is pickled."""
    schema = JsonSchema({"type": "object", "properties": {"items": {"type": "array"}}})
    parser = StreamParser(
        output=schema, path_style="slash", number="lexeme", emit_starts=True, reasoning=("<r>", "</r>")
    )
    parser.feed('<r>why</r>{"items":"[1')
    parser = pickle.loads(pickle.dumps(parser))
    events = parser.feed('.50,2]"}')
    parsed = parser.close()
    assert [str(item) for item in parsed.data["items"]] == ["1.50", "2"]
    assert parsed.reasoning == "why"
    assert "items/0" in {event.path for event in events}


def test_feed_after_close() -> None:
    """Nothing may follow the end; the message says what to do instead."""
    parser = StreamParser()
    parser.feed('{"a":1}')
    parser.close()
    with pytest.raises(UsageError, match="close"):
        parser.feed("x")


def test_the_error_stays() -> None:
    """`error` is set by the feed that met the fault; each later feed or close raises it."""
    parser = StreamParser(dialect="strict")
    assert parser.error is None
    events = parser.feed('{"a":"x",}')
    assert [(event.event_type, event.path) for event in events] == [("delta", "a"), ("done", "a")]
    assert parser.error is not None
    twin = pickle.loads(pickle.dumps(parser))
    for one in (parser, parser, twin):
        with pytest.raises(StreamParseError) as caught:
            one.feed("more")
        assert (caught.value.code, caught.value.offset) == ("unexpected_character", 9)
        with pytest.raises(StreamParseError):
            one.close()
