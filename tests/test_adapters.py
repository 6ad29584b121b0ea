"""Adapters: the bodies of every provider, as dicts and as objects, and the traps that real streams hold."""

from __future__ import annotations

import contextlib
import copy
import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.bodies import Body, as_object, differences, events, load, merged, response

from streamparse import StreamParseError, adapters, captures, wrap
from streamparse.adapters import Adapter, AdapterProtocol, detect, named, names, recognises, register
from streamparse.adapters.base import plain
from streamparse.adapters.gemini_args import ArgumentWriter, json_path
from streamparse.errors import UsageError
from streamparse.provider import (
    TERMINAL,
    Error,
    Finish,
    ProviderEvent,
    Raw,
    ReasoningDelta,
    Result,
    Session,
    TextDelta,
    ToolCallDelta,
    ToolResult,
    UsageUpdate,
)
from streamparse.response import Response, ResponseBuilder

BODIES = load()
SHARED = Path(__file__).parents[2] / "shared" / "captures"


def by_name(body: Body) -> str:
    return body.name


# -- bodies ----------------------------------------------------------------------------------------------------------


def test_bodies_of_every_adapter_were_found() -> None:
    assert len(BODIES) >= 40
    # mistral's own events, langchain and pydantic-ai have no wire format; text and events need none.
    without = {"mistral", "langchain", "pydantic-ai", "text", "events"}
    assert {body.expect["adapter"] for body in BODIES} == {
        name for name in names() if named(name).name == name
    } - without


@pytest.mark.parametrize("body", BODIES, ids=by_name)
def test_body(body: Body) -> None:
    chunks = body.chunks()
    adapter = detect(chunks, last=True)
    assert adapter is not None
    assert adapter.name == body.expect["adapter"]
    assert differences(response(chunks), body.expect) == []


@pytest.mark.parametrize("body", [body for body in BODIES if body.expect["adapter"] != "bedrock"], ids=by_name)
def test_objects_are_read_like_dicts(body: Body) -> None:
    chunks = body.chunks()
    objects = [as_object(chunk) if "error" not in chunk or len(chunk) > 2 else chunk for chunk in chunks]
    assert merged(events(objects)) == merged(events(chunks))


@pytest.mark.parametrize("body", BODIES, ids=by_name)
def test_each_run_has_one_terminal_event_and_it_is_last(body: Body) -> None:
    found = events(body.chunks())
    assert [isinstance(event, TERMINAL) for event in found] == [False] * (len(found) - 1) + [True]


@pytest.mark.parametrize("body", BODIES, ids=by_name)
def test_an_adapter_does_not_change_what_it_reads(body: Body) -> None:
    chunks = body.chunks()
    before = copy.deepcopy(chunks)
    events(chunks)
    assert chunks == before


@pytest.mark.parametrize("body", BODIES, ids=by_name)
def test_what_ended_the_answer_is_kept_as_plain_data(body: Body) -> None:
    """The provider's final object where it has one, elsewhere the chunk with the finish reason."""
    chunks = body.chunks()
    live, objects = wrap(chunks), wrap([as_object(chunk) for chunk in chunks])
    for result in (live, objects) if body.expect["adapter"] not in ("bedrock", "text") else (live,):
        with contextlib.suppress(StreamParseError):
            result.get_response()
        found = result.response
        assert found is not None
        assert Response.model_validate_json(found.model_dump_json()).raw == found.raw
        if found.raw_finish_reason is None:
            continue
        assert found.raw_finish_reason in json.dumps(found.raw)
        if result is live and body.expect["adapter"] in ("openai-responses", "gemini-interactions"):
            assert found.raw in [chunk.get("response") or chunk.get("interaction") for chunk in chunks]
        elif result is live and found.raw not in chunks:
            assert body.expect["adapter"] == "bedrock"  # what an invoke stream holds is in bytes
            assert isinstance(found.raw, dict)


@pytest.mark.parametrize("body", [body for body in BODIES if body.expect["end_state"] == "complete"], ids=by_name)
def test_a_stream_without_its_end_is_cut(body: Body) -> None:
    """No adapter invents a finish reason: every proper prefix that lacks the chunk with the reason is `cut`."""
    chunks = body.chunks()
    adapter = detect(chunks, last=True)
    assert adapter is not None
    until = next(
        number for number, chunk in enumerate(chunks) if any(isinstance(event, Finish) for event in adapter.feed(chunk))
    )
    for length in range(1, until + 1):
        cut = response(chunks[:length])
        assert (cut.finish_reason, cut.end_state, cut.complete) == (None, "cut", False), chunks[:length]


def test_shared_captures() -> None:
    """The recorded streams beside the project, where they are: what their `.expect.json` says."""
    if not SHARED.is_dir():
        pytest.skip(f"no recorded streams at {SHARED}")
    import json

    wrong: dict[str, list[str]] = {}
    expects = sorted(SHARED.glob("*.expect.json"))
    assert len(expects) >= 70
    for path in expects:
        expect = json.loads(path.read_text(encoding="utf-8"))
        stem = path.name.removesuffix(".expect.json")
        (body,) = [file for file in SHARED.glob(f"{stem}.*") if file != path and file.name.split(".")[0] == stem]
        result = response(list(captures.open(body)))
        wanted = {
            "text": expect["text"] or "",
            "reasoning": expect["reasoning"],
            "tool_calls": expect["tool_calls"],
            "raw_finish_reason": expect["finish_reason_raw"],
            "model": expect["model"],
            "id": expect["id"],
            "refusal": expect["refusal"],
            "error": expect["error"],
        }
        found = differences(result, wanted)
        if (result.usage is None) != (expect["usage"] is None):
            found.append("usage")
        if expect["json_where"] not in (None, "cut") and result.data != expect["json"]:
            found.append("data")
        if found:
            wrong[stem] = found
    assert wrong == {}


# -- the traps of real streams ---------------------------------------------------------------------------------------


def chat(delta: Any, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice], **more}


def call(index: int | None, arguments: str | None = None, **more: Any) -> dict[str, Any]:
    function = {name: more.pop(name) for name in ("name",) if name in more}
    if arguments is not None:
        function["arguments"] = arguments
    return {"function": function, **more, **({} if index is None else {"index": index})}


def calls(*deltas: list[dict[str, Any]]) -> list[tuple[str | None, str | None, str]]:
    builder = ResponseBuilder()
    for event in events([*(chat({"tool_calls": delta}) for delta in deltas), chat({}, "tool_calls")]):
        builder.add(event)
    return [(state.id, state.name, state.text) for state in builder.calls]


def test_choices_may_be_empty_or_none_and_delta_none() -> None:
    chunks = [
        {"id": "c", "choices": None, "object": "chat.completion.chunk"},
        {"id": "c", "choices": [], "object": "chat.completion.chunk"},
        chat(None),
        chat({}),
        chat({"content": "a"}),
        chat({"content": ""}),
        chat({}, "stop"),
    ]
    assert response(chunks).text == "a"


def test_chunks_that_carry_nothing_are_no_end() -> None:
    chunks = [chat({"role": "assistant"}), chat({"content": ""}), chat({}), chat({"content": "late"}), chat({}, "stop")]
    assert response(chunks).text == "late"


def test_usage_after_the_finish_chunk_counts() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    chunks = [chat({"content": "a"}), chat({}, "stop"), {"id": "c", "choices": [], "usage": usage}]
    result = response(chunks)
    assert result.usage is not None
    assert (result.usage.total_tokens, result.finish_reason) == (3, "stop")


def test_cumulative_usage_is_never_summed() -> None:
    chunks = [chat({"content": "a"}, usage={"prompt_tokens": 5, "completion_tokens": count}) for count in (1, 2, 3)]
    usage = response(chunks).usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (5, 3)


def test_tool_calls_with_an_id_in_every_fragment_are_one_call() -> None:
    assert calls([call(0, '{"a"', id="x", name="f")], [call(0, ":1", id="x", name="f")], [call(0, "}", id="x")]) == [
        ("x", "f", '{"a":1}')
    ]


def test_tool_calls_with_index_zero_for_all_are_told_apart_by_their_ids() -> None:
    assert calls([call(0, "{}", id="x", name="f")], [call(0, "{}", id="y", name="g")]) == [
        ("x", "f", "{}"),
        ("y", "g", "{}"),
    ]


def test_tool_calls_without_an_index_go_by_position() -> None:
    first = [call(None, "{", id="x", name="f"), call(None, "[", id="y", name="g")]
    assert calls(first, [call(None, "}"), call(None, "]")]) == [("x", "f", "{}"), ("y", "g", "[]")]


def test_two_fragments_of_one_index_in_one_chunk_are_one_call() -> None:
    assert calls([call(0, "{", id="x", name="f"), call(0, "}")]) == [("x", "f", "{}")]


def test_fragments_of_calls_alternate() -> None:
    deltas = ([call(0, "{", id="x", name="f")], [call(1, "[", id="y", name="g")], [call(0, "}")], [call(1, "]")])
    assert calls(*deltas) == [("x", "f", "{}"), ("y", "g", "[]")]


@pytest.mark.parametrize("empty", [{"id": ""}, {"id": None}, {"id": "null"}, {"name": ""}, {"name": None}])
def test_empty_ids_and_names_never_overwrite(empty: dict[str, Any]) -> None:
    assert calls([call(0, "{", id="x", name="f")], [call(0, "}", **empty)]) == [("x", "f", "{}")]


def test_legacy_function_call() -> None:
    chunks = [
        chat({"function_call": {"name": "f", "arguments": '{"a"'}}),
        chat({"function_call": {"arguments": ":1}"}}),
    ]
    result = response([*chunks, chat({}, "function_call")])
    assert [(call.name, call.arguments) for call in result.tool_calls] == [("f", {"a": 1})]
    assert (result.finish_reason, result.raw_finish_reason) == ("tool_calls", "function_call")


def test_custom_tool_input_is_free_text() -> None:
    custom = {"index": 0, "id": "x", "type": "custom", "custom": {"name": "sh", "input": "ls {"}}
    result = response([chat({"tool_calls": [custom]}), chat({}, "tool_calls")])
    assert [(call.arguments, call.complete) for call in result.tool_calls] == [("ls {", True)]


def test_whole_arguments_as_an_object() -> None:
    result = response([chat({"tool_calls": [call(0, None, id="x", name="f")]}), chat({}, "tool_calls")])
    assert [call.arguments for call in result.tool_calls] == [{}]
    whole = {"index": 0, "id": "x", "function": {"name": "f", "arguments": {"a": [1]}}}
    result = response([chat({"tool_calls": [whole]}), chat({}, "tool_calls")])
    assert [(call.arguments, call.raw_arguments) for call in result.tool_calls] == [({"a": [1]}, '{"a": [1]}')]


def test_only_one_of_the_reasoning_fields_is_read() -> None:
    details = [{"type": "reasoning.text", "text": "ab"}]
    chunk = chat({"reasoning_content": "ab", "reasoning": "ab", "reasoning_details": details})
    assert response([chunk]).reasoning == "ab"


def test_reasoning_may_come_after_text() -> None:
    chunks = [chat({"content": "a"}), chat({"reasoning": "r"}), chat({"content": "b"})]
    assert (response(chunks).text, response(chunks).reasoning) == ("ab", "r")


def test_a_finish_reason_of_null_after_one_does_not_take_it_back() -> None:
    result = response([chat({"content": "a"}, "stop"), chat({"content": ""}, None)])
    assert result.finish_reason == "stop"


def test_unset_is_not_sent() -> None:
    class Unset:
        def __bool__(self) -> bool:
            return False

    delta = SimpleNamespace(content=Unset(), tool_calls=Unset(), role="assistant")
    choice = SimpleNamespace(index=0, delta=delta, finish_reason=Unset())
    event = SimpleNamespace(data=SimpleNamespace(id="c", model="m", object="o", choices=[choice], usage=Unset()))
    adapter = detect([event])
    assert isinstance(adapter, Adapter)
    assert adapter.name == "mistral"
    assert merged(adapter.feed(event)) == [{"type": "session", "id": "c", "model": "m"}]


def test_openai_helper_events_repeat_their_chunk_and_are_skipped() -> None:
    chunk = as_object(chat({"content": "ab"}))
    helper = [
        SimpleNamespace(type="chunk", chunk=chunk, snapshot=None),
        SimpleNamespace(type="content.delta", delta="ab", snapshot="ab"),
        SimpleNamespace(type="content.done", content="ab"),
    ]
    assert response(helper).text == "ab"


def test_anthropic_helper_events_repeat_their_delta_and_are_skipped() -> None:
    (body,) = [body for body in BODIES if body.name == "anthropic-all-blocks.sse"]
    doubled: list[Any] = []
    for chunk in map(as_object, body.chunks()):
        doubled.append(chunk)
        delta = getattr(chunk, "delta", None)
        kind = getattr(delta, "type", None)
        if kind == "text_delta":
            doubled.append(SimpleNamespace(type="text", text=delta.text, snapshot="…"))
        elif kind == "thinking_delta":
            doubled.append(SimpleNamespace(type="thinking", thinking=delta.thinking, snapshot="…"))
        elif kind == "signature_delta":
            doubled.append(SimpleNamespace(type="signature", signature=delta.signature))
        elif kind == "input_json_delta":
            doubled.append(SimpleNamespace(type="input_json", partial_json=delta.partial_json, snapshot={}))
    assert len(doubled) > len(body.chunks()) + 8
    assert merged(events(doubled)) == merged(events(body.chunks()))


def test_anthropic_input_that_is_whole_at_the_start_counts_where_no_piece_follows() -> None:
    start = {"type": "content_block_start", "index": 0}
    block = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}
    stop = {"type": "content_block_stop", "index": 0}
    piece = {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "input_json_delta", "partial_json": '{"b":2}'},
    }
    assert response([{**start, "content_block": block}, stop]).tool_calls[0].arguments == {"a": 1}
    assert response([{**start, "content_block": block}, piece, stop]).tool_calls[0].arguments == {"b": 2}


def test_hosted_tools_are_not_for_the_caller() -> None:
    (body,) = [body for body in BODIES if body.name == "anthropic-all-blocks.sse"]
    result = response(body.chunks())
    assert [call["name"] for call in result.metadata["provider_tool_calls"]] == ["web_search"]
    assert result.metadata["provider_tool_calls"][0]["arguments"] == {"query": "x"}
    assert [found["id"] for found in result.metadata["tool_results"]] == ["srv_1"]


def test_commentary_is_text_beside_the_document() -> None:
    (body,) = [body for body in BODIES if body.name == "openai-responses-all.sse"]
    texts = [(event.text, event.aside) for event in events(body.chunks()) if isinstance(event, TextDelta)]
    assert texts == [("I will look it up. ", True), ('{"ok":', False), ("true}", False)]


def test_responses_items_that_no_event_told_of() -> None:
    output = [
        {"id": "m", "type": "message", "content": [{"type": "output_text", "text": "hi"}]},
        {"id": "f", "type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a":1}'},
    ]
    result = response(
        [{"type": "response.completed", "response": {"id": "r", "status": "completed", "output": output}}]
    )
    assert (result.text, [call.arguments for call in result.tool_calls]) == ("hi", [{"a": 1}])


def test_responses_item_sent_twice_is_one_item() -> None:
    item = {"id": "f", "type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a":1}'}
    added = {"type": "response.output_item.added", "output_index": 0, "item": {**item, "arguments": ""}}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    again = [{**added, "output_index": 1}, {**done, "output_index": 1}]
    assert len(response([added, done, *again]).tool_calls) == 1


def test_responses_final_arguments_win() -> None:
    added = {"type": "response.output_item.added", "output_index": 0}
    item = {"id": "f", "type": "function_call", "call_id": "c", "name": "f", "arguments": ""}
    delta = {"type": "response.function_call_arguments.delta", "item_id": "f", "output_index": 0, "delta": '{"a":1'}
    done = {"type": "response.output_item.done", "output_index": 0, "item": {**item, "arguments": '{"b":2}'}}
    (tool,) = response([{**added, "item": item}, delta, done]).tool_calls
    assert (tool.arguments, tool.raw_arguments) == ({"b": 2}, '{"b":2}')


@pytest.mark.parametrize(
    ("status", "reason", "mapped", "end"),
    [
        ("completed", None, "stop", "complete"),
        ("incomplete", "max_output_tokens", "length", "truncated"),
        ("incomplete", "content_filter", "content_filter", "filtered"),
        ("incomplete", "max_messages", "other", "truncated"),
        ("cancelled", None, "error", "error"),
    ],
)
def test_responses_status(status: str, reason: str | None, mapped: str, end: str) -> None:
    inner = {"id": "r", "status": status, "incomplete_details": reason and {"reason": reason}}
    result = response([{"type": f"response.{status}", "response": inner}])
    assert (result.finish_reason, result.raw_finish_reason, result.end_state) == (mapped, status, end)


FINISH_TABLES: dict[str, dict[str, str]] = {
    # As the providers' documentation maps them; anything else is `other`.
    "openai": {
        "stop": "stop", "length": "length", "tool_calls": "tool_calls", "function_call": "tool_calls",
        "content_filter": "content_filter", "odd": "other",
    },
    "anthropic": {
        "end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "model_context_window_exceeded": "length",
        "tool_use": "tool_calls", "refusal": "content_filter", "pause_turn": "other", "odd": "other",
    },
    "gemini": {
        "STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "content_filter", "RECITATION": "content_filter",
        "LANGUAGE": "content_filter", "BLOCKLIST": "content_filter", "PROHIBITED_CONTENT": "content_filter",
        "SPII": "content_filter", "IMAGE_SAFETY": "content_filter", "IMAGE_PROHIBITED_CONTENT": "content_filter",
        "IMAGE_RECITATION": "content_filter", "MALFORMED_FUNCTION_CALL": "error", "UNEXPECTED_TOOL_CALL": "error",
        "TOO_MANY_TOOL_CALLS": "error", "MISSING_THOUGHT_SIGNATURE": "error", "MALFORMED_RESPONSE": "error",
        "OTHER": "other", "IMAGE_OTHER": "other", "NO_IMAGE": "other",
        "FINISH_REASON_UNSPECIFIED": "other", "ODD": "other",
    },
    "bedrock": {
        "end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "model_context_window_exceeded": "length",
        "tool_use": "tool_calls", "guardrail_intervened": "content_filter", "content_filtered": "content_filter",
        "malformed_model_output": "error", "malformed_tool_use": "error", "odd": "other",
    },
    "cohere": {
        "COMPLETE": "stop", "STOP_SEQUENCE": "stop", "MAX_TOKENS": "length", "TOOL_CALL": "tool_calls",
        "ERROR": "error", "TIMEOUT": "error", "ODD": "other",
    },
    "mistral": {"stop": "stop", "length": "length", "tool_calls": "tool_calls", "error": "error", "odd": "other"},
    "ollama": {"stop": "stop", "length": "length", "load": "other", "odd": "other"},
}  # fmt: skip


def finish_chunk(adapter: str, reason: str) -> dict[str, Any]:
    return {
        "openai": chat({}, reason),
        "mistral": {"data": chat({}, reason)},
        "anthropic": {"type": "message_delta", "delta": {"stop_reason": reason}},
        "gemini": {"candidates": [{"finishReason": reason}]},
        "bedrock": {"messageStop": {"stopReason": reason}},
        "cohere": {"type": "message-end", "delta": {"finish_reason": reason}},
        "ollama": {"model": "m", "message": {"content": ""}, "done": True, "done_reason": reason},
    }[adapter]


@pytest.mark.parametrize(
    ("adapter", "reason", "mapped"), [(name, *row) for name, table in FINISH_TABLES.items() for row in table.items()]
)
def test_finish_reasons(adapter: str, reason: str, mapped: str) -> None:
    (found,) = [event for event in named(adapter).feed(finish_chunk(adapter, reason)) if isinstance(event, Finish)]
    assert (found.reason, found.mapped) == (reason, mapped)
    result = response([finish_chunk(adapter, reason)], named(adapter))
    assert (result.finish_reason, result.raw_finish_reason) == (mapped, reason)


def test_enums_count_by_their_value() -> None:
    import enum

    class Reason(enum.Enum):
        STOP = "STOP"

    candidate = SimpleNamespace(content=None, finish_reason=Reason.STOP, index=None)
    chunk = SimpleNamespace(candidates=[candidate], usage_metadata=None, prompt_feedback=None, model_version="m")
    assert response([chunk]).raw_finish_reason == "STOP"


def test_gemini_bytes_become_base64() -> None:
    part = SimpleNamespace(text="hm", thought=True, thought_signature=b"\x00\xff")
    candidate = SimpleNamespace(content=SimpleNamespace(parts=[part]), finish_reason=None)
    chunk = SimpleNamespace(candidates=[candidate], usage_metadata=None)
    found = [event for event in events([chunk]) if isinstance(event, ReasoningDelta)]
    assert [event.metadata for event in found] == [{"thought_signature": "AP8="}]


def test_bedrock_gives_bytes_as_boto3_does() -> None:
    chunk = {"chunk": {"bytes": b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}'}}
    assert response([chunk]).text == "hi"


def test_bedrock_counts_tokens_for_models_that_do_not() -> None:
    metrics = {"inputTokenCount": 7, "outputTokenCount": 5, "firstByteLatency": 90}
    inner = [
        {"outputs": [{"text": "Hi", "stop_reason": None}]},
        {"outputs": [{"text": "!", "stop_reason": "stop"}], "amazon-bedrock-invocationMetrics": metrics},
    ]
    done = response([{"chunk": {"bytes": json.dumps(one).encode()}} for one in inner])
    assert (done.text, done.finish_reason) == ("Hi!", "stop")
    assert done.usage is not None
    assert (done.usage.input_tokens, done.usage.output_tokens) == (7, 5)
    assert done.usage.extra == {"firstByteLatency": 90}


def test_bedrock_usage_comes_after_the_stop() -> None:
    chunks = [
        {"contentBlockDelta": {"delta": {"text": "a"}, "contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "end_turn"}},
        {"metadata": {"usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}}},
    ]
    usage = response(chunks).usage
    assert usage is not None
    assert usage.total_tokens == 3


# -- partial arguments -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("$", ()),
        ("$.a", ("a",)),
        ("$.a.b[0].c", ("a", "b", 0, "c")),
        ("$['a b'][\"c\"]", ("a b", "c")),
        (r"$['it\'s']", ("it's",)),
        ("a.b", ("a", "b")),
        ("$.größe", ("größe",)),
        ("$.a[", ("a", "[")),
    ],
)
def test_json_paths(text: str, parts: tuple[str | int, ...]) -> None:
    assert json_path(text) == parts


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3) | st.dictionaries(st.text(max_size=4), inner, min_size=1, max_size=3)
    ),
    max_leaves=12,
)


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in leaves(item, (*path, key))]
    if isinstance(value, list):
        return [leaf for index, item in enumerate(value) for leaf in leaves(item, (*path, index))]
    return [(path, value)]


@given(st.dictionaries(st.text(max_size=4), json_values, max_size=4), st.integers(1, 3))
def test_pairs_in_order_become_the_text_of_the_object(value: dict[str, Any], step: int) -> None:
    import json

    writer = ArgumentWriter()
    written = ""
    for path, leaf in leaves(value):
        if isinstance(leaf, str):
            for start in range(0, len(leaf), step):
                written += writer.add(path, leaf[start : start + step], True)
            written += writer.add(path, "", False)
        else:
            written += writer.add(path, leaf, False)
    written += writer.end()
    assert writer.final is None
    assert json.loads(written) == value


@given(st.dictionaries(st.text(max_size=3), json_values, max_size=4), st.randoms(use_true_random=False))
def test_pairs_out_of_order_give_the_object_at_the_end(value: dict[str, Any], random: Any) -> None:
    import json

    writer = ArgumentWriter()
    pairs = leaves(value)
    random.shuffle(pairs)
    written = "".join(writer.add(path, leaf, False) for path, leaf in pairs) + writer.end()
    assert json.loads(writer.final or written) == value


def test_a_pair_for_an_endless_list_does_not_fill_memory() -> None:
    writer = ArgumentWriter()
    writer.add(("a", 10**12), 1, False)
    writer.end()
    assert writer.final == '{"a": [1]}'


# -- langchain, pydantic-ai ------------------------------------------------------------------------------------------


def message(content: Any = "", **fields: Any) -> SimpleNamespace:
    base = {
        "id": "run-1",
        "type": "AIMessageChunk",
        "additional_kwargs": {},
        "response_metadata": {},
        "tool_call_chunks": [],
    }
    return SimpleNamespace(content=content, **{**base, "usage_metadata": None, **fields})


def lc_call(args: str | None, index: int = 0, **fields: Any) -> dict[str, Any]:
    return {"name": None, "id": None, "type": "tool_call_chunk", "args": args, "index": index, **fields}


LANGCHAIN = [
    message([{"type": "thinking", "thinking": "hm", "index": 0}]),
    message("", additional_kwargs={"reasoning_content": "m"}),
    message("Hi"),
    message(
        [{"type": "text", "text": " there", "index": 1}, {"type": "tool_use", "id": "c1", "name": "f", "index": 2}]
    ),
    message("", tool_call_chunks=[lc_call('{"x":', id="c1", name="f")]),
    message("", tool_call_chunks=[lc_call("2}")]),
    message("", usage_metadata={"input_tokens": 5, "output_tokens": 0, "total_tokens": 5}),
    message(
        "",
        usage_metadata={
            "input_tokens": 0,
            "output_tokens": 7,
            "total_tokens": 7,
            "output_token_details": {"reasoning": 2},
        },
        response_metadata={"finish_reason": "tool_calls", "model_name": "gpt-x"},
    ),
]


@pytest.mark.parametrize(
    "wrapped",
    [
        pytest.param(lambda chunk: chunk, id="chunks"),
        pytest.param(lambda chunk: (chunk, {"langgraph_node": "agent"}), id="langgraph"),
        pytest.param(lambda chunk: {"event": "on_chat_model_stream", "data": {"chunk": chunk}}, id="astream_events"),
        pytest.param(lambda chunk: SimpleNamespace(message=chunk, text="…"), id="generation chunks"),
        pytest.param(lambda chunk: vars(chunk), id="dicts"),
    ],
)
def test_langchain(wrapped: Any) -> None:
    result = response([wrapped(chunk) for chunk in LANGCHAIN])
    assert (result.text, result.reasoning, result.model, result.id) == ("Hi there", "hmm", "gpt-x", "run-1")
    assert [(call.id, call.name, call.arguments) for call in result.tool_calls] == [("c1", "f", {"x": 2})]
    assert (result.finish_reason, result.end_state) == ("tool_calls", "complete")
    assert result.usage is not None
    usage = result.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens, usage.reasoning_tokens) == (5, 7, 12, 2)


def test_langgraph_runs_several_messages_and_the_tools_itself() -> None:
    tool = SimpleNamespace(content="42", tool_call_id="c1", name="f", type="tool", status="success")
    last = message("Done", id="run-2", response_metadata={"finish_reason": "stop"})
    result = response([(chunk, {}) for chunk in [*LANGCHAIN, tool, last]])
    assert (result.text, result.final_message) == ("Hi there\n\nDone", "Done")
    assert (result.tool_calls, result.finish_reason) == ([], "stop")
    assert result.metadata["tool_results"][0]["content"] == "42"


def part(kind: str, index: int, **fields: Any) -> SimpleNamespace:
    return SimpleNamespace(event_kind="part_start", index=index, part=SimpleNamespace(part_kind=kind, **fields))


def part_delta(kind: str, index: int, **fields: Any) -> SimpleNamespace:
    return SimpleNamespace(event_kind="part_delta", index=index, delta=SimpleNamespace(part_delta_kind=kind, **fields))


def pydantic_ai_run() -> list[Any]:
    called = SimpleNamespace(part_kind="tool-call", tool_name="roll", tool_call_id="t1", args='{"n":6}')
    returned = SimpleNamespace(part_kind="tool-return", tool_name="roll", tool_call_id="t1", content="4")
    last = SimpleNamespace(finish_reason="stop", model_name="m-1", provider_response_id="r-1", provider_details=None)
    return [
        part("thinking", 0, content="h", signature=None),
        part_delta("thinking", 0, content_delta="m", signature_delta="c2ln"),
        part("text", 1, content="Let me "),
        part_delta("text", 1, content_delta="look."),
        SimpleNamespace(event_kind="final_result", tool_name=None),
        part("tool-call", 2, tool_name="roll", args='{"n"', tool_call_id="t1"),
        part_delta("tool_call", 2, tool_name_delta=None, args_delta=":6}", tool_call_id=None),
        SimpleNamespace(event_kind="part_end", index=2, part=called),
        SimpleNamespace(event_kind="function_tool_call", part=called),
        SimpleNamespace(event_kind="function_tool_result", part=returned),
        part("text", 0, content="Four."),
        SimpleNamespace(
            event_kind="agent_run_result",
            result=SimpleNamespace(
                response=last,
                run_id="run-9",
                usage=lambda: {"input_tokens": 3, "output_tokens": 4, "cache_read_tokens": 1},
            ),
        ),
    ]


def test_pydantic_ai_agent_run() -> None:
    result = response(pydantic_ai_run())
    assert (result.text, result.final_message, result.reasoning) == ("Let me look.\n\nFour.", "Four.", "hm")
    assert (result.id, result.model, result.session_id) == ("r-1", "m-1", "run-9")
    assert (result.finish_reason, result.end_state) == ("stop", "complete")
    assert result.usage is not None
    assert (result.usage.input_tokens, result.usage.cached_input_tokens) == (3, 1)
    assert result.tool_calls == []
    assert result.metadata["provider_tool_calls"][0]["arguments"] == {"n": 6}
    assert result.metadata["tool_results"][0]["content"] == "4"


def test_pydantic_ai_model_request() -> None:
    """Its events have no finish reason: without the stream object it is cut, with it the reason is known."""
    chunks = pydantic_ai_run()[:8]
    assert response(chunks).end_state == "cut"
    stream = SimpleNamespace(
        finish_reason="tool_call", model_name="m-1", provider_response_id="r-1", usage=lambda: None
    )
    adapter = named("pydantic-ai")
    adapter.opened(stream)
    result = response(chunks, adapter)
    assert (result.finish_reason, result.model) == ("tool_calls", "m-1")
    assert [(call.id, call.arguments) for call in result.tool_calls] == [("t1", {"n": 6})]


# -- text, events, errors --------------------------------------------------------------------------------------------


def test_text_and_bytes() -> None:
    assert response(["Grü", "ezi"]).text == "Grüezi"
    raw = "Grüezi €".encode()
    for split in range(len(raw) + 1):
        assert response([raw[:split], bytearray(raw[split:])]).text == "Grüezi €"
    result = response([b"abc\xe2\x82"])
    assert (result.text, result.end_state, result.finish_reason) == ("abc\ufffd", "complete", None)


def test_provider_events_pass() -> None:
    given: list[ProviderEvent] = [TextDelta(text="a"), Result(text="a")]
    assert events(given) == given


def test_what_the_stream_object_tells() -> None:
    opened = named("openai").opened
    assert opened(SimpleNamespace(response=SimpleNamespace(headers={"x-request-id": "req_7"}))) == [
        Session(request_id="req_7")
    ]
    assert opened(SimpleNamespace(headers={"request-id": "req_8"})) == [Session(request_id="req_8")]
    assert opened(iter([])) == []
    assert named("bedrock").opened({"ResponseMetadata": {"RequestId": "r"}}) == [Session(request_id="r")]


class StatusError(Exception):
    status_code = 429
    message = "Slow down"
    code = None
    request_id = "req_1"
    body: ClassVar = {"error": {"type": "rate_limit_error", "message": "Slow down"}}


def test_exceptions_of_the_sdk() -> None:
    error = named("anthropic").failed(StatusError("Error code: 429"))
    assert (error.reason, error.code) == ("Slow down", "rate_limit_error")
    assert error.details == {"type": "StatusError", "status_code": 429, "request_id": "req_1", "body": StatusError.body}
    assert named("text").failed(ConnectionError()).reason == "ConnectionError"
    boto = type("EventStreamError", (Exception,), {"response": {"Error": {"Code": "throttlingException"}}})
    assert named("bedrock").failed(boto("wait")).code == "throttlingException"


@pytest.mark.parametrize(
    "error",
    [
        {"error": {"message": "bad", "code": "x"}},
        {"error": "bad", "code": "x"},
        {"object": "error", "message": "bad", "type": "x"},
        {"type": "error", "error": {"message": "bad", "type": "x"}},
        {"type": "error", "message": "bad", "code": "x", "sequence_number": 3},
    ],
)
def test_errors_inside_a_stream(error: dict[str, Any]) -> None:
    result = response([chat({"content": "a"}), error] if "sequence_number" not in error else [error])
    assert (result.metadata["error"], result.end_state) == ("bad", "error")
    assert response([error]).metadata["error"] == "bad"


def test_nothing_comes_after_a_terminal_event() -> None:
    adapter = named("openai")
    found = adapter.feed({"error": {"message": "bad", "code": 500}})
    assert found == [Error(reason="bad", code="500", details={"message": "bad", "code": 500})]
    assert adapter.feed(chat({"content": "late"})) == []


# -- detect ----------------------------------------------------------------------------------------------------------


def test_detect_waits_for_a_chunk_that_tells() -> None:
    assert detect([]) is None
    assert detect([{}]) is None
    assert detect([{"error": {"message": "x"}}]) is None
    decided = detect([{}, chat({"content": "a"})])
    assert isinstance(decided, Adapter)
    assert decided.name == "openai"
    assert isinstance(detect([], last=True), Adapter)
    assert response([{"error": {"message": "x"}}]).metadata["error"] == "x"


@pytest.mark.parametrize("odd", [None, 7, 1.5, [["a"]], {"foo": 1}, object(), SimpleNamespace(foo=1)])
def test_detect_says_what_it_saw(odd: Any) -> None:
    with pytest.raises(UsageError) as caught:
        detect([odd])
    said = str(caught.value)
    assert type(odd).__name__ in said
    assert "feed(chunk)" in said
    assert "openai" in said
    if type(odd) is SimpleNamespace or type(odd) is dict:
        assert "foo" in said


def test_detect_never_decides_by_class_name() -> None:
    class ChatCompletionChunk:
        foo = 1

    with pytest.raises(UsageError):
        detect([ChatCompletionChunk()])


@pytest.mark.parametrize("body", BODIES, ids=by_name)
def test_shapes_exclude_one_another(body: Body) -> None:
    """One adapter matches the chunks that tell, so that the order of asking does not matter."""
    for chunk in body.chunks():
        matching = {kind.name for kind in adapters._ADAPTERS if kind.matches(chunk)}
        assert matching <= {body.expect["adapter"]}, chunk


def test_a_models_own_json_is_no_chunk() -> None:
    answers = [
        {"name": "Ada"},
        {"type": "person", "name": "Ada"},
        {"choices": ["a", "b"], "question": "?"},
        {"message": "hi"},
        {"model": "T", "year": 1908},
        {"candidates": ["Ada", "Bob"]},
        {"id": 1, "response": "yes"},
        {"data": [1, 2]},
        {"event": "party", "content": "x"},
        {"metadata": {"a": 1}},
    ]
    assert [answer for answer in answers if recognises(answer)] == []


def test_names() -> None:
    assert named("groq").name == "openai"
    with pytest.raises(UsageError, match="anthropic"):
        named("nonesuch")


def test_register_an_adapter_of_ones_own() -> None:
    class Ticker(Adapter):
        name: ClassVar[str] = "ticker"

        @staticmethod
        def matches(chunk: Any) -> bool:
            return isinstance(chunk, dict) and "tick" in chunk

        def read(self, chunk: Any, out: list[ProviderEvent]) -> None:
            out.append(TextDelta(text=chunk["tick"]))

    before = list(adapters._ADAPTERS)
    try:
        register(Ticker)
        register(Ticker)
        assert response([{"tick": "a"}, {"tick": "b"}]).text == "ab"
        assert named("ticker").name == "ticker"
        assert len(adapters._ADAPTERS) == len(before) + 1
    finally:
        adapters._ADAPTERS[:] = before


def test_every_adapter_keeps_the_protocol() -> None:
    for name in names():
        assert isinstance(named(name), AdapterProtocol)


# -- nothing that a provider sends raises ----------------------------------------------------------------------------

junk = st.sampled_from(
    [None, True, 0, -1, 1.5, float("nan"), 10**400, "", "x", [], ["x"], [None], {}, {"x": None}, {"type": "x"}, b"x"]
)


def mutants(value: Any, replacement: Any) -> list[Any]:
    """`value` with each of its parts replaced, one at a time."""
    found = [replacement]
    if isinstance(value, dict):
        found += [{**value, key: changed} for key, item in value.items() for changed in mutants(item, replacement)]
    elif isinstance(value, list):
        found += [
            [*value[:index], changed, *value[index + 1 :]]
            for index, item in enumerate(value)
            for changed in mutants(item, replacement)
        ]
    return found


@pytest.mark.parametrize("body", BODIES, ids=by_name)
@given(data=st.data())
def test_damaged_chunks_never_raise(body: Body, data: st.DataObject) -> None:
    chunks = body.chunks()
    number = data.draw(st.integers(0, len(chunks) - 1))
    replacement = data.draw(junk)
    changed = data.draw(st.sampled_from(mutants(chunks[number], replacement)))
    adapter = named(body.expect["adapter"])
    builder = ResponseBuilder()
    for chunk in [*chunks[:number], changed, *chunks[number + 1 :]]:
        for event in adapter.feed(chunk):
            builder.add(event)
    for event in adapter.close():
        builder.add(event)
    result = builder.build()
    written = result.model_dump_json()
    assert type(result).model_validate_json(written).model_dump_json() == written  # by text: NaN is not equal to itself


@pytest.mark.parametrize("body", BODIES, ids=by_name)
def test_depth_never_raises(body: Body) -> None:
    """Newer Pythons read JSON of a depth that a recursion of their own does not reach."""
    deep: Any = {}
    for _ in range(5000):
        deep = {"x": [deep]}
    chunks = body.chunks()
    number = random.Random(body.name).randrange(len(chunks))
    for changed in mutants(chunks[number], deep)[:100]:
        with contextlib.suppress(StreamParseError):
            wrap(iter([*chunks[:number], changed])).get_response().model_dump_json()


@pytest.mark.parametrize("name", names())
@given(
    chunk=st.recursive(
        junk, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
    )
)
def test_anything_at_all_never_raises(name: str, chunk: Any) -> None:
    adapter = named(name)
    assert all(isinstance(event, ProviderEvent) for event in [*adapter.feed(chunk), *adapter.close()])


def test_unknown_chunks_are_kept_as_they_came() -> None:
    adapter = named("anthropic")
    (event,) = adapter.feed({"type": "content_block_sparkle", "index": 0})
    assert event == Raw(name="content_block_sparkle", payload={"type": "content_block_sparkle", "index": 0})


def test_plain_data() -> None:
    import dataclasses
    import enum

    from pydantic import BaseModel

    class Colour(enum.Enum):
        RED = "red"

    class Inner(BaseModel):
        a: int | None = None
        b: bytes = b"\xff"

    @dataclasses.dataclass
    class Outer:
        inner: Inner
        colour: Colour
        missing: None = None

    assert plain(Outer(Inner(), Colour.RED)) == {"inner": {"b": "/w=="}, "colour": "red"}
    deep: Any = []
    for _ in range(500):
        deep = [deep]
    assert isinstance(plain(deep), list)
    assert plain({1: (1, {2})}) == {"1": [1, [2]]}


def test_usage_keeps_what_has_no_field() -> None:
    (update,) = [
        event for event in named("openai").feed(chat({}, usage={"prompt_tokens": 2.0, "odd": {"x": 1}, "none": None}))
        if isinstance(event, UsageUpdate)
    ]  # fmt: skip
    assert update == UsageUpdate(input_tokens=2, extra={"odd": {"x": 1}})


def test_tool_results_of_hosted_tools() -> None:
    block = {
        "type": "mcp_tool_result",
        "tool_use_id": "t",
        "is_error": True,
        "content": [{"type": "text", "text": "no"}],
    }
    (event,) = named("anthropic").feed({"type": "content_block_start", "index": 0, "content_block": block})
    assert event == ToolResult(id="t", name="mcp_tool_result", content=block["content"], is_error=True)


def test_whole_completion_where_a_stream_was_expected() -> None:
    whole = {"id": "c", "object": "chat.completion", "model": "m", "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hi"}}]}  # fmt: skip
    assert response([whole]).text == "hi"


def test_a_call_without_arguments_is_whole_only_when_it_ended() -> None:
    opened = [chat({"tool_calls": [call(0, "", id="x", name="f")]})]
    assert [(tool.arguments, tool.complete) for tool in response(opened).tool_calls] == [(None, False)]
    ended = [*opened, chat({}, "tool_calls")]
    assert [(tool.arguments, tool.complete) for tool in response(ended).tool_calls] == [({}, True)]


def test_arguments_may_be_cut_although_the_reason_says_tool_calls() -> None:
    """OpenRouter says so for calls that ran into the token limit."""
    result = response([chat({"tool_calls": [call(0, '{"a": [1, "b', id="x", name="f")]}), chat({}, "tool_calls")])
    assert (result.finish_reason, result.end_state, result.complete) == ("tool_calls", "complete", False)
    assert [(tool.arguments, tool.complete) for tool in result.tool_calls] == [({"a": [1, "b"]}, False)]


def test_choice_of_several() -> None:
    (body,) = [body for body in BODIES if body.name == "openai-chat-two-choices.sse"]
    builder = ResponseBuilder(choice=1)
    for event in events(body.chunks()):
        builder.add(event)
    second = builder.build()
    assert (second.text, second.finish_reason) == ("Bb", "stop")
    assert ToolCallDelta(key=0).choice == 0
