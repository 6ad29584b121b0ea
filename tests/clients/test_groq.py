"""`groq`: chat completions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from clients.checks import ClientTests
from clients.packages import need
from clients.wire import GROQ, MODEL

groq = need("groq")

PROMPT: Any = [{"role": "user", "content": "Triage order 1182."}]


class TestChat(ClientTests):
    wire = GROQ
    bodies = ("groq-chat-*.sse",)
    captures = ("groq-chat-*.sse",)

    @staticmethod
    def ask(client: Any) -> Any:
        return client.chat.completions.create(model=MODEL, messages=PROMPT, stream=True)

    @contextmanager
    def sync_call(self, url: str) -> Iterator[Callable[[], Any]]:
        with groq.Groq(base_url=url, api_key="none", max_retries=0) as client:
            yield lambda: self.ask(client)

    @asynccontextmanager
    async def async_call(self, url: str) -> AsyncIterator[Callable[[], Any]]:
        async with groq.AsyncGroq(base_url=url, api_key="none", max_retries=0) as client:
            yield lambda: self.ask(client)
