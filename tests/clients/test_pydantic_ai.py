"""pydantic-ai: the events of an agent's run, and of a model request, with an OpenAI server behind them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from clients.checks import ClientTests
from clients.packages import need
from clients.wire import MODEL, OPENAI_CHAT

pydantic_ai = need("pydantic-ai-slim")

from pydantic_ai.direct import model_request_stream, model_request_stream_sync
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


class TestModelRequest(ClientTests):
    wire = OPENAI_CHAT

    @staticmethod
    def model(url: str) -> Any:
        return OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=f"{url}/v1", api_key="none"))

    @contextmanager
    def sync_call(self, url: str) -> Iterator[Callable[[], Any]]:
        model = self.model(url)
        yield lambda: model_request_stream_sync(model, [ModelRequest.user_text_prompt("Triage order 1182.")])

    @asynccontextmanager
    async def async_call(self, url: str) -> AsyncIterator[Callable[[], Any]]:
        model = self.model(url)
        yield lambda: model_request_stream(model, [ModelRequest.user_text_prompt("Triage order 1182.")])
