"""The AI SDK's UI message stream: its own reader, in version 5 and 6, makes the right message of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import zip_longest
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from support import splits, texts
from support.chats import ARGUMENTS, RUNS, TEXT, chunk, content, end, retried
from support.chats import call as tool_call
from support.node import MANY_AT_ONCE, as_doubles, need_node, read_bodies, version
from support.streams import AsyncStream, Stream, chat

from streamparse import ToolCall, wrap
from streamparse.events import ResultMessage
from streamparse.provider import Finish, Result, ToolCallDelta
from streamparse.values import same_value
from streamparse.wire import AI_SDK_HEADERS, AISDKEncoder, Replica, to_ai_sdk, to_frames

pytestmark = pytest.mark.outside

PACKAGES = ["ai", "ai-v5"]
growths = st.sampled_from(["doubling", "append", "replace"])


def read(package: str, items: Iterable[Any], **options: Any) -> Any:
    """What the package's reader makes of it, without a fault."""
    (told,) = read_bodies("read_ai_sdk.mjs", ["".join(to_ai_sdk(items, **options))], package)
    assert told["faults"] == []
    return told


def fields_of(message: Any, source: str = "content") -> dict[str, Any]:
    """The fields in the parts of a message, by path, without those that were taken back."""
    parts = [part["data"] for part in message["parts"] if part["type"] == "data-field"]
    ids = [part["id"] for part in message["parts"] if part["type"] == "data-field"]
    assert len(set(ids)) == len(ids), "one field, two parts"
    return {part["path"]: part for part in parts if part["source"] == source and part["state"] != "reset"}


def document_of(fields: dict[str, Any]) -> Any:
    """The document that fields make, put together by their parts (in any order)."""
    holder: dict[Any, Any] = {}
    for field in sorted(fields.values(), key=lambda field: len(field["parts"])):
        container, key = holder, "root"
        for part in field["parts"]:
            if key not in container:
                container[key] = {}
            container, key = container[key], part
        if field["kind"] in ("object", "array"):
            container.setdefault(key, {})
        elif field["kind"] == "string":
            container[key] = field["text"]
        elif field["state"] == "done":
            container[key] = field["value"]
    return _lists(
        holder.get("root"), (), {tuple(field["parts"]) for field in fields.values() if field["kind"] == "array"}
    )


def _lists(value: Any, parts: tuple[Any, ...], arrays: set[tuple[Any, ...]]) -> Any:
    if not isinstance(value, dict):
        return value
    items = {key: _lists(item, (*parts, key), arrays) for key, item in value.items()}
    return [items[index] for index in range(len(items))] if parts in arrays else items


def texts_of(message: Any, kind: str) -> str:
    assert all(part["state"] == "done" for part in message["parts"] if part["type"] == kind)
    return "".join(part["text"] for part in message["parts"] if part["type"] == kind)


def test_versions_are_those_that_are_meant() -> None:
    need_node()
    assert version("ai").startswith("6.")
    assert version("ai-v5").startswith("5.")


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("name", RUNS)
def test_every_run_is_read(package: str, name: str) -> None:
    result = wrap(RUNS[name]())
    told = read(package, result.get_generator("all"), message_id="m-1")
    message, response = told["message"], result.response
    assert response is not None
    assert message["id"] == "m-1"
    assert message["role"] == "assistant"
    assert texts_of(message, "text") == response.text
    assert texts_of(message, "reasoning") == (response.reasoning or "")
    assert same_value(document_of(fields_of(message)), response.data)
    calls = [part for part in message["parts"] if part["type"].startswith("tool-")]
    assert [call["toolCallId"] for call in calls] == [call.id for call in response.tool_calls]
    for part, call in zip(calls, response.tool_calls, strict=True):
        if call.complete:
            assert (part["type"], part["state"], part["input"]) == (
                f"tool-{call.name}",
                "input-available",
                call.arguments,
            )
            assert same_value(
                document_of(fields_of(message, str(call.id))), call.arguments if call.raw_arguments else None
            )
        else:
            assert part["state"] == "output-error"
            assert part["errorText"] == "the arguments are not whole"
            assert part["rawInput"] in (call.raw_arguments, call.arguments)
    assert told["errors"] == (["the stream failed (ValueError)"] if name.startswith("error") else [])
    assert "secret" not in json.dumps(told)
    finish = told["chunks"][-1]
    assert finish["type"] == "finish"
    reason = response.finish_reason
    assert finish.get("finishReason") == {"tool_calls": "tool-calls"}.get(str(reason), reason)
    assert message["metadata"]["complete"] == response.complete
    assert message["metadata"]["incomplete"] == response.incomplete
    if response.usage is not None:
        assert message["metadata"]["usage"]["total_tokens"] == response.usage.total_tokens


@settings(MANY_AT_ONCE)
@given(cases=st.lists(st.tuples(texts.any_texts, splits.cuts()), min_size=15, max_size=25), strings=growths)
def test_whatever_a_model_writes_is_read(cases: list[tuple[str, list[float]]], strings: Any) -> None:
    results = [wrap(splits.chop(text, places)) for text, places in cases]
    bodies = ["".join(to_ai_sdk(result.get_generator("all"), strings=strings)) for result in results]
    for result, told in zip(results, read_bodies("read_ai_sdk.mjs", bodies, "ai"), strict=True):
        response = result.response
        assert response is not None
        assert told["faults"] == []
        assert len(told["errors"]) == (result.error is not None)
        assert texts_of(told["message"], "text") == response.text
        assert texts_of(told["message"], "reasoning") == (response.reasoning or "")
        if result.error is None:  # a fault in the text cuts nothing: no event tells of containers that hold nothing yet
            assert same_value(as_doubles(document_of(fields_of(told["message"]))), as_doubles(response.data))


@pytest.mark.parametrize("strings", ["doubling", "append", "replace"])
def test_the_ways_strings_grow(strings: Any) -> None:
    result = wrap(RUNS["document"]())
    items = list(result.get_generator("all"))
    told = read("ai", items, strings=strings, text=False)
    assert same_value(document_of(fields_of(told["message"])), result.get_data())
    assert texts_of(told["message"], "text") == ""
    deltas: dict[str, str] = {}
    for one in told["chunks"]:
        if one["type"] == "data-field-delta":
            deltas[one["data"]["path"]] = deltas.get(one["data"]["path"], "") + one["data"]["delta"]
    texts = {path: field["text"] for path, field in fields_of(told["message"]).items() if field.get("text")}
    assert deltas == (texts if strings == "append" else {})


def test_a_retry_takes_the_fields_back() -> None:
    result = wrap(retried, max_retries=1)
    told = read("ai", result.get_generator("all"))
    message = told["message"]
    assert document_of(fields_of(message)) == {"right": "yes"}
    taken_back = {part["data"]["path"] for part in message["parts"] if part.get("data", {}).get("state") == "reset"}
    assert taken_back == {"wrong[0]"}
    assert [part["text"] for part in message["parts"] if part["type"] == "reasoning"] == ["first", "second"]
    assert told["errors"] == []
    (call,) = [part for part in message["parts"] if part.get("state") == "input-available"]
    assert call["input"] == ARGUMENTS


def test_duplicate_keys_take_what_was_below_back() -> None:
    told = read("ai", wrap(RUNS["duplicate keys"]()).get_generator("all"))
    states = {
        part["data"]["path"]: part["data"]["state"] for part in told["message"]["parts"] if part["type"] == "data-field"
    }
    assert states == {"a.b": "reset", "a": "done", "c": "done", "a[0]": "done", "": "done"}


@pytest.mark.parametrize("strings", ["doubling", "append", "replace"])
def test_strings_that_grow_side_by_side_stay_whole(strings: Any) -> None:
    """Calls beside each other, and the answer beside both: each field keeps its own text."""
    wholes = [{"q": "the first call"}, {"q": "the second one"}]
    calls = [list(tool_call(json.dumps(whole), index=at, call_id=f"call-{at}")) for at, whole in enumerate(wholes)]
    answer = list(content('{"a": "text of the answer"}', size=4))
    chunks = [one for row in zip_longest(*calls, answer) for one in row if one is not None]
    message = read("ai", wrap([*chunks, *end()]).get_generator("all"), strings=strings)["message"]
    for at, whole in enumerate(wholes):
        assert document_of(fields_of(message, f"call-{at}")) == whole
    assert document_of(fields_of(message)) == {"a": "text of the answer"}


def test_dynamic_tools() -> None:
    told = read("ai", wrap(RUNS["text, tool call"]()).get_generator("all"), dynamic_tools=True)
    (call,) = [part for part in told["message"]["parts"] if part["type"] == "dynamic-tool"]
    assert (call["toolName"], call["state"], call["input"]) == ("search", "input-available", ARGUMENTS)


def test_a_tool_of_the_provider_itself() -> None:
    events = [
        ToolCallDelta(key="a", id="w1", name="web_search", arguments='{"q": "x"}', hosted=True, done=True),
        Finish(reason="stop", mapped="stop"),
        Result(),
    ]
    told = read("ai", wrap(events).get_generator("all"))
    (call,) = [part for part in told["message"]["parts"] if part["type"].startswith("tool-")]
    assert (call["type"], call["providerExecuted"], call["input"]) == ("tool-web_search", True, {"q": "x"})


def test_values_that_do_not_fit_are_parts_and_remarks_are_not() -> None:
    class Model(BaseModel):
        n: int

    told = read("ai", wrap(iter(['{"n": "many",}']), output=Model).get_generator("all"))
    (invalid,) = [part["data"] for part in told["message"]["parts"] if part["type"] == "data-invalid"]
    assert (invalid["path"], invalid["value"]) == ("n", "many")
    assert not [part for part in told["message"]["parts"] if part["type"] == "data-diagnostic"]
    assert [one["data"]["code"] for one in told["chunks"] if one["type"] == "data-diagnostic"] == ["trailing_comma"]


def test_a_cancelled_run_is_aborted() -> None:
    result = wrap(RUNS["document"]())
    items = result.get_generator("all")
    taken = [next(items), next(items)]
    result.close()
    told = read("ai", [*taken, *items])
    assert [one["type"] for one in told["chunks"][-3:]] == ["finish-step", "message-metadata", "abort"]
    assert told["message"]["metadata"]["end_state"] == "cancelled"


def test_odd_text_arrives_as_it_is() -> None:
    odd = {"k\u2028\x85": 'a\u2028b\u2029c\x85d\r\ne\x00\x7f\ufeff😀\n\ndata: [DONE]\n\n"', "big": 2**53 + 2}
    result = wrap([*content(json.dumps(odd)), *end()])
    told = read("ai", result.get_generator("all"))
    assert document_of(fields_of(told["message"])) == odd


def test_deep_documents() -> None:
    text = '[{"a":' * 250 + '"x"' + "}]" * 250
    told = read("ai", wrap([*content(text, 400), *end()]).get_generator("all"), text=False)
    fields = fields_of(told["message"])
    assert len(fields) == 501
    assert max(len(field["parts"]) for field in fields.values()) == 500


def test_chunks_one_by_one() -> None:
    encoder = AISDKEncoder(message_id="m")
    source = [
        chunk({"reasoning_content": "hm"}),
        chunk({"content": '{"a": "b", "n": 1}'}),
        chunk({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}}]}),
        *end("tool_calls"),
    ]
    parts = [part for item in wrap(source).get_generator("all") for part in encoder.feed(item)]
    root = {"path": "", "parts": [], "source": "content", "state": "done", "kind": "object"}
    a = {"path": "a", "parts": ["a"], "source": "content", "kind": "string", "text": "b"}
    assert parts == [
        {"type": "start", "messageId": "m"},
        {"type": "start-step"},
        {"type": "reasoning-start", "id": "reasoning-1"},
        {"type": "reasoning-delta", "id": "reasoning-1", "delta": "hm"},
        {"type": "reasoning-end", "id": "reasoning-1"},
        {"type": "text-start", "id": "text-2"},
        {"type": "text-delta", "id": "text-2", "delta": '{"a": "b", "n": 1}'},
        {"type": "data-field", "id": "content:a", "data": {**a, "state": "growing"}},
        {"type": "data-field", "id": "content:a", "data": {**a, "state": "done"}},
        {
            "type": "data-field",
            "id": "content:n",
            "data": {"path": "n", "parts": ["n"], "source": "content", "state": "done", "kind": "number", "value": 1},
        },
        {"type": "data-field", "id": "content:", "data": root},
        {"type": "text-end", "id": "text-2"},
        {"type": "tool-input-start", "toolCallId": "c1", "toolName": "f"},
        {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": "{}"},
        {"type": "data-field", "id": "c1:", "data": {**root, "source": "c1"}},
        {"type": "tool-input-available", "toolCallId": "c1", "toolName": "f", "input": {}},
        {"type": "data-status", "data": {"state": "complete"}, "transient": True},
    ]
    assert [part["type"] for part in encoder.close()] == ["finish-step", "finish"]


def test_a_call_that_comes_whole() -> None:
    call = ToolCall(id="c9", name="f", arguments={"a": 1}, raw_arguments='{"a": 1}', complete=True)
    encoder = AISDKEncoder(message_id="m")
    assert encoder.feed(ResultMessage("tool_calls", call))[2:] == [
        {"type": "tool-input-start", "toolCallId": "c9", "toolName": "f"},
        {"type": "tool-input-available", "toolCallId": "c9", "toolName": "f", "input": {"a": 1}},
    ]


def test_the_body() -> None:
    texts = list(to_ai_sdk(wrap(RUNS["prose"]()).get_generator("all")))
    assert texts[-1] == "data: [DONE]\n\n"
    assert all(text.startswith(f"id: {number}\ndata: {{") for number, text in enumerate(texts[:-1], 1))
    assert AI_SDK_HEADERS["x-vercel-ai-ui-message-stream"] == "v1"
    failed = list(to_ai_sdk(wrap(Stream([], ValueError("secret"))).get_generator("all")))
    assert failed[-1] == "data: [DONE]\n\n"


async def test_async_is_the_same() -> None:
    chunks = RUNS["reasoning, document"]()
    stream = to_ai_sdk(wrap(AsyncStream(chunks)).get_async_generator("all"), message_id="m")
    assert [text async for text in stream] == list(to_ai_sdk(wrap(chunks).get_generator("all"), message_id="m"))
    merged = to_ai_sdk(wrap(AsyncStream(chunks)).get_async_generator("all"), message_id="m", max_rate=1e-3)
    sent = [text async for text in merged]
    assert sent == list(to_ai_sdk(wrap(chunks).get_generator("all"), message_id="m", max_rate=1e-3))
    assert len(sent) < 50


async def test_held_parts_do_not_wait_for_the_next_item() -> None:
    source = AsyncStream(chat(['{"a": "1', "2", "3"], finish=None), hang=True)
    stream = to_ai_sdk(wrap(source).get_async_generator("all"), max_rate=20, text=False, strings="append")
    deltas: list[str] = []
    async for text in stream:
        if "data-field-delta" in text:
            deltas.append(json.loads(text.partition("data: ")[2])["data"]["delta"])
        if "".join(deltas) == "123":  # the source goes on waiting
            break
    await stream.aclose()
    assert deltas == ["1", "23"]


@pytest.mark.parametrize("strings", ["doubling", "append"])
def test_bytes_grow_with_the_text(strings: Any) -> None:
    def size(length: int) -> int:
        chunks = [*content('{"a": "' + "x" * length + '"}', 8), *end()]
        body = to_ai_sdk(wrap(chunks).get_generator("all"), message_id="m", strings=strings)
        return sum(len(text) for text in body)

    assert size(40_000) < 10.5 * size(4_000)


def test_all_formats_tell_of_one_document() -> None:
    result = wrap([*content(TEXT), *end()])
    items = list(result.get_generator("all"))
    replica = Replica()
    for frame in to_frames(items):
        replica.feed(frame)
    told = read("ai", items)
    assert same_value(replica.data, document_of(fields_of(told["message"])))
