"""Streams of chat completions for tests of the wire: reasoning, text, tool calls, and the ways they end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .streams import Stream, pieces

DOCUMENT = {
    "title": "Räder & \u2028lines",
    "tips": [{"text": "one\ntwo", "score": 1.5}, {"text": "", "score": None}, {}],
    "ok": True,
    "nested": [[], [[1]], {"a/b~c": {"": "x" * 300}}],
}
ARGUMENTS = {"q": "streaming json", "limit": 3, "tags": ["a", "b"]}


def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    """One chunk of a chat completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "chat-1", "object": "chat.completion.chunk", "model": "test-model", "choices": [choice]}


def thoughts(*texts: str) -> Iterator[dict[str, Any]]:
    """Reasoning in a field of its own."""
    for text in texts:
        yield chunk({"reasoning_content": text})


def content(text: str, size: int = 5) -> Iterator[dict[str, Any]]:
    """A piece of the answer."""
    for piece in pieces(text, size):
        yield chunk({"content": piece})


def call(
    arguments: str, *, index: int = 0, call_id: str | None = "call-7", name: str | None = "search", size: int = 6
) -> Iterator[dict[str, Any]]:
    """A tool call, its arguments in pieces."""
    head: dict[str, Any] = {"index": index, "type": "function", "function": {"arguments": ""}}
    if call_id is not None:
        head["id"] = call_id
    if name is not None:
        head["function"]["name"] = name
    yield chunk({"tool_calls": [head]})
    for piece in pieces(arguments, size):
        yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})


def end(reason: str = "stop") -> Iterator[dict[str, Any]]:
    """How the model stopped, and what it cost."""
    yield chunk({}, reason)
    numbers = {"prompt_tokens": 7, "completion_tokens": 11, "total_tokens": 18}
    yield {"id": "chat-1", "object": "chat.completion.chunk", "model": "test-model", "choices": [], "usage": numbers}


def _joined(*parts: Iterable[Any]) -> list[Any]:
    return [one for part in parts for one in part]


TEXT = json.dumps(DOCUMENT, ensure_ascii=False)
CALL_TEXT = json.dumps(ARGUMENTS)

RUNS: dict[str, Callable[[], Any]] = {
    "document": lambda: _joined(content(TEXT), end()),
    "reasoning, document": lambda: _joined(thoughts("let me", " think\n"), content(TEXT), end()),
    "inline reasoning": lambda: _joined(content("<think>hm,\nwell</think>" + TEXT), end()),
    "reasoning after the text": lambda: _joined(content("{}"), thoughts("again"), content(" more"), end()),
    "prose": lambda: _joined(content("Hello, no document here."), end()),
    "text, tool call": lambda: _joined(content("Let me look. "), call(CALL_TEXT), end("tool_calls")),
    "two tool calls": lambda: _joined(
        call(CALL_TEXT), call("{}", index=1, call_id="call-8", name="stop"), end("tool_calls")
    ),
    "tool call without arguments": lambda: _joined(call("", name="ping"), end("tool_calls")),
    "duplicate keys": lambda: _joined(content('{"a": {"b": 1}, "c": 2, "a": "three", "a": [4]}'), end()),
    "root string": lambda: _joined(content('"just a string"'), end()),
    "cut in a string": lambda: _joined(content('{"a": [1, {"b": "half'), end("length")),
    "cut without an end": lambda: _joined(content('{"a": [1, {"b": ')),
    "cut in a call": lambda: _joined(thoughts("I"), call('{"q": "stream'), end("length")),
    "cut before the name of a call": lambda: _joined(call('{"q": "stream', call_id=None, name=None), end("length")),
    "nothing": list,
    "error": lambda: Stream(_joined(thoughts("I"), content('{"a": "b')), ValueError("secret")),
    "error at once": lambda: Stream([], ValueError("secret")),
}
"""Sources for `wrap`."""


def retried(errors: list[BaseException]) -> Any:
    """A source that fails once, in the middle of everything."""
    if errors:
        return _joined(thoughts("second"), content('{"right": "yes"}'), call(CALL_TEXT), end("tool_calls"))
    return Stream(_joined(thoughts("first"), content('{"wrong": ["no'), call('{"q":')), ValueError("secret"))
