"""The official `anthropic` client: raw events, and the `.stream()` helper, which reports each delta in two ways."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anthropic

from clients.checks import ClientTests
from clients.wire import ANTHROPIC, MODEL

PROMPT: Any = [{"role": "user", "content": "Triage order 1182."}]


class TestMessages(ClientTests):
    wire = ANTHROPIC
    bodies = ("anthropic-*.sse",)
    captures = ("anthropic-messages-*.sse",)

    @staticmethod
    def ask(client: Any) -> Any:
        return client.messages.create(model=MODEL, max_tokens=1024, messages=PROMPT, stream=True)

    @contextmanager
    def sync_call(self, url: str) -> Iterator[Callable[[], Any]]:
        with anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client:
            yield lambda: self.ask(client)

    @asynccontextmanager
    async def async_call(self, url: str) -> AsyncIterator[Callable[[], Any]]:
        async with anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0) as client:
            yield lambda: self.ask(client)


class TestHelper(TestMessages):
    @staticmethod
    def ask(client: Any) -> Any:
        return client.messages.stream(model=MODEL, max_tokens=1024, messages=PROMPT)
