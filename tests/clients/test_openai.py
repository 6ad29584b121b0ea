"""The official `openai` client: chat completions and responses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import openai
from support.bodies import Body

from clients.checks import ClientTests
from clients.wire import MODEL, OPENAI_CHAT, RESPONSES

PROMPT: Any = [{"role": "user", "content": "Triage order 1182."}]


class TestChat(ClientTests):
    wire = OPENAI_CHAT
    bodies = ("openai-chat-*.sse", "azure-chat-*.sse", "deepseek-*.sse", "openrouter-*.sse", "perplexity-*.sse")
    captures = ("openai-chat-*.sse", "azure-chat-*.sse", "deepseek-chat-*.sse", "openrouter-chat-*.sse")

    def adjusted(self, body: Body) -> dict[str, Any]:
        # The client raises at a chunk with an error, and never shows what else is in it.
        return {**body.expect, "raw_finish_reason": None} if body.name == "openrouter-chat-error.sse" else body.expect

    @staticmethod
    def ask(client: Any) -> Any:
        return client.chat.completions.create(
            model=MODEL, messages=PROMPT, stream=True, stream_options={"include_usage": True}
        )

    @contextmanager
    def sync_call(self, url: str) -> Iterator[Callable[[], Any]]:
        with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            yield lambda: self.ask(client)

    @asynccontextmanager
    async def async_call(self, url: str) -> AsyncIterator[Callable[[], Any]]:
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            yield lambda: self.ask(client)


class TestResponses(TestChat):
    wire = RESPONSES
    bodies = ("openai-responses-*.sse", "copilot-responses-*.sse")
    captures = ("openai-responses-*.sse", "deepseek-responses-*.sse")

    @staticmethod
    def ask(client: Any) -> Any:
        return client.responses.create(model=MODEL, input=PROMPT, stream=True)
