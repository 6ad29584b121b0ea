"""`cohere`: `ClientV2.chat_stream`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from clients.checks import ClientTests
from clients.packages import need
from clients.wire import COHERE, MODEL

cohere = need("cohere")

PROMPT: Any = [{"role": "user", "content": "Triage order 1182."}]


class TestChat(ClientTests):
    wire = COHERE
    bodies = ("cohere-v2*.sse",)
    captures = ("cohere-chat2-*.sse",)
    interruptible = False

    @contextmanager
    def sync_call(self, url: str) -> Iterator[Callable[[], Any]]:
        with cohere.ClientV2(api_key="none", base_url=url) as client:
            yield lambda: client.chat_stream(model=MODEL, messages=PROMPT)

    @asynccontextmanager
    async def async_call(self, url: str) -> AsyncIterator[Callable[[], Any]]:
        async with cohere.AsyncClientV2(api_key="none", base_url=url) as client:
            yield lambda: client.chat_stream(model=MODEL, messages=PROMPT)
