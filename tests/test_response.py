"""Response, the fold that makes it, and which events it keeps."""

from __future__ import annotations

import json
import pickle
from dataclasses import fields
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from streamparse.errors import Diagnostic, LimitExceeded, UsageError
from streamparse.limits import Limits
from streamparse.provider import (
    BY_TYPE,
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
    ToolResult,
    UsageUpdate,
    from_dict,
)
from streamparse.response import (
    EventCoverage,
    EventLog,
    Message,
    Response,
    ResponseBuilder,
    ToolCall,
    Usage,
    event_size,
)
from streamparse.response.json_text import write
from streamparse.values import same_value


def texts(*pieces: str) -> list[ProviderEvent]:
    return [TextDelta(text=piece) for piece in pieces]


STOP = Finish(reason="stop", mapped="stop")
REMARK = Diagnostic("comment", "a comment was skipped", 3, 1, 4, "a")

EVERY: list[ProviderEvent] = [
    Session(id="r1", model="m1", request_id="q1", session_id="s1", metadata={"tier": "x"}),
    ReasoningDelta(text="hm", block=0, metadata={"signature": "c2ln"}),
    TextDelta(text='{"a": [1, '),
    TextDelta(text="2.5]}"),
    RefusalDelta(text="no", choice=1),
    ToolCallDelta(key=0, id="c1", name="f", arguments='{"x":'),
    ToolCallDelta(key=0, arguments="1}", done=True),
    ToolCallDelta(key="h", id="h1", name="search", arguments={"q": "x"}, hosted=True, done=True),
    ToolResult(id="h1", name="search", content=[1, None]),
    UsageUpdate(input_tokens=3, extra={"odd": 1.5}),
    UsageUpdate(output_tokens=4, total_tokens=7, total_cost=0.5),
    Raw(name="spark", payload={"x": [True]}),
    Finish(reason="stop", mapped="stop"),
    Result(metadata={"note": "ü"}),
]


# -- the value -------------------------------------------------------------------------------------------------------


def test_every_field_of_the_design_is_there_and_optional() -> None:
    wanted = (
        "id request_id session_id model prompt message text final_message data reasoning tool_calls finish_reason "
        "raw_finish_reason end_state complete incomplete diagnostics usage duration_ms time_to_first_delta_ms events "
        "event_coverage terminal raw metadata"
    )
    assert set(wanted.split()) <= Response.model_fields.keys()
    empty = Response()
    assert (empty.text, empty.output_text, empty.usage, empty.final_message, empty.prompt) == ("", "", None, None, None)
    assert (empty.metadata, empty.tool_calls, empty.events, empty.complete) == ({}, [], [], False)


def test_text_or_none() -> None:
    """The three examples of the field's own documentation, and a list of parts, which is not flattened."""
    assert Response(output_text="direct").text_or_none() == "direct"  # type: ignore[call-arg]
    assert Response(message=Message(role="assistant", content="from-msg")).text_or_none() == "from-msg"
    assert Response().text_or_none() is None
    assert Response(message=Message(content=[{"type": "text", "text": "x"}])).text_or_none() is None
    assert Response(text="a", message=Message(content="b")).text_or_none() == "a"


def test_output_text_is_another_name() -> None:
    response = Response.model_validate({"output_text": "hi", "finish_reason": "stop"})
    assert (response.output_text, response.text, response.finish_reason) == ("hi", "hi", "stop")


def test_frozen_and_closed() -> None:
    with pytest.raises(ValidationError):
        Response(colour="red")  # type: ignore[call-arg]
    with pytest.raises(ValidationError):
        Response(finish_reason="because")  # type: ignore[arg-type]
    with pytest.raises(ValidationError):
        Response().text = "x"  # type: ignore[misc]
    for model in (Usage, ToolCall, Message, EventCoverage):
        with pytest.raises(ValidationError):
            model(colour="red")


def test_json_round_trip_of_everything() -> None:
    response = Response.from_events(EVERY, duration_ms=12.5, session_id="s2")
    odd = response.model_copy(
        update={
            "diagnostics": [Diagnostic("comment", "skipped", 1, 1, 2, "a", "//")],
            "data": {"n": float("inf"), "big": 10**40, "ü": "\U0001f600\u2028"},
            "prompt": [{"role": "user", "content": "hi"}],
            "raw": {"x": [None]},
        }
    )
    for value in (response, odd, Response()):
        written = value.model_dump_json()
        assert Response.model_validate_json(written) == value
        assert Response.model_validate(json.loads(written)).model_dump_json() == written
        assert Response.model_validate(value.model_dump()) == value
        assert pickle.loads(pickle.dumps(value)) == value


def deep(depth: int) -> Any:
    value: Any = "in the middle \u00e9\u2028"
    for level in range(depth):
        value = {"a": value, "\n": 1.5} if level % 2 else [value, None, 10**40]
    return value


@pytest.mark.parametrize("depth", [1, 190, 250, 600, 1023])
def test_json_round_trip_at_any_depth(depth: int) -> None:
    """pydantic itself writes 255 levels and reads 200; `Limits.depth` lets 1024 through."""
    value = deep(depth)
    response = Response(
        data=value,
        prompt=[value],
        metadata={"m": value},
        tool_calls=[ToolCall(id="c", arguments=value)],
        events=[Raw(payload=value), Result()],
        terminal=Result(),
    )
    for indent in (None, 2):
        written = response.model_dump_json(indent=indent)
        read = Response.model_validate_json(written)
        assert same_value(read.data, value)
        assert same_value(read.metadata, {"m": value})
        assert same_value(read.tool_calls[0].arguments, value)
        assert same_value(read.events[0].payload, value)
        assert read.model_dump_json(indent=indent) == written
        assert Response.model_validate_json(written.encode()).model_dump_json(indent=indent) == written
    again = Response.model_validate(response.model_dump(mode="json"))
    assert same_value(again.prompt, [value])


def test_both_writers_of_json_write_the_same() -> None:
    values = [float("nan"), float("inf"), -float("inf"), -0.0, 1e300, 0, True, None, "\ud83d", "\x00\x7f", {}, [], (1,)]
    values += [{"": [[]]}, {1: 2}, date(2026, 12, 1), Decimal("1.50"), b"bytes", Usage(input_tokens=1)]
    response = Response(data=[*values, "\ud83d"], usage=Usage(extra={"x": [1.0]}), diagnostics=[REMARK], events=EVERY)
    for indent in (None, 1):
        ours, theirs = write(response.model_dump(), indent), response.model_dump_json(indent=indent)
        assert len(ours.splitlines()) == len(theirs.splitlines())
        assert repr(json.loads(ours)) == repr(json.loads(theirs))  # NaN is not equal to itself; 1e300 may be 1e+300


def test_how_many_remarks_there_were() -> None:
    kept = Response(diagnostics=[REMARK], omitted_diagnostics=4)
    assert kept.diagnostic_count == 5
    assert Response().diagnostic_count == 0
    made = Response.from_events([*texts("{" + ",".join(f"k{n}:1" for n in range(130)) + "}"), STOP, Result()])
    assert (len(made.diagnostics), made.omitted_diagnostics, made.diagnostic_count) == (100, 30, 130)


def test_json_schema_can_be_made() -> None:
    assert "properties" in Response.model_json_schema(mode="serialization")


# -- from_events -----------------------------------------------------------------------------------------------------


def test_example_of_the_fields_documentation() -> None:
    response = Response.from_events([TextDelta(text="hello"), Result(text="hello")], duration_ms=1)
    assert (response.text, response.final_message, response.event_coverage.mode) == ("hello", "hello", "exact")


@pytest.mark.parametrize("terminals", [[], [Result(), Result()], [Result(), Error(reason="x")]])
def test_exactly_one_terminal_event(terminals: list[ProviderEvent]) -> None:
    with pytest.raises(UsageError, match="exactly one terminal event"):
        Response.from_events([*texts("a"), *terminals], duration_ms=1)
    with pytest.raises(UsageError, match="NoneType"):
        Response.from_events(None, duration_ms=1)  # type: ignore[arg-type]


def test_events_may_be_dicts() -> None:
    dicts = [event.to_dict() for event in EVERY]
    assert Response.from_events(dicts, duration_ms=1) == Response.from_events(EVERY, duration_ms=1)
    with pytest.raises(UsageError, match="str"):
        Response.from_events(["hello"], duration_ms=1)  # type: ignore[list-item]


def test_the_text_of_the_result_wins() -> None:
    response = Response.from_events([*texts("dra", "ft"), Result(text="final")], duration_ms=1)
    assert (response.text, response.final_message, response.message) == ("final", "final", Message(content="final"))


def test_text_without_a_result_text_is_joined_directly() -> None:
    response = Response.from_events([*texts("a", "", " b"), STOP, Result()], duration_ms=1)
    assert (response.text, response.final_message) == ("a b", "a b")


def test_a_boundary_starts_a_new_message_after_a_blank_line() -> None:
    events = [*texts("one", " more"), TextDelta(text="two", message_boundary=True), *texts("!"), STOP, Result()]
    response = Response.from_events(events, duration_ms=1)
    assert (response.text, response.final_message) == ("one more\n\ntwo!", "two!")


def test_a_boundary_at_the_start_or_without_text_adds_no_blank_line() -> None:
    first = [TextDelta(text="a", message_boundary=True), *texts("b"), STOP, Result()]
    assert Response.from_events(first, duration_ms=1).text == "ab"
    empty = [*texts("a"), TextDelta(text="", message_boundary=True), STOP, Result()]
    response = Response.from_events(empty, duration_ms=1)
    assert (response.text, response.final_message) == ("a", "a")
    late = [*texts("a"), TextDelta(text="", message_boundary=True), *texts("b"), STOP, Result()]
    assert Response.from_events(late, duration_ms=1).text == "a\n\nb"


def test_usage_is_merged_field_by_field() -> None:
    events = [
        UsageUpdate(input_tokens=3, output_tokens=1, extra={"a": 1, "b": None}),
        UsageUpdate(output_tokens=9, input_tokens=None, extra={"b": 2, "a": None}),
        Result(),
    ]
    assert Response.from_events(events, duration_ms=1).usage == Usage(
        input_tokens=3, output_tokens=9, extra={"a": 1, "b": 2}
    )
    assert Response.from_events([Result()], duration_ms=1).usage is None


def test_an_error_keeps_the_partial() -> None:
    events = [*texts('{"a": "hal'), Error(reason="it broke", code="500", details={"x": 1})]
    response = Response.from_events(events, duration_ms=1)
    assert (response.text, response.data, response.metadata["error"]) == ('{"a": "hal', {"a": "hal"}, "it broke")
    assert (response.finish_reason, response.end_state, response.complete) == ("error", "error", False)
    assert response.terminal == events[-1]


def test_an_error_keeps_the_raw_finish_reason_that_came_before_it() -> None:
    response = Response.from_events([STOP, Error(reason="late")], duration_ms=1)
    assert (response.finish_reason, response.raw_finish_reason) == ("error", "stop")


def test_who_answered() -> None:
    events = [
        Session(id="", model=""),
        Session(id="first", model="alias", metadata={"a": 1}),
        Session(id="second", model="dated", metadata={"b": 2}),
        Result(model="served", session_id="s1", metadata={"c": 3}),
    ]
    response = Response.from_events(events, duration_ms=1)
    assert (response.id, response.model, response.session_id) == ("first", "served", "s1")
    assert response.metadata == {"a": 1, "b": 2, "c": 3}
    assert Response.from_events(events, duration_ms=1, session_id="mine").session_id == "mine"


def test_data_is_parsed_from_the_text() -> None:
    fenced = Response.from_events([*texts("Sure:\n```json\n{'a': 1,}\n```"), STOP, Result()], duration_ms=1)
    assert (fenced.data, fenced.complete, fenced.incomplete) == ({"a": 1}, True, [])
    assert {"fence", "single_quotes", "trailing_comma"} <= {diagnostic.code for diagnostic in fenced.diagnostics}
    cut = Response.from_events([*texts('{"a": [1, "b'), STOP, Result()], duration_ms=1)
    assert (cut.data, cut.complete, cut.end_state) == ({"a": [1, "b"]}, False, "complete")
    assert cut.incomplete == ["a[1]", "a", ""]
    prose = Response.from_events([*texts("Just words."), STOP, Result()], duration_ms=1)
    assert (prose.data, prose.complete, prose.diagnostics) == (None, True, [])


def test_tool_calls_of_a_finished_run() -> None:
    response = Response.from_events(EVERY, duration_ms=1)
    assert response.tool_calls == [
        ToolCall(id="c1", name="f", arguments={"x": 1}, raw_arguments='{"x":1}', complete=True, index=0)
    ]
    (hosted,) = response.metadata["provider_tool_calls"]
    assert (hosted["name"], hosted["arguments"]) == ("search", {"q": "x"})
    assert response.metadata["tool_results"] == [EVERY[8].to_dict()]
    assert (response.finish_reason, response.raw_finish_reason) == ("tool_calls", "stop")


def test_a_hosted_call_alone_is_no_reason_to_call_tools() -> None:
    response = Response.from_events([EVERY[7], STOP, Result()], duration_ms=1)
    assert (response.finish_reason, response.tool_calls) == ("stop", [])


def test_arguments_that_do_not_parse_keep_their_text() -> None:
    events = [ToolCallDelta(key=0, id="c", name="f", arguments="<xml/>"), STOP, Result()]
    (call,) = Response.from_events(events, duration_ms=1).tool_calls
    assert (call.raw_arguments, call.complete) == ("<xml/>", False)
    assert call.arguments != {}


REASONS = {
    "stop": ("stop", "complete"),
    "length": ("length", "truncated"),
    "tool_calls": ("tool_calls", "complete"),
    "content_filter": ("content_filter", "filtered"),
    "error": ("error", "error"),
    "other": ("other", "complete"),
}


@pytest.mark.parametrize(("mapped", "expected"), REASONS.items())
def test_end_states_by_finish_reason(mapped: Any, expected: tuple[str, str]) -> None:
    response = Response.from_events([*texts("a"), Finish(reason="raw", mapped=mapped), Result()], duration_ms=1)
    assert (response.finish_reason, response.end_state) == expected
    assert response.raw_finish_reason == "raw"
    assert response.complete == (expected[1] == "complete")


@pytest.mark.parametrize(
    ("events", "finish", "state"),
    [
        ([Result()], None, "cut"),
        ([Result(finished=True)], None, "complete"),
        ([Result(text="a")], None, "complete"),
        ([RefusalDelta(text="no"), STOP, Result()], "stop", "refused"),
        ([RefusalDelta(text="no"), Result()], None, "refused"),
        ([Finish(reason="refusal", mapped="content_filter", refusal=True), Result()], "content_filter", "refused"),
        ([Finish(reason="pause_turn", mapped="other", paused=True), Result()], "other", "paused"),
        ([Finish(reason="incomplete", mapped="other", unfinished=True), Result()], "other", "truncated"),
        ([Finish(reason="length", mapped="length"), STOP, Result()], "stop", "complete"),
        ([STOP, Error(reason="x")], "error", "error"),
    ],
)
def test_end_states(events: list[ProviderEvent], finish: str | None, state: str) -> None:
    response = Response.from_events(events, duration_ms=1)
    assert (response.finish_reason, response.end_state) == (finish, state)
    assert response.complete == (state == "complete")


def test_cancelled_is_for_the_runner_to_say() -> None:
    builder = ResponseBuilder()
    builder.add(TextDelta(text="a"))
    assert builder.build(cancelled=True).end_state == "cancelled"


@given(st.lists(st.text(max_size=8), max_size=8), st.lists(st.integers(0, 60), max_size=6))
def test_the_fold_does_not_depend_on_how_the_text_was_cut(pieces: list[str], cuts: list[int]) -> None:
    text = "".join(pieces)
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    other = [text[start:end] for start, end in pairwise(places)]
    compared = [Response.from_events([*texts(*cut), STOP, Result()], duration_ms=1) for cut in (pieces, other)]
    # By text: NaN is not equal to itself.
    first, second = (response.model_dump_json(exclude={"events", "event_coverage"}) for response in compared)
    assert first == second
    assert compared[0].text == text


# -- the events that are kept ----------------------------------------------------------------------------------------


def test_a_thousand_events_and_a_megabyte_by_default() -> None:
    assert (Limits().events, Limits().event_bytes) == (1000, 1024 * 1024)
    events = [*texts(*("ab" for _ in range(1200))), UsageUpdate(input_tokens=1), STOP, Result(text=None, model="m")]
    response = Response.from_events(events, duration_ms=1)
    coverage = response.event_coverage
    assert (coverage.mode, coverage.observed_events, coverage.retained_events, coverage.omitted_events) == (
        "compact", 1203, 1000, 203,
    )  # fmt: skip
    assert coverage.first_omission is not None
    assert coverage.first_omission.model_dump() == {"limit": "events", "event_kind": "text"}
    assert response.events == events[:1000]
    # Past the cut all but the log is exact.
    assert response.text == "ab" * 1200
    assert response.usage == Usage(input_tokens=1)
    assert (response.terminal, response.model, response.finish_reason) == (events[-1], "m", "stop")


def test_bytes_are_bounded_and_the_log_has_no_holes() -> None:
    log = EventLog(Limits(event_bytes=200))
    big, small = TextDelta(text="x" * 150), TextDelta(text="y")
    for event in (small, big, small):
        log.add(event)
    coverage = log.coverage()
    assert log.events == [small]
    assert (coverage.retained_events, coverage.omitted_events, coverage.retained_bytes) == (1, 2, event_size(small))
    assert coverage.first_omission is not None
    assert coverage.first_omission.model_dump() == {"limit": "event_bytes", "event_kind": "text"}


def test_an_exact_log_has_no_omission() -> None:
    coverage = Response.from_events(EVERY, duration_ms=1).event_coverage
    assert coverage == EventCoverage(
        mode="exact",
        observed_events=len(EVERY),
        retained_events=len(EVERY),
        omitted_events=0,
        retained_bytes=sum(event_size(event) for event in EVERY),
        first_omission=None,
    )


@pytest.mark.parametrize(
    ("limits", "limit", "code"),
    [(Limits(events=2), "events", "limit_events"), (Limits(event_bytes=170), "event_bytes", "limit_event_bytes")],
)
def test_lossless_raises_at_the_first_event_over(limits: Limits, limit: str, code: str) -> None:
    builder = ResponseBuilder(limits=limits, lossless=True)
    builder.add(TextDelta(text="a"))
    builder.add(TextDelta(text="b"))
    with pytest.raises(LimitExceeded) as caught:
        builder.add(Finish(reason="stop", mapped="stop"))
    assert (caught.value.limit, caught.value.code) == (limit, code)
    with pytest.raises(LimitExceeded):
        Response.from_events([*texts("a", "b"), STOP, Result()], duration_ms=1, limits=limits, lossless=True)


plain_events = st.one_of(
    st.builds(
        TextDelta,
        text=st.text(max_size=20),
        message_boundary=st.booleans(),
        choice=st.integers(-1, 12),
        aside=st.booleans(),
    ),
    st.builds(ReasoningDelta, text=st.text(max_size=9), block=st.none() | st.integers() | st.text(max_size=3)),
    st.builds(
        ToolCallDelta,
        key=st.integers(0, 2) | st.text(max_size=2),
        id=st.none() | st.sampled_from(["", "a", "b"]),
        name=st.none() | st.text(max_size=3),
        arguments=st.none() | st.text(max_size=5) | st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
        final_arguments=st.none() | st.text(max_size=5),
        done=st.booleans(),
        choice=st.integers(0, 1),
    ),
    st.builds(UsageUpdate, input_tokens=st.none() | st.integers(0, 9), extra=st.none() | st.just({"a": None})),
    st.builds(
        Finish, reason=st.none() | st.text(max_size=4), mapped=st.sampled_from(list(REASONS)), paused=st.booleans()
    ),
    st.builds(Session, id=st.none() | st.text(max_size=3), model=st.none() | st.text(max_size=3)),
    st.builds(RefusalDelta, text=st.text(max_size=5)),
    st.builds(ToolResult, id=st.none() | st.text(max_size=3), content=st.none() | st.integers()),
    st.builds(Raw, name=st.none() | st.text(max_size=3), payload=st.none() | st.lists(st.booleans(), max_size=2)),
)


@given(plain_events)
def test_event_size_is_that_of_its_json(event: ProviderEvent) -> None:
    text = json.dumps(event.to_dict(), ensure_ascii=False, separators=(",", ":"))
    assert event_size(event) == len(text.encode("utf-8", "surrogatepass"))


@given(plain_events)
def test_events_and_dicts_are_inverse(event: ProviderEvent) -> None:
    assert from_dict(json.loads(json.dumps(event.to_dict()))) == event


def test_every_event_type_was_tried() -> None:
    assert {event.type for event in EVERY} | {"error"} == set(BY_TYPE)


def test_from_dict_names_what_is_wrong() -> None:
    for wrong, said in (
        ({"type": "no"}, "no"),
        ({"type": "text"}, "text"),
        ({"type": "text", "text": "a", "x": 1}, "x"),
        ({"type": []}, "unknown"),
        ({"type": "text", "text": "a", 5: 1, "z": 1}, "5"),
        ({"type": "text", "text": None}, "NoneType"),
    ):
        with pytest.raises(UsageError, match=said):
            from_dict(wrong)


# -- the builder -----------------------------------------------------------------------------------------------------


@given(st.lists(plain_events, max_size=25), st.booleans())
def test_the_fold_is_total(events: list[ProviderEvent], failed: bool) -> None:
    builder = ResponseBuilder()
    appended = [(builder.add(event), builder.appended)[1] for event in events]
    response = Response.from_events([*events, Error(reason="x") if failed else Result()], duration_ms=1)
    assert Response.model_validate_json(response.model_dump_json()) == response
    assert response.event_coverage.observed_events == len(events) + 1
    added = [piece for event, piece in zip(events, appended, strict=True) if isinstance(event, TextDelta)]
    assert "".join(added) == builder.text == response.text


def test_an_unknown_event_is_kept_and_changes_nothing() -> None:
    class Odd(ProviderEvent):
        type = "odd"

    builder = ResponseBuilder()
    builder.add(TextDelta(text="a"))
    before = builder.build()
    assert builder.add(Odd()) is None
    after = builder.build()
    assert after.model_copy(update={"events": [], "event_coverage": before.event_coverage}) == before.model_copy(
        update={"events": []}
    )
    assert after.event_coverage.observed_events == 2


def test_appended_says_what_an_event_added() -> None:
    builder = ResponseBuilder()
    given = [
        TextDelta(text="a"),
        TextDelta(text="b", message_boundary=True),
        ReasoningDelta(text="r"),
        RefusalDelta(text="n"),
    ]
    given += [STOP, TextDelta(text="other", choice=1)]
    appended = []
    for event in given:
        builder.add(event)
        appended.append(builder.appended)
    assert appended == ["a", "\n\nb", "r", "n", "", ""]


def test_a_call_says_what_was_appended_and_replaced() -> None:
    builder = ResponseBuilder()
    steps: list[tuple[ToolCallDelta, str, bool, str]] = [
        (ToolCallDelta(key=0, id="c", name="f"), "", False, ""),
        (ToolCallDelta(key=0, arguments='{"a"'), '{"a"', False, '{"a"'),
        (ToolCallDelta(key=0, arguments=":1"), ":1", False, '{"a":1'),
        (ToolCallDelta(key=0, final_arguments='{"a":1}'), "}", False, '{"a":1}'),
        (ToolCallDelta(key=0, final_arguments=""), "", False, '{"a":1}'),
        (ToolCallDelta(key=0, final_arguments='{"b":2}'), '{"b":2}', True, '{"b":2}'),
        (ToolCallDelta(key=0, arguments={"c": 3}), '{"c": 3}', True, '{"c": 3}'),
        (ToolCallDelta(key=0, done=True), "", False, '{"c": 3}'),
    ]
    for event, appended, replaced, text in steps:
        call = builder.add(event)
        assert call is builder.calls[0]
        assert (call.appended, builder.appended, call.replaced, call.text) == (appended, appended, replaced, text)
    assert call is not None
    assert (call.id, call.name, call.done) == ("c", "f", True)


def test_the_source_of_a_call_never_changes() -> None:
    builder = ResponseBuilder()
    late = builder.add(ToolCallDelta(key="x", arguments="{"))
    assert late is not None
    assert late.source == "call_0"
    builder.add(ToolCallDelta(key="x", id="real", arguments="}"))
    assert (late.source, late.id) == ("call_0", "real")
    early = builder.add(ToolCallDelta(key="y", id="known"))
    assert early is not None
    assert early.source == "known"


def test_a_different_id_on_a_key_makes_a_new_call_and_an_old_one_goes_back() -> None:
    builder = ResponseBuilder()
    for identity, piece in (("a", "1"), (None, "2"), ("b", "3"), (None, "4"), ("a", "5"), ("", "6")):
        builder.add(ToolCallDelta(key=0, id=identity, arguments=piece))
    assert [(call.id, call.text) for call in builder.calls] == [("a", "1256"), ("b", "34")]


def test_whole_calls_without_ids_on_one_key_are_calls_of_their_own() -> None:
    """Some servers send every call with index 0 and no id at all, each whole."""
    builder = ResponseBuilder()
    for name, arguments in (("f", '{"a":1}'), ("g", '{"b":'), ("g", "2}"), ("g", ""), ("h", {"c": 3})):
        builder.add(ToolCallDelta(key=0, name=name, arguments=arguments))
    assert [(call.name, call.text) for call in builder.calls] == [("f", '{"a":1}'), ("g", '{"b":2}'), ("h", '{"c": 3}')]


def test_halves_of_a_surrogate_pair_in_two_pieces_are_one_character() -> None:
    halves: list[ProviderEvent] = [
        Session(id="\ud83d", metadata={"x\ude00": ["\ud83d"]}),
        TextDelta(text="a\ud83d"),
        TextDelta(text="\ude00b"),
        ReasoningDelta(text="\ud83d"),
        ToolCallDelta(key=0, id="c", name="f", arguments='{"a":"\ud83d'),
        ToolCallDelta(key=0, arguments='\ude00"}'),
        Raw(payload={"x": "\ude00"}),
        Error(reason="\ude00"),
    ]
    response = Response.from_events(halves, duration_ms=1)
    assert (response.text, response.reasoning, response.id) == ("a\U0001f600b", "\ufffd", "\ufffd")
    assert [(call.arguments, call.raw_arguments) for call in response.tool_calls] == [
        ({"a": "\U0001f600"}, '{"a":"\U0001f600"}')
    ]
    written = response.model_dump_json()
    assert Response.model_validate_json(written).model_dump_json() == written


def test_parsed_arguments_are_given() -> None:
    builder = ResponseBuilder()
    builder.add(ToolCallDelta(key=0, id="c", name="f", arguments='{"a": "x'))
    builder.set_arguments(0, {"a": "x"}, complete=False, error="cut")
    (call,) = builder.build().tool_calls
    assert (call.arguments, call.complete, call.metadata) == ({"a": "x"}, False, {"error": "cut"})


def test_the_runner_may_replace_text_and_reasoning() -> None:
    builder = ResponseBuilder()
    builder.add(TextDelta(text="<think>hm</think>{}"))
    response = builder.build(text="{}", reasoning="hm", data={}, document_complete=True, prompt="p", raw={"x": 1})
    assert (response.text, response.final_message, response.reasoning, response.data) == ("{}", "{}", "hm", {})
    assert (response.prompt, response.raw, response.message) == ("p", {"x": 1}, Message(content="{}"))


def test_the_builder_may_go_on() -> None:
    builder = ResponseBuilder()
    builder.add(TextDelta(text="a"))
    first = builder.build()
    builder.add(TextDelta(text="b"))
    assert (first.text, len(first.events), builder.build().text) == ("a", 1, "ab")


def test_importing_the_package_imports_no_model() -> None:
    """`import streamparse` stays cheap: pydantic comes with the first Response."""
    import subprocess
    import sys

    code = "import sys, streamparse; print('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_usage_fields_are_those_of_the_event() -> None:
    assert {field.name for field in fields(UsageUpdate)} - {"raw"} == set(Usage.model_fields)
