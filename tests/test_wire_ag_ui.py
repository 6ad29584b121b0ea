"""AG-UI: every event fits the models of the `ag-ui-protocol` package, in an order that a client accepts; the package
`@ag-ui/client` makes the same messages and the same state of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import jsonpatch
import pytest
from ag_ui.core import Event
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from support import splits, texts
from support.chats import ARGUMENTS, DOCUMENT, RUNS, chunk, content, end, retried
from support.node import MANY_AT_ONCE, as_doubles, read_bodies
from support.streams import AsyncStream

from streamparse import StreamParser, UsageError, wrap
from streamparse.values import same_value
from streamparse.wire import AGUIEncoder, Replica, to_ag_ui, to_frames, to_json

pytestmark = pytest.mark.outside

EVENTS: TypeAdapter[Any] = TypeAdapter(Event)


def events_of(items: Iterable[Any], **options: Any) -> list[Any]:
    """The events in a body, each read by the package's models, which must know every field of them."""
    events = []
    for number, text in enumerate(to_ag_ui(items, **options), 1):
        head, _, line = text.removesuffix("\n\n").partition("\n")
        assert head == f"id: {number}"
        assert line.startswith("data: ")
        event = EVENTS.validate_json(line.removeprefix("data: "))
        assert not _unknown_fields(event), f"{event.type} has fields that the protocol does not know"
        # nothing is lost or renamed on the way through the model
        assert event.model_dump(mode="json", by_alias=True) == json.loads(line.removeprefix("data: "))
        events.append(event)
    return events


def _unknown_fields(event: Any) -> dict[str, Any]:
    return {**(event.model_extra or {})}


def check_order(events: list[Any]) -> None:
    """The rules of the protocol: one start and one end of the run, all that opens closes, nothing comes after."""
    open_now: set[tuple[str, str]] = set()
    seen: set[tuple[str, str]] = set()
    types = [event.type.value for event in events]
    assert types[0] == "RUN_STARTED"
    assert types[-1] in ("RUN_FINISHED", "RUN_ERROR")
    assert sum(name in ("RUN_STARTED", "RUN_FINISHED", "RUN_ERROR") for name in types) == 2
    for event, name in zip(events, types, strict=True):
        family, _, step = name.rpartition("_")
        if step not in ("START", "CONTENT", "ARGS", "END"):
            continue
        key = (family, getattr(event, "message_id", None) or event.tool_call_id)
        if step == "START":
            assert key not in seen, f"{key} was opened before"
            seen.add(key)
            open_now.add(key)
            if family == "REASONING_MESSAGE":
                assert ("REASONING", key[1]) in open_now
        else:
            assert key in open_now, f"{name} of {key}, which is not open"
            if step == "END":
                open_now.discard(key)
    assert not open_now


def state_of(events: list[Any]) -> Any:
    """What the deltas make of the snapshot, by the `jsonpatch` package."""
    state: Any = None
    for event in events:
        if event.type.value == "STATE_SNAPSHOT":
            state = event.snapshot
        elif event.type.value == "STATE_DELTA":
            patch = [operation.model_dump(by_alias=True) for operation in event.delta]
            state = jsonpatch.JsonPatch(patch).apply(state, in_place=True)
    return state


def joined(events: list[Any], name: str) -> str:
    return "".join(event.delta for event in events if event.type.value == name)


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("max_rate", [None, 1e-9])
def test_every_run_is_valid(name: str, max_rate: float | None) -> None:
    result = wrap(RUNS[name]())
    events = events_of(result.get_generator("all"), max_rate=max_rate, fields=True)
    check_order(events)
    response = result.response
    assert response is not None
    assert joined(events, "TEXT_MESSAGE_CONTENT") == response.text
    assert joined(events, "REASONING_MESSAGE_CONTENT") == (response.reasoning or "")
    assert joined(events, "TOOL_CALL_ARGS") == "".join(call.raw_arguments for call in response.tool_calls)
    if response.data is not None:
        assert same_value(state_of(events), {"answer": response.data})
    assert "secret" not in to_json([event.model_dump(mode="json") for event in events])
    last = events[-1]
    if name.startswith("error"):
        assert (last.type.value, last.code, last.message) == ("RUN_ERROR", "internal", "the stream failed (ValueError)")
    else:
        assert last.type.value == "RUN_FINISHED"
        assert last.result["end_state"] == response.end_state
        assert last.result["incomplete"] == response.incomplete


@pytest.mark.parametrize("name", [*RUNS, "retried"])
def test_the_client_of_the_protocol_reads_it(name: str) -> None:
    result = wrap(retried, max_retries=1) if name == "retried" else wrap(RUNS[name]())
    body = "".join(to_ag_ui(result.get_generator("all"), thread_id="t", run_id="r"))
    (read,) = read_bodies("read_ag_ui.mjs", [body])
    response = result.response
    assert response is not None
    assert read["fault"] is None
    assert len(read["events"]) == body.count("\ndata: ")
    state = read["state"] or {}
    assert same_value(state.get("answer"), response.data)
    messages = read["messages"] or []
    if name == "retried":  # what was said cannot be taken back: both attempts are there, each on its own
        texts_told = [one["content"] for one in messages if one["role"] == "assistant" and "content" in one]
        assert texts_told == ['{"wrong": ["no', '{"right": "yes"}']
        return
    spoken = [one.get("content", "") for one in messages if one["role"] == "assistant"]
    assert "".join(spoken) == response.text
    thought = [one["content"] for one in messages if one["role"] == "reasoning"]
    assert "".join(thought) == (response.reasoning or "")
    calls = [call for one in messages for call in one.get("toolCalls", ())]
    told = [(call["id"], call["function"]["arguments"]) for call in calls]
    assert told == [(call.id, call.raw_arguments) for call in response.tool_calls]


@settings(MANY_AT_ONCE)
@given(st.lists(st.tuples(texts.any_texts, splits.cuts()), min_size=15, max_size=25))
def test_the_client_reads_whatever_a_model_writes(cases: list[tuple[str, list[float]]]) -> None:
    # JavaScript's JSON Patch refuses this key, wherever it comes
    results = [wrap(splits.chop(text.replace("__proto__", "proto"), places)) for text, places in cases]
    bodies = ["".join(to_ag_ui(result.get_generator("all"))) for result in results]
    for result, told in zip(results, read_bodies("read_ag_ui.mjs", bodies), strict=True):
        response = result.response
        assert response is not None
        assert told["fault"] is None
        messages = told["messages"] or []
        assert "".join(one["content"] for one in messages if one["role"] == "assistant") == response.text
        assert "".join(one["content"] for one in messages if one["role"] == "reasoning") == (response.reasoning or "")
        if result.error is None:  # a fault in the text cuts nothing: no event tells of containers that hold nothing yet
            assert same_value(as_doubles((told["state"] or {}).get("answer")), as_doubles(response.data))


@given(text=texts.json_texts, places=splits.cuts())
def test_the_state_is_what_json_loads_gives(text: str, places: list[float]) -> None:
    parser = StreamParser()
    items = [event for piece in splits.chop(text, places) for event in parser.feed(piece)]
    items += parser.close().events
    made = state_of([EVENTS.validate_python(event) for event in _parts(items)])
    assert same_value(made, {"answer": json.loads(text)})


def _parts(items: Iterable[Any], **options: Any) -> list[dict[str, Any]]:
    encoder = AGUIEncoder(**options)
    return [part for item in items for part in encoder.feed(item)] + encoder.close()


def test_events_one_by_one() -> None:
    source = [
        chunk({"reasoning_content": "hm"}),
        chunk({"content": '{"a": "b"}'}),
        chunk({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}}]}),
        *end("tool_calls"),
    ]
    assert _parts(wrap(source).get_generator("all"), thread_id="T", run_id="R", state={"mine": 1}) == [
        {"type": "RUN_STARTED", "threadId": "T", "runId": "R"},
        {"type": "REASONING_START", "messageId": "R-reasoning-1"},
        {"type": "REASONING_MESSAGE_START", "messageId": "R-reasoning-1", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "R-reasoning-1", "delta": "hm"},
        {"type": "REASONING_MESSAGE_END", "messageId": "R-reasoning-1"},
        {"type": "REASONING_END", "messageId": "R-reasoning-1"},
        {"type": "TEXT_MESSAGE_START", "messageId": "R-text-2", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "R-text-2", "delta": '{"a": "b"}'},
        {"type": "STATE_SNAPSHOT", "snapshot": {"mine": 1, "answer": None}},
        {
            "type": "STATE_DELTA",
            "delta": [
                {"op": "add", "path": "/answer", "value": {}},
                {"op": "add", "path": "/answer/a", "value": "b"},
            ],
        },
        {"type": "TEXT_MESSAGE_END", "messageId": "R-text-2"},
        {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "f"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": "{}"},
        {"type": "TOOL_CALL_END", "toolCallId": "c1"},
        {"type": "CUSTOM", "name": "streamparse.status", "value": {"state": "complete"}},
        {
            "type": "RUN_FINISHED",
            "threadId": "T",
            "runId": "R",
            "result": {
                "complete": True,
                "incomplete": [],
                "end_state": "complete",
                "finish_reason": "tool_calls",
            },
            "outcome": {"type": "success"},
            "usage": [{"model": "test-model", "inputTokens": 7, "outputTokens": 11, "totalTokens": 18}],
        },
    ]


def test_what_can_be_left_out() -> None:
    items = list(wrap(RUNS["reasoning, document"]()).get_generator("all"))
    types = {event.type.value for event in events_of(items, text=False, state_key=None)}
    assert not any(name.startswith(("TEXT_", "STATE_")) for name in types)
    assert "REASONING_MESSAGE_CONTENT" in types
    named = events_of(items, state_key="a/b")
    assert state_of(named) == {"a/b": DOCUMENT}


def test_fields_as_custom_events_are_the_frames() -> None:
    items = list(wrap(RUNS["text, tool call"]()).get_generator("all"))
    sent = [event.value for event in events_of(items, fields=True) if event.type.value == "CUSTOM"]
    told = [value for value in sent if "type" in value]
    assert told == [frame.data for frame in to_frames(items) if frame.event == "field"]
    replica = Replica()
    for frame in to_frames(items):
        replica.feed(frame)
    assert replica.documents["call-7"].tree.value == ARGUMENTS


def test_errors_in_words_of_the_caller() -> None:
    for described, wanted in (
        ({"message": "busy", "code": 503}, ("busy", "503")),
        ({"message": "busy"}, ("busy", None)),
        ({}, ("the stream failed", None)),
    ):
        result = wrap(RUNS["error"]())
        events = events_of(result.get_generator("all"), describe_error=lambda error, told=described: told)
        assert (events[-1].message, events[-1].code) == wanted


def test_a_cancelled_run_says_so() -> None:
    result = wrap(RUNS["document"]())
    items = result.get_generator("all")
    taken = [next(items), next(items)]
    result.close()
    events = events_of([*taken, *items])
    assert events[-1].outcome.type == "cancelled"
    check_order(events)


async def test_async_is_the_same() -> None:
    chunks = RUNS["reasoning, document"]()
    later = [
        text async for text in to_ag_ui(wrap(AsyncStream(chunks)).get_async_generator("all"), run_id="r", thread_id="t")
    ]
    assert later == list(to_ag_ui(wrap(chunks).get_generator("all"), run_id="r", thread_id="t"))


def test_bytes_grow_with_the_text() -> None:
    def size(length: int) -> int:
        chunks = [*content('{"a": "' + "x" * length + '"}', 8), *end()]
        return sum(len(text) for text in to_ag_ui(wrap(chunks).get_generator("all"), run_id="r", thread_id="t"))

    assert size(40_000) < 10.5 * size(4_000)


def test_append_is_not_of_the_protocol() -> None:
    with pytest.raises(UsageError, match="append"):
        to_ag_ui([], strings="append")


def test_run_ids_are_new_by_default() -> None:
    first, second = (events_of([])[0] for _ in range(2))
    assert first.run_id != second.run_id
