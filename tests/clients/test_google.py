"""`google-genai`: `generate_content_stream`, and interactions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from clients.checks import ClientTests
from clients.packages import need
from clients.wire import GEMINI, INTERACTIONS, MODEL

genai = need("google-genai")


class TestGenerate(ClientTests):
    wire = GEMINI
    bodies = ("gemini-[bet]*.sse",)
    captures = ("gemini-generate-*.sse",)
    interruptible = False
    needs_gc = True

    @staticmethod
    def ask(models: Any) -> Any:
        return models.generate_content_stream(model=MODEL, contents="Triage order 1182.")

    @contextmanager
    def sync_call(self, url: str) -> Iterator[Callable[[], Any]]:
        with genai.Client(api_key="none", http_options={"base_url": url}) as client:
            yield lambda: self.ask(client.models)

    @asynccontextmanager
    async def async_call(self, url: str) -> AsyncIterator[Callable[[], Any]]:
        async with genai.Client(api_key="none", http_options={"base_url": url}).aio as client:
            yield lambda: self.ask(client.models)


class TestInteractions(ClientTests):
    wire = INTERACTIONS
    bodies = ("gemini-interactions.sse",)

    @contextmanager
    def sync_call(self, url: str) -> Iterator[Callable[[], Any]]:
        with genai.Client(api_key="none", http_options={"base_url": url}) as client:
            yield lambda: client.interactions.create(model=MODEL, input="Triage order 1182.", stream=True)

    @asynccontextmanager
    async def async_call(self, url: str) -> AsyncIterator[Callable[[], Any]]:
        async with genai.Client(api_key="none", http_options={"base_url": url}).aio as client:
            yield lambda: client.interactions.create(model=MODEL, input="Triage order 1182.", stream=True)
