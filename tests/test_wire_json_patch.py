"""JSON Patch: what a client that knows RFC 6902 makes of it is what `json.loads` makes of the text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import splits, texts
from support.runner import Run
from support.streams import AsyncStream, Stream, chat, pieces

from streamparse import StreamingData, StreamParser, UsageError, wrap
from streamparse.values import same_value
from streamparse.wire import JSONPatchEncoder, to_json, to_json_patch

STRINGS = ["doubling", "append", "replace"]


def apply(document: Any, patch: list[dict[str, Any]]) -> Any:
    """`document` patched by the `jsonpatch` package, and the documented `append` by hand."""
    for operation in json.loads(to_json(patch)):
        if operation["op"] == "append":
            pointer = jsonpatch.JsonPointer(operation["path"])
            whole = pointer.resolve(document) + operation["value"]
            operation = {"op": "replace", "path": operation["path"], "value": whole}
        document = jsonpatch.JsonPatch([operation]).apply(document, in_place=True)
    return document


def build(patches: Iterable[list[dict[str, Any]]]) -> Any:
    document: Any = None
    for patch in patches:
        assert patch
        document = apply(document, patch)
    return document


@given(text=texts.json_texts, places=splits.cuts(), strings=st.sampled_from(STRINGS))
def test_patches_make_what_json_loads_gives(text: str, places: list[float], strings: Any) -> None:
    events = Run(splits.chop(text, places)).events
    assert same_value(build(to_json_patch(events, strings=strings)), json.loads(text))


@given(text=texts.any_texts, places=splits.cuts(), strings=st.sampled_from(STRINGS))
def test_patches_make_the_partial_value_of_what_was_cut(text: str, places: list[float], strings: Any) -> None:
    run = Run(splits.chop(text, places))
    made = build(to_json_patch(run.events, strings=strings))
    if run.error is None:
        assert same_value(made, json.loads(to_json(run.data)))


@pytest.mark.parametrize("strings", STRINGS)
@pytest.mark.parametrize(
    "text",
    [
        '{"a": {"b": 1, "c": [2]}, "d": 3, "a": "again", "a": ["and", {"again": null}]}',
        '{"a": 1, "b": 2, "a":',
        '[[], {}, [[]], "", "x", 1.5, true, null]',
        '"a root that is a string"',
        "42",
        "null",
        '{"": {"~": {"/": {"a/b~c": "x"}}}, "0": [0], "-": {"-": 1}}',
        '{"__proto__": {"x": 1}, "constructor": "y"}',
        '{"big": 123456789012345678901234567890, "u": "a\u2028b\\nc"}',
    ],
)
def test_documents(strings: Any, text: str) -> None:
    run = Run(splits.each(text))
    made = build(to_json_patch(run.events, strings=strings))
    assert same_value(made, json.loads(text) if run.outcome.complete else run.data)


def test_depth_500() -> None:
    text = '[{"a":' * 250 + '"x"' + "}]" * 250
    assert same_value(build(to_json_patch(Run([text]).events)), json.loads(text))


def test_every_state_on_the_way_is_the_snapshot_of_the_parser() -> None:
    text = '{"name": "Ada", "list": [1, {"x": "long enough"}, [true]], "name": "B", "end": null}'
    parser, encoder = StreamParser(), JSONPatchEncoder(strings="replace")
    patched: Any = None
    for piece in splits.each(text):
        for event in parser.feed(piece):
            for patch in encoder.feed(event):
                patched = apply(patched, patch)
        if patched is not None:
            assert same_value(_shown(parser.snapshot()), _shown(patched))


def _shown(value: Any) -> Any:
    """`value` without containers and strings that hold nothing yet: no event has told of them."""
    if isinstance(value, dict):
        shown = {key: _shown(item) for key, item in value.items()}
        return {key: item for key, item in shown.items() if item not in ({}, [], "")}
    if isinstance(value, list):
        return [item for item in map(_shown, value) if item not in ({}, [], "")]
    return value


def test_operations_one_by_one() -> None:
    events = Run(['{"a": "h', "e", "llo", ' you", "n": 1, "a": []}']).events
    assert list(to_json_patch(events)) == [
        [{"op": "add", "path": "", "value": {}}, {"op": "add", "path": "/a", "value": "h"}],
        [{"op": "replace", "path": "/a", "value": "he"}],
        [{"op": "replace", "path": "/a", "value": "hello"}],
        [{"op": "replace", "path": "/a", "value": "hello you"}],
        [{"op": "add", "path": "/n", "value": 1}],
        [{"op": "remove", "path": "/a"}],
        [{"op": "add", "path": "/a", "value": []}],
    ]
    assert list(to_json_patch(events, strings="append"))[1:4] == [
        [{"op": "append", "path": "/a", "value": "e"}],
        [{"op": "append", "path": "/a", "value": "llo"}],
        [{"op": "append", "path": "/a", "value": " you"}],
    ]


def test_bytes_grow_with_the_text_but_for_replace() -> None:
    def size(strings: Any, length: int) -> int:
        parser = StreamParser()
        events: list[StreamingData] = []
        for piece in pieces('{"a": "' + "x" * length + '"}', 4):
            events += parser.feed(piece)
        return sum(len(to_json(patch)) for patch in to_json_patch(events, strings=strings))

    for length in (1_000, 8_000, 60_000):
        assert size("doubling", length) < 3 * length + 2_000
    assert size("append", 8_000) < 8.2 * size("append", 1_000)
    assert size("replace", 8_000) > 50 * size("replace", 1_000)  # the square: that is why it is not the default


def test_doubling_never_shows_less_than_half() -> None:
    parser, encoder = StreamParser(), JSONPatchEncoder()
    document: Any = None
    fed = ""
    for piece in pieces('{"a": "' + "abcdefg" * 300, 3):
        for event in parser.feed(piece):
            fed += event.delta or ""
            for patch in encoder.feed(event):
                document = apply(document, patch)
        if fed:
            assert fed.startswith(document["a"])
            assert 2 * len(document["a"]) > len(fed)


def test_prefix_and_source() -> None:
    head = {"index": 0, "id": "t1", "type": "function", "function": {"name": "f", "arguments": '{"q": [1]}'}}
    message = {"index": 0, "delta": {"role": "assistant", "content": '{"a": 1}', "tool_calls": [head]}}
    chunk = {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [message]}
    result = wrap([chunk])
    state: Any = {"mine": 0}
    for patch in to_json_patch(result.get_generator("all"), prefix="/answer"):
        state = apply(state, patch)
    for patch in to_json_patch(result.get_generator("instant"), source="t1", prefix="/call"):
        state = apply(state, patch)
    assert state == {"mine": 0, "answer": {"a": 1}, "call": {"q": [1]}}


def test_fields_that_were_filtered_out_leave_gaps() -> None:
    result = wrap(iter(['{"l": [{"a": 1}, {"a": 2}, {"a": 3}]}']))
    assert build(to_json_patch(result.get_generator("instant", paths="l[2].a"))) == {"l": [None, None, {"a": 3}]}


def test_a_retry_begins_anew() -> None:
    def source(errors: list[BaseException]) -> Stream:
        return Stream(chat(['["first']), ValueError("x")) if not errors else Stream(chat(['{"second": 2}']))

    result = wrap(source, max_retries=1)
    assert build(to_json_patch(result.get_generator("all"))) == {"second": 2}


def test_one_patch_a_sending() -> None:
    items = list(wrap(iter(pieces('{"a": "some text", "b": [1, 2]}'))).get_generator("all"))
    patches = list(to_json_patch(items, max_rate=1e-9))
    assert len(patches) == 2  # what comes first goes at once, the rest at the end
    assert build(patches) == {"a": "some text", "b": [1, 2]}


async def test_async_is_the_same() -> None:
    chunks = chat(pieces('{"a": "some text", "b": [1, 2]}'))
    patches = [
        patch async for patch in to_json_patch(wrap(AsyncStream(chunks)).get_async_generator("all"), strings="append")
    ]
    assert patches == list(to_json_patch(wrap(chunks).get_generator("all"), strings="append"))


def test_an_unknown_way_to_grow_is_an_error() -> None:
    with pytest.raises(UsageError, match="doubling, append, replace"):
        to_json_patch([], strings="whole")  # type: ignore[call-overload]
