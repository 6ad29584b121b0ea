"""`ollama`: chat and generate."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from support.bodies import Body

from clients.checks import ClientTests
from clients.packages import need
from clients.wire import MODEL, OLLAMA, OLLAMA_GENERATE

ollama = need("ollama")

PROMPT: Any = [{"role": "user", "content": "Triage order 1182."}]


class TestChat(ClientTests):
    wire = OLLAMA
    bodies = ("ollama-chat.ndjson",)
    captures = ("ollama-chat-*.ndjson",)
    interruptible = False

    def adjusted(self, body: Body) -> dict[str, Any]:
        # The client's type of a tool call has no id.
        calls = [{**call, "id": None} for call in body.expect["tool_calls"]]
        return {**body.expect, "tool_calls": calls}

    @staticmethod
    def ask(client: Any) -> Any:
        return client.chat(model=MODEL, messages=PROMPT, stream=True)

    @contextmanager
    def sync_call(self, url: str) -> Iterator[Callable[[], Any]]:
        client = ollama.Client(host=url)
        with client._client:  # it has no close of its own in older versions
            yield lambda: self.ask(client)

    @asynccontextmanager
    async def async_call(self, url: str) -> AsyncIterator[Callable[[], Any]]:
        client = ollama.AsyncClient(host=url)
        async with client._client:
            yield lambda: self.ask(client)


class TestGenerate(TestChat):
    wire = OLLAMA_GENERATE
    test_tool_calls = None  # it has none
    bodies = ("ollama-generate-*.ndjson",)
    captures = ("ollama-generate-*.ndjson",)

    @staticmethod
    def ask(client: Any) -> Any:
        return client.generate(model=MODEL, prompt="Triage order 1182.", stream=True)
