"""Recorded streams: framings, formats, splits, and what is wrong with a body."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.bodies import Body, load, response
from support.splits import two_way

from streamparse import ResultMessage, StreamParseError, StreamResult, captures, wrap
from streamparse.captures import BodyDecoder
from streamparse.errors import ProviderError, UsageError

BODIES = load()


def by_name(body: Body) -> str:
    return body.name


def decoded(pieces: Iterable[bytes | str], **options: Any) -> tuple[list[Any], str | None]:
    """All chunks, and the message of the fault that came after them."""
    decoder = BodyDecoder(**options)
    found: list[Any] = []
    try:
        for piece in pieces:
            found += decoder.feed(piece)
        found += decoder.close()
    except ProviderError as error:
        return found, error.message
    return found, None


def whole(chunks: list[Any]) -> list[Any]:
    """Neighbouring texts as one, so that splits compare."""
    found: list[Any] = []
    for chunk in chunks:
        if isinstance(chunk, str) and found and isinstance(found[-1], str):
            found[-1] += chunk
        else:
            found.append(chunk)
    return found


def sse(text: str | bytes) -> list[Any]:
    chunks, fault = decoded([text], format="sse")
    assert fault is None
    return chunks


# -- server-sent events -----------------------------------------------------------------------------------------------

ONE, TWO = {"a": 1}, {"b": 2}


@pytest.mark.parametrize(
    ("body", "chunks"),
    [
        pytest.param('data: {"a":1}\n\ndata: {"b":2}\n\n', [ONE, TWO], id="LF"),
        pytest.param('data: {"a":1}\r\n\r\ndata: {"b":2}\r\n\r\n', [ONE, TWO], id="CRLF"),
        pytest.param('data: {"a":1}\r\rdata: {"b":2}\r\r', [ONE, TWO], id="CR"),
        pytest.param('data: {"a":1}\r\n\ndata: {"b":2}\n\r\n', [ONE, TWO], id="mixed"),
        pytest.param('\ufeffdata: {"a":1}\n\n', [ONE], id="BOM"),
        pytest.param(': hi\n\n: PROCESSING\ndata: {"a":1}\n: more\n\n', [ONE], id="comments"),
        pytest.param('data:{"a":1}\n\n', [ONE], id="no space"),
        pytest.param('data:   {"a":1}   \n\n', [ONE], id="more space"),
        pytest.param('data: {"a"\ndata: :1}\n\n', [ONE], id="data of two lines"),
        pytest.param('data\ndata: {"a":1}\n\n', [ONE], id="field without a colon"),
        pytest.param('id: 7\nretry: 100\nodd: x\ndata: {"a":1}\n\n', [ONE], id="other fields"),
        pytest.param('data: {"a":1}\n\ndata: [DONE]\n\n', [ONE], id="done"),
        pytest.param('data: {"a":1}\n\ndata: [DONE]', [ONE], id="done without its blank line"),
        pytest.param('data: {"a":1}\n\ndata: {"b":2}', [ONE, TWO], id="last event without its line end"),
        pytest.param('data: {"a":1}\n\ndata: {"b":2}\n', [ONE, TWO], id="last event without its blank line"),
        pytest.param("\n\n\ndata:\n\nevent: x\n\n", [], id="events without data"),
        pytest.param(
            'event: x\ndata: {"a":1}\n\ndata: {"b":2}\n\n', [{"type": "x", "a": 1}, TWO], id="a name is the type"
        ),
        pytest.param('event: x\ndata: {"type":"y"}\n\n', [{"type": "y"}], id="a type of its own"),
        pytest.param('event: message\ndata: {"a":1}\n\n', [ONE], id="the default name"),
        pytest.param(
            'event: error\ndata: {"error":{"m":1}}\n\n', [{"type": "error", "error": {"m": 1}}], id="error event"
        ),
        pytest.param(
            'event: error\ndata: {"message":"m"}\n\n', [{"type": "error", "error": {"message": "m"}}], id="bare error"
        ),
        pytest.param(
            "event: error\ndata: went wrong\n\n", [{"type": "error", "error": {"message": "went wrong"}}], id="words"
        ),
        pytest.param('error: {"error":{"m":1}}\n\n', [{"type": "error", "error": {"m": 1}}], id="error line"),
        pytest.param('data: {"a":1}\n\n{"error":{"m":1}}\n', [ONE, {"error": {"m": 1}}], id="error that is no event"),
        pytest.param('data: {"a":1}\n\n{"error":{"m":1}}', [ONE, {"error": {"m": 1}}], id="and no line"),
        pytest.param(
            'data: {"a":"x\u2028y\u2029z\x85\x0b\x0c"}\n\n', [{"a": "x\u2028y\u2029z\x85\x0b\x0c"}], id="U+2028"
        ),
        pytest.param("data: [1]\n\n", [{"data": [1]}], id="no object"),
    ],
)
def test_sse(body: str, chunks: list[Any]) -> None:
    if "\x0b" in body:  # control characters are no JSON, but must not end the line
        body, chunks = body.replace("\x0b\x0c", ""), [{"a": "x\u2028y\u2029z\x85"}]
    assert sse(body) == chunks
    for pieces in two_way(body):
        assert decoded(pieces, format="sse") == (chunks, None)
    assert decoded(list(body), format="sse") == (chunks, None)
    raw = body.encode()
    assert decoded([raw[place : place + 1] for place in range(len(raw))], format="sse") == (chunks, None)


def test_an_event_comes_out_with_the_line_that_ends_it() -> None:
    """Also where that line ends with a CR alone, whose LF may still come."""
    decoder = BodyDecoder(format="sse")
    assert decoder.feed('data: {"a":1}\r\n\r') == [ONE]
    assert decoder.feed('\ndata: {"b":2}\r\n\r\n') == [TWO]


# -- bodies and splits ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", BODIES, ids=by_name)
def test_every_split_gives_the_same_chunks(body: Body) -> None:
    raw = body.raw
    expected = decoded([raw])
    assert expected[1] is None
    assert len(expected[0]) >= 1
    chance = random.Random(body.name)
    places = range(len(raw) + 1) if len(raw) < 1500 else sorted(chance.sample(range(len(raw)), 300))
    for place in places:
        assert decoded([raw[:place], raw[place:]]) == expected, place
    assert decoded([raw[place : place + 1] for place in range(len(raw))]) == expected
    if not body.name.endswith(".aws"):
        assert decoded([raw.decode()]) == expected


@pytest.mark.parametrize("body", [body for body in BODIES if not body.name.endswith((".aws", ".json"))], ids=by_name)
@pytest.mark.parametrize("kind", [str, bytes])
def test_lines_without_their_ends(body: Body, kind: type) -> None:
    """As `iter_lines()` of httpx and requests gives them."""
    lines: list[Any] = body.raw.decode().replace("\r\n", "\n").split("\n")
    if kind is bytes:
        lines = [line.encode() for line in lines]
    assert decoded(lines) == decoded([body.raw])


@pytest.mark.parametrize("body", BODIES, ids=by_name)
def test_cut_anywhere_gives_a_prefix_and_at_most_a_provider_error(body: Body) -> None:
    """What came before the cut is kept; nothing but our own error says that it was in the middle of something."""
    everything, _ = decoded([body.raw])
    chance = random.Random(body.name)
    for length in sorted(chance.sample(range(1, len(body.raw)), 60)):
        chunks, fault = decoded([body.raw[:length]])
        if chunks and isinstance(chunks[0], str):
            assert body.raw.decode(errors="replace").startswith(chunks[0].rstrip("\ufffd"))
            continue
        assert chunks == everything[: len(chunks)]
        assert fault is None or "ended" in fault or "JSON" in fault or "line" in fault


def test_a_file_may_be_a_path_a_string_or_an_open_file(tmp_path: Path) -> None:
    path = tmp_path / "x.sse"
    path.write_bytes('data: {"ü":"\u2028"}\n\n'.encode())
    expected = [{"ü": "\u2028"}]
    assert list(captures.open(path)) == list(captures.open(str(path))) == expected
    with path.open("rb") as binary, path.open(encoding="utf-8", newline="") as text:
        assert list(captures.open(binary)) == list(captures.open(text)) == expected
    assert list(captures.open(io.StringIO(path.read_text(encoding="utf-8")))) == expected
    with pytest.raises(UsageError, match="int"):
        list(captures.open(7))
    with pytest.raises(FileNotFoundError):
        list(captures.open(tmp_path / "missing"))


@pytest.mark.parametrize(
    "name", ["openai-chat-cut-arguments.sse", "ollama-chat.ndjson", "gemini-array.array.json", "bedrock-converse.aws"]
)
def test_chunks_come_out_as_input_comes_in(name: str) -> None:
    (body,) = [body for body in BODIES if body.name == name]
    expected = body.chunks()
    reader, writer = os.pipe()
    half = len(body.raw) // 2
    got_one = threading.Event()

    def write() -> None:
        os.write(writer, body.raw[:half])
        assert got_one.wait(10), "no chunk came out although half of the input was there"
        os.write(writer, body.raw[half:])
        os.close(writer)

    thread = threading.Thread(target=write)
    thread.start()
    found = []
    with os.fdopen(reader, "rb") as file:
        for chunk in captures.open(file):
            found.append(chunk)
            got_one.set()
    thread.join()
    assert found == expected


# -- which format -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Hello there.",
        "",
        " \n",
        '{"name": "Ada", "age": 36}',
        '{\n  "name": "Ada"\n}',
        '{"id": 1, "name": "Ada"}',
        '{"id": 1}\n{"id": 2}',
        '{"type": "person", "name": "Ada"}\n',
        '{"message": "hi", "done": "yes"}',
        '{"error": "no such city"}'.replace("error", "errors"),
        "[1, 2, 3]",
        "[]",
        "{}",
        '[{"id": 1, "name": "Ada"}, {"id": 2}]',
        '["a", "b"]',
        '[\n {\n  "title": "x"\n }\n]',
        "42",
        "```json\n{}\n```",
        "<think>hm</think>{}",
        "<answer>1</answer>",
        "event planning: a guide\nfirst",
        "identity: who you are",
        "dat",
        "data\n- a",
        "eventually, all is well",
        "error: cannot open",
        "name: Ada\nage: 36\n",
        "{'a': 1}",
        '{"choices": ["a", "b"]}',
        '{"content_type": "text/plain", "x": 1}',
        "\u2028data: x",
    ],
)
def test_the_models_own_text_is_text(text: str) -> None:
    assert "".join(decoded([text])[0]) == text
    assert decoded([text])[1] is None
    for pieces in two_way(text):
        assert "".join(decoded(pieces)[0]) == text
    assert "".join(decoded(list(text))[0]) == text


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    )
)
def test_the_models_own_json_is_text(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert decoded([text]) == ([text], None)


def test_text_does_not_wait_for_its_end() -> None:
    for text in ('{"name": ', "Hel", "[1,", '[{"name":', "```json", '{"name":"x', "<p>Hello there, you"):
        decoder = BodyDecoder()
        assert "".join(decoder.feed(text + " ")) == text + " ", text


def test_eager_decides_by_the_first_piece() -> None:
    assert BodyDecoder(eager=True).feed('{"id": 1, ') == ['{"id": 1, ']
    assert BodyDecoder(eager=True).feed('data: {"a":1}\n\n') == [ONE]
    assert BodyDecoder(eager=True).feed("dates") == ["dates"]


@pytest.mark.parametrize("text", [": 2}", ':"x"}', ":", ":-) hello", ": yes\nno", ": yes\n\nno: 1", ": {name}"])
def test_live_text_may_begin_with_a_colon(text: str) -> None:
    """So goes on what the caller began to write; a comment of an event stream begins with one, too."""
    for pieces in ([text], list(text), *([text[:at], text[at:]] for at in range(1, len(text)))):
        assert "".join(decoded(pieces, eager=True)[0]) == text
        assert wrap(iter(pieces)).get_response().text == text


def test_live_events_behind_comments() -> None:
    body = ': OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\ndata: {"a":1}\n\n'
    for pieces in ([body], list(body), body.splitlines(), *two_way(body)):
        assert decoded(pieces, eager=True) == ([ONE], None)


EVENT = [{"type": "ping", **ONE}]


@pytest.mark.parametrize("first", ["data", "event", "id", "retry", "error"])
def test_eager_waits_for_the_rest_of_a_field_name(first: str) -> None:
    lines = {"data": 'data: {"a":1}', "event": "event: ping", "id": "id: 1", "retry": "retry: 5"}
    body = "\n".join([lines.pop(first), *lines.values()]) + "\n\n" if first != "error" else 'error: {"a":1}\n\n'
    wanted = [{"type": "error", "error": ONE}] if first == "error" else EVENT
    for end in range(1, len(first) + 1):
        decoder = BodyDecoder(eager=True)
        assert decoder.feed(body[:end]) + decoder.feed(body[end:]) == wanted
        live = BodyDecoder(eager=True)
        assert live.feed(body[:end]) == []
        assert live.feed(" is what I say") == [body[:end] + " is what I say"]


@pytest.mark.parametrize("size", [1, 3, 50])
@pytest.mark.parametrize("body", [body for body in BODIES if body.path.suffixes[0] != ".eventstream"], ids=by_name)
def test_wrap_knows_a_body_in_bytes_at_every_split(body: Body, size: int) -> None:
    raw = body.raw
    pieces = [raw[at : at + size] for at in range(0, len(raw), size)]
    found, wanted = wrap(iter(pieces)), wrap(body.chunks())
    given, expected = ([(event, str(data)) for event, data in messages(one)] for one in (found, wanted))
    assert [one for one in given if one[0] != "meta"] == [one for one in expected if one[0] != "meta"]


def messages(result: StreamResult[Any]) -> list[ResultMessage]:
    """All messages of a run, the last one an error where it failed."""
    got: list[ResultMessage] = []
    with contextlib.suppress(StreamParseError):
        got.extend(result.get_generator("all"))
    return got


def test_the_held_back_text_is_bounded() -> None:
    decoder = BodyDecoder()
    assert decoder.feed('{"id": "') == []
    held = 0
    while not decoder.feed("x" * 1000):
        held += 1000
        assert held <= captures.LOOK_AHEAD
    assert decoder.format == "text"


@pytest.mark.parametrize(
    ("content_type", "text", "format_"),
    [
        ("text/event-stream; charset=utf-8", "data: 1\n\n", "sse"),
        ("application/x-ndjson", '{"a":1}\n', "ndjson"),
        ("application/jsonl", '{"a":1}\n', "ndjson"),
        ("text/plain", "Hello", "text"),
        ("application/json", '[{"candidates": [{"content": {}}]}]', "json"),
        (None, "Hello", "text"),
    ],
)
def test_content_type(content_type: str | None, text: str, format_: str) -> None:
    decoder = BodyDecoder(content_type=content_type)
    decoder.feed(text)
    decoder.close()
    assert decoder.format == format_


def test_a_format_may_be_named() -> None:
    assert decoded(['{"a":1}\n{"b":2}\n'], format="ndjson") == ([ONE, TWO], None)
    assert decoded(['[{"a":1},\n{"b":2}]'], format="json") == ([ONE, TWO], None)
    assert decoded(['{"a":1}'], format="json") == ([ONE], None)
    assert decoded(['data: {"a":1}\n\n'], format="text") == (['data: {"a":1}\n\n'], None)
    with pytest.raises(UsageError, match="sse"):
        BodyDecoder(format="yaml")  # type: ignore[arg-type]


def test_numbers_are_those_of_json() -> None:
    assert decoded(['[{"a":1.50,"b":12345678901234567890,"c":1e3}]'], format="json")[0] == [
        {"a": 1.5, "b": 12345678901234567890, "c": 1000.0}
    ]


@given(st.data())
def test_an_array_is_what_json_reads(data: st.DataObject) -> None:
    scalars = (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=5)
    )
    values = st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner)
    )
    text = json.dumps(data.draw(values), indent=data.draw(st.sampled_from([None, 1])), ensure_ascii=False)
    if data.draw(st.booleans()):  # something is lost, or too much
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(st.sampled_from(["", *'[]{},:"\\ 1'])) + text[at + data.draw(st.integers(0, 1)) :]
    try:
        value = json.loads(text)
    except ValueError:
        want = None
    else:
        want = value if isinstance(value, list) else [value]
    cut = data.draw(st.integers(0, len(text)))
    for pieces in ([text], list(text), [text[:cut], text[cut:]]):
        chunks, fault = decoded(pieces, format="json")
        if want is None:
            assert fault is not None or not text.strip()
        else:
            assert (chunks, fault) == (want, None)


# -- what is wrong ----------------------------------------------------------------------------------------------------

GOOD = 'data: {"id":"c","choices":[{"index":0,"delta":{"content":"hi"}}],"object":"chat.completion.chunk"}\n\n'


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        pytest.param('data: {"id":"c","choices":[{"del', 'data: {"id":"c","choices":[{"del', id="half a frame"),
        pytest.param('data: {"id":"c",\n\ndata: {"x":1}\n\n', '{"id":"c",', id="invalid JSON"),
        pytest.param("data: Internal Server Error\n\n", "Internal Server Error", id="words"),
        pytest.param("<html>\r\n<body>Bad gateway</body></html>", "<html>", id="a page in the middle"),
    ],
)
def test_faults_of_an_event_stream(rest: str, said: str) -> None:
    """The events before the fault are kept, and the error quotes the first line of what came."""
    for pieces in ([GOOD + rest], [GOOD, rest], list(GOOD + rest)):
        chunks, fault = decoded(pieces)
        assert [response(chunks).text] == ["hi"]
        assert fault is not None
        assert said in fault
    decoder = BodyDecoder()
    decoder.feed(GOOD + rest)
    with pytest.raises(ProviderError) as caught:
        decoder.close()
    assert caught.value.code == "provider"
    assert said in caught.value.details["text"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<!DOCTYPE html>\n<html><title>502</title></html>", "<!DOCTYPE html>"),
        ("\n  <HTML>\n<head>", "<HTML>"),
        ('<?xml version="1.0"?>\n<Error>', '<?xml version="1.0"?>'),
    ],
)
def test_a_page_instead_of_a_stream(text: str, said: str) -> None:
    for pieces in ([text], list(text), [text.encode()]):
        chunks, fault = decoded(pieces)
        assert chunks == []
        assert fault is not None
        assert said in fault
        assert "page" in fault
    assert "page" in str(decoded(["Bad gateway"], content_type="text/html")[1])
    assert decoded([""], content_type="text/html") == ([], None)


@pytest.mark.parametrize(
    ("options", "text", "kept"),
    [
        ({"format": "ndjson"}, '{"a":1}\n{"b":\n', [ONE]),
        ({"format": "ndjson"}, '{"a":1}\n{"b"', [ONE]),
        ({"format": "json"}, '[{"a":1},{"b":', [ONE]),
        ({"format": "json"}, '[{"a":1},]', [ONE]),
        ({"format": "json"}, "nothing", []),
        ({"format": "aws-json"}, '{"frames": [', []),
        ({"format": "aws-json"}, '{"body_base64": "§"}', []),
        ({"format": "aws"}, "text", []),
        ({"content_type": "application/json"}, '{"detail":"Not Found"}', []),
    ],
)
def test_faults_of_other_formats(options: dict[str, Any], text: str, kept: list[Any]) -> None:
    for pieces in ([text], list(text)):
        chunks, fault = decoded(pieces, **options)
        assert chunks == kept
        assert fault is not None


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("1" * 5000, id="more digits than CPython reads"),
        pytest.param("[" * 100_000 + "]" * 100_000, id="arrays"),
        pytest.param('{"a":' * 100_000 + "1" + "}" * 100_000, id="objects"),
    ],
)
def test_no_value_of_a_body_harms_the_process(value: str) -> None:
    for format_, text in (
        ("json", f'[{{"a":1}},{{"b":{value}}}]'),
        ("ndjson", f'{{"a":1}}\n{{"b":{value}}}\n'),
        ("sse", f'data: {{"a":1}}\n\ndata: {{"b":{value}}}\n\n'),
    ):
        chunks, fault = decoded([text], format=format_)
        assert chunks[0] == ONE
        # Since Python 3.14 `json.loads` reads as deep as the stack is large, which may be enough.
        assert (len(chunks), fault is None) in ((1, False), (2, True))


def test_a_long_string_costs_the_same_in_tiny_pieces() -> None:
    text = f'[{{"a":"{"x" * 300_000}"}}]'
    started = time.process_time()
    assert decoded(list(text), format="json") == ([{"a": "x" * 300_000}], None)
    assert time.process_time() - started < 5  # with a buffer that is copied for each piece it takes minutes


def test_an_error_object_is_a_chunk() -> None:
    for text in (
        '{"error": {"message": "bad key", "code": 401}}',
        '{\n  "error": {\n    "message": "bad key",\n    "code": 401\n  }\n}\n',
    ):
        chunks, fault = decoded([text])
        assert fault is None
        assert response(chunks).metadata["error"] == "bad key"
    array = '[{\n  "error": {\n    "code": 400,\n    "message": "bad key",\n    "status": "INVALID_ARGUMENT"\n  }\n}\n]'
    assert response(decoded([array])[0]).metadata["error"] == "bad key"


@given(st.lists(st.binary(max_size=30) | st.text(max_size=30), max_size=6), st.sampled_from([None, *captures.FORMATS]))
def test_any_body_gives_chunks_or_our_own_error(pieces: list[bytes | str], format_: Any) -> None:
    chunks, fault = decoded(pieces, format=format_)  # it catches `ProviderError`, and nothing else
    assert fault is None or fault != ""
    assert all(isinstance(chunk, str | dict | list | int | float | None) for chunk in chunks)


# -- AWS event streams ------------------------------------------------------------------------------------------------


def header(name: str, kind: int, value: bytes) -> bytes:
    return bytes([len(name)]) + name.encode() + bytes([kind]) + value


def frame(headers: bytes, payload: bytes) -> bytes:
    """A frame by the specification: lengths, their CRC, headers, payload, the CRC of all."""
    prelude = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    body = prelude + struct.pack("!I", zlib.crc32(prelude)) + headers + payload
    return body + struct.pack("!I", zlib.crc32(body))


def text_header(name: str, value: str) -> bytes:
    return header(name, 7, struct.pack("!H", len(value)) + value.encode())


def test_headers_of_all_types() -> None:
    headers = b"".join(
        [
            header("t", 0, b""),
            header("f", 1, b""),
            header("byte", 2, b"\x01"),
            header("short", 3, b"\x00\x01"),
            header("int", 4, b"\x00" * 4),
            header("long", 5, b"\x00" * 8),
            header("bytes", 6, b"\x00\x02ab"),
            header("time", 8, b"\x00" * 8),
            header("uuid", 9, b"\x00" * 16),
            text_header(":event-type", "messageStop"),
        ]
    )
    assert decoded([frame(headers, b'{"stopReason":"end_turn"}')]) == (
        [{"messageStop": {"stopReason": "end_turn"}}],
        None,
    )


def test_error_frames() -> None:
    exception = text_header(":message-type", "exception") + text_header(":exception-type", "throttlingException")
    error = (
        text_header(":message-type", "error") + text_header(":error-code", "Oops") + text_header(":error-message", "No")
    )
    assert decoded([frame(exception, b"slow down"), frame(error, b"")]) == (
        [{"throttlingException": {"message": "slow down"}}, {"error": {"code": "Oops", "message": "No"}}],
        None,
    )


def damaged(raw: bytes, place: int) -> bytes:
    return raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :]


def test_a_damaged_frame_is_a_fault_and_what_was_before_it_is_kept() -> None:
    good = frame(text_header(":event-type", "messageStart"), b"{}")
    for place in range(len(good)):
        chunks, fault = decoded([good, damaged(good, place)])
        assert chunks == [{"messageStart": {}}], place
        assert fault is not None
    assert decoded([good, good[:-1]])[1] is not None


def test_headers_of_a_recorded_frame_that_are_none() -> None:
    """As in the binary form: what is no text says nothing."""
    for headers in ([1], "x", 5, {":event-type": {"a": 1}}, {":event-type": 5}):
        text = json.dumps({"frames": [{"headers": headers, "payload": {"a": 1}}]})
        assert decoded([text], format="aws-json") == ([{"event": ONE}], None)


def test_the_frames_are_those_of_botocore() -> None:
    botocore = pytest.importorskip("botocore.eventstream")
    for body in BODIES:
        if body.name.endswith(".aws"):
            buffer = botocore.EventStreamBuffer()
            buffer.add_data(body.raw)
            wanted = []
            for message in buffer:
                name = message.headers.get(":exception-type") or message.headers.get(":event-type")
                wanted.append({name: json.loads(message.payload)})
            assert body.chunks() == wanted


@pytest.mark.parametrize("read", [lambda file: file.read(3), lambda file: file.read(1)])
def test_a_file_without_read1_is_read_in_full_pieces(read: Callable[[Any], Any]) -> None:
    class Slow:
        def __init__(self, raw: bytes) -> None:
            self.inner = io.BytesIO(raw)

        def read(self, size: int) -> bytes:
            return read(self.inner)

    assert list(captures.open(Slow(GOOD.encode()))) == decoded([GOOD])[0]
