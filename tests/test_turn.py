"""The turn: provider events in, messages and one Response out."""

from __future__ import annotations

import re
from typing import Any

import pytest

from streamparse import (
    IncompleteJSONError,
    JSONSyntaxError,
    LimitExceeded,
    Limits,
    ProviderError,
    StreamingData,
    UsageError,
)
from streamparse.provider import (
    Error,
    Finish,
    ProviderEvent,
    Raw,
    ReasoningDelta,
    RefusalDelta,
    Result,
    Session,
    TextDelta,
    ToolCallDelta,
    UsageUpdate,
    from_dict,
)
from streamparse.response import Response, ToolCall
from streamparse.turn import ParserOptions, Turn

STOP = Finish(reason="stop", mapped="stop")
TOOLS = Finish(reason="tool_calls", mapped="tool_calls")
LENGTH = Finish(reason="length", mapped="length")


class Folded:
    """A turn that was fed and closed."""

    def __init__(self, *events: ProviderEvent, turn: Turn | None = None, **close: Any) -> None:
        self.turn = turn or Turn()
        self.messages = [message for event in events for message in self.turn.feed(event)]
        self.live = list(self.messages)
        self.messages += self.turn.close(**close)
        assert self.turn.response is not None
        self.response: Response = self.turn.response
        self.names = [event for event, _ in self.messages]

    def data(self, *names: str) -> list[Any]:
        return [data for event, data in self.messages if event in names]

    def joined(self, name: str) -> str:
        return "".join(self.data(name))

    def instant(self, source: str = "content") -> list[StreamingData]:
        return [event for event in self.data("instant") if event.source == source]


def text(*pieces: str) -> list[TextDelta]:
    return [TextDelta(text=piece) for piece in pieces]


def call(key: int, arguments: Any = None, **fields: Any) -> ToolCallDelta:
    return ToolCallDelta(key=key, arguments=arguments, **fields)


# ---- the answer


def test_text_becomes_deltas_fields_and_a_response() -> None:
    done = Folded(
        Session(id="r1", model="m"),
        *text('{"a": "he', 'llo"}'),
        STOP,
        UsageUpdate(input_tokens=3, output_tokens=5),
        Result(),
    )
    assert done.data("delta") == ['{"a": "he', 'llo"}']
    assert done.data("original_done") == done.data("done") == ['{"a": "hello"}']
    assert [(e.path, e.event_type, e.delta) for e in done.instant()] == [
        ("a", "delta", "he"),
        ("a", "delta", "llo"),
        ("a", "done", None),
        ("", "done", None),
    ]
    response = done.response
    assert (response.id, response.model, response.text, response.data) == ("r1", "m", '{"a": "hello"}', {"a": "hello"})
    assert (response.end_state, response.complete, response.finish_reason) == ("complete", True, "stop")
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (3, 5)
    assert done.data("meta")[0]["usage"]["output_tokens"] == 5
    assert done.names[-2:] == ["meta", "status"]
    assert done.data("status") == [{"state": "complete"}]


def test_inline_reasoning_is_split_out_and_the_original_keeps_it() -> None:
    raw = '<think>let me see</think>\n{"a": 1}'
    done = Folded(*text(*raw), STOP, Result())
    assert done.joined("original_delta") == done.data("original_done")[0] == raw
    assert done.joined("reasoning_delta") == "let me see"
    assert done.joined("delta") == done.data("done")[0] == done.response.text == '{"a": 1}'
    assert done.data("reasoning_done") == ["let me see"]
    assert done.names.index("reasoning_done") < done.names.index("delta")
    assert done.response.reasoning == "let me see"
    assert done.response.data == {"a": 1}


def test_native_reasoning_gives_the_same_events_as_inline() -> None:
    native = Folded(ReasoningDelta(text="let me "), ReasoningDelta(text="see"), *text('{"a": 1}'), STOP, Result())
    inline = Folded(*text("<think>let me see</think>", '{"a": 1}'), STOP, Result())
    for name in ("reasoning_done", "done"):
        assert native.data(name) == inline.data(name)
    assert native.joined("reasoning_delta") == inline.joined("reasoning_delta")
    assert native.names.index("reasoning_done") < native.names.index("delta")
    assert native.instant() == inline.instant()
    assert native.response.reasoning == inline.response.reasoning == "let me see"


def test_reasoning_that_goes_on_after_the_answer_began_is_told_again_at_the_end() -> None:
    done = Folded(ReasoningDelta(text="a"), *text("x"), ReasoningDelta(text="b"), *text("y"), STOP, Result())
    assert done.data("reasoning_done") == ["a", "ab"]
    assert done.response.reasoning == done.joined("reasoning_delta") == "ab"
    assert done.response.text == "xy"


def test_native_and_inline_reasoning_in_one_turn_are_two_blocks() -> None:
    done = Folded(ReasoningDelta(text="native"), *text("<think>inline</think>ok"), STOP, Result())
    assert done.response.reasoning == done.joined("reasoning_delta") == "native\n\ninline"


def test_reasoning_without_an_answer_is_done_at_the_end() -> None:
    done = Folded(*text("<think>never closed"), LENGTH, Result())
    assert done.data("reasoning_done") == ["never closed"]
    assert (done.response.reasoning, done.response.text, done.response.data) == ("never closed", "", None)
    assert done.response.complete is False
    assert "unclosed_reasoning" in [remark.code for remark in done.data("diagnostic")]


def test_diagnostics_are_told_where_they_are_used_and_kept() -> None:
    done = Folded(*text('{"a": 1,}', " "), STOP, Result())
    assert [remark.code for remark in done.data("diagnostic")] == ["trailing_comma"]
    assert done.response.diagnostics == done.data("diagnostic")
    assert "diagnostic" in [event for event, _ in done.live]


def test_all_remarks_are_counted_and_as_many_kept_as_the_limit_says() -> None:
    done = Folded(*text("{" + ",".join(f"k{n}:1" for n in range(130)) + "}"), STOP, Result())
    assert (len(done.response.diagnostics), done.response.diagnostic_count) == (100, 130)
    few = Folded(*text("{a:1,b:2}"), STOP, Result(), turn=Turn(ParserOptions(limits=Limits(diagnostics=1))))
    assert (len(few.response.diagnostics), few.response.omitted_diagnostics) == (1, 1)
    assert Folded(*text("[1]"), STOP, Result()).response.diagnostic_count == 0


def test_a_message_boundary_is_a_blank_line_in_the_deltas_too() -> None:
    done = Folded(TextDelta(text="one"), TextDelta(text="two", message_boundary=True), STOP, Result())
    assert done.joined("delta") == done.response.text == "one\n\ntwo"
    assert done.response.final_message == "two"


def test_commentary_is_text_but_never_the_document() -> None:
    done = Folded(TextDelta(text='{"not": "this"}', aside=True), *text('{"a": 1}'), STOP, Result())
    assert done.response.data == {"a": 1}
    assert done.response.text == '{"not": "this"}{"a": 1}'


def test_a_refusal_lacks_no_document() -> None:
    done = Folded(RefusalDelta(text="I cannot."), STOP, Result(), turn=Turn(ParserOptions(dialect="strict")))
    assert done.turn.error is None
    assert (done.response.end_state, done.response.refusal) == ("refused", "I cannot.")
    assert done.data("status")[0] == {"state": "refusal", "delta": "I cannot."}


def test_other_choices_are_counted_and_not_read() -> None:
    events = [TextDelta(text="zero"), TextDelta(text="one", choice=1), STOP, Result()]
    assert Folded(*events).response.text == "zero"
    done = Folded(*events, turn=Turn(choice=1))
    assert done.response.text == "one"
    assert done.response.event_coverage.observed_events == 4


def test_halves_of_a_surrogate_pair_are_one_character_of_the_answer() -> None:
    """Wherever the pair is cut, and no message holds a half: it could not be encoded."""
    for text in ('{"a": "\ud83d\ude00"}', '{"a": "x"} \ud83d\ude00', 'so \ud83d\ude00 {"a": 1}'):
        at = text.index("\ude00")
        pieces = (text[: at - 3], text[at - 3 : at], text[at:])
        folded = Folded(*(TextDelta(text=piece) for piece in pieces), STOP)
        whole = text.replace("\ud83d\ude00", "\U0001f600")
        assert folded.joined("delta") == folded.response.text == whole
        assert folded.joined("original_delta") == folded.joined("original_done") == whole


@pytest.mark.parametrize(("last", "shown"), [("\ude00", "\U0001f600"), ("", "\ufffd"), ("x", "\ufffdx")])
def test_halves_of_a_surrogate_pair_wait_in_every_kind_of_text(last: str, shown: str) -> None:
    halves = ("\ud83d", last)
    folded = Folded(*(ReasoningDelta(text=half) for half in halves if half), TextDelta(text='{"a":1}'), STOP)
    assert folded.response.reasoning == folded.joined("reasoning_delta") == folded.data("reasoning_done")[-1] == shown
    folded = Folded(*(TextDelta(text=half, aside=True) for half in halves if half), TextDelta(text='{"a":1}'), STOP)
    assert folded.response.text == folded.joined("delta") == shown + '{"a":1}'
    folded = Folded(
        TextDelta(text='{"a" 1 '),
        *(TextDelta(text=half) for half in halves if half),
        STOP,
        turn=Turn(ParserOptions(dialect="strict")),
    )
    assert folded.response.text == folded.joined("delta") == folded.joined("original_delta") == '{"a" 1 ' + shown


def test_text_that_only_the_terminal_event_has_is_read() -> None:
    done = Folded(Result(text='{"a": 1}'))
    assert (done.response.text, done.response.data, done.response.end_state) == ('{"a": 1}', {"a": 1}, "complete")
    assert done.joined("delta") == '{"a": 1}'


def test_the_terminal_text_wins_over_the_deltas() -> None:
    assert Folded(*text("helo"), Result(text="hello")).response.text == "hello"


@pytest.mark.parametrize("event", [Raw(name="x", payload={"a": 1}), "no event at all", None, 5])
def test_an_unknown_event_is_kept_and_changes_nothing(event: Any) -> None:
    done = Folded(*text("hi"), event, STOP, Result())
    assert done.response.text == "hi"
    assert [kept.type for kept in done.response.events] == ["text", "raw", "finish", "result"]


@pytest.mark.parametrize(
    ("event", "said", "expected"),
    [
        (TextDelta(text=None), "the text of a 'text' event is NoneType", "str"),  # type: ignore[arg-type]
        (TextDelta(text="a", choice="b"), "the choice of a 'text' event is 'b'", "int"),  # type: ignore[arg-type]
        (RefusalDelta(text=b"no"), "the text of a 'refusal' event is bytes", "str"),  # type: ignore[arg-type]
        (call(0, 5), "the arguments of a 'tool_call' event is int", "str or dict or None"),
        (call(0, "{}", id=7), "the id of a 'tool_call' event is int", "str or None"),
        (call([], "{}"), "the key of a 'tool_call' event is list", "int or str"),  # type: ignore[arg-type]
        (UsageUpdate(input_tokens="x"), "the input_tokens of a 'usage' event is 'x'", "int or None"),  # type: ignore[arg-type]
        (UsageUpdate(total_cost={}), "the total_cost of a 'usage' event is dict", "float or None or int"),  # type: ignore[arg-type]
        (Session(metadata=5), "the metadata of a 'session' event is int", "dict or None"),  # type: ignore[arg-type]
        (
            Finish(reason="x", mapped="y"),  # type: ignore[arg-type]
            "the mapped of a 'finish' event is 'y'",
            "stop, length, tool_calls, content_filter, error, other",
        ),
        (Result(text=5), "the text of a 'result' event is int", "str or None"),  # type: ignore[arg-type]
        (Error(reason=None), "the reason of a 'error' event is NoneType", "str"),  # type: ignore[arg-type]
    ],
)
def test_a_field_of_a_wrong_type_ends_the_turn_and_names_itself(event: Any, said: str, expected: str) -> None:
    done = Folded(*text("before"), event)
    assert isinstance(done.turn.error, UsageError)
    assert (done.turn.error.message, done.turn.error.expected) == (said, expected)
    assert (done.response.text, done.response.end_state) == ("before", "error")
    with pytest.raises(UsageError, match=re.escape(said)):
        Response.from_events([event, Result()])
    with pytest.raises(UsageError, match=re.escape(said)):
        from_dict(event.to_dict() | {name: None for name in ("text", "reason") if getattr(event, name, 0) is None})


def test_costs_may_be_whole_numbers() -> None:
    assert Folded(UsageUpdate(total_cost=1, input_tokens=2), STOP, Result()).turn.error is None


def test_after_a_terminal_event_nothing_counts() -> None:
    turn = Turn()
    turn.feed(TextDelta(text="a"))
    turn.feed(Result(finished=True))
    assert turn.over
    assert turn.feed(TextDelta(text="b")) == []
    assert turn.feed(Error(reason="late")) == []
    turn.close()
    assert turn.response is not None
    assert (turn.response.text, turn.response.end_state) == ("a", "complete")


def test_times_come_from_the_clock() -> None:
    now = [10.0]
    turn = Turn(clock=lambda: now[0])
    now[0] = 10.5
    turn.feed(Session(id="x"))
    now[0] = 11.0
    turn.feed(TextDelta(text="a"))
    now[0] = 12.0
    turn.feed(TextDelta(text="b"))
    turn.close()
    assert turn.response is not None
    assert turn.response.time_to_first_delta_ms == 1000
    assert turn.response.duration_ms == 2000


def test_prompt_and_metadata_are_handed_on() -> None:
    done = Folded(*text("hi"), STOP, Result(), turn=Turn(prompt=["p"], metadata={"k": "v"}))
    assert done.response.prompt == ["p"]
    assert done.response.metadata == {"k": "v"}


# ---- how it ends


def test_a_stream_without_a_finish_reason_was_cut() -> None:
    done = Folded(*text('{"a": "x", "b": "par'))
    response = done.response
    assert (response.end_state, response.finish_reason, response.complete) == ("cut", None, False)
    assert (response.data, response.incomplete) == ({"a": "x", "b": "par"}, ["b", ""])
    assert [(e.path, e.event_type) for e in done.instant()][-2:] == [("b", "cut"), ("", "cut")]


def test_a_token_limit_truncates() -> None:
    response = Folded(*text('{"a": [1, 2, '), LENGTH, Result()).response
    assert (response.end_state, response.complete, response.data) == ("truncated", False, {"a": [1, 2]})


def test_a_provider_error_keeps_the_partial_answer() -> None:
    done = Folded(*text('{"a": "par'), Error(reason="overloaded", code="529"))
    error = done.turn.error
    assert isinstance(error, ProviderError)
    assert "overloaded" in str(error)
    assert "529" in str(error)
    assert (done.response.end_state, done.response.finish_reason) == ("error", "error")
    assert (done.response.text, done.response.data) == ('{"a": "par', {"a": "par"})
    assert done.response.metadata["error"] == "overloaded"
    assert done.names[-1] == "error"
    assert "done" not in done.names


def test_cancelling_is_no_error() -> None:
    done = Folded(*text('{"a": "par'), cancelled=True)
    assert done.turn.error is None
    assert (done.response.end_state, done.response.complete) == ("cancelled", False)
    assert done.response.data == {"a": "par"}
    assert "done" not in done.names
    assert done.data("status") == [{"state": "cancelled"}]


def test_a_fault_in_strict_text_ends_the_turn_after_the_events_before_it() -> None:
    turn = Turn(ParserOptions(dialect="strict"))
    messages = turn.feed(TextDelta(text='{"a": 1, b'))
    assert [(d.path, d.event_type) for e, d in messages if e == "instant"] == [("a", "delta"), ("a", "done")]
    assert turn.over
    assert isinstance(turn.error, JSONSyntaxError)
    messages = turn.close()
    assert messages[-1] == ("error", turn.error)
    assert turn.response is not None
    assert (turn.response.end_state, turn.response.data) == ("error", {"a": 1})
    assert isinstance(turn.response.terminal, Error)
    assert turn.response.terminal.code == turn.error.code


@pytest.mark.parametrize(("finish", "state"), [([STOP], "error"), ([LENGTH], "truncated"), ([], "cut")])
def test_strict_text_that_ends_too_early_is_an_error_in_each_end_state(finish: list[Finish], state: str) -> None:
    done = Folded(*text('{"a": "par'), *finish, turn=Turn(ParserOptions(dialect="strict")))
    assert isinstance(done.turn.error, IncompleteJSONError)
    assert done.response.end_state == state
    assert done.response.incomplete == ["a", ""]
    assert [(e.path, e.event_type) for e in done.instant()][-2:] == [("a", "cut"), ("", "cut")]


def test_a_broken_stream_is_the_error_not_the_text_that_it_cut() -> None:
    broken = OSError("gone")
    done = Folded(*text('{"a": "par'), turn=Turn(ParserOptions(dialect="strict")), error=broken)
    assert done.turn.error is broken
    assert done.response.data == {"a": "par"}


def test_a_limit_of_the_text_ends_the_turn() -> None:
    turn = Turn(ParserOptions(limits=Limits(depth=3)))
    turn.feed(TextDelta(text='{"a": {"b": {"c": {"d": 1}}}}'))
    assert isinstance(turn.error, LimitExceeded)
    assert turn.error.limit == "depth"


def test_a_lossless_turn_ends_where_it_cannot_keep_an_event() -> None:
    turn = Turn(ParserOptions(limits=Limits(events=2)), lossless=True)
    turn.feed(TextDelta(text="a"))
    assert not turn.over
    turn.feed(TextDelta(text="b"))
    assert not turn.over
    turn.feed(TextDelta(text="c"))
    assert isinstance(turn.error, LimitExceeded)
    turn.close()
    assert turn.response is not None
    assert turn.response.text == "ab"
    assert turn.response.end_state == "error"


def test_a_lossless_turn_may_be_full_by_its_terminal_event() -> None:
    done = Folded(
        *text("a", "b"), Result(finished=True), turn=Turn(ParserOptions(limits=Limits(events=2)), lossless=True)
    )
    assert isinstance(done.turn.error, LimitExceeded)
    assert done.response.terminal == Result(finished=True)


def test_a_compact_turn_keeps_a_prefix_and_counts_all() -> None:
    done = Folded(*text("a", "b", "c"), STOP, Result(), turn=Turn(ParserOptions(limits=Limits(events=2))))
    coverage = done.response.event_coverage
    assert (coverage.mode, coverage.observed_events, coverage.retained_events) == ("compact", 5, 2)
    assert done.response.text == "abc"


# ---- tool calls


def test_arguments_become_fields_with_the_id_of_the_call_as_source() -> None:
    done = Folded(call(0, id="c1", name="weather"), call(0, '{"city": "Par'), call(0, 'is"}'), TOOLS, Result())
    assert [(e.path, e.event_type, e.delta) for e in done.instant("c1")] == [
        ("city", "delta", "Par"),
        ("city", "delta", "is"),
        ("city", "done", None),
        ("", "done", None),
    ]
    assert [delta["arguments"] for delta in done.data("tool_call_delta")] == ["", '{"city": "Par', 'is"}']
    made = done.data("tool_calls")
    assert [(one.id, one.name, one.arguments, one.complete) for one in made] == [
        ("c1", "weather", {"city": "Paris"}, True)
    ]
    assert done.response.tool_calls == made
    assert done.response.raw_finish_reason == "tool_calls"
    assert done.response.complete


def test_a_call_is_told_when_its_document_closes_not_at_the_end() -> None:
    turn = Turn()
    turn.feed(call(0, '{"a": 1', id="c1", name="f"))
    assert [event for event, _ in turn.feed(call(0, "}"))].count("tool_calls") == 1
    assert "tool_calls" not in [event for event, _ in turn.feed(call(0, " "))]
    turn.feed(TOOLS)
    assert "tool_calls" not in [event for event, _ in turn.close()]


@pytest.mark.parametrize("done_by", ["provider", "document", "end"])
def test_tolerances_in_arguments_stand_with_the_call(done_by: str) -> None:
    pieces = [call(0, "{'a': 1", id="c1", name="f"), call(0, "}", done=done_by == "provider"), call(0, " ")]
    done = Folded(*(pieces if done_by == "document" else pieces[:2]), TOOLS, Result())
    (made,) = done.response.tool_calls
    assert [remark["code"] for remark in made.metadata["diagnostics"]] == ["single_quotes"]
    assert [told.metadata for told in done.data("tool_calls")] == [made.metadata]
    assert (
        "diagnostics" not in Folded(call(0, "{}", id="c1", name="f"), TOOLS, Result()).response.tool_calls[0].metadata
    )


def test_a_call_without_an_id_is_told_as_the_response_has_it() -> None:
    done = Folded(call(0, '{"a": 1}', name="f", done=True), TOOLS, Result())
    assert done.data("tool_calls") == done.response.tool_calls
    assert done.response.tool_calls[0].metadata == {"generated_id": True}


def test_two_calls_of_one_id_have_two_sources() -> None:
    """Else a path would go on after its `done` (law 3)."""
    done = Folded(call(0, '{"k": "x"}', id="a", name="f"), call(1, '{"k": "y"}', id="a", name="g"), TOOLS, Result())
    assert [made.id for made in done.response.tool_calls] == ["a", "a"]
    sources = list(dict.fromkeys(event.source for event in done.data("instant")))
    assert len(sources) == 2
    for source, text in zip(sources, "xy", strict=True):
        events = [(event.path, event.event_type, event.delta) for event in done.instant(source)]
        assert events == [("k", "delta", text), ("k", "done", None), ("", "done", None)]


def test_interleaved_calls_keep_apart() -> None:
    done = Folded(
        call(0, '{"x":', id="a", name="f"),
        call(1, '{"y":', id="b", name="g"),
        call(0, "1}"),
        call(1, "2}"),
        TOOLS,
        Result(),
    )
    assert [(c.id, c.arguments) for c in done.data("tool_calls")] == [("a", {"x": 1}), ("b", {"y": 2})]
    assert done.response.tool_calls == done.data("tool_calls")


def test_a_different_id_on_a_taken_key_is_another_call() -> None:
    done = Folded(call(0, '{"x":1}', id="a", name="f"), call(0, '{"y":2}', id="b", name="g"), TOOLS, Result())
    assert [(c.id, c.arguments) for c in done.data("tool_calls")] == [("a", {"x": 1}), ("b", {"y": 2})]


def test_whole_arguments_are_one_piece() -> None:
    done = Folded(call(0, {"city": "Köln"}, id="a", name="f", done=True), STOP, Result())
    assert [c.arguments for c in done.data("tool_calls")] == [{"city": "Köln"}]
    assert done.response.tool_calls[0].raw_arguments == '{"city": "Köln"}'
    assert done.response.finish_reason == "tool_calls"


def test_cut_arguments_are_partial_and_told_by_no_message() -> None:
    done = Folded(call(0, '{"city": "Par', id="a", name="f"), LENGTH, Result())
    assert done.data("tool_calls") == []
    (made,) = done.response.tool_calls
    assert (made.arguments, made.complete, made.raw_arguments) == ({"city": "Par"}, False, '{"city": "Par')
    assert [(e.path, e.event_type) for e in done.instant("a")][-2:] == [("city", "cut"), ("", "cut")]
    assert not done.response.complete


@pytest.mark.parametrize(("done", "expected"), [(True, ({}, True)), (False, (None, False))])
def test_a_call_without_arguments_is_whole_only_if_somebody_says_so(done: bool, expected: tuple[Any, bool]) -> None:
    folded = Folded(call(0, "", id="a", name="f", done=done))
    (made,) = folded.response.tool_calls
    assert (made.arguments, made.complete) == expected
    assert len(folded.data("tool_calls")) == int(done)


def test_strict_arguments_with_a_fault_keep_text_and_error_and_end_nothing() -> None:
    done = Folded(
        call(0, '{"a": nope}', id="a", name="f"),
        *text('{"ok": true}'),
        STOP,
        Result(),
        turn=Turn(ParserOptions(dialect="strict")),
    )
    assert done.turn.error is None
    (made,) = done.response.tool_calls
    assert (made.raw_arguments, made.complete) == ('{"a": nope}', False)
    assert "error" in made.metadata
    assert made.arguments == {}  # what was read of it: the object was open, and empty
    assert done.response.data == {"ok": True}
    assert done.data("tool_calls") == [made]


def test_a_limit_in_arguments_ends_the_turn() -> None:
    turn = Turn(ParserOptions(limits=Limits(depth=2)))
    turn.feed(call(0, '{"a": {"b": {"c": 1}}}', id="a", name="f"))
    assert isinstance(turn.error, LimitExceeded)


def test_free_text_input_is_not_parsed() -> None:
    done = Folded(call(0, '{"a": 1}', id="a", name="f", free_text=True), call(0, done=True), TOOLS, Result())
    assert done.instant("a") == []
    assert [c.arguments for c in done.data("tool_calls")] == ['{"a": 1}']


def test_what_the_provider_runs_itself_is_no_call_of_the_caller() -> None:
    done = Folded(call(0, '{"q": 1}', id="a", name="search", hosted=True, done=True), *text("found"), STOP, Result())
    assert done.data("tool_calls") == []
    assert done.instant("a") == []
    assert done.response.tool_calls == []
    assert done.response.metadata["provider_tool_calls"][0]["arguments"] == {"q": 1}


def test_final_arguments_win_over_what_was_streamed() -> None:
    done = Folded(
        call(0, '{"a": "x', id="c", name="f"), call(0, final_arguments='{"a": "y"}', done=True), TOOLS, Result()
    )
    assert [c.arguments for c in done.data("tool_calls")] == [{"a": "y"}]
    events = done.instant("c")
    reset = [event.event_type for event in events].index("reset")
    assert "".join(event.delta or "" for event in events[reset:]) == "y"


def test_final_arguments_may_come_after_the_call_was_told() -> None:
    done = Folded(
        call(0, '{"a": "x"}', id="c", name="f", done=True), call(0, final_arguments='{"a": "y"}'), TOOLS, Result()
    )
    assert len(done.data("tool_calls")) == 1
    assert [(c.arguments, c.complete) for c in done.response.tool_calls] == [({"a": "y"}, True)]


def test_reasoning_is_done_before_a_call() -> None:
    done = Folded(ReasoningDelta(text="hm"), call(0, "{}", id="a", name="f", done=True), TOOLS, Result())
    assert done.names.index("reasoning_done") < done.names.index("tool_call_delta")


def test_tool_calls_are_typed() -> None:
    done = Folded(call(0, "{}", id="a", name="f", done=True), TOOLS, Result())
    assert all(isinstance(one, ToolCall) for one in done.data("tool_calls"))


# ---- a tool call as the answer


def answer_turn() -> Turn:
    return Turn(answer_tool="answer")


def test_the_answer_tool_makes_its_arguments_the_content() -> None:
    done = Folded(
        *text("Let me call it."),
        call(0, id="c", name="answer"),
        call(0, '{"a": '),
        call(0, "1}", done=True),
        TOOLS,
        Result(),
        turn=answer_turn(),
    )
    response = done.response
    assert (response.text, response.data, response.tool_calls) == ('{"a": 1}', {"a": 1}, [])
    assert (response.finish_reason, response.raw_finish_reason, response.complete) == ("stop", "tool_calls", True)
    assert response.metadata["commentary"] == "Let me call it."
    assert done.joined("delta") == '{"a": 1}'
    assert {event.source for event in done.data("instant")} == {"content"}
    assert done.data("tool_calls") == done.data("tool_call_delta") == []


def test_final_arguments_replace_the_answer() -> None:
    done = Folded(
        call(0, '<think>one</think>{"a": "x', id="c", name="answer"),
        call(0, final_arguments='<think>two</think>{"a": "y"}', done=True),
        TOOLS,
        Result(),
        turn=answer_turn(),
    )
    assert (done.response.text, done.response.data) == ('{"a": "y"}', {"a": "y"})
    assert done.data("done") == ['{"a": "y"}']
    assert "two" in (done.response.reasoning or "")
    assert [event.event_type for event in done.instant()].count("reset") == 1


def test_other_calls_beside_the_answer_stay_calls() -> None:
    done = Folded(
        call(0, '{"a": 1}', id="c", name="answer"),
        call(1, "{}", id="d", name="other"),
        TOOLS,
        Result(),
        turn=answer_turn(),
    )
    assert done.response.data == {"a": 1}
    assert [c.name for c in done.response.tool_calls] == ["other"]
    assert done.response.finish_reason == "tool_calls"


def test_where_the_answer_tool_is_not_called_the_text_is_the_answer() -> None:
    done = Folded(*text('{"a": ', "1}"), STOP, Result(), turn=answer_turn())
    assert (done.response.text, done.response.data) == ('{"a": 1}', {"a": 1})
    assert done.joined("delta") == '{"a": 1}'
    assert done.joined("original_delta") == done.data("original_done")[0] == '{"a": 1}'


def test_the_name_of_the_answer_tool_may_come_after_its_first_arguments() -> None:
    done = Folded(call(0, '{"a"', id="c"), call(0, ": 1}", name="answer"), TOOLS, Result(), turn=answer_turn())
    assert done.response.data == {"a": 1}
    assert done.response.tool_calls == []


def test_a_cut_answer_tool_leaves_a_partial_answer() -> None:
    done = Folded(call(0, '{"a": "x', id="c", name="answer"), LENGTH, Result(), turn=answer_turn())
    assert (done.response.data, done.response.incomplete) == ({"a": "x"}, ["a", ""])
    assert (done.response.end_state, done.response.complete) == ("truncated", False)
