"""Raw HTTP: `requests` for sync code, `aiohttp` for async code."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from clients.checks import ClientTests
from clients.packages import need
from clients.wire import ANTHROPIC

requests = need("requests")
aiohttp = need("aiohttp")


class TestResponses(ClientTests):
    wire = ANTHROPIC
    bodies = ("anthropic-*.sse", "ollama-*.ndjson", "bedrock-*.aws")

    @contextmanager
    def sync_call(self, url: str) -> Iterator[Callable[[], Any]]:
        with requests.Session() as session:
            session.trust_env = False
            yield lambda: session.post(url, json={"stream": True}, stream=True)

    @asynccontextmanager
    async def async_call(self, url: str) -> AsyncIterator[Callable[[], Any]]:
        async with aiohttp.ClientSession() as session:
            yield lambda: session.post(url, json={"stream": True})
