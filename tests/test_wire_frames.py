"""Frames: numbered, bounded in size, the same after a way over the wire, whatever is merged on the way."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from support import splits, texts
from support.runner import Run, joined, merge
from support.streams import AsyncStream, Stream, chat, pieces

from streamparse import (
    Limits,
    NumberLexeme,
    ProviderError,
    ResultMessage,
    StreamingData,
    StreamParseError,
    StreamParser,
    UsageError,
    wrap,
)
from streamparse.values import same_value
from streamparse.wire import (
    AISDKEncoder,
    Coalescer,
    EventDecoder,
    Frame,
    FrameEncoder,
    Replica,
    SSEDecoder,
    describe_error,
    from_frames,
    from_json,
    from_ndjson,
    from_sse,
    to_frames,
    to_json,
    to_ndjson,
    to_sse,
    write_sse,
)
from streamparse.wire.frame import field_data

FORMATS = [pytest.param(to_sse, from_sse, id="sse"), pytest.param(to_ndjson, from_ndjson, id="ndjson")]


def replay(frames: Iterable[Frame]) -> Replica:
    replica = Replica()
    for frame in frames:
        replica.feed(frame)
    return replica


def message_chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "chat-1", "object": "chat.completion.chunk", "model": "test-model", "choices": [choice]}


def tool_chunks(arguments: Iterable[str], reason: str | None = "tool_calls") -> Iterator[dict[str, Any]]:
    head = {"index": 0, "id": "call-7", "type": "function", "function": {"name": "search", "arguments": ""}}
    yield message_chunk({"role": "assistant", "content": None, "tool_calls": [head]})
    for piece in arguments:
        yield message_chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    if reason is not None:
        yield message_chunk({}, reason)


# ---- there and back


@pytest.mark.parametrize(("encode", "decode"), FORMATS)
@given(text=texts.any_texts, places=splits.cuts(), dialect=texts.dialects, cut=st.lists(st.integers(1, 40), max_size=8))
def test_events_survive_the_way(
    encode: Any, decode: Any, text: str, places: list[float], dialect: Any, cut: list[int]
) -> None:
    events = Run(splits.chop(text, places), dialect=dialect).events
    sent = "".join(encode(events)).encode()
    frames = list(decode(sent))
    assert list(decode(_pieces(sent, cut))) == frames
    assert list(from_frames(frames)) == events
    assert [frame.id for frame in frames] == list(range(1, len(events) + 2))
    assert [frame.event for frame in frames] == ["field"] * len(events) + ["end"]


def _pieces(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    """`data` in pieces of these sizes, again and again."""
    position = turn = 0
    while position < len(data):
        size = sizes[turn % len(sizes)] if sizes else len(data)
        yield data[position : position + size]
        position, turn = position + size, turn + 1


@given(text=texts.json_texts, places=splits.cuts())
def test_a_client_ends_up_with_what_json_loads_gives(text: str, places: list[float]) -> None:
    events = Run(splits.chop(text, places)).events
    replica = replay(from_sse(to_sse(events)))
    assert same_value(replica.data, json.loads(text))
    assert replica.end == {"complete": True, "incomplete": [], "end_state": "complete", "finish_reason": None}


@given(text=texts.any_texts, places=splits.cuts())
def test_a_client_holds_the_partial_value_of_what_was_cut(text: str, places: list[float]) -> None:
    run = Run(splits.chop(text, places))
    replica = replay(from_sse(to_sse(run.events)))
    if run.error is None and run.parsed.has_data:
        assert same_value(replica.data, _without_nan(run.data))
        assert replica.end is not None
        assert replica.end["incomplete"] == list(run.parsed.incomplete)
        assert replica.end["complete"] == run.parsed.complete
    wanted: dict[Any, str] = {}  # a field's last event
    for row in merge(run.events):
        if row.type == "reset":
            wanted = {parts: last for parts, last in wanted.items() if parts[: len(row.parts)] != row.parts}
        else:
            wanted[row.parts] = row.type if row.type in ("done", "cut") else "growing"
    assert {one.parts: one.state for one in replica.documents["content"].fields.values()} == wanted


def _without_nan(value: Any) -> Any:
    """`value` as JSON can hold it: NaN is null."""
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    return [_without_nan(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("number", ["int_float", "decimal", "lexeme"])
def test_numbers_are_exact_in_each_mode(number: Any) -> None:
    text = "[1.10, 1e400, -0.0, 12345678901234567890.5, 9007199254740993, NaN, -Infinity, 1E-7]"
    events = Run([text], number=number).events
    frames = list(from_sse(to_sse(events)))
    assert list(from_frames(frames, number=number)) == events
    raw = [line for line in "".join(to_sse(events)).split("\n") if '"done","path":"[4]"' in line]
    assert raw[0].endswith('"value":9007199254740993}')


def test_ints_of_any_length() -> None:
    number = "7" * 20_000
    events = Run([f'{{"n": {number}}}'], limits=Limits(number=30_000)).events
    frames = list(from_ndjson(to_ndjson(events)))
    assert list(from_frames(frames)) == events
    assert replay(frames).data == {"n": (10**20_000 - 1) // 9 * 7}


@pytest.mark.parametrize("depth", [500, 20_000])
def test_depth(depth: int) -> None:
    text = '[{"a":' * (depth // 2) + '"x"' + "}]" * (depth // 2)
    if depth <= 1000:
        events = Run([text]).events
        frames = list(from_sse(to_sse(events)))
        assert list(from_frames(frames)) == events
        assert same_value(replay(frames).data, json.loads(text))
    # what stands whole in a frame (a tool call's arguments) may be as deep
    value: Any = "x"
    for _ in range(depth // 2):
        value = [{"a": value}]
    assert to_json(value) == text
    assert same_value(from_json(text), value)


ODD_TEXT = "a\u2028b\u2029c\x85d\r\ne\nf\rg\x00\x1f\x7f\ufeff😀 data: x\n\nid: 9\n\n"


@pytest.mark.parametrize(("encode", "decode"), FORMATS)
def test_no_character_ends_a_line(encode: Any, decode: Any) -> None:
    events = Run([json.dumps({ODD_TEXT: ODD_TEXT})]).events
    sent = "".join(encode(events))
    frames = list(decode(sent))
    assert list(from_frames(frames)) == events
    assert replay(frames).data == {ODD_TEXT: ODD_TEXT}
    # clients that split at every line end that Python knows read the same
    assert list(decode("\n".join(sent.splitlines()) + "\n\n")) == frames


@pytest.mark.parametrize(("encode", "decode"), FORMATS)
def test_halves_of_surrogate_pairs_survive(encode: Any, decode: Any) -> None:
    events = Run([r'{"k\udead": "a\ud800b\udc00", "p": "\ud83d\ude00"}'], surrogates="keep").events
    sent = "".join(encode(events)).encode()  # encodes
    frames = list(decode(sent))
    assert list(from_frames(frames)) == events
    assert replay(frames).data == {"k\udead": "a\ud800b\udc00", "p": "😀"}


def test_line_ends_of_all_kinds_and_comments() -> None:
    body = ': hello\r\n\r\nid: 1\r\nevent: field\rdata: {"a":\ndata: 1}\n\nretry: 5\ndata: 7\n\nevent: x\nid: 2\n\n'
    body += "id:3\ndata:[]\n\nid: 4\ndata: 1"
    wanted = [Frame(1, "field", {"a": 1}), Frame(1, "message", 7), Frame(3, "message", [])]
    assert list(from_sse(body)) == wanted
    assert list(from_sse(body.encode()[i : i + 1] for i in range(len(body.encode())))) == wanted
    assert list(from_ndjson('{"id":1,"event":"a","data":1}\n\r\n{"id":2,"event":"b","data":2}')) == [
        Frame(1, "a", 1),
        Frame(2, "b", 2),
    ]
    assert list(from_ndjson('{"id":1,"event":"a","data":1}\n{"id":2,"event":"b","da')) == [Frame(1, "a", 1)]
    assert list(from_ndjson('{"id":1,"event":"a","data":{}')) == []
    with pytest.raises(ValueError):
        list(from_ndjson("[1]\n"))


def test_dropped_connection_goes_on_after_the_last_id() -> None:
    events = Run(pieces('{"a": "some text", "b": [1, 2, {"c": "more"}]}')).events
    frames = list(to_frames(events))
    for seen in range(len(frames)):
        replica = replay(frames[:seen])
        for frame in frames[max(0, seen - 2) :]:  # some come twice
            replica.feed(frame)
        assert replica.data == {"a": "some text", "b": [1, 2, {"c": "more"}]}
        assert replica.end is not None


def test_a_snapshot_replaces_what_was_held() -> None:
    frames = list(to_frames(wrap(iter(["<think>so</think>", '{"a": "some', ' text", "b": [1]}'])).get_generator("all")))
    whole = [frame._replace(id=0) for frame in frames[:-1]]
    for seen in (0, 3, len(frames) - 2):
        replica, decoder = replay(frames[:seen]), EventDecoder()
        events = [event for frame in frames[:seen] for event in decoder.feed(frame)]
        for frame in [Frame(0, "snapshot", {}), *whole, frames[-1]]:
            replica.feed(frame)
            events += decoder.feed(frame)
        assert replica.data == {"a": "some text", "b": [1]}
        assert "".join(replica.reasoning) == "so"
        assert replica.last_id == len(frames)
        assert joined(merge(events)) == joined(merge(from_frames(frames)))


# ---- of a result


def test_frames_of_a_run() -> None:
    chunks = [
        message_chunk({"role": "assistant", "content": "", "reasoning_content": "let me"}),
        message_chunk({"reasoning_content": " see"}),
        *chat(['{"name": "A', 'da", "n": 12', ', "l": []}']),
    ]
    frames = list(to_frames(wrap(chunks).get_generator("all")))
    assert [(frame.event, frame.data) for frame in frames[:10]] == [
        ("reasoning_delta", {"text": "let me"}),
        ("reasoning_delta", {"text": " see"}),
        ("reasoning_done", {}),
        ("field", {"type": "delta", "path": "name", "parts": ["name"], "kind": "string", "delta": "A"}),
        ("field", {"type": "delta", "path": "name", "parts": ["name"], "kind": "string", "delta": "da"}),
        ("field", {"type": "done", "path": "name", "parts": ["name"], "kind": "string"}),
        ("field", {"type": "delta", "path": "n", "parts": ["n"], "kind": "number", "delta": "12"}),
        ("field", {"type": "done", "path": "n", "parts": ["n"], "kind": "number", "value": 12}),
        ("field", {"type": "done", "path": "l", "parts": ["l"], "kind": "array"}),
        ("field", {"type": "done", "path": "", "parts": [], "kind": "object"}),
    ]
    assert [frame.event for frame in frames[10:]] == ["meta", "status", "end"]
    assert frames[10].data["usage"]["total_tokens"] == 18
    assert frames[-1].data == {"complete": True, "incomplete": [], "end_state": "complete", "finish_reason": "stop"}


def test_texts_are_sent_where_they_are_asked_for() -> None:
    names = ["delta", "done", "original_delta", "original_done"]
    for name in names:
        frames = to_frames(wrap(iter(["{}", " x"])).get_generator("all"), include=name)
        found = [frame for frame in frames if frame.event in names]
        assert {frame.event for frame in found} == {name}
        assert "".join(frame.data["text"] for frame in found) == "{} x"
    with pytest.raises(UsageError, match="include="):
        to_frames([], include=["instant"])


def test_tool_calls() -> None:
    arguments = '{"q": "streaming json", "n": 3}'
    result = wrap(tool_chunks(pieces(arguments)))
    frames = list(from_sse(to_sse(result.get_generator("all"))))
    replica = replay(frames)
    assert replica.documents["call-7"].tree.value == {"q": "streaming json", "n": 3}
    assert replica.data is None
    assert "".join(frame.data["arguments"] for frame in frames if frame.event == "tool_call_delta") == arguments
    (call,) = replica.tool_calls
    assert (call["id"], call["name"], call["arguments"], call["raw_arguments"], call["complete"]) == (
        "call-7",
        "search",
        {"q": "streaming json", "n": 3},
        arguments,
        True,
    )
    assert list(from_frames(frames)) == list(result.get_generator("instant"))
    assert frames[-1].data["finish_reason"] == "tool_calls"


@pytest.mark.parametrize("finish", ["length", None])
def test_cut(finish: str | None) -> None:
    result = wrap(chat(['{"a": [1, {"b": "half'], finish=finish))
    frames = list(to_frames(result.get_generator("all")))
    response = result.get_response()
    assert frames[-1].data == {
        "complete": False,
        "incomplete": response.incomplete,
        "end_state": "truncated" if finish else "cut",
        "finish_reason": finish,
    }
    assert response.incomplete == ["a[1].b", "a[1]", "a", ""]
    assert replay(frames).data == {"a": [1, {"b": "half"}]}


class _Secret(Exception):
    pass


def test_an_error_of_the_stream_is_a_frame_without_its_text() -> None:
    source = Stream(chat(['{"a": "x'], finish=None), _Secret("key sk-123 at /srv/app.py"))
    frames = list(to_frames(wrap(source).get_generator("all")))
    assert [frame.event for frame in frames[-2:]] == ["error", "end"]
    assert frames[-2].data == {"code": "internal", "message": "the stream failed (_Secret)"}
    assert frames[-1].data["end_state"] == "error"
    assert frames[-1].data["complete"] is False
    assert "sk-123" not in to_json(frames)
    again = wrap(Stream([], _Secret("told on purpose")))
    told = list(to_frames(again.get_generator("all"), describe_error=lambda error: {"message": str(error)}))
    assert told[-2].data == {"message": "told on purpose"}


def test_nothing_of_the_server_is_told() -> None:
    def source(errors: list[BaseException]) -> Stream:
        return Stream([], _Secret("sk-123")) if not errors else Stream(chat(["{}"]))

    result = wrap(source, max_retries=1, metadata={"customer": "sk-456"})
    text = "".join(to_sse(result.get_generator("all")))
    assert "retrying" in text
    assert "sk-" not in text


def test_an_error_of_the_provider_is_told() -> None:
    frames = list(to_frames(wrap(Stream([], ProviderError("overloaded"))).get_generator("all")))
    assert frames[-2].data == {"code": "provider", "message": "overloaded"}


def test_an_error_of_the_text_has_its_place() -> None:
    frames = list(to_frames(wrap(iter(['{"a": ', "1,,}"]), dialect="strict").get_generator("all")))
    error = frames[-2].data
    assert (error["code"], error["path"], error["offset"], error["line"], error["column"]) == (
        "unexpected_character",
        "",
        8,
        1,
        9,
    )
    assert error["message"]
    assert "Traceback" not in to_json(error)


def test_one_error_is_told_once_and_a_wrong_call_is_raised() -> None:
    frames = list(to_frames(wrap(Stream([], ValueError("x"))).get_generator("all")))
    assert [frame.event for frame in frames].count("error") == 1
    with pytest.raises(UsageError, match="StreamResult"):
        to_sse(wrap("{}"))
    with pytest.raises(UsageError, match="item of a result"):
        list(to_frames(["{}"]))
    with pytest.raises(UsageError, match="item of a result"):
        list(to_frames([("delta", "x")]))
    with pytest.raises(UsageError, match="max_rate"):
        to_frames([], max_rate=0)
    encoder = FrameEncoder()
    assert [frame.event for frame in encoder.close()] == ["end"]
    assert encoder.close() == []
    with pytest.raises(UsageError, match="close"):
        encoder.feed(ResultMessage("status", {}))

    async def sync_reader_of_an_async_source() -> list[Frame]:
        return list(to_frames(wrap(AsyncStream(chat(["{}"]))).get_generator("all")))

    with pytest.raises(UsageError, match="get_async_generator"):
        asyncio.run(sync_reader_of_an_async_source())


def test_a_retry_takes_the_fields_back() -> None:
    attempts = [["<think>first</think>", '{"a": "wrong', '"}'], ['<think>second</think>{"a": "right"}']]

    def source(errors: list[BaseException]) -> list[str]:
        return attempts[len(errors)]

    result = wrap(source, max_retries=1, validate=lambda data: data["a"] == "right")
    frames = list(to_frames(result.get_generator("all")))
    assert {"type": "reset", "path": "", "parts": [], "kind": "object"} in [frame.data for frame in frames]
    replica = replay(frames)
    assert replica.data == {"a": "right"}
    assert replica.error is None
    assert "".join(replica.reasoning) == "second"
    assert frames[-1].data["complete"] is True


def test_invalid_values_and_remarks() -> None:
    class Model(BaseModel):
        n: int
        day: str

    result = wrap(iter(['{"n": "many", "day": "today",}']), output=Model)
    frames = list(from_sse(to_sse(result.get_generator("all"))))
    replica = replay(frames)
    (invalid,) = replica.invalid
    assert (invalid["path"], invalid["parts"], invalid["value"]) == ("n", ["n"], "many")
    assert invalid["errors"][0]["type"] == "int_parsing"
    assert [remark["code"] for remark in replica.diagnostics] == ["trailing_comma"]
    assert replica.documents["content"].fields["n"].state == "invalid"
    assert replica.documents["content"].fields["day"].state == "done"


def test_describe_error_never_tells_of_others() -> None:
    assert describe_error(KeyError("password")) == {"code": "internal", "message": "the stream failed (KeyError)"}
    assert describe_error(UsageError("no", hint="yes")) == {"code": "usage", "message": "no", "hint": "yes"}


# ---- JSON text


@given(texts.values)
def test_json_is_that_of_the_standard_library(value: Any) -> None:
    text = to_json(value)
    assert json.loads(text) == value
    assert text.encode().splitlines() == [text.encode()]
    assert text.splitlines() == [text]
    plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "\x85\u2028\u2029":
        plain = plain.replace(character, f"\\u{ord(character):04x}")
    assert text == plain


def test_json_of_what_is_no_json() -> None:
    value = {"d": Decimal("1.10"), "l": NumberLexeme("0.50"), "n": float("nan"), "i": Decimal("-Infinity"), 1: ()}
    assert to_json(value) == '{"d":1.10,"l":0.50,"n":null,"i":-1e999,"1":[]}'
    assert to_json([date(2026, 1, 2), NumberLexeme("NaN"), NumberLexeme("-Infinity"), float("inf"), True, b"x"]) == (
        '["2026-01-02",null,-1e999,1e999,true,"x"]'
    )
    assert json.loads(to_json([float("inf"), float("-inf")])) == [float("inf"), float("-inf")]
    assert to_json(StreamParser().feed('{"a":"b')[0]) == to_json(StreamParser().feed('{"a":"b')[0].to_dict())
    assert to_json(object()).startswith('"<object object')


# ---- size


def test_bytes_grow_with_the_text() -> None:
    def size(encode: Any, length: int) -> int:
        parser = StreamParser()
        events: list[StreamingData] = []
        for piece in pieces('{"a": "' + "x" * length + '", "b": ["' + "y" * length + '"]}', 5):
            events += parser.feed(piece)
        return sum(len(piece) for piece in encode([*events, *parser.close().events]))

    for encode in (to_sse, to_ndjson):
        small, large = size(encode, 2_000), size(encode, 20_000)
        assert large < 10.5 * small
        merged = size(lambda events, encode=encode: encode(events, max_rate=1e-9), 20_000)
        assert merged < 2 * 20_000 + 2_000  # the text itself, and a frame or two around it


def test_resets_cost_no_look_at_all_fields() -> None:
    def seconds(count: int) -> float:
        text = "{" + ",".join(f'"k{i}":1' for i in range(count)) + ',"a":[1]' * count + "}"
        events = Run([text]).events
        best = 1e9
        for _ in range(3):
            encoder, replica = AISDKEncoder(), Replica()
            start = time.process_time()
            for number, event in enumerate(events, 1):
                encoder.feed(event)
                replica.feed(Frame(number, "field", field_data(event)))
            best = min(best, time.process_time() - start)
        return best

    assert seconds(4_000) < 24 * seconds(500)  # 64 times were the square


# ---- coalescing


@given(
    text=texts.any_texts,
    places=splits.cuts(),
    waits=st.lists(st.floats(0, 3), min_size=1, max_size=10),
    max_rate=st.sampled_from([0.5, 1.0, 7.0, 1e9]),
    ticks=st.lists(st.booleans(), min_size=1, max_size=5),
    include=st.sampled_from([[], ["delta"]]),
)
def test_coalescing_keeps_order_and_law_2(
    text: str, places: list[float], waits: list[float], max_rate: float, ticks: list[bool], include: list[str]
) -> None:
    result = wrap(splits.chop("<think>why\nso</think>" + text, places))
    items: list[Any] = []
    try:
        items.extend(result.get_generator("all"))
    except StreamParseError:
        assert items[-1].event == "error"
    plain = list(to_frames(items, include=include))
    encoder = FrameEncoder(max_rate=max_rate, include=include)
    now, sent_at = 100.0, []
    frames: list[Frame] = []
    for index, item in enumerate(items):
        now += waits[index % len(waits)]
        out = encoder.feed(item, now)
        if not out and ticks[index % len(ticks)]:
            assert encoder.tick(now) == []
        if out:
            sent_at.append(now)
            assert encoder.due is None
        else:
            assert encoder.due is None or encoder.due > now
        frames += out
    frames += encoder.close()
    assert [frame.id for frame in frames] == list(range(1, len(frames) + 1))
    assert all(later - earlier >= 1 / max_rate - 1e-6 for earlier, later in itertools.pairwise(sent_at))
    assert _unmerged(frames) == _unmerged(plain)
    assert merge(from_frames(frames)) == merge(from_frames(plain))
    assert joined(merge(from_frames(frames))) == joined(merge(from_frames(plain)))


def _unmerged(frames: list[Frame]) -> list[Any]:
    """What may not change, by an own rule: the messages that are no deltas of text, in order; between two of them the
    texts of the fields, one after the other, and the texts that were spoken, one after the other.
    """
    out: list[Any] = []
    fields: list[tuple[Any, str]] = []
    spoken: list[tuple[Any, str]] = []
    for _, event, data in [*frames, Frame(0, "", {})]:
        if event == "field" and data["type"] == "delta" and data["kind"] == "string":
            fields.append((data["path"], data["delta"]))
        elif event in ("reasoning_delta", "delta"):
            spoken.append((event, data["text"]))
        else:
            out += [_side_by_side(fields), _side_by_side(spoken), (event, json.dumps(data, default=str))]
            fields, spoken = [], []
    return out


def _side_by_side(pieces: list[tuple[Any, str]]) -> list[tuple[Any, str]]:
    grouped = itertools.groupby(pieces, key=lambda piece: piece[0])
    return [(key, "".join(text for _, text in group)) for key, group in grouped]


def test_what_comes_after_a_pause_is_sent_at_once() -> None:
    def delta(text: str, path: str = "a") -> ResultMessage:
        data = {"type": "delta", "path": path, "parts": [path], "kind": "string", "delta": text}
        return ResultMessage("field", data)

    coalescer = Coalescer(10)
    assert coalescer.due is None
    assert coalescer.feed(delta("1"), 5.0) == [delta("1")]
    assert coalescer.feed(delta("2"), 5.01) == []
    assert coalescer.due == pytest.approx(5.1)
    assert coalescer.feed(delta("3"), 5.02) == []
    assert coalescer.feed(delta("4", "b"), 5.03) == []
    assert coalescer.feed(delta("5"), 5.04) == []
    assert coalescer.tick(5.09) == []
    assert coalescer.tick(5.11) == [delta("23"), delta("4", "b"), delta("5")]
    assert coalescer.feed(delta("6"), 9.0) == [delta("6")]
    assert coalescer.flush() == []


def test_reasoning_and_the_arguments_of_a_call_are_merged_too() -> None:
    result = wrap(tool_chunks(pieces('{"q": "streaming"}')))
    (whole,) = [f for f in to_frames(result.get_generator("all"), max_rate=1e-9) if f.event == "tool_calls"]
    assert whole.data["arguments"] == {"q": "streaming"}
    # its text and its fields come side by side; each is merged with its own. What comes first goes at once
    frames = list(to_frames(result.get_generator("all"), max_rate=1e-9))
    assert [frame.data["arguments"] for frame in frames if frame.event == "tool_call_delta"] == [
        "",
        '{"q": "streaming"}',
    ]
    deltas = [frame.data["delta"] for frame in frames if frame.event == "field" and frame.data["type"] == "delta"]
    assert deltas == ["streaming"]
    thought = wrap(chat(["<think>a", "b", "c", "d</think>{}"]))
    told = [f.data for f in to_frames(thought.get_generator("all"), max_rate=1e-9) if f.event == "reasoning_delta"]
    assert told == [{"text": "a"}, {"text": "bcd"}]


# ---- skins


async def _alist(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]


@pytest.mark.parametrize(("encode", "decode"), FORMATS)
async def test_async_is_the_same(encode: Any, decode: Any) -> None:
    chunks = chat(pieces('{"a": "some text", "b": [1, 2]}'))
    now = list(encode(_without_times(wrap(chunks).get_generator("all"))))
    later = await _alist(encode(_without_times_async(wrap(AsyncStream(chunks)).get_async_generator("all"))))
    assert later == now

    async def body() -> AsyncIterator[str]:
        for text in now:
            yield text

    assert await _alist(decode(body())) == list(decode(now))


def _without_times(items: Iterable[Any]) -> Iterator[Any]:
    return (item for item in items if item.event != "meta")


async def _without_times_async(items: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for item in items:
        if item.event != "meta":
            yield item


async def test_async_error_is_a_frame() -> None:
    result = wrap(AsyncStream(chat(['{"a": "x'], finish=None), ValueError("secret")))
    frames = await _alist(to_frames(result.get_async_generator("all")))
    assert [frame.event for frame in frames[-2:]] == ["error", "end"]


async def test_held_pieces_do_not_wait_for_the_next_item() -> None:
    more = asyncio.Event()

    async def source() -> AsyncIterator[str]:
        for piece in ('{"a": "1', "2", "3"):
            yield piece
        await more.wait()
        yield '4"}'

    frames = to_frames(wrap(source()).get_async_generator("all"), max_rate=20)
    first = [(await anext(frames)).data["delta"], (await anext(frames)).data["delta"]]
    assert first == ["1", "23"]  # sent while the source waits
    more.set()
    rest = [frame async for frame in frames]
    assert replay([Frame(index + 1, f.event, f.data) for index, f in enumerate(rest)]).data == {"a": "4"}
    assert [frame.id for frame in rest] == list(range(3, 3 + len(rest)))


async def test_an_error_of_the_consumer_is_not_one_of_the_stream() -> None:
    frames = to_frames(
        wrap(AsyncStream(chat(['{"a": "1', "2", "3"], finish=None), hang=True)).get_async_generator("all")
    )
    held = to_frames(
        wrap(AsyncStream(chat(['{"a": "1', "2", "3"], finish=None), hang=True)).get_async_generator("all"), max_rate=20
    )
    for reader in (frames, held):
        await anext(reader)
        await anext(reader)
        with pytest.raises(_Secret):
            await reader.athrow(_Secret())
    now = to_frames(wrap(Stream(chat(['{"a": "1', "2"]))).get_generator("all"))
    next(now)
    with pytest.raises(_Secret):
        now.throw(_Secret())


@pytest.mark.parametrize("max_rate", [None, 5.0])
async def test_leaving_closes_the_reader(max_rate: float | None) -> None:
    source = AsyncStream(chat(['{"a": "1', "2"], finish=None), hang=True)
    result = wrap(source)
    frames = to_frames(result.get_async_generator("all"), max_rate=max_rate)

    async def read() -> None:
        async for _ in frames:
            pass

    reader = asyncio.create_task(read())
    await asyncio.sleep(0.05)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert source.closed == 1
    assert result.finished


def test_on_trio_frames_come_too() -> None:
    chunks = chat(pieces('{"a": "some text", "b": [1, 2]}'))

    async def main() -> list[Frame]:
        items = _without_times_async(wrap(Stream(chunks)).get_async_generator("all"))
        return [frame async for frame in to_frames(items, max_rate=1e-9)]

    frames = trio.run(main)
    assert frames == list(to_frames(_without_times(wrap(chunks).get_generator("all")), max_rate=1e-9))
    assert replay(frames).data == {"a": "some text", "b": [1, 2]}


def test_strings_of_several_sources_that_grow_side_by_side_come_back() -> None:
    parsers = {source: StreamParser(source=source) for source in ("content", "call-1", "call-2")}
    texts_of = {source: json.dumps({"q": f"the text of {source}"}) for source in parsers}
    events: list[StreamingData] = []
    for at in range(max(map(len, texts_of.values()))):
        for source, parser in parsers.items():
            events += parser.feed(texts_of[source][at : at + 1])
    values = {event.source: event.value for event in from_frames(to_frames(events)) if event.event_type == "delta"}
    assert values == {source: f"the text of {source}" for source in parsers}
    assert list(from_frames(to_frames(events))) == events


def test_leaving_a_sync_reader_leaves_the_result_whole() -> None:
    result = wrap(Stream(chat(pieces('{"a": 1}'))))
    frames = to_frames(result.get_generator("all"))
    next(frames)
    frames.close()
    assert result.get_data() == {"a": 1}


def test_a_frame_as_it_is_written() -> None:
    frame = Frame(3, "field", {"type": "delta", "path": "a", "parts": ["a"], "kind": "string", "delta": "x\ny"})
    text = 'id: 3\nevent: field\ndata: {"type":"delta","path":"a","parts":["a"],"kind":"string","delta":"x\\ny"}\n\n'
    assert write_sse(frame) == text
    assert SSEDecoder().feed(text) == [frame]
