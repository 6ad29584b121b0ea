"""The result: one run, read in many ways (sync)."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import time
import traceback
import weakref
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from support.streams import (
    CHUNKS,
    SOURCES,
    SPEC,
    TEXT,
    TIPS,
    TRIAGE,
    AsyncStream,
    Handlers,
    Maker,
    Stream,
    SyncManager,
    Tip,
    Tips,
    chat,
    drain,
    generate,
    leaves,
    pieces,
)

import streamparse
from streamparse import (
    IncompleteJSONError,
    JSONSyntaxError,
    LimitExceeded,
    Limits,
    ProviderError,
    Response,
    ResultMessage,
    SchemaError,
    SpecificMessage,
    StreamingData,
    StreamParseError,
    UsageError,
    wrap,
)
from streamparse.provider import Error, ProviderEvent, Result, TextDelta, ToolCallDelta
from streamparse.result import Verdict, split_choices

# ---- once, lazily, for everybody


def test_the_triage_card() -> None:
    stream = Stream(chat(pieces(TEXT)))
    result = wrap(stream, output=SPEC)
    ui: dict[str, str] = defaultdict(str)
    finished: dict[str, Any] = {}
    for item in result.get_generator(type="instant"):
        if item.delta:
            ui[item.path] += item.delta
        if item.is_complete:
            finished[item.path] = item.value
    assert result.get_data() == TRIAGE
    assert dict(ui) == leaves(TRIAGE)
    assert finished[""] == TRIAGE
    assert {path: finished[path] for path in ui} == dict(ui)
    assert stream.read == len(chat(pieces(TEXT)))


def test_nothing_runs_before_the_first_read() -> None:
    stream = Stream(["{}"])
    maker = Maker(stream)
    result = wrap(maker)
    result.get_generator("delta")
    assert (maker.calls, stream.read, result.finished, result.response) == (0, 0, False, None)
    assert result.get_data() == {}
    assert (maker.calls, stream.read) == (1, 1)


def test_no_chunk_is_read_before_it_is_wanted() -> None:
    stream = Stream(pieces("abcdef", 2))
    generator = wrap(stream).get_generator("delta")
    assert stream.read == 0
    assert next(generator) == "ab"
    assert stream.read == 1
    assert next(generator) == "cd"
    assert stream.read == 2


def test_many_reads_are_one_run() -> None:
    stream = Stream(chat(pieces(TEXT)))
    maker = Maker(stream)
    result = wrap(maker)
    first = list(result.get_generator("all"))
    assert list(result.get_generator("all")) == first
    assert result.get_text() == TEXT
    assert result.get_data() == TRIAGE
    assert result.get_meta()["usage"]["total_tokens"] == 18
    assert result.get_response() is result.get_response()
    assert (maker.calls, stream.closed) == (1, 1)


def test_data_is_a_copy() -> None:
    result = wrap('{"a": [1]}')
    result.get_data()["a"].append(2)
    assert result.get_data() == {"a": [1]}
    assert result.get_response().data == {"a": [1]}


def test_leaving_one_reader_leaves_the_others_whole() -> None:
    stream = Stream(pieces(TEXT))
    result = wrap(stream)
    for _ in result.get_generator("delta"):
        break
    one, other = result.get_generator("delta"), result.get_generator("delta")
    assert next(one) == next(other) == TEXT[:3]
    one.close()
    assert "".join([TEXT[:3], *other]) == TEXT
    assert "".join(result.get_generator("delta")) == TEXT
    assert stream.closed


def test_readers_side_by_side_in_one_thread_see_the_same() -> None:
    stream = Stream(pieces(TEXT))
    result = wrap(stream)
    pairs = list(zip(result.get_generator("instant"), result.get_generator("streaming_parse"), strict=True))
    assert pairs
    assert all(left is right for left, right in pairs)


def test_eight_threads_read_one_run() -> None:
    class Slow(Stream):
        inside = 0
        overlaps = 0

        def __next__(self) -> Any:
            self.overlaps += self.inside
            self.inside += 1
            time.sleep(0.0005)
            try:
                return super().__next__()
            finally:
                self.inside -= 1

    stream = Slow(chat(pieces(TEXT)))
    result = wrap(stream)
    start = threading.Barrier(8)
    seen: list[Any] = [None] * 8

    def read(number: int) -> None:
        start.wait(10)
        if number % 2:
            seen[number] = list(result.get_generator("all"))
        else:
            text = result.get_text()
            seen[number] = [*result.get_generator("all")]
            assert text == TEXT

    threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert seen[0]
    assert all(one == seen[0] for one in seen)
    assert stream.overlaps == 0
    assert stream.read == len(chat(pieces(TEXT)))


# ---- sources


@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_of_source_is_read_by_a_sync_reader(kind: str) -> None:
    result = wrap(SOURCES[kind]())
    assert "".join(result.get_generator("delta")) == TEXT
    assert result.get_data() == TRIAGE
    assert result.get_response().end_state == "complete"


def test_managers_are_entered_late_and_left_at_the_end() -> None:
    manager, inner = SyncManager(None), SyncManager(Stream(["{}"]))
    manager._stream = inner
    result = wrap(manager)
    assert (manager.entered, inner.entered) == (0, 0)
    assert result.get_data() == {}
    assert (manager.entered, manager.left, inner.entered, inner.left) == (1, 1, 1, 1)


def test_managers_are_left_after_an_error() -> None:
    manager = SyncManager(Stream(["{"], OSError("gone")))
    with pytest.raises(OSError, match="gone"):
        wrap(manager).get_data()
    assert manager.left == 1


def test_an_async_source_is_read_and_closed_in_one_task() -> None:
    stream = AsyncStream(CHUNKS)
    assert wrap(stream).get_text() == TEXT
    assert stream.closed
    assert len(stream.tasks) == 1


def test_what_can_be_iterated_both_ways_is_iterated_as_the_reader_is() -> None:
    class Both(Stream):
        def __aiter__(self) -> Any:
            return AsyncStream(["async"])

        async def __anext__(self) -> Any:
            raise AssertionError

    assert wrap(Both(["sync"])).get_text() == "sync"
    assert asyncio.run(wrap(Both(["sync"])).async_get_text()) == "async"


@pytest.mark.parametrize(
    ("source", "named"),
    [
        (None, "None"),
        (5, "int (5)"),
        (object(), "object"),
        ({"choices": []}, "a dict is one chunk"),
        (Tip(text="x"), "Tip is a whole reply"),
    ],
)
def test_what_is_no_source_is_refused_at_once(source: Any, named: str) -> None:
    with pytest.raises(UsageError) as caught:
        wrap(source)
    assert named in str(caught.value)


@pytest.mark.parametrize("chunk", [None, 5, ["nested"], 1.5, object()])
def test_what_is_no_chunk_is_refused_and_named(chunk: Any) -> None:
    result = wrap(["{", chunk])
    for _ in range(2):
        with pytest.raises(UsageError) as caught:
            result.get_data()
        assert type(chunk).__name__ in str(caught.value)
    with pytest.raises(UsageError) as caught:
        wrap([chunk]).get_data()
    assert type(chunk).__name__ in str(caught.value)
    if chunk is None or isinstance(chunk, int):
        with pytest.raises(UsageError):
            wrap([*chat(["hi"]), chunk]).get_data()


def test_a_callable_that_gives_nothing_is_named() -> None:
    with pytest.raises(UsageError, match="cannot read a stream from None"):
        wrap(lambda: None).get_text()


def test_a_callable_that_never_gives_a_stream_is_stopped() -> None:
    def endless() -> Any:
        return endless

    with pytest.raises(UsageError, match="still no stream"):
        wrap(endless).get_text()


def test_an_adapter_can_be_named_or_given() -> None:
    class Mine:
        def feed(self, chunk: Any) -> list[ProviderEvent]:
            return [TextDelta(text=chunk["mine"])]

        def close(self) -> list[ProviderEvent]:
            return [Result(finished=True)]

    chunks = [{"mine": "a"}, {"mine": "b"}]
    assert wrap(chunks, adapter=Mine()).get_text() == "ab"  # type: ignore[arg-type]
    assert wrap(chunks, adapter=Mine).get_text() == "ab"  # type: ignore[arg-type]
    assert wrap(chat(["hi"]), adapter="openai").get_text() == "hi"
    with pytest.raises(UsageError, match="unknown adapter 'nope'"):
        wrap(chunks, adapter="nope")


def test_lines_of_server_sent_events_are_decoded() -> None:
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chat(["hel", "lo"])] + ["data: [DONE]\n\n"]
    response = wrap(lines).get_response()
    assert (response.text, response.model, response.end_state) == ("hello", "test-model", "complete")
    bare = [part for line in lines for part in (line.strip(), "")]  # as iter_lines() of an HTTP client
    assert wrap(bare).get_text() == "hello"
    assert wrap("".join(lines).encode()).get_text() == "hello"


class HTTPResponse:
    """As httpx gives it."""

    def __init__(self, body: bytes, content_type: str = "text/event-stream", status: int = 200) -> None:
        self.status_code = status
        self.headers = {"content-type": content_type, "x-request-id": "req-1"}
        self.stream = generate([])
        self._body = body
        self.closed = 0

    def iter_bytes(self) -> Any:
        yield from (self._body[start : start + 50] for start in range(0, len(self._body), 50))

    def aiter_bytes(self) -> Any:
        raise AssertionError

    def close(self) -> None:
        self.closed += 1


def test_an_http_response_is_read_by_its_body() -> None:
    body = "".join(f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chat(["hé", "llo"])).encode()
    response = HTTPResponse(body)
    made = wrap(SyncManager(response)).get_response()
    assert (made.text, made.request_id) == ("héllo", "req-1")
    assert response.closed == 1


def test_the_raw_response_of_an_sdk_is_read_by_its_body() -> None:
    class Raw:
        def __init__(self, response: HTTPResponse) -> None:
            self.http_response, self.headers = response, response.headers

        @property
        def content(self) -> bytes:
            raise AssertionError("this would read the whole body")

        def iter_bytes(self) -> Any:
            raise AssertionError("not of the raw response")

    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chat(["hi"])).encode()
    assert wrap(Raw(HTTPResponse(body))).get_text() == "hi"


def test_an_http_response_as_requests_gives_it() -> None:
    class Requests:
        headers: dict[str, str] = {"Content-Type": "text/event-stream"}  # noqa: RUF012  # as it is there

        @property
        def content(self) -> bytes:
            raise AssertionError("this would read the whole body")

        def __iter__(self) -> Any:
            raise AssertionError("in pieces of 128 bytes")

        def iter_content(self, chunk_size: int | None) -> Any:
            assert chunk_size is None
            yield from (f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chat(["hi"]))

    assert wrap(Requests()).get_text() == "hi"


def test_an_http_response_that_is_a_page_is_an_error_that_shows_it() -> None:
    with pytest.raises(ProviderError, match="Bad gateway"):
        wrap(HTTPResponse(b"<html>Bad gateway</html>", "text/html")).get_text()


@pytest.mark.parametrize("body", ["upstream connect error", "upstream connect error\nreset\n" + 99 * "."])
def test_a_refused_request_is_no_answer(body: str) -> None:
    result = wrap(HTTPResponse(body.encode(), "text/plain", 503))
    with pytest.raises(ProviderError, match=r"status 503: 'upstream connect error'"):
        result.get_text()
    assert result.response is not None
    assert (result.response.text, result.response.end_state) == ("", "error")
    assert wrap(HTTPResponse(body.encode(), "text/plain")).get_text() == body


@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream", "text/plain"])
def test_a_refused_request_says_why(content_type: str) -> None:
    body = b'{"error": {"message": "over quota", "code": "quota"}}'
    with pytest.raises(ProviderError, match="over quota"):
        wrap(HTTPResponse(body, content_type, 429)).get_text()


# ---- what generators show


def test_generator_types() -> None:
    chunks = chat(["<think>hm</think>", '{"a"', ": 1}"])
    result = wrap(chunks)
    assert list(result.get_generator()) == list(result.get_generator("delta")) == ['{"a"', ": 1}"]
    assert list(result.get_generator("original")) == chunks
    instants = list(result.get_generator("instant"))
    assert instants == list(result.get_generator("streaming_parse"))
    assert all(isinstance(item, StreamingData) for item in instants)
    assert [(item.path, item.is_complete) for item in instants] == [("a", False), ("a", True), ("", True)]
    every = list(result.get_generator("all"))
    assert all(isinstance(item, ResultMessage) for item in every)
    assert [data for event, data in every if event == "instant"] == instants
    specific = list(result.get_generator("specific"))
    assert all(isinstance(item, SpecificMessage) for item in specific)
    assert specific == [
        ("reasoning_delta", "hm"),
        ("reasoning_done", "hm"),
        ("delta", '{"a"'),
        ("delta", ": 1}"),
        ("done", '{"a": 1}'),
    ]
    assert list(result.get_generator("specific", specific=["done"])) == [("done", '{"a": 1}')]
    assert [event for event, _ in result.get_generator("specific", specific="meta")] == ["meta"]
    assert [data for _, data in result.get_generator("specific", specific=["instant"])] == instants


def test_unknown_names_list_the_known_ones() -> None:
    result = wrap("{}")
    with pytest.raises(UsageError, match=r"unknown generator type 'foo'.*delta.*instant.*original.*all"):
        result.get_generator("foo")  # type: ignore[call-overload]
    with pytest.raises(UsageError, match=r"unknown event 'foo'.*reasoning_delta.*diagnostic"):
        result.get_generator("specific", specific=["delta", "foo"])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="specific= goes with"):
        result.get_generator("delta", specific=["done"])
    with pytest.raises(UsageError, match="paths= goes with"):
        result.get_generator("delta", paths=["a"])
    with pytest.raises(UsageError, match="not a path"):
        result.get_generator("instant", paths=["a[["])
    assert result.get_data() == {}  # none of them began the run in a wrong way


def test_paths_filter_the_fields_and_keep_their_resets() -> None:
    text = '{"tips": [{"text": "a", "n": 1}, {"text": "b", "n": 2}], "x": 1, "tips": [{"text": "c"}]}'
    events = list(wrap([text]).get_generator("instant", paths=["tips[*].text"]))
    slots: dict[str, str] = defaultdict(str)
    for event in events:
        if event.event_type == "reset":
            slots.clear()
        elif event.delta:
            slots[event.path] += event.delta
    assert dict(slots) == {"tips[0].text": "c"}
    assert {event.path for event in events} == {"tips[0].text", "tips[1].text", "tips"}
    assert [event.path for event in wrap([text]).get_generator("instant", paths="x")] == ["x", "x"]
    assert {event.path for event in wrap([text]).get_generator("instant", paths=["**.n", "x"]) if event.delta} == {
        "tips[0].n",
        "tips[1].n",
        "x",
    }


def test_a_path_style_holds_for_filters_too() -> None:
    result = wrap('{"tips": [{"text": "a"}]}', path_style="slash")
    assert [event.path for event in result.get_generator("instant", paths=["tips/*/text"]) if event.delta] == [
        "tips/0/text"
    ]


def test_a_reset_is_shown_to_whom_it_concerns() -> None:
    """A path that is wanted may lie at the place that is void, or below it."""
    text = '{"a": {"b": {"c": 1}, "b": {"c": 2}}}'
    for path, shown in (("a.b.c", True), ("a.b", True), ("a.*.c", True), ("**", True), ("a", False), ("a[0]", False)):
        kinds = {event.event_type for event in wrap(text).get_generator("instant", paths=[path])}
        assert ("reset" in kinds) is shown, path


def test_items_of_a_list_about_which_the_output_says_nothing() -> None:
    result = wrap('{"tips": [], "more": [{"x": 1}, 2]}', output=Tips)
    items = list(result.get_generator("items", paths=["more[*]"]))
    assert [(item.index, item.path, item.value, item.error) for item in items] == [
        (0, "more[0]", {"x": 1}, None),
        (1, "more[1]", 2, None),
    ]


@pytest.mark.parametrize("kind", ["items", "partial"])
def test_typed_generators_need_an_output(kind: Any) -> None:
    with pytest.raises(UsageError, match=r"output="):
        wrap("[]").get_generator(kind)


def test_items_are_typed_as_they_close() -> None:
    stream = Stream(pieces(TIPS, 1))
    result = wrap(stream, output=Tips)
    generator = result.get_generator("items", paths=["tips[*]"])
    first = next(generator)
    assert first.value == Tip(text="one", score=1)
    assert stream.read <= TIPS.index("}") + 1
    rest = list(generator)
    assert [(item.index, item.valid) for item in rest] == [(1, False), (2, True)]
    assert rest[0].error.path == "tips[1]"
    assert rest[0].error.errors[0]["loc"] == ("tips", 1, "score")
    assert rest[1].value == Tip(text="three")
    with pytest.raises(UsageError, match="which list"):
        result.get_generator("items")


def test_typed_generators_show_the_answer_only() -> None:
    call = ToolCallDelta(key=0, id="c", name="f", arguments='[{"text": "of the call"}]')
    result = wrap([call, TextDelta(text='[{"text": "a"}]'), Result(finished=True)], output=list[Tip])
    assert [item.value for item in result.get_generator("items")] == [Tip(text="a")]
    assert list(result.get_generator("partial"))[-1] == [Tip(text="a")]


def test_items_of_an_answer_that_is_a_list() -> None:
    result = wrap('[{"text": "a"}, {"text": "b"}]', output=list[Tip])
    assert [item.value for item in result.get_generator("items")] == [Tip(text="a"), Tip(text="b")]
    assert result.get_data_object() == [Tip(text="a"), Tip(text="b")]


def test_partials_grow_to_the_whole() -> None:
    text = '{"title": "Hello", "tips": [{"text": "one"}]}'
    partials = list(wrap(pieces(text, 4), output=Tips).get_generator("partial"))
    titles = [partial.title for partial in partials if partial.title is not None]
    assert titles == sorted(titles, key=len)
    assert all("Hello".startswith(title) for title in titles)
    assert len(set(titles)) > 1
    assert partials[-1] == Tips(title="Hello", tips=[Tip(text="one")])


def test_partials_can_be_thinned_and_end_with_the_whole() -> None:
    text = '{"title": "Hello", "tips": []}'
    result = wrap(pieces(text, 1), output=Tips)
    partials = list(result.get_generator("partial", every=60))
    assert len(partials) == 2
    assert partials[-1] == Tips(title="Hello", tips=[])
    with pytest.raises(UsageError, match="every="):
        result.get_generator("delta", every=1)


def test_items_by_pattern_and_type() -> None:
    result = wrap(pieces(TIPS))
    items = list(result.items("tips[*]", Tip))
    assert [(item.index, item.valid) for item in items] == [(0, True), (1, False), (2, True)]
    assert items[0].unwrap() == Tip(text="one", score=1)
    with pytest.raises(SchemaError):
        items[1].unwrap()


def test_invalid_values_are_told_and_may_end_the_run() -> None:
    text = '{"title": 5, "tips": []}'
    result = wrap(pieces(text, 1), output=Tips)
    told = [data for event, data in result.get_generator("all") if event == "invalid"]
    assert [one.path for one in told] == ["title"]
    assert result.get_data() == {"title": 5, "tips": []}

    stream = Stream(pieces(text, 1))
    result = wrap(stream, output=Tips, on_invalid="stop")
    assert [event for event, _ in result.get_generator("all")].count("invalid") == 1
    response = result.get_response()
    assert (response.end_state, response.complete) == ("cancelled", False)
    assert stream.read <= text.index("}") - 1
    assert stream.closed == 1

    stream = Stream(pieces(text, 1))
    result = wrap(stream, output=Tips, on_invalid="raise")
    items, error = drain(result.get_generator("specific", specific=["invalid"]))
    assert len(items) == 1
    assert isinstance(error, SchemaError)
    assert error.path == "title"
    assert stream.read <= text.index("}") - 1
    with pytest.raises(UsageError, match="on_invalid"):
        wrap(text, on_invalid="shrug")  # type: ignore[call-overload]


def test_an_invalid_value_can_be_tried_again() -> None:
    maker = Maker('{"title": 5, "tips": []}', '{"title": "5", "tips": []}')
    result = wrap(maker, output=Tips, on_invalid="raise", max_retries=1)
    assert result.get_data_object() == Tips(title="5", tips=[])


def test_ensured_places_that_are_missing_are_listed() -> None:
    response = wrap('{"status_summary": "s", "risk_flags": []}', output=SPEC).get_response()
    assert sorted(response.metadata["missing"]) == ["customer_reply", "next_actions"]
    assert "missing" not in wrap(TEXT, output=SPEC).get_response().metadata


def test_data_object() -> None:
    text = '{"title": "Hello", "tips": [{"text": "one"}]}'
    result = wrap(pieces(text), output=Tips)
    made = result.get_data_object()
    assert made == Tips.model_validate_json(text)
    assert result.get_data_object() is made
    with pytest.raises(SchemaError) as caught:
        wrap('{"title": 1}', output=Tips).get_data_object()
    assert {error["loc"] for error in caught.value.errors} == {("title",), ("tips",)}
    with pytest.raises(SchemaError):
        wrap("no json at all", output=Tips).get_data_object()
    with pytest.raises(UsageError, match=r"get_data_object\(\)"):
        wrap(text).get_data_object()


# ---- errors


def test_an_error_of_the_source_reaches_every_reader_after_the_events_before_it() -> None:
    gone = RuntimeError("gone")
    stream = Stream(chat(['{"a": "x'], finish=None, usage=False), gone)
    result = wrap(stream)
    for _ in range(2):
        seen, error = drain(result.get_generator("all"))
        assert error is gone
        names = [event for event, _ in seen]
        assert names.index("instant") < names.index("error")
        assert seen[-1] == ("error", gone)
    for read in (result.get_text, result.get_data, result.get_meta, result.get_response):
        with pytest.raises(RuntimeError):
            read()
    assert result.error is gone
    assert result.response is not None
    assert (result.response.text, result.response.data) == ('{"a": "x', {"a": "x"})
    assert (result.response.end_state, result.response.metadata["error"]) == ("error", "gone")
    assert stream.closed


def test_an_error_does_not_grow_with_its_readers() -> None:
    result = wrap(Stream([], RuntimeError("gone")))
    lengths = set()
    for _ in range(5):
        _, error = drain(result.get_generator("delta"))
        assert error is not None
        lengths.add(len(traceback.extract_tb(error.__traceback__)))
    assert len(lengths) == 1


@pytest.mark.parametrize("error", [ConnectionResetError("reset"), EOFError("eof")])
def test_a_connection_that_breaks_cuts_the_answer(error: Exception) -> None:
    result = wrap(Stream(chat(['{"a": "x'], finish=None, usage=False), error))
    with pytest.raises(type(error)):
        result.get_data()
    assert result.response is not None
    assert (result.response.end_state, result.response.finish_reason) == ("cut", None)
    assert result.response.data == {"a": "x"}
    assert str(error) in result.response.metadata["error"]


def test_a_stream_that_just_ends_is_cut_and_no_error() -> None:
    response = wrap(chat(['{"a": "x'], finish=None, usage=False)).get_response()
    assert (response.end_state, response.complete, response.incomplete) == ("cut", False, ["a", ""])


@pytest.mark.parametrize(
    "source",
    [[], [b""], [{}], ["data: [DONE]\n\n"], [b": keep-alive\n\n", b": keep-alive\n\n"]],
    ids=["no chunk", "no bytes", "empty chunk", "DONE alone", "comments"],
)
def test_a_stream_that_holds_nothing_is_cut_and_no_error(source: list[Any]) -> None:
    response = wrap(iter(source)).get_response()
    assert (response.end_state, response.complete, response.finish_reason) == ("cut", False, None)
    assert (response.text.strip(), response.data) == ("", None)


def test_an_error_inside_the_stream() -> None:
    chunks = [*chat(['{"a": 1'], finish=None, usage=False), {"error": {"message": "overloaded", "code": "x1"}}]
    stream = Stream([*chunks, *chat(["never read"])])
    result = wrap(stream)
    with pytest.raises(ProviderError, match="overloaded"):
        result.get_text()
    assert stream.read == len(chunks)
    assert result.response is not None
    assert result.response.text == '{"a": 1'
    assert result.response.metadata["error"] == "overloaded"


def test_malformed_json_stops_the_run_after_the_events_before_it() -> None:
    stream = Stream(['{"a": 1, ', "nope}", "never read"])
    result = wrap(stream, dialect="strict")
    seen, error = drain(result.get_generator("instant"))
    assert isinstance(error, JSONSyntaxError)
    assert [(event.path, event.event_type) for event in seen] == [("a", "delta"), ("a", "done")]
    assert (error.line, error.column, error.offset) == (1, 10, 9)
    assert error.expected
    assert (stream.read, stream.closed) == (2, 1)
    with pytest.raises(JSONSyntaxError):
        result.get_text()
    assert result.response is not None
    assert result.response.data == {"a": 1}


def test_strict_text_that_ends_too_early() -> None:
    result = wrap('{"a": [1, ', dialect="strict")
    with pytest.raises(IncompleteJSONError):
        result.get_data()
    events, error = drain(result.get_generator("instant"))
    assert isinstance(error, IncompleteJSONError)
    assert error.incomplete == ("a", "")
    assert [(event.path, event.event_type) for event in events][-2:] == [("a", "cut"), ("", "cut")]


def test_a_million_brackets() -> None:
    result = wrap(["[" * 100_000] * 10)
    with pytest.raises(LimitExceeded):
        list(result.get_generator("instant"))
    assert result.response is not None
    assert result.response.end_state == "error"


def test_lossless_retention() -> None:
    assert wrap(chat(["a"]), retention="lossless").get_response().event_coverage.mode == "exact"
    result = wrap(chat(["a"] * 10), retention="lossless", limits=Limits(events=4))
    with pytest.raises(LimitExceeded):
        result.get_text()
    assert wrap(chat(["a"] * 10), limits=Limits(events=4)).get_response().event_coverage.mode == "compact"


# ---- handlers


def test_handlers_of_a_run_that_goes_well() -> None:
    handlers = Handlers()
    result = wrap(chat(pieces(TEXT)), **handlers.options)
    assert handlers.events == []
    response = result.get_response()
    assert handlers.responses == [response]
    assert handlers.errors == []
    assert handlers.events == response.events
    again = Response.from_events(handlers.events)
    for name in ("text", "data", "usage", "finish_reason", "end_state", "model", "id", "terminal"):
        assert getattr(again, name) == getattr(response, name)
    result.get_text()
    assert len(handlers.responses) == 1


@pytest.mark.parametrize(
    "source",
    [
        lambda: Stream(chat(["a"], finish=None), RuntimeError("gone")),
        lambda: [*chat(["a"], finish=None), {"error": {"message": "provider"}}],
        lambda: [TextDelta(text="a"), Error(reason="terminal")],
    ],
)
def test_handlers_of_a_run_that_fails(source: Callable[[], Any]) -> None:
    handlers = Handlers()
    result = wrap(source(), **handlers.options)
    with pytest.raises(Exception) as caught:  # which one differs
        result.get_text()
    assert handlers.errors == [caught.value]
    assert handlers.responses == []
    assert isinstance(handlers.events[-1], Error)
    assert result.response is not None
    assert result.response.text == "a"


@pytest.mark.parametrize(
    "source",
    [
        lambda: chat(["a", "b"]),
        lambda: Stream(chat(["a", "b"], finish=None), RuntimeError("gone")),
        lambda: [*chat(["a", "b"], finish=None), {"error": {"message": "provider"}}],
    ],
)
def test_a_failed_checkpoint_wins_over_everything(source: Callable[[], Any]) -> None:
    handlers = Handlers(fail_at=1)
    result = wrap(source(), **handlers.options)
    with pytest.raises(ValueError, match="checkpoint"):
        result.get_text()
    assert handlers.errors == [handlers.raised]
    assert handlers.responses == []
    assert result.response is None
    assert len(handlers.events) == 1
    deltas, error = drain(result.get_generator("delta"))
    assert "".join(deltas) == "ab"
    assert error is handlers.raised


def test_a_failed_checkpoint_is_not_called_again() -> None:
    calls: list[str] = []

    def fail(event: ProviderEvent) -> None:
        calls.append(event.type)
        raise ValueError("checkpoint")

    with pytest.raises(ValueError, match="checkpoint"):
        wrap(["a", "b"], on_event=fail).get_text()
    assert calls == ["text"]


def test_a_handler_that_raises_at_the_end_reaches_the_readers() -> None:
    def fail(_: Any) -> None:
        raise RuntimeError("handler")

    result = wrap("hi", on_response=fail)
    with pytest.raises(RuntimeError, match="handler"):
        result.get_text()
    assert result.response is not None
    result = wrap(Stream([], OSError("gone")), on_error=fail)
    with pytest.raises(RuntimeError, match="handler") as caught:
        result.get_text()
    assert isinstance(caught.value.__context__, OSError)


def test_async_handlers_work_in_a_sync_run() -> None:
    calls: list[str] = []

    async def event(event: ProviderEvent) -> None:
        await asyncio.sleep(0)
        calls.append(event.type)

    async def response(response: Response) -> None:
        await asyncio.sleep(0)
        calls.append(response.text)

    assert wrap("hi", on_event=event, on_response=response).get_text() == "hi"
    assert calls == ["text", "result", "hi"]


def test_a_handler_cannot_read_the_run_that_waits_for_it() -> None:
    def read(_: Any) -> None:
        result.get_text()

    result = wrap("hi", on_response=read)
    with pytest.raises(UsageError, match="a handler of this result cannot read it"):
        result.get_text()


def test_prompt_and_metadata() -> None:
    response = wrap("hi", prompt=[{"role": "user"}], metadata={"k": 1}).get_response()
    assert (response.prompt, response.metadata) == ([{"role": "user"}], {"k": 1})


# ---- checks and retries


def test_ensure_keys() -> None:
    text = '{"a": {"b": 1}, "tips": [{"text": "x"}, {"text": "y"}], "empty": [], "none": null}'
    good = ["a.b", "tips[*].text", "tips[1]", "empty[*].text", "none", "a.*", "a"]
    assert wrap(text, ensure_keys=good).get_data()["a"] == {"b": 1}
    for bad in ("c", "a.c", "tips[2]", "tips[*].n", "a[0]", "none.x", "empty.*"):
        with pytest.raises(SchemaError, match="lacks") as caught:
            wrap(text, ensure_keys=["a", bad]).get_data()
        assert caught.value.path == bad
    with pytest.raises(SchemaError):
        wrap('{"a": "cut of', ensure_keys="a").get_data()
    with pytest.raises(UsageError, match=r"\*\*"):
        wrap(text, ensure_keys=["**.x"])


@pytest.mark.parametrize("answer", [True, None, "", (True, ""), Verdict(True)])
def test_a_validate_handler_says_yes(answer: Any) -> None:
    assert wrap('{"a": 1}', validate=lambda data: answer).get_data() == {"a": 1}


def _raises(data: Any) -> None:
    assert data == {}, "not empty"


@pytest.mark.parametrize(
    ("handler", "reason"),
    [
        (lambda data: False, "no reason"),
        (lambda data: "too small", "too small"),
        (lambda data: (False, "too small"), "too small"),
        (lambda data: Verdict(False, "too small"), "too small"),
        (_raises, "not empty"),
    ],
)
def test_a_validate_handler_says_no(handler: Any, reason: str) -> None:
    handlers = Handlers()
    result = wrap('{"a": 1}', validate=handler, **handlers.options)
    with pytest.raises(SchemaError, match=reason):
        result.get_data()
    assert len(handlers.errors) == 1
    assert handlers.responses == []
    assert result.response is not None
    assert result.response.data == {"a": 1}


def test_a_validate_handler_runs_once_on_a_copy() -> None:
    seen: list[Any] = []

    def handler(data: Any) -> bool:
        seen.append(data)
        data.clear()
        return True

    async def second(data: Any) -> bool:
        await asyncio.sleep(0)
        return data == {"a": 1}

    result = wrap('{"a": 1}').validate(handler).validate(second)
    assert result.get_data() == {"a": 1}
    assert result.get_text() == '{"a": 1}'
    assert len(seen) == 1
    with pytest.raises(UsageError, match="before the first read"):
        result.validate(handler)


def test_a_validate_handler_that_is_broken_is_no_verdict() -> None:
    maker = Maker("{}", "{}")
    with pytest.raises(KeyError):
        wrap(maker, validate=lambda data: data["x"], max_retries=0).get_data()
    with pytest.raises(UsageError, match="returned int"):
        wrap("{}", validate=lambda data: 7).get_data()


def test_a_retry_tells_the_source_and_resets_the_readers() -> None:
    first = Stream(chat(['{"n": 1'], finish=None, usage=False), OSError("gone"))
    maker = Maker(first, chat(['{"n": 2}']), chat(['{"n": 3}']))
    result = wrap(maker, max_retries=3, validate=lambda data: data["n"] == 3 or f"n is {data['n']}")
    events = list(result.get_generator("all"))
    assert maker.calls == 3
    assert [[str(error) for error in errors] for errors in maker.errors] == [
        [],
        ["gone"],
        ["gone", "the answer was rejected: n is 2"],
    ]
    assert first.closed
    states = [data["state"] for event, data in events if event == "status"]
    assert states == ["retrying", "retrying", "complete"]
    assert [data["attempt"] for event, data in events if event == "status" and "attempt" in data] == [2, 3]
    slots: dict[str, str] = defaultdict(str)
    for event, data in events:
        if event == "instant" and data.event_type == "reset":
            assert data.path == ""
            slots.clear()
        elif event == "instant" and data.delta:
            slots[data.path] += data.delta
    assert dict(slots) == {"n": "3"}
    assert result.get_text() == '{"n": 3}'
    assert result.get_data() == {"n": 3}
    assert [event for event, _ in events].count("done") == 1
    assert "error" not in [event for event, _ in events]


def test_a_retry_resets_the_calls_too() -> None:
    call = ToolCallDelta(key=0, id="c1", name="f", arguments='{"a": 1')
    maker = Maker([call, Error(reason="x")], "ok")
    events = list(wrap(maker, max_retries=1).get_generator("instant"))
    assert [(event.source, event.path) for event in events if event.event_type == "reset"] == [
        ("content", ""),
        ("c1", ""),
    ]


def test_when_no_retry_is_left_the_last_failure_counts() -> None:
    handlers = Handlers()
    maker = Maker(*(Stream([], OSError(str(number))) for number in range(3)))
    result = wrap(maker, max_retries=2, **handlers.options)
    with pytest.raises(OSError, match="2"):
        result.get_text()
    assert maker.calls == 3
    assert [str(error) for error in handlers.errors] == ["2"]


def test_with_retries_the_data_must_fit_the_output() -> None:
    maker = Maker('{"title": 1, "tips": []}', '{"title": "t", "tips": []}')
    result = wrap(maker, output=Tips, max_retries=1)
    assert result.get_data_object() == Tips(title="t", tips=[])
    assert maker.calls == 2


def test_what_would_fail_again_is_not_retried() -> None:
    maker = Maker([None], "ok")
    with pytest.raises(UsageError):
        wrap(maker, max_retries=1).get_text()
    assert maker.calls == 1
    maker = Maker("[" * 5000, "ok")
    with pytest.raises(LimitExceeded):
        wrap(maker, max_retries=1).get_text()
    assert maker.calls == 1


def test_callables_get_the_errors_where_they_want_them() -> None:
    seen: list[Any] = []

    def positional(earlier: list[BaseException]) -> str:
        seen.append(earlier)
        return "ok"

    def keyword(*, errors: list[BaseException]) -> str:
        seen.append(errors)
        return "ok"

    def optional(model: str = "m") -> str:
        seen.append(model)
        return "ok"

    for source in (positional, keyword, optional):
        assert wrap(source, max_retries=1).get_text() == "ok"
    assert seen == [[], [], "m"]


def test_options_that_cannot_work() -> None:
    with pytest.raises(UsageError, match="can be made again"):
        wrap(Stream([]), max_retries=1)
    with pytest.raises(UsageError, match="idle_timeout"):
        wrap("", idle_timeout=0)
    for option, value in [
        ("adapter", 5),
        ("choice", "x"),
        ("choice", -1),
        ("ensure_keys", 5),
        ("ensure_keys", [5]),
        ("idle_timeout", "x"),
        ("idle_timeout", float("nan")),
        ("max_retries", -1),
        ("metadata", "x"),
        ("on_error", 5),
        ("on_event", "x"),
        ("on_response", 5),
        ("validate", 5),
        ("validate", [5]),
    ]:
        with pytest.raises(UsageError, match="retries" if option == "max_retries" else option):
            wrap(["{}"], **{option: value})
    for count in (0, "2", None):
        with pytest.raises(UsageError, match="count"):
            split_choices(["{}"], count)  # type: ignore[arg-type]
    for option, value in [("specific", 5), ("specific", [[]]), ("paths", 5), ("paths", [None])]:
        with pytest.raises(UsageError, match=option):
            wrap("").get_generator("specific" if option == "specific" else "instant", **{option: value})
    with pytest.raises(UsageError, match="retention"):
        wrap("", retention="all")  # type: ignore[call-overload]
    with pytest.raises(UsageError, match="dialect"):
        wrap("", dialect="xml")  # type: ignore[call-overload]
    with pytest.raises(SchemaError):
        wrap("", output={"a": "no such type"})


# ---- ending it


def test_closing_ends_the_run_and_the_source() -> None:
    handlers = Handlers()
    stream = Stream(pieces('{"a": "hello"}', 4))
    result = wrap(stream, **handlers.options)
    generator = result.get_generator("delta")
    assert next(generator) == '{"a"'
    assert stream.closed == 0
    result.close()
    assert stream.closed
    assert (stream.read, result.finished) == (1, True)
    assert list(generator) == []
    response = result.get_response()
    assert (response.end_state, response.complete, response.text) == ("cancelled", False, '{"a"')
    assert handlers.responses == [response]
    assert handlers.errors == []
    assert result.get_text() == '{"a"'
    result.close()
    result.cancel()
    assert len(handlers.responses) == 1


def test_closing_before_the_first_read_closes_the_stream_that_was_given() -> None:
    stream, maker = Stream(["x"]), Maker("x")
    result = wrap(stream)
    result.close()
    assert (stream.read, stream.closed) == (0, 1)
    assert result.get_response().end_state == "cancelled"
    other = wrap(maker)
    other.cancel()
    assert maker.calls == 0
    assert other.get_text() == ""


def test_closing_a_run_over_an_async_source() -> None:
    stream = AsyncStream(pieces("abcdef", 2))
    result = wrap(stream)
    assert next(result.get_generator("delta")) == "ab"
    result.close()
    assert (stream.read, stream.closed) == (1, 1)
    assert len(stream.tasks) == 1
    assert result.get_response().end_state == "cancelled"


def test_closing_after_the_end_changes_nothing() -> None:
    result = wrap("hi")
    assert result.get_text() == "hi"
    result.close()
    assert result.get_response().end_state == "complete"


def test_a_result_is_a_context_manager() -> None:
    stream = Stream(pieces("abcdef", 2))
    with wrap(stream) as result:
        assert next(result.get_generator("delta")) == "ab"
    assert stream.closed
    assert result.finished


def test_a_handler_may_end_the_run() -> None:
    stream = Stream(pieces("abcdef", 2))

    def stop(event: ProviderEvent) -> None:
        if isinstance(event, TextDelta) and event.text == "cd":
            result.cancel()

    result = wrap(stream, on_event=stop)
    assert result.get_text() == "abcd"
    assert result.get_response().end_state == "cancelled"
    assert stream.closed


def test_another_thread_may_end_a_run_that_waits() -> None:
    class Blocked(Stream):
        def __init__(self) -> None:
            super().__init__(["a"])
            self.released = threading.Event()

        def __next__(self) -> Any:
            try:
                return super().__next__()
            except StopIteration:
                self.released.wait(20)
                raise OSError("closed under the reader") from None

        def close(self) -> None:
            super().close()
            self.released.set()

    stream = Blocked()
    result = wrap(stream)
    seen: list[Any] = []
    thread = threading.Thread(target=lambda: seen.extend(result.get_generator("delta")))
    thread.start()
    while stream.read < 1 or not seen:
        time.sleep(0.001)
    time.sleep(0.02)
    result.cancel()
    thread.join(60)
    assert not thread.is_alive()
    assert seen == ["a"]
    assert result.get_response().end_state == "cancelled"
    assert stream.closed


def test_ctrl_c_ends_the_run_and_goes_on_to_the_caller() -> None:
    stream = Stream(["a"], KeyboardInterrupt())
    result = wrap(stream)
    with pytest.raises(KeyboardInterrupt):
        result.get_text()
    assert stream.closed
    assert result.get_response().end_state == "cancelled"
    assert result.get_text() == "a"


def test_a_dropped_result_leaves_nothing_behind() -> None:
    before = threading.active_count()
    for stream in (AsyncStream(pieces("abcdef", 2)), Stream(pieces("abcdef", 2))):
        result = wrap(stream, idle_timeout=5)
        generator = result.get_generator("delta")
        next(generator)
        gone = weakref.ref(result)
        del result, generator
        gc.collect()
        assert gone() is None
    deadline = time.monotonic() + 30
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


# ---- waiting


def test_an_idle_source_ends_the_run() -> None:
    release = threading.Event()

    class Idle(Stream):
        def __next__(self) -> Any:
            try:
                return super().__next__()
            except StopIteration:
                release.wait(20)
                raise

    stream = Idle(chat(['{"a": 1'], finish=None, usage=False))
    result = wrap(stream, idle_timeout=0.5)
    started = time.monotonic()
    with pytest.raises(ProviderError, match=r"nothing for 0\.5 seconds"):
        result.get_text()
    assert time.monotonic() - started < 15
    assert result.response is not None
    assert (result.response.text, result.response.end_state) == ('{"a": 1', "error")
    release.set()


def test_an_idle_attempt_is_tried_again() -> None:
    release = threading.Event()

    def stuck() -> Any:
        yield "a"
        release.wait(20)

    result = wrap(Maker(stuck(), Stream(["b"])), idle_timeout=0.5, max_retries=1)
    assert result.get_text() == "b"
    release.set()


def test_an_idle_async_source_ends_a_sync_run() -> None:
    stream = AsyncStream(["a"], hang=True)
    result = wrap(stream, idle_timeout=0.5)
    with pytest.raises(ProviderError, match="idle_timeout"):
        result.get_text()
    assert (stream.cancelled, stream.closed) == (1, 1)


def test_a_source_that_is_quick_enough_is_not_idle() -> None:
    assert wrap(Stream(pieces(TEXT)), idle_timeout=20).get_text() == TEXT
    assert wrap(AsyncStream(pieces(TEXT)), idle_timeout=20).get_text() == TEXT


def test_a_timeout_of_the_source_is_its_own_error() -> None:
    with pytest.raises(TimeoutError, match="mine"):
        wrap(Stream([], TimeoutError("mine")), idle_timeout=20).get_text()


# ---- without replay


def test_without_replay_nothing_is_kept() -> None:
    stream = Stream("x" * 10_000)
    result = wrap(stream, replay=False)
    held = []
    generator = result.get_generator("delta")
    for _ in range(5000):
        next(generator)
        held.append(len(result._run._log))
    assert max(held) <= 1
    assert stream.read == 5000
    with pytest.raises(UsageError, match="one reader at a time"):
        next(result.get_generator("delta"))
    with pytest.raises(UsageError, match="stream reader comes first"):
        result.get_text()
    generator.close()
    assert result.get_text() == "x" * 10_000
    assert len(result._run._log) == 0
    assert list(result.get_generator("delta")) == []


def test_without_replay_a_later_reader_sees_what_comes_from_then_on() -> None:
    result = wrap(pieces("abcdef", 2), replay=False)
    for first in result.get_generator("delta"):
        assert first == "ab"
        break
    assert list(result.get_generator("delta")) == ["cd", "ef"]


# ---- choices


def test_split_choices_reads_the_source_once() -> None:
    def chunk(index: int, content: str, finish: str | None = None) -> dict[str, Any]:
        return {
            "id": "c",
            "model": "m",
            "choices": [{"index": index, "delta": {"content": content}, "finish_reason": finish}],
        }

    stream = Stream([chunk(0, '{"a":'), chunk(1, '{"b":'), chunk(1, "2}", "stop"), chunk(0, "1}", "stop")])
    first, second = split_choices(stream, 2)
    assert stream.read == 0
    assert second.get_data() == {"b": 2}
    assert first.get_data() == {"a": 1}
    assert stream.read == 4
    with pytest.raises(UsageError):
        split_choices(stream, 2, choice=1)


@pytest.mark.parametrize("read", [0, 1])
def test_split_choices_close_the_source_with_the_last_of_them(read: int) -> None:
    stream = Stream([{"choices": [{"index": index, "delta": {"content": "a"}}]} for index in (0, 1)])
    first, second = split_choices(stream, 2)
    if read:
        reader = first.get_generator("delta")
        assert next(reader) == "a"
        reader.close()
    first.close()
    assert not stream.closed
    second.close()
    assert stream.closed
    assert (first.get_response().end_state, second.get_response().end_state) == ("cancelled", "cancelled")


def test_the_public_names_are_there() -> None:
    assert streamparse.wrap is wrap
    assert issubclass(ProviderError, StreamParseError)
